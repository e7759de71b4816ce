// Rows of a table in order.
#pragma once

#include <functional>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// −1, 0 or 1 for two rows of a table, which must outlive it: NULL equals NULL, NaN is the largest number.
class RowComparison {
 public:
  RowComparison(const Table& table, const std::vector<SortKey>& order);
  int compare(uint64_t a, uint64_t b) const;

  // For two rows of a column that are not NULL.
  using OfColumn = std::function<int(uint64_t, uint64_t)>;

 private:
  struct Key {
    const Column* column;
    SortKey how;
    OfColumn compare;
  };
  std::vector<Key> keys_;
};

// The numbers of a table's rows in this order; equal ones stay in order. `cancel` may be nullptr.
std::vector<uint64_t> sorted_rows(const Table& table, const std::vector<SortKey>& order, const CancelToken* cancel);

// `limit` rows behind the first `offset` in this order; rows that are equal in it keep the order they have. NaN is the
// largest number; −0.0 equals 0.0; strings are compared byte by byte. `cancel` may be nullptr.
Table first_rows(Table table, const std::vector<SortKey>& order, uint64_t limit, uint64_t offset,
                 const CancelToken* cancel);

}  // namespace basalt::exec
