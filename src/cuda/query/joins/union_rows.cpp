#include "cuda/query/joins/union_rows.h"

#include <algorithm>

#include "cuda/query/common_texts.h"

namespace basalt::cuda {

namespace {

using Tables = std::vector<std::shared_ptr<const DeviceTable>>;

// The arrays of all tables, `get` of each; where a table has none, ones.
template <typename Get>
DeviceBuffer put_together(const Tables& tables, uint64_t rows, uint32_t width, const Get& get, cudaStream_t stream) {
  DeviceBuffer out(rows * width, stream);
  auto* to = out.as<std::byte>();
  for (size_t i = 0; i < tables.size(); ++i) {
    const uint64_t bytes = tables[i]->rows * width;
    const DeviceBuffer from = get(i);
    if (bytes == 0) continue;
    if (from.data() == nullptr) {
      check(cudaMemsetAsync(to, 1, bytes, stream), "marking rows");
    } else {
      check(cudaMemcpyAsync(to, from.data(), bytes, cudaMemcpyDeviceToDevice, stream), "putting rows together");
    }
    to += bytes;
  }
  return out;
}

std::optional<exec::IntegerRange> range_of_all(const Tables& tables, size_t column) {
  std::optional<exec::IntegerRange> range = tables[0]->columns[column].range;
  for (const auto& table : tables) {
    const std::optional<exec::IntegerRange>& own = table->columns[column].range;
    if (!range || !own) return std::nullopt;
    range = exec::IntegerRange{std::min(range->low, own->low), std::max(range->high, own->high)};
  }
  return range;
}

DeviceColumn union_column(const Tables& tables, size_t column, uint64_t rows, cudaStream_t stream) {
  const auto at = [&](size_t table) -> const DeviceColumn& { return tables[table]->columns[column]; };
  DeviceColumn out;
  out.field = at(0).field;
  out.range = range_of_all(tables, column);
  const bool nulls =
      std::ranges::any_of(tables, [&](const auto& table) { return table->columns[column].validity.data() != nullptr; });
  if (nulls) {
    out.validity = put_together(
        tables, rows, 1, [&](size_t i) { return at(i).validity; }, stream);
  }
  const Physical type = physical_of(out.field.type);
  if (type != Physical::kBytes) {
    out.values = put_together(
        tables, rows, width_of(type), [&](size_t i) { return at(i).values; }, stream);
    return out;
  }
  std::vector<TextColumn> columns;
  for (size_t i = 0; i < tables.size(); ++i) columns.push_back({&at(i), tables[i]->rows});
  CommonTexts common = number_together(columns, stream);
  out.values = put_together(
      tables, rows, sizeof(uint32_t), [&](size_t i) { return common.numbers[i]; }, stream);
  out.texts = std::move(common.texts);
  return out;
}

}  // namespace

DeviceTable union_rows(const Tables& tables, cudaStream_t stream) {
  DeviceTable out;
  for (const auto& table : tables) out.rows += table->rows;
  for (size_t i = 0; i < tables[0]->columns.size(); ++i) {
    out.columns.push_back(union_column(tables, i, out.rows, stream));
  }
  return out;
}

}  // namespace basalt::cuda
