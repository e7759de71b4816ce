// A table that is made row by row: the cells of a row are appended in the order of the schema's fields.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "basalt/core/column.h"

namespace basalt::gen {

class RowWriter {
 public:
  explicit RowWriter(Schema schema) {
    table_.schema = std::move(schema);
    for (const Field& field : table_.schema.fields) table_.columns.push_back(make_column(field));
  }
  template <typename T>
  RowWriter& number(T value) {
    column().values.push(value);
    return *this;
  }
  RowWriter& integer(int64_t value) { return number(static_cast<int32_t>(value)); }
  RowWriter& flag(bool value) { return number(static_cast<uint8_t>(value)); }
  RowWriter& text(std::string_view value) {
    Column& target = column();
    target.bytes.append(value.data(), value.size());
    target.offsets.push(static_cast<int64_t>(target.bytes.size()));
    return *this;
  }
  void end_row() {
    next_ = 0;
    ++table_.rows;
  }
  Table finish() {
    for (Column& done : table_.columns) done.length = table_.rows;
    return std::move(table_);
  }

 private:
  Column& column() { return table_.columns[next_++]; }
  Table table_;
  size_t next_ = 0;
};

}  // namespace basalt::gen
