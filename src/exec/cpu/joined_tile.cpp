#include "exec/cpu/joined_tile.h"

#include <algorithm>
#include <cstring>

#include "core/dispatch.h"
#include "exec/loops.h"

namespace basalt::exec {

namespace {

size_t place_of(Lane lane) { return static_cast<size_t>(lane); }

// body(T{}) with the type that a lane holds.
template <typename Body>
void dispatch_lane(Lane lane, const Body& body) {
  switch (lane) {
    case Lane::kF32: return body(float{});
    case Lane::kF64: return body(double{});
    case Lane::kBytes: return body(std::string_view{});
    case Lane::kBool: return body(uint8_t{});
    default: return dispatch_integer_lane(lane, body);
  }
}

}  // namespace

JoinedTile::JoinedTile(size_t before, const std::vector<PipelineColumn>& fetched, const Table& table)
    : before_(before), rooms_(before + fetched.size()) {
  for (const PipelineColumn& column : fetched) fetched_.push_back(&table.columns.at(column.field_id));
}

void JoinedTile::begin(TileInput* tile) { tile_ = tile; }

void JoinedTile::set_pairs(std::vector<Pair> pairs) {
  pairs_ = std::move(pairs);
  misses_partners_ = std::ranges::any_of(pairs_, [](const Pair& pair) { return pair.partner == kMissing; });
  ++number_;
}

const uint8_t* JoinedTile::valid(uint32_t index) {
  Room& room = rooms_[index];
  if (room.valid.made_for == number_) return room.all_valid ? nullptr : room.valid.data.as<uint8_t>();
  room.valid.made_for = number_;
  room.all_valid = false;
  room.valid.data.resize(kTileRows);
  auto* out = room.valid.data.as<uint8_t>();
  if (index >= before_) {
    const Column& column = *fetched_[index - before_];
    room.all_valid = !misses_partners_ && column.validity.empty();
    for (size_t i = 0; !room.all_valid && i < pairs_.size(); ++i) {
      out[i] = pairs_[i].partner != kMissing && column.is_valid(pairs_[i].partner) ? 1 : 0;
    }
  } else if (tile_ == nullptr) {
    std::fill_n(out, pairs_.size(), uint8_t{0});
  } else {
    const uint8_t* of_tile = tile_->valid(index);
    room.all_valid = of_tile == nullptr;
    for (size_t i = 0; of_tile != nullptr && i < pairs_.size(); ++i) out[i] = of_tile[pairs_[i].row];
  }
  return room.all_valid ? nullptr : out;
}

void JoinedTile::of_table(const Column& column, Lane lane, void* out) const {
  if (lane == Lane::kBytes) {
    auto* texts = static_cast<std::string_view*>(out);
    for (size_t i = 0; i < pairs_.size(); ++i) {
      texts[i] = pairs_[i].partner == kMissing ? std::string_view() : column.string_at(pairs_[i].partner);
    }
    return;
  }
  dispatch_typed(physical_of(column.type), [&](auto from) {
    using From = decltype(from);
    const From* values = column.values.as<From>();
    dispatch_lane(lane, [&](auto to) {
      using To = decltype(to);
      if constexpr (!std::is_same_v<To, std::string_view>) {
        for (size_t i = 0; i < pairs_.size(); ++i) {
          static_cast<To*>(out)[i] = pairs_[i].partner == kMissing ? To{} : static_cast<To>(values[pairs_[i].partner]);
        }
      }
    });
  });
}

Vector JoinedTile::column(uint32_t index, Lane lane) {
  Room& room = rooms_[index];
  Values& values = room.lanes[place_of(lane)];
  if (values.made_for != number_) {
    values.made_for = number_;
    values.data.resize(kTileRows * width_of(lane));
    if (index >= before_) {
      of_table(*fetched_[index - before_], lane, values.data.data());
    } else if (tile_ == nullptr) {
      std::memset(values.data.data(), 0, values.data.size());
    } else {
      const Vector from = tile_->column(index, lane);
      dispatch_lane(lane, [&](auto tag) {
        using T = decltype(tag);
        T* out = values.data.as<T>();
        for (size_t i = 0; i < pairs_.size(); ++i) out[i] = from.as<T>()[pairs_[i].row];
      });
    }
  }
  return {lane, values.data.data(), valid(index)};
}

void MarkedTile::set_mark(uint32_t index, const uint8_t* values, const uint8_t* valid) {
  mark_ = index;
  mark_values_ = values;
  mark_valid_ = valid;
}

Vector MarkedTile::column(uint32_t index, Lane lane) {
  if (index != mark_) return NarrowedInput::column(index, lane);
  if (lane == Lane::kBool) return {lane, mark_values_, mark_valid_};
  Buffer& out = mark_lanes_[place_of(lane)];
  out.resize(kTileRows * width_of(lane));
  dispatch_integer_lane(lane, [&](auto to) { convert_loop(mark_values_, out.as<decltype(to)>(), rows()); });
  return {lane, out.data(), mark_valid_};
}

}  // namespace basalt::exec
