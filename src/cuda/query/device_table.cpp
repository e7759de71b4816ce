#include "cuda/query/device_table.h"

#include <algorithm>
#include <bit>

#include "core/dispatch.h"
#include "cuda/query/row_arrays.h"

namespace basalt::cuda {

namespace {

// From or to a power of two, as planned_rows().
exec::IntegerRange widened(const exec::IntegerRange& range) {
  exec::IntegerRange out{0, 0};
  while (out.low > range.low) out.low = out.low == 0 ? -1 : out.low * 2;
  while (out.high < range.high) out.high = out.high * 2 + 1;
  return out;
}

// Of integers, where their sums could not leave 128 bits.
std::optional<exec::IntegerRange> range_of(const Column& column, Physical type) {
  constexpr int128_t kMost = int128_t{1} << 96;
  if (!is_integer(type)) return std::nullopt;
  exec::IntegerRange range{0, 0};
  dispatch_typed(type, [&](auto value) {
    using T = decltype(value);
    if constexpr (!std::is_floating_point_v<T>) {
      for (uint64_t i = 0; i < column.length; ++i) {
        if (!column.is_valid(i)) continue;
        const auto own = static_cast<int128_t>(column.values.as<T>()[i]);
        range.low = std::min(range.low, own);
        range.high = std::max(range.high, own);
      }
    }
  });
  if (range.low < -kMost || range.high > kMost) return std::nullopt;
  return widened(range);
}

DeviceColumn upload_column(const Field& field, const Column& column, cudaStream_t stream) {
  DeviceColumn out;
  out.field = field;
  if (column.null_count > 0) {
    Buffer valid(column.length);
    for (uint64_t i = 0; i < column.length; ++i) valid.as<uint8_t>()[i] = column.is_valid(i) ? 1 : 0;
    out.validity = upload(valid.data(), valid.size(), stream);
  }
  const Physical type = physical_of(field.type);
  if (type != Physical::kBytes) {
    out.values = upload(column.values.data(), column.values.size(), stream);
    out.range = range_of(column, type);
    return out;
  }
  out.values = counting(column.length, stream);
  auto texts = std::make_shared<DeviceTexts>();
  texts->count = column.length;
  texts->offsets = upload(column.offsets.data(), column.offsets.size(), stream);
  texts->bytes = upload(column.bytes.data(), column.bytes.size(), stream);
  out.texts = std::move(texts);
  return out;
}

}  // namespace

std::shared_ptr<const DeviceTexts> as_device_texts(DeviceStrings strings) {
  auto out = std::make_shared<DeviceTexts>();
  out->count = strings.count;
  out->offsets = std::move(strings.offsets);
  out->bytes = std::move(strings.bytes);
  return out;
}

DeviceTable upload_table(const Table& table, cudaStream_t stream) {
  DeviceTable out;
  out.rows = table.rows;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    out.columns.push_back(upload_column(table.schema.fields.at(i), table.columns[i], stream));
  }
  return out;
}

TextList list_of(const DeviceColumn& column, cudaStream_t stream) {
  TextList out;
  if (column.texts != nullptr) {
    const DeviceTexts& texts = *column.texts;
    out.at = {texts.bytes.as<uint64_t>(), texts.offsets.as<int64_t>(), 0};
    out.count = texts.count;
  } else if (column.listed != nullptr) {
    const StringRows& entries = column.listed->entries;
    out.offsets = upload(entries.offsets.data(), entries.offsets.size() * sizeof(int64_t), stream);
    out.bytes = upload(entries.bytes.data(), entries.bytes.size(), stream);
    out.at = {out.bytes.as<uint64_t>(), out.offsets.as<int64_t>(), 0};
    out.count = entries.size();
  }
  return out;
}

uint64_t planned_rows(uint64_t rows) {
  uint64_t bound = kTileRows;
  while (bound < rows) bound *= 16;
  return bound;
}

Statistics statistics_of(const DeviceColumn& column, uint64_t rows) {
  const Physical type = physical_of(column.field.type);
  const bool text = type == Physical::kBytes;
  Statistics stats;
  // Some, or none: one NULL of one row would say that there is no value.
  stats.rows = planned_rows(rows);
  stats.null_count = column.validity.data() != nullptr ? 1 : 0;
  stats.min = Value::of_null(text ? Physical::kU32 : type);
  stats.max = stats.min;
  if (column.range) {
    stats.min = Value::of_integer(type, column.range->low);
    stats.max = Value::of_integer(type, column.range->high);
  }
  if (!text) return stats;
  const uint64_t entries = column.listed != nullptr  ? column.listed->entries.size()
                           : column.texts != nullptr ? std::bit_ceil(column.texts->count)
                                                     : 0;
  stats.min = Value::of_integer(Physical::kU32, 0);
  stats.max = Value::of_integer(Physical::kU32, entries == 0 ? 0 : static_cast<int128_t>(entries) - 1);
  return stats;
}

std::vector<device::ArrayShape> shapes_of(const DeviceTable& table) {
  std::vector<device::ArrayShape> shapes;
  for (const DeviceColumn& column : table.columns) {
    device::ArrayShape& shape = shapes.emplace_back();
    const Physical type = physical_of(column.field.type);
    shape.type = type == Physical::kBytes ? Physical::kU32 : type;
    shape.nullable = column.validity.data() != nullptr;
    shape.stats = statistics_of(column, table.rows);
    shape.listed = column.listed;
  }
  return shapes;
}

uint64_t bytes_of(const DeviceTable& table) {
  uint64_t sum = 0;
  for (const DeviceColumn& column : table.columns) {
    sum += column.values.bytes() + column.validity.bytes();
    if (column.texts != nullptr) sum += column.texts->offsets.bytes() + column.texts->bytes.bytes();
  }
  return sum;
}

DeviceColumn row_numbers(uint64_t rows, cudaStream_t stream) {
  DeviceColumn column;
  column.field.name = "row";
  column.field.type = {TypeKind::kUInt32};
  column.values = counting(rows, stream);
  column.range = exec::IntegerRange{0, static_cast<int128_t>(planned_rows(rows)) - 1};
  return column;
}

void read_columns(const DeviceTable& table, Pipeline& stage) {
  stage.columns.clear();
  for (const DeviceColumn& column : table.columns) {
    const auto place = static_cast<uint32_t>(stage.columns.size());
    stage.columns.push_back({place, column.field.name, column.field.type});
  }
}

}  // namespace basalt::cuda
