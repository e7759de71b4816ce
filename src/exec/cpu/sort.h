// Rows of a table in order.
#pragma once

#include <vector>

#include "basalt/core/column.h"
#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// `limit` rows behind the first `offset` in this order; rows that are equal in it keep the order they have. NaN is the
// largest number; −0.0 equals 0.0; strings are compared byte by byte. `cancel` may be nullptr.
Table first_rows(Table table, const std::vector<SortKey>& order, uint64_t limit, uint64_t offset,
                 const CancelToken* cancel);

}  // namespace basalt::exec
