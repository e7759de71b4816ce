// How many rows of a scan statistics leave to its filter: known before any row is read.
#pragma once

#include <cstdint>

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// Rows of the zones in which some may pass the filter. Counted until there are more than `most`.
uint64_t rows_left(const Pipeline& scan, uint64_t most);

}  // namespace basalt::exec
