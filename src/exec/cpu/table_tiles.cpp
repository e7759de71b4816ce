#include "exec/cpu/table_tiles.h"

#include <algorithm>

#include "basalt/core/error.h"
#include "core/dispatch.h"
#include "exec/loops.h"

namespace basalt::exec {

TableTiles::TableTiles(const Table& table) : table_(table), room_(table.columns.size()) {}

void TableTiles::begin(uint32_t tile) {
  first_ = uint64_t{tile} * kTileRows;
  rows_ = static_cast<uint32_t>(std::min<uint64_t>(kTileRows, table_.rows - first_));
}

const uint8_t* TableTiles::valid(uint32_t index) {
  const Column& column = table_.columns.at(index);
  if (column.validity.empty()) return nullptr;
  Buffer& room = room_[index].valid;
  room.resize(kTileRows);
  for (uint32_t i = 0; i < rows_; ++i) room.as<uint8_t>()[i] = column.is_valid(first_ + i) ? 1 : 0;
  return room.as<uint8_t>();
}

Vector TableTiles::column(uint32_t index, Lane lane) {
  const Column& column = table_.columns.at(index);
  const Physical type = physical_of(column.type);
  Room& room = room_[index];
  for (int i = 0; i < 2; ++i) {
    if (room.lanes[i] == lane && room.firsts[i] == first_) return {lane, room.values[i].data(), valid(index)};
  }
  const int place = room.firsts[0] == first_ ? 1 : 0;
  room.lanes[place] = lane;
  room.firsts[place] = first_;
  Buffer& values = room.values[place];
  values.resize(kTileRows * width_of(lane));
  if (lane == Lane::kBytes) {
    for (uint32_t i = 0; i < rows_; ++i) values.as<std::string_view>()[i] = column.string_at(first_ + i);
  } else if (lane == Lane::kF32) {
    std::copy_n(column.values.as<float>() + first_, rows_, values.as<float>());
  } else if (lane == Lane::kF64) {
    std::copy_n(column.values.as<double>() + first_, rows_, values.as<double>());
  } else {
    dispatch_typed(type, [&](auto from) {
      using From = decltype(from);
      if constexpr (!std::is_floating_point_v<From>) {
        dispatch_integer_lane(
            lane, [&](auto to) { convert_loop(column.values.as<From>() + first_, values.as<decltype(to)>(), rows_); });
      }
    });
  }
  return {lane, values.data(), valid(index)};
}

}  // namespace basalt::exec
