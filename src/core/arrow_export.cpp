// Tables out as Arrow arrays and streams. Buffers are moved, not copied; only what Arrow stores in another form is
// rewritten: booleans as bitmaps, decimals as 128 bits, 32-bit offsets, short times.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "basalt/core/arrow_status.h"
#include "core/arrow_array.h"
#include "core/arrow_format.h"
#include "core/meaning.h"

namespace basalt {
namespace {

constexpr int64_t kMaxOffset = std::numeric_limits<int32_t>::max();

// Buffers move into memory of the owner's; a bitmap that is absent must be a null pointer, also where an empty buffer
// owns memory.
void put_buffers(std::vector<Buffer> buffers, arrow::ArrayOwner& owner) {
  const auto memory = std::make_shared<const std::vector<Buffer>>(std::move(buffers));
  for (const Buffer& buffer : *memory) owner.buffers.push_back(buffer.data());
  if (!memory->empty() && memory->front().empty()) owner.buffers[0] = nullptr;
  owner.memory = memory;
}

Buffer to_bitmap(const Buffer& flags, uint64_t rows) {
  Buffer bits((rows + 7) / 8);
  if (rows == 0) return bits;
  std::memset(bits.data(), 0, bits.size());
  for (uint64_t i = 0; i < rows; ++i)
    bits.as<uint8_t>()[i >> 3] |= static_cast<uint8_t>((flags.as<uint8_t>()[i] & 1) << (i & 7));
  return bits;
}

template <typename To, typename From>
Buffer convert(const Buffer& values, uint64_t rows) {
  Buffer out(rows * sizeof(To));
  for (uint64_t i = 0; i < rows; ++i) out.as<To>()[i] = static_cast<To>(values.as<From>()[i]);
  return out;
}

Buffer widen_decimal(Buffer&& values, const DataType& type, uint64_t rows) {
  switch (physical_of(type)) {
    case Physical::kI16: return convert<int128_t, int16_t>(values, rows);
    case Physical::kI32: return convert<int128_t, int32_t>(values, rows);
    case Physical::kI64: return convert<int128_t, int64_t>(values, rows);
    default: return std::move(values);
  }
}

Buffer uuid_bytes(const Buffer& values, uint64_t rows) {
  Buffer out(rows * 16);
  for (uint64_t i = 0; i < rows; ++i) arrow::uuid_to_bytes(values.as<int128_t>()[i], out.as<uint8_t>() + i * 16);
  return out;
}

Buffer narrow_offsets(const Buffer& offsets, uint64_t rows) {
  if (offsets.as<int64_t>()[rows] > kMaxOffset)
    throw Error(
        ErrorCode::kUnsupported,
        "an Arrow batch would hold more than 2 GiB of one column's strings or list elements: ask for fewer rows");
  return convert<int32_t, int64_t>(offsets, rows + 1);
}

Buffer arrow_values(Column& column) {
  switch (column.type.kind) {
    case TypeKind::kBool: return to_bitmap(column.values, column.length);
    case TypeKind::kDecimal: return widen_decimal(std::move(column.values), column.type, column.length);
    case TypeKind::kUuid: return uuid_bytes(column.values, column.length);
    case TypeKind::kTime:
      if (column.type.unit == TimeUnit::kSecond || column.type.unit == TimeUnit::kMilli)
        return convert<int32_t, int64_t>(column.values, column.length);
      return std::move(column.values);
    default: return std::move(column.values);
  }
}

// Arrow has places for the elements of NULL arrays.
Column fill_null_arrays(const Column& column, const Field& field) {
  check_null_arrays(column, field);
  if (const char* broken = broken_promise(column, field, false))
    throw Error(ErrorCode::kCorrupt, "column " + field.name + ": " + broken);
  Column out = make_column(field.children[0]);
  const int64_t* offsets = column.offsets.as<int64_t>();
  for (uint64_t row = 0; row < column.length; ++row) {
    if (column.is_valid(row))
      append_rows(out, column.children[0], static_cast<uint64_t>(offsets[row]),
                  static_cast<uint64_t>(offsets[row + 1]));
    else
      append_nulls(out, field.array_size);
  }
  return out;
}

Buffer interval_values(const Column& column, const Field& field) {
  struct Interval {
    int32_t months;
    int32_t days;
    int64_t nanos;
  };
  Buffer out(column.length * sizeof(Interval));
  for (uint64_t row = 0; row < column.length; ++row) {
    Interval value{column.children[0].values.as<int32_t>()[row], column.children[1].values.as<int32_t>()[row],
                   column.children[2].values.as<int64_t>()[row]};
    if (field.type.unit == TimeUnit::kMicro && __builtin_mul_overflow(value.nanos, int64_t{1000}, &value.nanos))
      throw Error(ErrorCode::kOutOfRange, "column " + field.name + ": an interval is too long for nanoseconds");
    out.as<Interval>()[row] = value;
  }
  return out;
}

void export_column(Column&& column, const Field& field, ArrowArray* out) {
  auto owner = std::make_unique<arrow::ArrayOwner>();
  if (field.meaning == Meaning::kNull) return finish_array(std::move(owner), column.length, column.length, out);
  if (field.meaning == Meaning::kInterval) {
    column.values = interval_values(column, field);
    column.children.clear();
  }
  if (field.meaning == Meaning::kArray) column.children[0] = fill_null_arrays(column, field);
  std::vector<Buffer> buffers;
  buffers.push_back(std::move(column.validity));
  switch (column.type.kind) {
    case TypeKind::kUtf8:
    case TypeKind::kBinary:
      buffers.push_back(narrow_offsets(column.offsets, column.length));
      buffers.push_back(std::move(column.bytes));
      break;
    case TypeKind::kList:
      if (field.meaning != Meaning::kArray) buffers.push_back(narrow_offsets(column.offsets, column.length));
      break;
    case TypeKind::kStruct:
      if (field.meaning == Meaning::kInterval) buffers.push_back(std::move(column.values));
      break;
    default: buffers.push_back(arrow_values(column));
  }
  put_buffers(std::move(buffers), *owner);
  owner->children.resize(column.children.size());
  for (size_t i = 0; i < column.children.size(); ++i)
    export_column(std::move(column.children[i]), field.children[i], &owner->children[i]);
  finish_array(std::move(owner), column.length, column.null_count, out);
}

// Most rows of a column, from `begin`, whose strings and elements stay under Arrow's 32-bit offsets, and the places of
// NULL arrays under their limit.
uint64_t exportable_rows(const Column& column, const Field& field, uint64_t begin, uint64_t end) {
  if (field.meaning == Meaning::kArray && column.null_count != 0) {
    const uint64_t most = std::max<uint64_t>(kMostNullArrayBytes / std::max<uint64_t>(place_bytes(field), 1), 1);
    end = std::min(end, begin + most);
  }
  if (!column.offsets.empty()) {
    const int64_t* at = column.offsets.as<int64_t>();
    while (end > begin + 1 && at[end] - at[begin] > kMaxOffset) end = begin + (end - begin) / 2;
    if (column.type.kind == TypeKind::kList)
      while (end > begin + 1 && exportable_rows(column.children[0], field.children[0], static_cast<uint64_t>(at[begin]),
                                                static_cast<uint64_t>(at[end])) < static_cast<uint64_t>(at[end]))
        end = begin + (end - begin) / 2;
    return end;
  }
  for (size_t i = 0; i < column.children.size(); ++i)
    end = exportable_rows(column.children[i], field.children[i], begin, end);
  return end;
}

class Stream {
 public:
  Stream(Schema schema, std::function<std::unique_ptr<Table>()> next)
      : schema_(std::move(schema)), next_(std::move(next)) {}

  static int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
    return self(stream).guarded([&](Stream& s) { export_schema(s.schema_, out); });
  }
  static int get_next(ArrowArrayStream* stream, ArrowArray* out) {
    return self(stream).guarded([&](Stream& s) { s.next_batch(out); });
  }
  static const char* get_last_error(ArrowArrayStream* stream) {
    const std::string& error = self(stream).error_;
    return error.empty() ? nullptr : error.c_str();
  }
  static void release(ArrowArrayStream* stream) {
    delete &self(stream);
    stream->release = nullptr;
    stream->private_data = nullptr;
  }

 private:
  static Stream& self(ArrowArrayStream* stream) { return *static_cast<Stream*>(stream->private_data); }

  template <typename Body>
  int guarded(Body body) noexcept {
    try {
      error_.clear();
      body(*this);
      return 0;
    } catch (const Error& error) {
      error_ = error.what();
      return arrow_status(error.code());
    } catch (const std::bad_alloc&) {
      error_ = "out of memory";
      return ENOMEM;
    } catch (const std::exception& error) {
      error_ = error.what();
      return EIO;
    }
  }

  void next_batch(ArrowArray* out) {
    *out = ArrowArray{};
    if (rest_ == nullptr) {
      rest_ = next_();
      done_ = 0;
    }
    if (rest_ == nullptr) return;
    uint64_t end = rest_->rows;
    for (size_t i = 0; i < rest_->columns.size(); ++i)
      end = exportable_rows(rest_->columns[i], schema_.fields[i], done_, end);
    if (done_ == 0 && end == rest_->rows) {
      export_batch(std::move(*std::exchange(rest_, nullptr)), out);
      return;
    }
    Table part;
    part.schema = schema_;
    part.rows = end - done_;
    for (size_t i = 0; i < rest_->columns.size(); ++i) {
      part.columns.push_back(make_column(schema_.fields[i]));
      append_rows(part.columns.back(), rest_->columns[i], done_, end);
    }
    done_ = end;
    if (done_ == rest_->rows) rest_ = nullptr;
    export_batch(std::move(part), out);
  }

  Schema schema_;
  std::function<std::unique_ptr<Table>()> next_;
  std::unique_ptr<Table> rest_;  // a table too large for one batch, rows before done_ already given
  uint64_t done_ = 0;
  std::string error_;
};

}  // namespace

namespace arrow {

void finish_array(std::unique_ptr<ArrayOwner> owner, uint64_t length, uint64_t null_count, ArrowArray* out) {
  for (ArrowArray& child : owner->children) owner->child_pointers.push_back(&child);
  *out = ArrowArray{};
  out->length = static_cast<int64_t>(length);
  out->null_count = static_cast<int64_t>(null_count);
  out->n_buffers = static_cast<int64_t>(owner->buffers.size());
  out->n_children = static_cast<int64_t>(owner->children.size());
  out->buffers = owner->buffers.data();
  out->children = owner->child_pointers.data();
  out->release = [](ArrowArray* array) {
    delete static_cast<ArrayOwner*>(array->private_data);
    array->release = nullptr;
    array->private_data = nullptr;
  };
  out->private_data = owner.release();
}

}  // namespace arrow

void export_batch(Table&& table, ArrowArray* out) {
  if (table.schema.fields.size() != table.columns.size())
    throw Error(ErrorCode::kInvalidArgument, "a table without its schema cannot become an Arrow batch");
  auto owner = std::make_unique<arrow::ArrayOwner>();
  owner->buffers.push_back(nullptr);
  owner->children.resize(table.columns.size());
  for (size_t i = 0; i < table.columns.size(); ++i)
    export_column(std::move(table.columns[i]), table.schema.fields[i], &owner->children[i]);
  finish_array(std::move(owner), table.rows, 0, out);
}

void export_stream(const Schema& schema, std::function<std::unique_ptr<Table>()> next, ArrowArrayStream* out) {
  *out = ArrowArrayStream{};
  out->private_data = new Stream(schema, std::move(next));
  out->get_schema = Stream::get_schema;
  out->get_next = Stream::get_next;
  out->get_last_error = Stream::get_last_error;
  out->release = Stream::release;
}

}  // namespace basalt
