// Decoding tiles into lanes, with the short cuts for `packed`.
#include "exec/array_tiles.h"

#include <algorithm>
#include <utility>

#include "basalt/core/error.h"
#include "codec/packed/layout.h"
#include "core/dispatch.h"
#include "core/packing.h"
#include "core/saturating.h"
#include "exec/bounds.h"
#include "exec/loops.h"

namespace basalt::exec {

namespace {

// Up to this many rows of a packed tile are extracted one by one; beyond, unpacking all of them is cheaper.
constexpr uint32_t kSingleRows = 96;
// Memory for strings that is kept for the next tile.
constexpr uint64_t kKeptBytes = 16 << 20;

template <typename T>
T* room(Buffer& buffer) {
  buffer.resize(kTileRows * sizeof(T));
  return buffer.as<T>();
}

bool is_native(Physical type, Lane lane) {
  switch (lane) {
    case Lane::kI32: return type == Physical::kI32;
    case Lane::kI64: return type == Physical::kI64;
    case Lane::kI128: return type == Physical::kI128;
    case Lane::kF32: return type == Physical::kF32;
    case Lane::kF64: return type == Physical::kF64;
    default: return false;
  }
}

template <typename T>
void select_rows(const T* __restrict in, const uint16_t* __restrict rows, uint32_t count, T* __restrict out) {
  for (uint32_t i = 0; i < count; ++i) out[i] = in[rows[i]];
}

}  // namespace

void ArrayTiles::open(const NodeView& node) {
  node_ = node;
  type_ = node.type;
  count_ = node.count;
  reader_.reset();
  own_room_ = kDecodedLimit;
  packed_ = node.codec->holds_packed_tiles() && is_integer(type_);
  current_ = ~0u;
}

void ArrayTiles::use_tile(uint32_t tile) {
  if (tile == current_) return;
  current_ = tile;
  have_native_ = false;
  std::fill(std::begin(have_lane_), std::end(have_lane_), false);
}

ArrayTiles::PackedTile ArrayTiles::packed_tile(uint32_t tile) const {
  PackedTile out;
  const auto* descriptors = reinterpret_cast<const uint32_t*>(node_.streams[packed::kDescriptors].data());
  const auto* words = reinterpret_cast<const uint32_t*>(node_.streams[packed::kWords].data());
  out.words = words + packed::descriptor_word(descriptors[tile]);
  out.width = packed::descriptor_width(descriptors[tile]);
  const std::byte* references = node_.streams[packed::kReferences].data();
  out.reference = dispatch_typed(type_, [&](auto type) {
    using T = decltype(type);
    T value;
    std::memcpy(&value, references + tile * sizeof(T), sizeof(T));
    return static_cast<int128_t>(value);
  });
  return out;
}

// Values are taken modulo their type. A reference that is not the smallest value, as no writer of ours makes it, may
// carry them over its end, and a wider lane would not bring them back.
bool ArrayTiles::fits_lane(const PackedTile& tile, Lane lane) const {
  const uint32_t lane_bytes = lane == Lane::kI32 ? 4 : 8;
  if (lane_bytes <= basalt::width_of(type_)) return true;
  return tile.reference + static_cast<int128_t>(low_bits(tile.width)) <= range_of(type_).high;
}

Reader& ArrayTiles::reader() {
  if (reader_ != nullptr) return *reader_;
  reader_ = open_reader(node_);
  const uint64_t entries = reader_->entry_bytes() + held_bytes(node_);
  const uint64_t taken = entries - std::min(entries, encoded_bytes(node_));
  if (taken > bytes_left()) fail_decoded_limit(taken, bytes_left());
  bytes_left() -= taken;
  return *reader_;
}

const void* ArrayTiles::decode_native(uint32_t tile) {
  if (!have_native_) {
    native_.resize(kTileRows * basalt::width_of(type_));
    reader().decode_tile(tile, native_.data());
    have_native_ = true;
  }
  return native_.data();
}

void ArrayTiles::use_room(uint64_t* room) {
  held_ = 0;
  forget_strings();
  shared_room_ = room;
}

void ArrayTiles::leave_tile() {
  if (held_ == 0) return;
  forget_strings();
  current_ = ~0u;
}

void ArrayTiles::forget_strings() {
  if (strings_.bytes.size() > kKeptBytes) strings_ = {};
  strings_.clear();
  bytes_left() += std::exchange(held_, 0);
}

const StringRows& ArrayTiles::strings(uint32_t tile) {
  use_tile(tile);
  if (!have_native_) {
    forget_strings();
    const uint64_t stored = encoded_bytes(node_);
    strings_.limit = add_saturated(bytes_left(), stored);
    reader().decode_tile(tile, strings_);
    held_ = std::min(bytes_left(), strings_.bytes.size() - std::min<uint64_t>(strings_.bytes.size(), stored));
    bytes_left() -= held_;
    if (strings_.size() != rows_in_tile(count_, tile)) {
      throw Error(ErrorCode::kCorrupt, "a tile has a wrong number of strings");
    }
    have_native_ = true;
  }
  return strings_;
}

void ArrayTiles::gather_strings(uint32_t tile, const uint16_t* rows, uint32_t count, StringRows& out) {
  out.limit = add_saturated(bytes_left(), encoded_bytes(node_));
  std::vector<uint32_t> of_array(count);
  for (uint32_t i = 0; i < count; ++i) of_array[i] = tile * kTileRows + rows[i];
  reader().gather(of_array, out);
}

const void* ArrayTiles::view_strings(uint32_t tile) {
  const StringRows& rows = strings(tile);
  auto* views = room<std::string_view>(lanes_[static_cast<size_t>(Lane::kBytes)]);
  for (uint32_t i = 0; i < rows.size(); ++i) views[i] = rows.at(i);
  return views;
}

void ArrayTiles::copy_tile(uint32_t tile, void* out) {
  use_tile(tile);
  if (have_native_) {
    std::memcpy(out, native_.data(), native_.size());
    return;
  }
  reader().decode_tile(tile, out);
}

void ArrayTiles::copy_rows(uint32_t tile, const uint16_t* rows, uint32_t count, void* out) {
  use_tile(tile);
  dispatch_width(basalt::width_of(type_), [&](auto type) {
    using U = decltype(type);
    if (packed_ && !have_native_ && count <= kSingleRows) {
      const PackedTile p = packed_tile(tile);
      for (uint32_t i = 0; i < count; ++i) {
        static_cast<U*>(out)[i] =
            static_cast<U>(static_cast<uint128_t>(p.reference) + packed_row(p.words, p.width, rows[i]));
      }
    } else {
      select_rows(static_cast<const U*>(decode_native(tile)), rows, count, static_cast<U*>(out));
    }
  });
}

const void* ArrayTiles::tile(uint32_t tile, Lane lane) {
  use_tile(tile);
  const auto slot = static_cast<size_t>(lane);
  if (is_native(type_, lane) && !packed_) return decode_native(tile);
  if (have_lane_[slot]) return lanes_[slot].data();
  have_lane_[slot] = true;
  if (lane == Lane::kBytes) return view_strings(tile);
  if (packed_ && (lane == Lane::kI32 || lane == Lane::kI64)) {
    const PackedTile p = packed_tile(tile);
    const bool fits = fits_lane(p, lane);
    if (lane == Lane::kI32 && p.width <= 32 && fits) {
      unpack_tile(p.words, p.width, static_cast<uint32_t>(p.reference), room<uint32_t>(lanes_[slot]));
      return lanes_[slot].data();
    }
    if (lane == Lane::kI64 && fits) {
      unpack_tile(p.words, p.width, static_cast<uint64_t>(p.reference), room<uint64_t>(lanes_[slot]));
      return lanes_[slot].data();
    }
  }
  const void* native = decode_native(tile);
  if (!is_integer(lane)) throw Error(ErrorCode::kInternal, "a column was asked for in a lane of another type");
  dispatch_integer_lane(lane, [&](auto to) {
    dispatch_typed(type_, [&](auto from) {
      convert_loop(static_cast<const decltype(from)*>(native), room<decltype(to)>(lanes_[slot]), kTileRows);
    });
  });
  return lanes_[slot].data();
}

const void* ArrayTiles::rows(uint32_t tile, Lane lane, const uint16_t* rows, uint32_t count) {
  use_tile(tile);
  const auto slot = static_cast<size_t>(lane);
  const bool single = packed_ && is_integer(lane) && lane != Lane::kI128 && !have_lane_[slot] && count <= kSingleRows;
  const PackedTile p = single ? packed_tile(tile) : PackedTile();
  if (single && fits_lane(p, lane)) {
    dispatch_integer_lane(lane, [&](auto type) {
      using T = decltype(type);
      T* out = room<T>(selected_[slot]);
      const auto reference = static_cast<uint64_t>(p.reference);
      for (uint32_t i = 0; i < count; ++i) {
        out[i] = static_cast<T>(reference + packed_row(p.words, p.width, rows[i]));
      }
    });
    return selected_[slot].data();
  }
  const void* all = this->tile(tile, lane);
  switch (lane) {
    case Lane::kI32:
    case Lane::kF32:
      select_rows(static_cast<const uint32_t*>(all), rows, count, room<uint32_t>(selected_[slot]));
      break;
    case Lane::kI64:
    case Lane::kF64:
      select_rows(static_cast<const uint64_t*>(all), rows, count, room<uint64_t>(selected_[slot]));
      break;
    case Lane::kI128:
      select_rows(static_cast<const int128_t*>(all), rows, count, room<int128_t>(selected_[slot]));
      break;
    case Lane::kBytes:
      select_rows(static_cast<const std::string_view*>(all), rows, count, room<std::string_view>(selected_[slot]));
      break;
    case Lane::kBool: throw Error(ErrorCode::kInternal, "a column was asked for as a boolean");
  }
  return selected_[slot].data();
}

Answered ArrayTiles::filter_range(uint32_t tile, int128_t low, int128_t high, bool negate, uint8_t* out) {
  const Answered how = reader().filter_range(tile, low, high, out);
  if (negate && how != Answered::kNot) {
    for (uint32_t i = 0; i < kTileRows; ++i) out[i] ^= 1;
  }
  return how;
}

bool ArrayTiles::may_exceed(uint32_t tile, int128_t most) {
  const std::optional<ValueBounds> bounds = reader().bounds(tile);
  return !bounds || bounds->high > most;
}

}  // namespace basalt::exec
