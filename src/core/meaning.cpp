// Promises of maps, arrays and null columns.
#include "core/meaning.h"

#include "basalt/core/error.h"

namespace basalt {

const char* broken_promise(const Column& column, const Field& field, bool is_key) {
  if (is_key && column.null_count != 0) return "a key of a map is NULL";
  if (field.meaning == Meaning::kMap && column.children.size() == 1 && column.children[0].null_count != 0)
    return "an entry of a map is NULL";
  if (field.meaning == Meaning::kNull && column.null_count != column.length) return "it has values and must have none";
  if (field.meaning != Meaning::kArray) return nullptr;
  const int64_t* offsets = column.offsets.as<int64_t>();
  for (uint64_t row = 0; row < column.length; ++row) {
    if (column.is_valid(row) && offsets[row + 1] - offsets[row] != int64_t{field.array_size})
      return "an array has another number of elements than its type";
  }
  return nullptr;
}

uint64_t place_bytes(const Field& field) {
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

void check_null_arrays(const Column& column, const Field& field) {
  if (column.null_count != 0 && place_bytes(field) > kMostNullArrayBytes / column.null_count)
    throw Error(ErrorCode::kOverLimit, "column " + field.name + ": its NULL arrays have too many places for elements");
}

}  // namespace basalt
