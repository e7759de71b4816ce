// Arrays of a fixed size that are NULL: a list stores nothing for them, Arrow and DuckDB have places for their
// elements. A few bytes of a file can so stand for any number of bytes.
#pragma once

#include "basalt/core/types.h"

namespace basalt {

constexpr uint64_t kMostNullArrayBytes = uint64_t{128} << 20;  // of a column where rows are given out together

// Bytes of a value's places at least; the largest number where there are more than can be counted.
inline uint64_t place_bytes(const Field& field) {
  if (field.meaning == Meaning::kArray) {
    uint64_t bytes = 0;
    const uint64_t element = place_bytes(field.children[0]);
    return __builtin_mul_overflow(element, uint64_t{field.array_size}, &bytes) ? ~uint64_t{0} : bytes;
  }
  if (field.type.kind != TypeKind::kStruct) {
    const uint32_t width = width_of(physical_of(field.type));
    return width == 0 || field.type.kind == TypeKind::kList ? sizeof(int64_t) : width;
  }
  uint64_t total = 1;
  for (const Field& child : field.children) {
    if (__builtin_add_overflow(total, place_bytes(child), &total)) return ~uint64_t{0};
  }
  return total;
}

}  // namespace basalt
