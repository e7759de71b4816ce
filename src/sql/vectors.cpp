// Rows across the border between DuckDB's vectors and Basalt's columns.
#include "sql/vectors.h"

#include <cstring>

#include "basalt/core/error.h"
#include "core/meaning.h"
#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "sql/types.h"

namespace basalt::sql {

using duckdb::idx_t;
using duckdb::Vector;

namespace {

// Keeps a column's bytes alive as long as the vector whose strings point into them.
class OwnedBytes : public duckdb::VectorBuffer {
 public:
  explicit OwnedBytes(Buffer owned)
      : duckdb::VectorBuffer(duckdb::VectorBufferType::OPAQUE_BUFFER), bytes(std::move(owned)) {}
  Buffer bytes;
};

// The same for a table whose rows many vectors refer to: of strings, and of values.
class OwnedTable : public duckdb::VectorBuffer {
 public:
  explicit OwnedTable(std::shared_ptr<const Table> table)
      : duckdb::VectorBuffer(duckdb::VectorBufferType::OPAQUE_BUFFER), table_(std::move(table)) {}

 private:
  std::shared_ptr<const Table> table_;
};

class OwnedValues : public duckdb::VectorAuxiliaryData {
 public:
  explicit OwnedValues(std::shared_ptr<const Table> table)
      : duckdb::VectorAuxiliaryData(duckdb::VectorAuxiliaryDataType::ARROW_AUXILIARY), table_(std::move(table)) {}

 private:
  std::shared_ptr<const Table> table_;
};

// Rows [begin, end) of the column, `begin` a multiple of 8.
void fill_validity(const Column& column, uint64_t begin, uint64_t end, Vector& out) {
  if (column.validity.empty() || begin == end) return;
  auto& mask = duckdb::FlatVector::Validity(out);
  mask.Initialize(std::max<idx_t>(end - begin, STANDARD_VECTOR_SIZE));
  std::memcpy(mask.GetData(), column.validity.data() + begin / 8, (end - begin + 7) / 8);
}

// Strings that point into `bytes`, which must live as long as the vector.
void point_to_strings(const int64_t* offsets, const char* bytes, uint64_t rows, const Field& field, Vector& out) {
  auto* strings = duckdb::FlatVector::GetData<duckdb::string_t>(out);
  for (uint64_t row = 0; row < rows; ++row) {
    const char* start = bytes + offsets[row];
    const auto size = static_cast<uint64_t>(offsets[row + 1] - offsets[row]);
    if (size > UINT32_MAX) throw Error(ErrorCode::kUnsupported, "column " + field.name + ": a string of 4 GiB or more");
    strings[row] = duckdb::string_t(start, static_cast<uint32_t>(size));
  }
}

void fill_strings(Column& column, const Field& field, Vector& out) {
  auto owned = duckdb::make_buffer<OwnedBytes>(std::move(column.bytes));
  point_to_strings(column.offsets.as<int64_t>(), owned->bytes.as<char>(), column.length, field, out);
  duckdb::StringVector::AddBuffer(out, std::move(owned));
}

void fill_list(Column& column, const Field& field, Vector& out) {
  const int64_t* offsets = column.offsets.as<int64_t>();
  auto* entries = duckdb::FlatVector::GetData<duckdb::list_entry_t>(out);
  for (uint64_t row = 0; row < column.length; ++row) {
    entries[row].offset = static_cast<uint64_t>(offsets[row]);
    entries[row].length = static_cast<uint64_t>(offsets[row + 1] - offsets[row]);
  }
  Column& child = column.children.at(0);
  const uint64_t elements = child.length;
  duckdb::ListVector::Reserve(out, elements);
  fill_vector(std::move(child), field.children.at(0), duckdb::ListVector::GetEntry(out));
  duckdb::ListVector::SetListSize(out, elements);
}

// DuckDB keeps places for the elements of NULL arrays, which a list has none of.
void fill_array(Column&& column, const Field& field, Vector& out) {
  Field list = field;
  list.meaning = Meaning::kStored;
  const uint64_t rows = column.length;
  check_null_arrays(column, field);
  const duckdb::LogicalType element = duckdb::ArrayType::GetChildType(out.GetType());
  Vector lists(duckdb::LogicalType::LIST(element), std::max<idx_t>(rows, STANDARD_VECTOR_SIZE));
  fill_vector(std::move(column), list, lists);
  duckdb::VectorOperations::DefaultCast(lists, out, rows, true);
}

void fill_intervals(const Column& column, const Field& field, Vector& out) {
  const auto* months = column.children.at(0).values.as<int32_t>();
  const auto* days = column.children.at(1).values.as<int32_t>();
  const auto* rest = column.children.at(2).values.as<int64_t>();
  auto* intervals = duckdb::FlatVector::GetData<duckdb::interval_t>(out);
  for (uint64_t row = 0; row < column.length; ++row)
    intervals[row] = {months[row], days[row], to_micros(rest[row], field.type.unit)};
}

}  // namespace

void fill_vector(Column&& column, const Field& field, Vector& out) {
  if (out.GetType().id() == duckdb::LogicalTypeId::ARRAY) return fill_array(std::move(column), field, out);
  out.SetVectorType(duckdb::VectorType::FLAT_VECTOR);
  fill_validity(column, 0, column.length, out);
  switch (field.type.kind) {
    case TypeKind::kUtf8:
    case TypeKind::kBinary: return fill_strings(column, field, out);
    case TypeKind::kList: return fill_list(column, field, out);
    case TypeKind::kStruct: {
      if (field.meaning == Meaning::kInterval) return fill_intervals(column, field, out);
      auto& entries = duckdb::StructVector::GetEntries(out);
      for (size_t i = 0; i < field.children.size(); ++i) {
        fill_vector(std::move(column.children.at(i)), field.children[i], *entries[i]);
      }
      return;
    }
    default: break;
  }
  const uint32_t width = width_of(physical_of(field.type));
  auto* target = duckdb::FlatVector::GetData(out);
  if (needs_rescale(field.type)) {
    const int64_t* values = column.values.as<int64_t>();
    for (uint64_t row = 0; row < column.length; ++row) {
      const int64_t value = to_micros(values[row], field.type.unit);
      std::memcpy(target + row * sizeof(value), &value, sizeof(value));
    }
  } else if (column.length > 0) {
    std::memcpy(target, column.values.data(), column.length * width);
  }
}

void refer_to_rows(const std::shared_ptr<const Table>& table, size_t column, uint64_t begin, uint64_t end,
                   Vector& out) {
  const Field& field = table->schema.fields[column];
  const Column& from = table->columns[column];
  const Physical type = physical_of(field.type);
  const bool nested = !field.children.empty() || field.meaning != Meaning::kStored;
  if (nested || needs_rescale(field.type)) {
    Column part = make_column(field);
    append_rows(part, from, begin, end);
    return fill_vector(std::move(part), field, out);
  }
  out.SetVectorType(duckdb::VectorType::FLAT_VECTOR);
  fill_validity(from, begin, end, out);
  if (type == Physical::kBytes) {
    point_to_strings(from.offsets.as<int64_t>() + begin, from.bytes.as<char>(), end - begin, field, out);
    duckdb::StringVector::AddBuffer(out, duckdb::make_buffer<OwnedTable>(table));
    return;
  }
  // DuckDB does not write to vectors that it was given.
  auto* values = const_cast<std::byte*>(from.values.data()) + begin * width_of(type);
  duckdb::FlatVector::SetData(out, reinterpret_cast<duckdb::data_ptr_t>(values));
  out.GetBuffer()->SetAuxiliaryData(duckdb::make_uniq<OwnedValues>(table));
}

namespace {

// Fewer empty strings are not worth the places of the others.
constexpr uint64_t kEmptyShare = 2;

uint64_t count_filled(const int64_t* offsets, uint64_t rows) {
  uint64_t filled = 0;
  for (uint64_t row = 0; row < rows; ++row) filled += offsets[row + 1] != offsets[row] ? 1 : 0;
  return filled;
}

}  // namespace

bool fill_filled_strings(Column& column, const Field& field, Vector& out) {
  const uint64_t rows = column.length;
  const int64_t* offsets = column.offsets.as<int64_t>();
  const uint64_t filled = count_filled(offsets, rows);
  if (rows == 0 || filled > rows / kEmptyShare) return false;
  // Entries: the empty string, the others in their order, NULL.
  const uint64_t null_place = filled + 1;
  std::vector<int64_t> ends(filled + 2);
  duckdb::SelectionVector places(rows);
  uint64_t entry = 0;
  for (uint64_t row = 0; row < rows; ++row) {
    const bool is_filled = offsets[row + 1] != offsets[row];
    entry += is_filled ? 1 : 0;
    ends[entry + 1] = offsets[row + 1];
    places.set_index(row, is_filled ? entry : 0);
  }
  ends[1] = 0;
  if (!column.validity.empty()) {
    for (uint64_t row = 0; row < rows; ++row) {
      if (!column.is_valid(row)) places.set_index(row, null_place);
    }
  }
  auto owned = duckdb::make_buffer<OwnedBytes>(std::move(column.bytes));
  Vector entries(out.GetType(), filled + 2);
  point_to_strings(ends.data(), owned->bytes.as<char>(), filled + 1, field, entries);
  duckdb::FlatVector::SetNull(entries, null_place, true);
  duckdb::StringVector::AddBuffer(entries, std::move(owned));
  out.Dictionary(entries, filled + 2, places, rows);
  return true;
}

duckdb::buffer_ptr<duckdb::VectorChildBuffer> make_dictionary(const StringRows& entries,
                                                              const duckdb::LogicalType& type) {
  const idx_t count = entries.size();
  auto dictionary = duckdb::DictionaryVector::CreateReusableDictionary(type, count + 1);
  Vector& strings = dictionary->data;
  Buffer copy;
  copy.append(entries.bytes.data(), entries.bytes.size());
  auto owned = duckdb::make_buffer<OwnedBytes>(std::move(copy));
  const char* bytes = owned->bytes.as<char>();
  auto* to = duckdb::FlatVector::GetData<duckdb::string_t>(strings);
  for (idx_t i = 0; i < count; ++i) {
    const auto size = static_cast<uint32_t>(entries.offsets[i + 1] - entries.offsets[i]);
    to[i] = duckdb::string_t(bytes + entries.offsets[i], size);
  }
  duckdb::FlatVector::SetNull(strings, count, true);
  duckdb::StringVector::AddBuffer(strings, std::move(owned));
  return dictionary;
}

void fill_codes(const Column& column, const duckdb::buffer_ptr<duckdb::VectorChildBuffer>& dictionary, Vector& out) {
  const auto* codes = column.values.as<uint32_t>();
  const auto null_place = static_cast<duckdb::sel_t>(dictionary->size.GetIndex() - 1);
  duckdb::SelectionVector places(column.length);
  for (uint64_t row = 0; row < column.length; ++row) {
    places.set_index(row, column.is_valid(row) ? codes[row] : null_place);
  }
  out.Dictionary(dictionary, places);
}

namespace {

// Readers hand out masks without a NULL in them.
bool has_nulls(const duckdb::UnifiedVectorFormat& format, uint64_t rows) {
  if (format.validity.AllValid()) return false;
  if (!format.sel->IsSet()) return !format.validity.CheckAllValid(rows);
  for (uint64_t row = 0; row < rows; ++row) {
    if (!format.validity.RowIsValid(format.sel->get_index(row))) return true;
  }
  return false;
}

// The column's bitmap grown to `rows` more rows, all valid. Made on the first NULL only.
void append_validity(Column& column, const duckdb::UnifiedVectorFormat& format, uint64_t rows) {
  const uint64_t first = column.length;
  const bool all_valid = !has_nulls(format, rows);
  if (all_valid && column.validity.empty()) return;
  const size_t bytes = (first + rows + 7) / 8;
  if (column.validity.empty() && first > 0) {
    column.validity.resize((first + 7) / 8);
    std::memset(column.validity.data(), 0xff, column.validity.size());
  }
  const size_t before = column.validity.size();
  if (bytes > before) {
    column.validity.resize(bytes);
    std::memset(column.validity.data() + before, 0xff, bytes - before);
  }
  auto* bits = column.validity.as<uint8_t>();
  if (first % 8 != 0) bits[first / 8] |= static_cast<uint8_t>(0xff << (first % 8));
  if (all_valid) return;
  for (uint64_t row = 0; row < rows; ++row) {
    if (format.validity.RowIsValid(format.sel->get_index(row))) continue;
    const uint64_t at = first + row;
    bits[at / 8] &= static_cast<uint8_t>(~(1u << (at % 8)));
    ++column.null_count;
  }
}

template <typename T>
void append_selected(Column& column, const duckdb::UnifiedVectorFormat& format, uint64_t rows) {
  const size_t at = column.values.size();
  column.values.resize(at + rows * sizeof(T));
  auto* target = column.values.data() + at;
  const auto* source = reinterpret_cast<const T*>(format.data);
  for (uint64_t row = 0; row < rows; ++row) {
    std::memcpy(target + row * sizeof(T), source + format.sel->get_index(row), sizeof(T));
  }
}

void append_fixed(Column& column, const duckdb::UnifiedVectorFormat& format, uint64_t rows, uint32_t width) {
  if (!format.sel->IsSet()) {
    column.values.append(format.data, rows * width);
    return;
  }
  switch (width) {
    case 1: return append_selected<uint8_t>(column, format, rows);
    case 2: return append_selected<uint16_t>(column, format, rows);
    case 4: return append_selected<uint32_t>(column, format, rows);
    case 8: return append_selected<uint64_t>(column, format, rows);
    default: return append_selected<duckdb::hugeint_t>(column, format, rows);
  }
}

void append_strings(Column& column, const duckdb::UnifiedVectorFormat& format, uint64_t rows) {
  const auto* strings = reinterpret_cast<const duckdb::string_t*>(format.data);
  const bool all_valid = format.validity.AllValid();
  const size_t at = column.offsets.size();
  column.offsets.resize(at + rows * sizeof(int64_t));
  int64_t* ends = column.offsets.as<int64_t>() + at / sizeof(int64_t);
  const size_t first_byte = column.bytes.size();
  size_t end = first_byte;
  for (uint64_t row = 0; row < rows; ++row) {
    const idx_t index = format.sel->get_index(row);
    if (all_valid || format.validity.RowIsValid(index)) end += strings[index].GetSize();
    ends[row] = static_cast<int64_t>(end);
  }
  column.bytes.resize(end);
  char* to = column.bytes.as<char>();
  size_t begin = first_byte;
  for (uint64_t row = 0; row < rows; ++row) {
    const duckdb::string_t& text = strings[format.sel->get_index(row)];
    const auto size = static_cast<size_t>(ends[row]) - begin;
    if (size > duckdb::string_t::INLINE_LENGTH) {
      std::memcpy(to + begin, text.GetData(), size);
    } else if (size > 0) {
      // A copy of constant size; buffers have room behind their last byte, and the next string overwrites it.
      static_assert(duckdb::string_t::INLINE_LENGTH <= Buffer::kSlack);
      std::memcpy(to + begin, text.GetPrefix(), duckdb::string_t::INLINE_LENGTH);
    }
    begin = static_cast<size_t>(ends[row]);
  }
}

void append_list(Column& column, const Field& field, Vector& vector, const duckdb::UnifiedVectorFormat& format,
                 uint64_t rows) {
  const auto* entries = reinterpret_cast<const duckdb::list_entry_t*>(format.data);
  Column& child = column.children.at(0);
  uint64_t elements = 0;
  int64_t end = static_cast<int64_t>(child.length);
  std::vector<uint32_t> order;
  bool consecutive = true;
  uint64_t expected = 0;
  for (uint64_t row = 0; row < rows; ++row) {
    const idx_t index = format.sel->get_index(row);
    if (format.validity.RowIsValid(index)) {
      const duckdb::list_entry_t entry = entries[index];
      if (entry.length == 0) {  // its offset may be anything
        column.offsets.push(end);
        continue;
      }
      if (entry.offset != expected) consecutive = false;
      expected = entry.offset + entry.length;
      for (uint64_t i = 0; i < entry.length; ++i) order.push_back(static_cast<uint32_t>(entry.offset + i));
      elements += entry.length;
      end += static_cast<int64_t>(entry.length);
    }
    column.offsets.push(end);
  }
  if (elements == 0) return;
  Vector& source = duckdb::ListVector::GetEntry(vector);
  if (consecutive) {
    append_vector(child, field.children.at(0), source, elements);
    return;
  }
  duckdb::SelectionVector selection(elements);
  for (uint64_t i = 0; i < elements; ++i) selection.set_index(i, order[i]);
  Vector picked(source, selection, elements);
  append_vector(child, field.children.at(0), picked, elements);
}

// NULL arrays have elements here, which the writer leaves out.
void append_array(Column& column, const Field& field, Vector& vector, uint64_t rows) {
  const auto size = static_cast<int64_t>(field.array_size);
  int64_t end = column.offsets.as<int64_t>()[column.length];
  for (uint64_t row = 0; row < rows; ++row) column.offsets.push(end += size);
  append_vector(column.children.at(0), field.children.at(0), duckdb::ArrayVector::GetEntry(vector),
                rows * field.array_size);
}

void append_intervals(Column& column, const duckdb::UnifiedVectorFormat& format, uint64_t rows) {
  const auto* intervals = reinterpret_cast<const duckdb::interval_t*>(format.data);
  for (uint64_t row = 0; row < rows; ++row) {
    const idx_t index = format.sel->get_index(row);
    const auto value = format.validity.RowIsValid(index) ? intervals[index] : duckdb::interval_t{};
    column.children.at(0).values.push(value.months);
    column.children.at(1).values.push(value.days);
    column.children.at(2).values.push(value.micros);
  }
  for (Column& part : column.children) part.length += rows;
}

void append_struct(Column& column, const Field& field, Vector& vector, uint64_t rows) {
  vector.Flatten(rows);
  auto& entries = duckdb::StructVector::GetEntries(vector);
  for (size_t i = 0; i < field.children.size(); ++i) {
    append_vector(column.children.at(i), field.children[i], *entries[i], rows);
  }
}

}  // namespace

void append_vector(Column& column, const Field& field, Vector& vector, uint64_t rows) {
  const bool is_array = field.meaning == Meaning::kArray;
  const bool is_interval = field.meaning == Meaning::kInterval;
  if (is_array || (field.type.kind == TypeKind::kStruct && !is_interval)) vector.Flatten(rows);
  duckdb::UnifiedVectorFormat format;
  vector.ToUnifiedFormat(rows, format);
  append_validity(column, format, rows);
  switch (field.type.kind) {
    case TypeKind::kUtf8:
    case TypeKind::kBinary: append_strings(column, format, rows); break;
    case TypeKind::kList:
      if (is_array) append_array(column, field, vector, rows);
      if (!is_array) append_list(column, field, vector, format, rows);
      break;
    case TypeKind::kStruct:
      if (is_interval) append_intervals(column, format, rows);
      if (!is_interval) append_struct(column, field, vector, rows);
      break;
    default: append_fixed(column, format, rows, width_of(physical_of(field.type)));
  }
  column.length += rows;
}

TableBuilder::TableBuilder(const Schema& schema, const duckdb::vector<duckdb::LogicalType>& types) : schema_(schema) {
  for (const auto& type : types) {
    stored_.push_back(stored_type(type));
    cast_.push_back(stored_.back() != type);
  }
  start();
}

void TableBuilder::start() {
  table_ = Table{};
  table_.schema = schema_;
  for (const Field& field : schema_.fields) table_.columns.push_back(make_column(field));
}

// The next table will be about as large as the last one: memory that grows step by step costs half as much again.
void TableBuilder::reserve_like(const Table& last) {
  for (size_t i = 0; i < last.columns.size(); ++i) {
    table_.columns[i].values.reserve(last.columns[i].values.size());
    table_.columns[i].offsets.reserve(last.columns[i].offsets.size());
    table_.columns[i].bytes.reserve(last.columns[i].bytes.size());
  }
}

void TableBuilder::append(duckdb::DataChunk& chunk) {
  const uint64_t rows = chunk.size();
  for (size_t i = 0; i < table_.columns.size(); ++i) {
    if (cast_[i]) {
      Vector converted(stored_[i], rows);
      duckdb::VectorOperations::DefaultCast(chunk.data[i], converted, rows, true);
      append_vector(table_.columns[i], schema_.fields[i], converted, rows);
    } else {
      append_vector(table_.columns[i], schema_.fields[i], chunk.data[i], rows);
    }
  }
  table_.rows += rows;
}

uint64_t TableBuilder::plain_bytes() const {
  uint64_t total = 0;
  for (const Column& column : table_.columns) total += column.plain_bytes();
  return total;
}

Table TableBuilder::take() {
  Table full = std::move(table_);
  start();
  reserve_like(full);
  return full;
}

}  // namespace basalt::sql
