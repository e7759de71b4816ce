// Growing the bitmap of a column's NULLs.
#pragma once

#include "basalt/core/column.h"
#include "core/bitmap.h"

namespace basalt {

// Bits for `rows` more rows, all valid or all NULL, before they are counted in `length`. No bitmap before the first
// NULL.
inline void extend_validity(Column& column, uint64_t rows, bool valid) {
  if (valid && column.validity.empty()) return;
  const bool first_null = column.validity.empty();
  column.validity.resize((column.length + rows + 7) / 8);
  if (first_null) set_bits(column.validity.as<uint8_t>(), 0, column.length, true);
  set_bits(column.validity.as<uint8_t>(), column.length, rows, valid);
  if (!valid) column.null_count += rows;
}

}  // namespace basalt
