// Appending values to a column row by row.
#pragma once

#include <string_view>

#include "basalt/core/column.h"
#include "basalt/core/value.h"
#include "exec/vector.h"

namespace basalt::exec {

class ColumnBuilder {
 public:
  explicit ColumnBuilder(const Field& field);

  void reserve(uint64_t rows);
  void add_null();
  void add_integer(int128_t value);
  void add_real(double value);
  void add_text(std::string_view text);
  void add_value(const Value& value);
  // Some rows of a vector: those of the list, or all of the first `count`.
  void add_rows(const Vector& vector, const uint16_t* rows, uint32_t count);
  // One row, or all, of a column of the same type.
  void add_row(const Column& from, uint64_t row);
  void add_column(const Column& from);
  Column take();

 private:
  void mark(bool valid);

  Column column_;
  Physical type_;
};

}  // namespace basalt::exec
