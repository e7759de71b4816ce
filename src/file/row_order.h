// How rows are ordered by columns of theirs, as SQL orders them: NULLs last, NaN above all other values, both zeros
// equal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "basalt/core/column.h"

namespace basalt::format_v1 {

// Entry i of `order`: how row i compares with the row before it, by columns that were looked at earlier. Where they are
// equal (0), it becomes -1, 0 or 1 by this column. `before` holds what stands before row 0, in one row; or nullptr.
void refine_order(const Column& column, const Column* before, std::vector<int8_t>& order);

// A member of a NULL struct is NULL.
void hide_members(const Column& of, Column& member);

// Whether tables that are written one after the other are sorted by these columns.
class SortedTables {
 public:
  // `columns`: numbers of flattened fields, most significant first; no lists, nor what is in them.
  SortedTables(const Schema& schema, const std::vector<uint32_t>& columns);

  // Throws Error(kInvalidArgument) with the first row that is out of order.
  void check(const Table& table, const std::string& path);

 private:
  struct SortColumn {
    std::string path;
    std::vector<size_t> place;  // of the column in the table, of its member in that, and so on
    Field field;
    Column last;  // one row: the last one of all tables so far
  };

  std::vector<SortColumn> columns_;
  uint64_t rows_ = 0;
};

}  // namespace basalt::format_v1
