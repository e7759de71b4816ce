// Which statements filter and sum tiles of floats as they are stored; see aggregate.h for the order of sums. Both
// backends ask here, so that they give the same bits.
#pragma once

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// Whether a statement asks for nothing but sums, averages and counts of one column of floats, under at most ranges of
// that column, and all of the column is stored as decimals in packed tiles, without NULLs.
bool is_float_filter_sum(const Pipeline& pipeline);

}  // namespace basalt::exec
