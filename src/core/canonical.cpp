// The canonical form of nested columns: NULL structs make their members NULL, NULL lists have no elements. Neither
// Arrow nor a .basalt file promises it, but whoever reads a member alone, and every engine behind us, relies on it.
#include "core/canonical.h"

#include "core/bitmap.h"

namespace basalt {
namespace {

Column empty_like(const Column& shape) {
  Column column;
  column.type = shape.type;
  if (!shape.offsets.empty()) column.offsets.push<int64_t>(0);
  for (const Column& child : shape.children) column.children.push_back(empty_like(child));
  return column;
}

// Members are NULL at least where their struct is.
void pass_nulls_down(const Column& parent, Column& member) {
  const size_t bytes = (parent.length + 7) / 8;
  if (member.validity.empty()) {
    member.validity = parent.validity;
    member.validity.resize(bytes);
  } else {
    auto* bits = member.validity.as<uint8_t>();
    const auto* mask = parent.validity.as<uint8_t>();
    for (size_t i = 0; i < bytes; ++i) bits[i] &= mask[i];
  }
  member.null_count = member.length - count_bits(member.validity.as<uint8_t>(), 0, member.length);
}

bool null_lists_are_empty(const Column& column) {
  const int64_t* offsets = column.offsets.as<int64_t>();
  for (uint64_t row = 0; row < column.length; ++row)
    if (!column.is_valid(row) && offsets[row + 1] != offsets[row]) return false;
  return true;
}

void drop_elements_under_nulls(Column& column) {
  const int64_t* offsets = column.offsets.as<int64_t>();
  Column& elements = column.children[0];
  Column kept = empty_like(elements);
  Buffer fresh((column.length + 1) * sizeof(int64_t));
  auto* to = fresh.as<int64_t>();
  to[0] = 0;
  for (uint64_t row = 0; row < column.length; ++row) {
    if (column.is_valid(row))
      append_rows(kept, elements, static_cast<uint64_t>(offsets[row]), static_cast<uint64_t>(offsets[row + 1]));
    to[row + 1] = static_cast<int64_t>(kept.length);
  }
  elements = std::move(kept);
  column.offsets = std::move(fresh);
}

void pass_nulls_down(Column& column) {
  if (column.null_count != 0 && column.type.kind == TypeKind::kStruct)
    for (Column& member : column.children) pass_nulls_down(column, member);
  for (Column& child : column.children) pass_nulls_down(child);
}

}  // namespace

void empty_null_lists(Column& column) {
  if (column.null_count != 0 && column.type.kind == TypeKind::kList && !null_lists_are_empty(column))
    drop_elements_under_nulls(column);
  for (Column& child : column.children) empty_null_lists(child);
}

void make_canonical(Column& column) {
  pass_nulls_down(column);
  empty_null_lists(column);
}

}  // namespace basalt
