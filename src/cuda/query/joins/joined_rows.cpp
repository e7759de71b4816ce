#include "cuda/query/joins/joined_rows.h"

#include "basalt/core/error.h"
#include "cuda/query/joins/places.h"

namespace basalt::cuda {

namespace {

void require_places(uint64_t rows) {
  if (rows >= kMissing) throw Error(ErrorCode::kUnsupported, "a join of 2^32 rows or more");
}

}  // namespace

JoinedRows::JoinedRows(std::shared_ptr<const DeviceTable> table, const std::vector<uint32_t>& columns,
                       cudaStream_t stream)
    : stream_(stream), rows_(table->rows) {
  require_places(rows_);
  add(std::move(table), columns, {}, false);
}

void JoinedRows::add(std::shared_ptr<const DeviceTable> table, const std::vector<uint32_t>& columns,
                     const DeviceBuffer& places, bool may_miss) {
  const auto input = static_cast<uint32_t>(inputs_.size());
  inputs_.push_back({std::move(table), places, places.data() == nullptr, may_miss});
  for (const uint32_t column : columns) columns_.push_back({input, column});
}

void JoinedRows::keep(const DeviceBuffer& places, uint64_t count, bool may_miss) {
  require_places(count);
  rows_ = count;
  for (Input& input : inputs_) {
    input.places =
        input.in_place ? places : places_of_places(input.places.as<uint32_t>(), places.as<uint32_t>(), count, stream_);
    input.in_place = false;
    input.may_miss = input.may_miss || may_miss;
  }
}

uint64_t JoinedRows::bytes() const {
  uint64_t sum = 0;
  for (const Input& input : inputs_) sum += input.places.bytes() + bytes_of(*input.table);
  return sum;
}

DeviceColumn JoinedRows::column(uint32_t number) const {
  const Place& place = columns_.at(number);
  const Input& input = inputs_[place.input];
  const DeviceColumn& column = input.table->columns.at(place.column);
  if (input.in_place) return column;
  return column_at(column, input.places.as<uint32_t>(), rows_, input.may_miss, stream_);
}

DeviceTable JoinedRows::table(const std::vector<uint32_t>& numbers) const {
  DeviceTable out;
  out.rows = rows_;
  for (const uint32_t number : numbers) out.columns.push_back(column(number));
  return out;
}

}  // namespace basalt::cuda
