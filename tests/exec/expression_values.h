// The values of an expression over columns in memory, as the interpreter computes them.
#pragma once

#include <vector>

#include "basalt/core/column.h"
#include "basalt/exec/pipeline.h"

namespace basalt::test {

// At most 1024 rows. With `statistics` the interpreter knows the columns' ranges and computes in narrow lanes; else it
// knows nothing. Only rows with a 1 in `live` count; empty: all.
std::vector<Value> values_of(const Expr& expr, const std::vector<const Column*>& columns, bool statistics,
                             const std::vector<uint8_t>& live = {});

}  // namespace basalt::test
