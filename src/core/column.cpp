// Building, slicing and comparing decoded columns.
#include "basalt/core/column.h"

#include <cstring>

#include "basalt/core/error.h"
#include "core/validity.h"

namespace basalt {

namespace {

bool has_offsets(TypeKind kind) {
  return kind == TypeKind::kUtf8 || kind == TypeKind::kBinary || kind == TypeKind::kList;
}

void append_validity(Column& target, const Column& source, uint64_t begin, uint64_t end) {
  const uint64_t rows = end - begin;
  const uint64_t nulls = source.validity.empty() ? 0 : rows - count_bits(source.validity.as<uint8_t>(), begin, rows);
  extend_validity(target, rows, nulls == 0);
  if (nulls == 0) return;
  copy_bits(source.validity.as<uint8_t>(), begin, target.validity.as<uint8_t>(), target.length, rows);
  target.null_count -= rows - nulls;
}

}  // namespace

uint64_t Column::plain_bytes() const {
  uint64_t total = values.size() + bytes.size() + validity.size();
  // Lengths count as four bytes a row: what a plain reader of the same data would have to store.
  if (!offsets.empty()) total += length * 4;
  for (const Column& child : children) total += child.plain_bytes();
  return total;
}

Column make_column(const Field& field) {
  Column column;
  column.type = field.type;
  if (has_offsets(field.type.kind)) column.offsets.push<int64_t>(0);
  for (const Field& child : field.children) column.children.push_back(make_column(child));
  return column;
}

void append_rows(Column& target, const Column& source, uint64_t begin, uint64_t end) {
  if (end <= begin) return;
  append_validity(target, source, begin, end);
  const uint64_t rows = end - begin;
  switch (target.type.kind) {
    case TypeKind::kUtf8:
    case TypeKind::kBinary:
    case TypeKind::kList: {
      const int64_t* from = source.offsets.as<int64_t>();
      const size_t at = target.offsets.size();
      const int64_t shift = target.offsets.as<int64_t>()[target.length] - from[begin];
      target.offsets.resize(at + rows * sizeof(int64_t));
      int64_t* to = target.offsets.as<int64_t>() + target.length + 1;
      for (uint64_t i = 0; i < rows; ++i) to[i] = from[begin + 1 + i] + shift;
      if (target.type.kind == TypeKind::kList) {
        append_rows(target.children[0], source.children[0], static_cast<uint64_t>(from[begin]),
                    static_cast<uint64_t>(from[end]));
      } else {
        target.bytes.append(source.bytes.data() + from[begin], static_cast<size_t>(from[end] - from[begin]));
      }
      break;
    }
    case TypeKind::kStruct:
      for (size_t i = 0; i < target.children.size(); ++i) {
        append_rows(target.children[i], source.children[i], begin, end);
      }
      break;
    default: {
      const uint32_t width = width_of(physical_of(target.type));
      target.values.append(source.values.data() + begin * width, rows * width);
    }
  }
  target.length += rows;
}

void append_nulls(Column& target, uint64_t rows) {
  extend_validity(target, rows, false);
  target.length += rows;
  if (target.type.kind == TypeKind::kStruct) {
    for (Column& child : target.children) append_nulls(child, rows);
  } else if (has_offsets(target.type.kind)) {
    const int64_t end = target.offsets.as<int64_t>()[target.length - rows];
    for (uint64_t i = 0; i < rows; ++i) target.offsets.push(end);
  } else {
    const size_t before = target.values.size();
    target.values.resize(target.length * width_of(physical_of(target.type)));
    if (target.values.size() > before) std::memset(target.values.data() + before, 0, target.values.size() - before);
  }
}

namespace {

bool equal_rows(const Column& a, const Column& b, uint64_t a_row, uint64_t b_row) {
  const bool valid = a.is_valid(a_row);
  if (valid != b.is_valid(b_row)) return false;
  if (!valid) return true;
  switch (a.type.kind) {
    case TypeKind::kUtf8:
    case TypeKind::kBinary: return a.string_at(a_row) == b.string_at(b_row);
    case TypeKind::kList: {
      const int64_t* a_at = a.offsets.as<int64_t>() + a_row;
      const int64_t* b_at = b.offsets.as<int64_t>() + b_row;
      if (a_at[1] - a_at[0] != b_at[1] - b_at[0]) return false;
      for (int64_t i = 0; i < a_at[1] - a_at[0]; ++i) {
        if (!equal_rows(a.children[0], b.children[0], static_cast<uint64_t>(a_at[0] + i),
                        static_cast<uint64_t>(b_at[0] + i))) {
          return false;
        }
      }
      return true;
    }
    case TypeKind::kStruct:
      for (size_t i = 0; i < a.children.size(); ++i) {
        if (!equal_rows(a.children[i], b.children[i], a_row, b_row)) return false;
      }
      return true;
    default: {
      const uint32_t width = width_of(physical_of(a.type));
      return std::memcmp(a.values.data() + a_row * width, b.values.data() + b_row * width, width) == 0;
    }
  }
}

}  // namespace

bool equal(const Column& a, const Column& b) {
  if (!(a.type == b.type) || a.length != b.length || a.children.size() != b.children.size()) return false;
  for (uint64_t row = 0; row < a.length; ++row) {
    if (!equal_rows(a, b, row, row)) return false;
  }
  return true;
}

Column& Table::add_column(std::string name, const DataType& type, uint64_t length, uint32_t width) {
  if (type.kind == TypeKind::kList || type.kind == TypeKind::kStruct || width_of(physical_of(type)) != width) {
    throw Error(ErrorCode::kInvalidArgument,
                "column " + name + ": values of " + to_string(type) + " are not held as the type that was given");
  }
  if (!columns.empty() && length != rows) {
    throw Error(ErrorCode::kInvalidArgument,
                "column " + name + " has " + std::to_string(length) + " rows, the others " + std::to_string(rows));
  }
  Field field;
  field.name = std::move(name);
  field.type = type;
  field.nullable = false;
  rows = length;
  columns.push_back(make_column(field));
  columns.back().length = length;
  schema.fields.push_back(std::move(field));
  number_fields(schema);
  return columns.back();
}

}  // namespace basalt
