// Arrow record batches into tables: one recursive walk that appends a range of rows of an array to a column. Offsets,
// sliced bitmaps, dictionaries, views and foreign widths end here; what Basalt sees afterwards has one form per type.
// Values under a NULL, be it their own or that of a list or struct around them, are never looked at, since Arrow lets
// them be anything: what lies there afterwards is zero or empty.
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "basalt/core/error.h"
#include "core/arrow_format.h"
#include "core/arrow_reader.h"
#include "core/bitmap.h"
#include "core/utf8.h"
#include "core/validity.h"

namespace basalt {
namespace {

using arrow::kMillisPerDay;

[[noreturn]] void fail(const Field& field, const std::string& reason, ErrorCode code = ErrorCode::kInvalidArgument) {
  throw Error(code, "column " + field.name + ": " + reason);
}

template <typename T>
const T* buffer_of(const ArrowArray& array, int64_t index, const Field& field) {
  if (index >= array.n_buffers) fail(field, "the Arrow array has too few buffers");
  return static_cast<const T*>(array.buffers[index]);
}

// Values of a foreign buffer, which may begin at any byte.
template <typename T>
class ForeignValues {
 public:
  ForeignValues(const void* buffer, int64_t begin) : bytes_(static_cast<const char*>(buffer)), begin_(begin) {}
  T operator[](int64_t i) const {
    T value;
    std::memcpy(&value, bytes_ + (begin_ + i) * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
  }

 private:
  const char* bytes_;
  int64_t begin_;
};

// Entries of dictionaries, decoded once per batch: a list's elements come in many pieces.
struct Dictionaries {
  std::map<const ArrowArray*, Column> entries;
  uint64_t most_expanded = ~uint64_t{0};
  uint64_t expanded = 0;  // bytes of rows that entries became

  void expand(uint64_t bytes) {
    expanded += bytes;
    if (expanded > most_expanded)
      throw Error(ErrorCode::kOverLimit,
                  "a row's dictionary entries take more than " + std::to_string(most_expanded) + " bytes");
  }
};

// Rows [begin, begin + count) of one array, `begin` already including the array's own offset.
struct Slice {
  const ArrowArray& array;
  const ArrowSchema& schema;
  int64_t begin;
  int64_t count;
  Dictionaries& dictionaries;
  const uint8_t* mask = nullptr;  // of the structs around it: bit i is clear if one of them is NULL in row i

  const uint8_t* validity() const {
    if (array.null_count == 0 || array.n_buffers == 0) return nullptr;
    return static_cast<const uint8_t*>(array.buffers[0]);
  }
  bool valid(int64_t i) const {
    if (mask != nullptr && !get_bit(mask, static_cast<uint64_t>(i))) return false;
    const uint8_t* bits = validity();
    return bits == nullptr || get_bit(bits, static_cast<uint64_t>(begin + i));
  }
  // One bit per row; empty if no row is NULL.
  Buffer valid_rows() const {
    if (mask == nullptr && validity() == nullptr) return {};
    const auto rows = static_cast<uint64_t>(count);
    Buffer bits((rows + 7) / 8);
    for (uint64_t i = 0; i < rows; ++i) put_bit(bits.as<uint8_t>(), i, valid(static_cast<int64_t>(i)));
    return count_bits(bits.as<uint8_t>(), 0, rows) == rows ? Buffer() : bits;
  }
};

void append_slice(Column& out, const Field& field, const Slice& slice);

void append_validity(Column& out, const Slice& slice) {
  const auto rows = static_cast<uint64_t>(slice.count);
  const Buffer bits = slice.valid_rows();
  extend_validity(out, rows, bits.empty());
  if (bits.empty()) return;
  copy_bits(bits.as<uint8_t>(), 0, out.validity.as<uint8_t>(), out.length, rows);
  out.null_count -= count_bits(bits.as<uint8_t>(), 0, rows);
}

// Room for `count` more values; the address of the first.
template <typename T>
T* grow_values(Column& out, int64_t count) {
  const size_t old_bytes = out.values.size();
  out.values.resize(old_bytes + static_cast<size_t>(count) * sizeof(T));
  return reinterpret_cast<T*>(out.values.data() + old_bytes);
}

template <typename From, typename To, typename Convert>
void append_converted(Column& out, const Field& field, const Slice& slice, Convert convert) {
  To* target = grow_values<To>(out, slice.count);
  if (slice.count == 0) return;
  const ForeignValues<From> source(buffer_of<void>(slice.array, 1, field), slice.begin);
  for (int64_t i = 0; i < slice.count; ++i) target[i] = slice.valid(i) ? convert(source[i]) : To{};
}

void append_raw(Column& out, const Field& field, const Slice& slice, size_t width) {
  if (slice.count == 0) return;
  const auto* source = buffer_of<std::byte>(slice.array, 1, field);
  out.values.append(source + static_cast<size_t>(slice.begin) * width, static_cast<size_t>(slice.count) * width);
  if (slice.valid_rows().empty()) return;
  std::byte* copied = out.values.data() + out.values.size() - static_cast<size_t>(slice.count) * width;
  for (int64_t i = 0; i < slice.count; ++i)
    if (!slice.valid(i)) std::memset(copied + static_cast<size_t>(i) * width, 0, width);
}

template <typename From, typename To>
void append_decimal(Column& out, const Field& field, const Slice& slice) {
  int128_t limit = 1;
  for (int i = 0; i < field.type.precision; ++i) limit *= 10;
  append_converted<From, To>(out, field, slice, [&](From value) {
    if (value >= limit || value <= -limit)
      fail(field, "a decimal does not fit its precision " + std::to_string(field.type.precision),
           ErrorCode::kOutOfRange);
    return static_cast<To>(value);
  });
}

template <typename From>
void append_decimal_from(Column& out, const Field& field, const Slice& slice) {
  switch (physical_of(field.type)) {
    case Physical::kI16: return append_decimal<From, int16_t>(out, field, slice);
    case Physical::kI32: return append_decimal<From, int32_t>(out, field, slice);
    case Physical::kI64: return append_decimal<From, int64_t>(out, field, slice);
    default: return append_decimal<From, int128_t>(out, field, slice);
  }
}

// Of "d:precision,scale,bits"; without the last part, which is common, there are 128.
std::string_view decimal_bits(std::string_view format) {
  const size_t scale = format.find(',');
  const size_t bits = format.find(',', scale + 1);
  return bits == format.npos ? "128" : format.substr(bits + 1);
}

void append_string(Column& out, const Field& field, std::string_view text) {
  if (field.type.kind == TypeKind::kUtf8 && !is_utf8(text)) fail(field, "a string is not valid UTF-8");
  out.bytes.append(text.data(), text.size());
  out.offsets.push(static_cast<int64_t>(out.bytes.size()));
}

// Checked offsets of row i: first, last.
template <typename Offset>
std::pair<int64_t, int64_t> row_range(const ForeignValues<Offset>& offsets, int64_t i, const Field& field) {
  const int64_t first = offsets[i], last = offsets[i + 1];
  if (first < 0 || last < first) fail(field, "the Arrow offsets do not ascend");
  return {first, last};
}

template <typename Offset>
void append_strings(Column& out, const Field& field, const Slice& slice) {
  if (slice.count == 0) return;
  const ForeignValues<Offset> offsets(buffer_of<void>(slice.array, 1, field), slice.begin);
  const auto* bytes = buffer_of<char>(slice.array, 2, field);
  for (int64_t i = 0; i < slice.count; ++i) {
    std::string_view text;
    if (slice.valid(i)) {
      const auto [first, last] = row_range(offsets, i, field);
      if (last > first) text = std::string_view(bytes + first, static_cast<size_t>(last - first));
    }
    append_string(out, field, text);
  }
}

void append_fixed_binary(Column& out, const Field& field, const Slice& slice, size_t width) {
  if (slice.count == 0) return;
  const auto* bytes = buffer_of<char>(slice.array, 1, field);
  for (int64_t i = 0; i < slice.count; ++i) {
    const char* at = bytes + static_cast<size_t>(slice.begin + i) * width;
    append_string(out, field, slice.valid(i) ? std::string_view(at, width) : std::string_view());
  }
}

// String views: 4 bytes of length, then the bytes themselves up to 12, else a prefix, a buffer number and an offset.
void append_views(Column& out, const Field& field, const Slice& slice) {
  if (slice.count == 0) return;
  const int64_t data_buffers = slice.array.n_buffers - 3;
  const auto* views = buffer_of<char>(slice.array, 1, field);
  const ForeignValues<int64_t> sizes(buffer_of<void>(slice.array, slice.array.n_buffers - 1, field), 0);
  for (int64_t i = 0; i < slice.count; ++i) {
    if (!slice.valid(i)) {
      append_string(out, field, {});
      continue;
    }
    const char* view = views + (slice.begin + i) * 16;
    int32_t parts[4];
    std::memcpy(parts, view, sizeof(parts));
    const int64_t length = parts[0], buffer = parts[2], offset = parts[3];
    if (length >= 0 && length <= 12) {
      append_string(out, field, {view + 4, static_cast<size_t>(length)});
      continue;
    }
    if (length < 0 || buffer < 0 || buffer >= data_buffers || offset < 0 || offset + length > sizes[buffer])
      fail(field, "a string view points outside its buffers");
    append_string(out, field, {buffer_of<char>(slice.array, 2 + buffer, field) + offset, static_cast<size_t>(length)});
  }
}

Slice child_slice(const Slice& parent, int64_t index, int64_t begin, int64_t count, const Field& field) {
  if (index >= parent.array.n_children) fail(field, "the Arrow array has too few children");
  const ArrowArray& child = *parent.array.children[index];
  if (begin < 0 || begin + count > child.length) fail(field, "a child of the Arrow array is too short");
  return {child, *parent.schema.children[index], begin + child.offset, count, parent.dictionaries};
}

// NULL lists become empty, whatever range they had, so that elements and offsets stay in step.
template <typename Range>
void append_lists(Column& out, const Field& field, const Slice& slice, Range range) {
  int64_t begin = 0, end = 0;  // elements that wait to be copied as one piece
  uint64_t total = out.children[0].length;
  const auto flush = [&] {
    if (end > begin) append_slice(out.children[0], field.children[0], child_slice(slice, 0, begin, end - begin, field));
  };
  for (int64_t i = 0; i < slice.count; ++i) {
    if (slice.valid(i)) {
      const auto [first, last] = range(i);
      if (first != end) {
        flush();
        begin = first;
      }
      end = last;
      total += static_cast<uint64_t>(last - first);
    }
    out.offsets.push(static_cast<int64_t>(total));
  }
  flush();
}

template <typename Offset>
void append_offset_lists(Column& out, const Field& field, const Slice& slice) {
  if (slice.count == 0) return;
  const ForeignValues<Offset> offsets(buffer_of<void>(slice.array, 1, field), slice.begin);
  append_lists(out, field, slice, [&](int64_t i) { return row_range(offsets, i, field); });
}

int64_t index_at(const void* data, char format, int64_t i, const Field& field) {
  switch (format) {
    case 'c': return ForeignValues<int8_t>(data, i)[0];
    case 'C': return ForeignValues<uint8_t>(data, i)[0];
    case 's': return ForeignValues<int16_t>(data, i)[0];
    case 'S': return ForeignValues<uint16_t>(data, i)[0];
    case 'i': return ForeignValues<int32_t>(data, i)[0];
    case 'I': return ForeignValues<uint32_t>(data, i)[0];
    case 'l':
    case 'L': return ForeignValues<int64_t>(data, i)[0];
    default: fail(field, std::string("dictionary indices of Arrow type ") + format);
  }
}

const Column& entries_of(const Field& field, const Slice& slice) {
  const ArrowArray& entries = *slice.array.dictionary;
  const auto [found, fresh] = slice.dictionaries.entries.try_emplace(&entries);
  if (fresh) {
    Column column = make_column(field);
    append_slice(column, field,
                 {entries, *slice.schema.dictionary, entries.offset, entries.length, slice.dictionaries});
    found->second = std::move(column);
  }
  return found->second;
}

void append_dictionary(Column& out, const Field& field, const Slice& slice) {
  const Column& entries = entries_of(field, slice);
  const auto* indices = slice.count == 0 ? nullptr : buffer_of<void>(slice.array, 1, field);
  const char format = slice.schema.format[0];
  const bool is_text = field.type.kind == TypeKind::kUtf8 || field.type.kind == TypeKind::kBinary;
  for (int64_t i = 0; i < slice.count; ++i) {
    if (!slice.valid(i)) {
      append_nulls(out, 1);
      continue;
    }
    const int64_t index = index_at(indices, format, slice.begin + i, field);
    if (index < 0 || index >= static_cast<int64_t>(entries.length))
      fail(field, "a dictionary index lies outside the dictionary");
    const auto entry = static_cast<uint64_t>(index);
    if (is_text) slice.dictionaries.expand(entries.string_at(entry).size());
    const uint64_t before = field.children.empty() ? 0 : out.plain_bytes();
    append_rows(out, entries, entry, entry + 1);
    if (!field.children.empty()) slice.dictionaries.expand(out.plain_bytes() - before);
  }
}

// Months; days and milliseconds; or months, days and nanoseconds.
void append_intervals(Column& out, const Field& field, const Slice& slice) {
  const std::string_view format = slice.schema.format;
  const auto* bytes = slice.count == 0 ? nullptr : buffer_of<char>(slice.array, 1, field);
  for (int64_t i = 0; i < slice.count; ++i) {
    int32_t months = 0, days = 0, millis = 0;
    int64_t rest = 0;
    if (slice.valid(i)) {
      if (format == "tiM") {
        months = ForeignValues<int32_t>(bytes, slice.begin)[i];
      } else if (format == "tiD") {
        std::memcpy(&days, bytes + (slice.begin + i) * 8, sizeof(days));
        std::memcpy(&millis, bytes + (slice.begin + i) * 8 + 4, sizeof(millis));
        rest = int64_t{millis} * 1000;
      } else {
        std::memcpy(&months, bytes + (slice.begin + i) * 16, sizeof(months));
        std::memcpy(&days, bytes + (slice.begin + i) * 16 + 4, sizeof(days));
        std::memcpy(&rest, bytes + (slice.begin + i) * 16 + 8, sizeof(rest));
      }
    }
    out.children[0].values.push(months);
    out.children[1].values.push(days);
    out.children[2].values.push(rest);
  }
  for (Column& part : out.children) part.length += static_cast<uint64_t>(slice.count);
}

// Values only; the caller has appended validity and counts the rows afterwards.
void append_values(Column& out, const Field& field, const Slice& slice) {
  const std::string_view format = slice.schema.format;
  switch (field.type.kind) {
    case TypeKind::kBool: {
      uint8_t* target = grow_values<uint8_t>(out, slice.count);
      const auto* bits = slice.count == 0 ? nullptr : buffer_of<uint8_t>(slice.array, 1, field);
      for (int64_t i = 0; i < slice.count; ++i)
        target[i] = slice.valid(i) && get_bit(bits, static_cast<uint64_t>(slice.begin + i));
      return;
    }
    case TypeKind::kDecimal: {
      const std::string_view bits = decimal_bits(format);
      if (bits == "32") return append_decimal_from<int32_t>(out, field, slice);
      if (bits == "64") return append_decimal_from<int64_t>(out, field, slice);
      return append_decimal_from<int128_t>(out, field, slice);
    }
    case TypeKind::kDate:
      if (format != "tdm") break;
      return append_converted<int64_t, int32_t>(out, field, slice, [&](int64_t millis) {
        const int64_t days = millis / kMillisPerDay - (millis % kMillisPerDay < 0);
        if (days < std::numeric_limits<int32_t>::min() || days > std::numeric_limits<int32_t>::max())
          fail(field, "a date lies outside 32 bits of days", ErrorCode::kOutOfRange);
        return static_cast<int32_t>(days);
      });
    case TypeKind::kTime:
      if (field.type.unit != TimeUnit::kSecond && field.type.unit != TimeUnit::kMilli) break;
      return append_converted<int32_t, int64_t>(out, field, slice, [](int32_t value) { return int64_t{value}; });
    case TypeKind::kUuid: {
      using Raw = std::array<uint8_t, 16>;
      return append_converted<Raw, int128_t>(out, field, slice,
                                             [](const Raw& raw) { return arrow::uuid_from_bytes(raw.data()); });
    }
    case TypeKind::kUtf8:
    case TypeKind::kBinary:
      if (format[0] == 'v') return append_views(out, field, slice);
      if (format[0] == 'w') return append_fixed_binary(out, field, slice, std::stoul(std::string(format.substr(2))));
      if (format[0] == 'U' || format[0] == 'Z') return append_strings<int64_t>(out, field, slice);
      return append_strings<int32_t>(out, field, slice);
    case TypeKind::kList: {
      if (format == "+L") return append_offset_lists<int64_t>(out, field, slice);
      if (format == "+l" || format == "+m") return append_offset_lists<int32_t>(out, field, slice);
      const int64_t size = std::stol(std::string(format.substr(3)));
      return append_lists(out, field, slice, [&](int64_t i) {
        return std::pair{(slice.begin + i) * size, (slice.begin + i + 1) * size};
      });
    }
    case TypeKind::kStruct: {
      if (field.meaning == Meaning::kInterval) return append_intervals(out, field, slice);
      const Buffer valid = slice.valid_rows();
      for (size_t i = 0; i < field.children.size(); ++i) {
        Slice member = child_slice(slice, static_cast<int64_t>(i), slice.begin, slice.count, field);
        if (!valid.empty()) member.mask = valid.as<uint8_t>();
        append_slice(out.children[i], field.children[i], member);
      }
      return;
    }
    default: break;
  }
  append_raw(out, field, slice, width_of(physical_of(field.type)));
}

void append_slice(Column& out, const Field& field, const Slice& slice) {
  if (slice.schema.dictionary != nullptr) {
    if (slice.array.dictionary == nullptr) fail(field, "the Arrow array lacks its dictionary");
    return append_dictionary(out, field, slice);
  }
  // Arrow stores nothing of a column of type null.
  if (field.meaning == Meaning::kNull) return append_nulls(out, static_cast<uint64_t>(slice.count));
  append_validity(out, slice);
  append_values(out, field, slice);
  out.length += static_cast<uint64_t>(slice.count);
}

}  // namespace

Table arrow::import_rows(const ArrowArray& array, const ArrowSchema& arrow_schema, const Schema& schema, int64_t first,
                         int64_t count, uint64_t most_expanded) {
  if (array.n_children != static_cast<int64_t>(schema.fields.size()) || arrow_schema.n_children != array.n_children)
    throw Error(ErrorCode::kInvalidArgument, "the Arrow batch has another number of columns than its schema");
  Table table;
  table.schema = schema;
  table.rows = static_cast<uint64_t>(count);
  Dictionaries dictionaries;
  dictionaries.most_expanded = most_expanded;
  const Slice batch{array, arrow_schema, array.offset + first, count, dictionaries};
  for (int64_t i = 0; i < count && batch.validity() != nullptr; ++i)
    if (!batch.valid(i))
      throw Error(ErrorCode::kUnsupported, "the Arrow batch has NULL rows: a table has only NULL values");
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    Column column = make_column(field);
    append_slice(column, field, child_slice(batch, static_cast<int64_t>(i), batch.begin, count, field));
    table.columns.push_back(std::move(column));
  }
  return table;
}

Table import_batch(const ArrowArray& array, const ArrowSchema& arrow_schema, const Schema& schema) {
  return arrow::import_rows(array, arrow_schema, schema, 0, array.length, ~uint64_t{0});
}

}  // namespace basalt
