#include "exec/cpu/rows_sink.h"

#include <algorithm>

#include "exec/cpu/sort.h"

namespace basalt::exec {

namespace {

// Rows beyond the wanted ones that are kept before they are sorted out.
constexpr uint64_t kSlack = 64 * kTileRows;

}  // namespace

void PartRows::put(size_t part, uint64_t rows) {
  std::lock_guard lock(mutex_);
  rows_[part] = rows;
}

uint64_t PartRows::before(size_t part) const {
  std::lock_guard lock(mutex_);
  uint64_t rows = 0;
  for (auto place = rows_.begin(); place != rows_.lower_bound(part); ++place) rows += place->second;
  return rows;
}

// How many rows of a part can be among the result's.
uint64_t RowsSink::wanted() const {
  if (pipeline_.limit == kAllRows || pipeline_.limit > kAllRows - pipeline_.offset) return kAllRows;
  return pipeline_.limit + pipeline_.offset;
}

void RowsSink::start() {
  columns_.clear();
  for (const Field& field : pipeline_.output) columns_.emplace_back(field);
  rows_ = 0;
}

bool RowsSink::open(const PartBegin& part) {
  part_ = part.part;
  steps_.clear();
  for (const Expr& expr : pipeline_.rows) steps_.push_back(prepare(expr, part.stats));
  start();
  enough_before_ = pipeline_.order.empty() && wanted() != kAllRows && done_.before(part_) >= wanted();
  return wanted() > 0;
}

void RowsSink::add(TileInput& input, uint64_t) {
  const uint64_t most = wanted();
  if (full()) return;
  live_rows_.clear();
  const uint8_t* live = input.live();
  for (uint32_t i = 0; i < input.rows(); ++i) {
    if (live == nullptr || live[i] != 0) live_rows_.push_back(static_cast<uint16_t>(i));
  }
  const auto count = static_cast<uint32_t>(live_rows_.size());
  for (size_t i = 0; i < steps_.size(); ++i) columns_[i].add_rows(evaluate(steps_[i], input), live_rows_.data(), count);
  rows_ += count;
  if (pipeline_.order.empty() || most == kAllRows || rows_ < most + kSlack) return;
  const Table best = first_rows(take(), pipeline_.order, most, 0, cancel_);
  start();
  for (size_t i = 0; i < columns_.size(); ++i) columns_[i].add_column(best.columns[i]);
  rows_ = best.rows;
}

Table RowsSink::take() {
  Table table;
  table.rows = rows_;
  table.schema.fields = pipeline_.output;
  for (ColumnBuilder& column : columns_) table.columns.push_back(column.take());
  return table;
}

void RowsSink::close() {
  if (rows_ > 0) {
    done_.put(part_, rows_);
    parts_[part_] = take();
  }
  start();
}

Table RowsSink::finish(const Pipeline& pipeline, const std::vector<std::unique_ptr<TileSink>>& sinks,
                       const CancelToken* cancel) {
  std::map<size_t, const Table*> parts;
  for (const auto& sink : sinks) {
    for (const auto& [part, table] : static_cast<const RowsSink&>(*sink).parts_) parts[part] = &table;
  }
  Table all;
  all.schema.fields = pipeline.output;
  for (const Field& field : pipeline.output) all.columns.push_back(make_column(field));
  for (const auto& [part, table] : parts) {
    if (cancel != nullptr) cancel->check();
    for (size_t i = 0; i < all.columns.size(); ++i) append_rows(all.columns[i], table->columns[i], 0, table->rows);
    all.rows += table->rows;
  }
  if (pipeline.order.empty() && pipeline.limit == kAllRows && pipeline.offset == 0) return all;
  return first_rows(std::move(all), pipeline.order, pipeline.limit, pipeline.offset, cancel);
}

}  // namespace basalt::exec
