// The device encoder's writing of tiles, a warp each: integers and exceptions. A lane has its 32 rows in registers.
#pragma once

#include "codec/galp/gpu/encode_tiles.cuh"
#include "codec/packed/layout.h"
#include "core/device/pack_lane.h"
#include "core/device/put_bits.h"

namespace basalt::galp {

// The first integer of a tile that has exceptions; 0 where all are.
template <typename T>
__device__ __forceinline__ IntOf<T> first_integer(const T* tile, const Scale<T>& scale, uint32_t exceptions) {
  using Int = IntOf<T>;
  const uint32_t own = ~exceptions == 0 ? kTileRows : device::lowest_bit(~exceptions) * kLanes + lane_id();
  const uint32_t first = lowest_of_lanes(own);
  // Made again: looking for it among the registers would move them to memory.
  return first < kTileRows ? static_cast<Int>(encode(load_float(tile + first), scale).d) : Int{0};
}

// Puts the number before it, or `filler`, at each exception of a tile.
template <typename Number>
__device__ __forceinline__ void fill_exceptions(uint32_t exceptions, Number filler, Number (&numbers)[kRowsPerLane]) {
  const uint32_t lanes_below = (1u << device::lane_id_here()) - 1;
  uint32_t good_before = 0;  // of the last 32 rows
#pragma unroll
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    const bool is_exception = (exceptions >> k & 1) != 0;
    const uint32_t good = device::ballot(!is_exception);
    // Where the first of 32 rows is good, no other needs what comes before.
    if ((good & 1) == 0 && good_before != 0) {
      filler = device::shuffle(numbers[k == 0 ? 0 : k - 1], device::highest_bit(good_before));
    }
    if (good != device::kWholeWarp) {
      const uint32_t below = good & lanes_below;
      const Number before = device::shuffle(numbers[k], below == 0 ? 0 : device::highest_bit(below));
      if (is_exception) numbers[k] = below != 0 ? before : filler;
    }
    good_before = good;
  }
}

// The longest block: all rows are exceptions, in all their bits.
template <typename T>
constexpr uint32_t kMostBlockWords = block_words(kTileRows, Arithmetic<T>::kBits, Arithmetic<T>::kBits);

// A warp writes the block of a tile. Lane by lane: what lies below a lane is a sum. The block is made in `staged`, in
// shared memory, since lanes write to places far apart; there it needs no clean memory, and no atomic operations beyond
// the SM.
template <typename T>
__device__ __forceinline__ void write_block(const T* tile, uint32_t exceptions, uint32_t bits, uint32_t shift,
                                            const BlockFit<T>& block, uint32_t* staged, uint32_t* to) {
  using Bits = BitsOf<T>;
  const uint32_t lane = device::lane_id_here();  // or addresses would be kept from the first reading on
  const uint32_t own = device::population(exceptions);
  const uint32_t before = device::sum_below(own);
  const uint32_t count = device::sum_of_lanes(own);
  const uint32_t width = block.width;
  for (uint32_t i = lane; i < block.words; i += kLanes) staged[i] = 0;
  device::sync_warp();
  const auto value_at = [&](uint32_t row) {
    return static_cast<Bits>(bits_of(load_float(tile + row * kLanes + lane)) >> shift);
  };
  uint32_t* positions = staged + 1 + (width < bits ? base_words(bits) : 0);
  uint32_t* values = positions + position_words(count);
  const bool listed = count <= kMaxListed;
  const uint32_t lanes = device::ballot(own != 0);
  if (lane == 0) {
    staged[0] = block_header(count, width);
    if (width < bits) {
      staged[1] = static_cast<uint32_t>(block.base);
      if (base_words(bits) == 2) staged[2] = static_cast<uint32_t>(static_cast<uint64_t>(block.base) >> 32);
    }
    if (listed) positions[0] = lanes;
  }
  if (!listed) positions[lane] = exceptions;
  if (!listed && width == Arithmetic<T>::kBits) {
    // Many, as they are: whole lines of memory, some asked for at once.
    constexpr uint32_t kWords = Arithmetic<T>::kBits / 32;
    uint32_t* next = values + before * kWords;
#pragma unroll 8
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      if ((exceptions >> k & 1) == 0) continue;
      const Bits value = value_at(k);
      next[0] = static_cast<uint32_t>(value);
      if (kWords == 2) next[kWords - 1] = static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32);
      next += kWords;
    }
  } else {
    uint32_t i = before;
    device::BitWriter writer(values, before * width);
    Bits value = own > 0 ? value_at(device::lowest_bit(exceptions)) : Bits{0};
    for (uint32_t left = exceptions; left != 0; ++i) {
      const uint32_t row = device::lowest_bit(left);
      left &= left - 1;
      const Bits next = left != 0 ? value_at(device::lowest_bit(left)) : Bits{0};
      const uint32_t mark = left == 0 ? kLastOfLane : 0;
      if (listed) atomicOr(positions + 1 + i / 4, (row | mark) << i % 4 * 8);
      if (width > 0) writer.put(static_cast<Bits>(value - block.base), width);
      value = next;
    }
    if (own > 0 && width > 0) writer.end();
  }
  device::sync_warp();
  for (uint32_t i = lane; i < block.words; i += kLanes) to[i] = staged[i];
}

template <typename T>
__device__ __forceinline__ void put_start(const EncodeWork<T>& work, const EncodedStreams<T>& streams, uint32_t i) {
  const uint32_t word = exceptions_of(work.starts[i]);
  if (streams.short_starts != nullptr) streams.short_starts[i] = static_cast<uint16_t>(word);
  if (streams.long_starts != nullptr) streams.long_starts[i] = word;
}

// What a scheme makes of a lane's rows.
template <typename T>
struct LaneIntegers {
  IntOf<T> integers[kRowsPerLane];
  uint32_t exceptions = 0;
  uint32_t filled = 0;  // those of the exceptions that get the integer before them
  IntOf<T> filler = 0;  // for the first rows
  uint32_t shift = 0;   // of the bits of exceptions
};

// Integers less the reference, which fit Number, to their places.
template <typename Number, typename T>
__device__ __forceinline__ void write_integers(const EncodeWork<T>& work, const EncodedStreams<T>& streams,
                                               uint32_t tile, uint32_t present, BitsOf<T> reference,
                                               const LaneIntegers<T>& own) {
  const auto number_of = [&](IntOf<T> integer) {
    return static_cast<Number>(static_cast<BitsOf<T>>(integer) - reference);
  };
  Number numbers[kRowsPerLane];
#pragma unroll
  for (uint32_t k = 0; k < kRowsPerLane; ++k) numbers[k] = number_of(own.integers[k]);
  if (device::any_lane(own.filled != 0)) {
    fill_exceptions(own.filled, number_of(own.filler), numbers);
  }
  const uint32_t lane = lane_id();
  const uint32_t count = work.rows_of(tile);
  if (streams.integers != nullptr) {
    IntOf<T>* to = streams.integers + uint64_t{tile} * kTileRows;
#pragma unroll
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      if (k * kLanes + lane < count) to[k * kLanes + lane] = static_cast<IntOf<T>>(numbers[k]);
    }
    return;
  }
  if (count < kTileRows) {
#pragma unroll
    for (uint32_t k = 0; k < kRowsPerLane; ++k) numbers[k] = (present >> k & 1) != 0 ? numbers[k] : Number{0};
  }
  uint32_t* to = streams.packed_words + uint64_t{packed_rows_of(work.starts[tile])} * kLanes + lane;
  const uint32_t width = packed_rows_of(work.sizes[tile]);
  const auto number = [&](uint32_t k) { return numbers[k]; };
  if constexpr (sizeof(Number) == 4) {
    device::pack_lane_narrow(width, to, number);
  } else {
    device::pack_lane_wide(width, to, number);
  }
}

// A warp per tile: integers, exceptions, and what else the streams have of it. `staged`: kMostBlockWords of shared
// memory.
template <typename T>
__device__ void write_tile(const EncodeWork<T>& work, const EncodedStreams<T>& streams, uint32_t tile,
                           uint32_t* staged) {
  using Int = IntOf<T>;
  constexpr uint32_t kBits = Arithmetic<T>::kBits;
  const uint32_t lane = lane_id();
  const T* from = work.tile_values(tile);
  const uint32_t scheme = work.schemes[tile];
  TileRows<T> rows;
  rows.read(from, work.rows_of(tile));
  LaneIntegers<T> own;
  if (scheme == kRaw) {
#pragma unroll
    for (uint32_t k = 0; k < kRowsPerLane; ++k) own.integers[k] = static_cast<Int>(bits_of(rows.values[k]));
  } else if (scheme == kRd) {
    const UpperParts<T> uppers(work.found[tile / kGroupTiles].dictionary);
    own.shift = uppers.right_bits;
#pragma unroll
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const Parts<T> parts = uppers.part(rows.values[k]);
      own.integers[k] = static_cast<Int>(parts.integer);
      own.exceptions |= (parts.exception ? 1u : 0u) << k;
    }
  } else {
    const auto scale = Scale<T>::of(pair_of(scheme));
#pragma unroll
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      own.integers[k] = to_integer(round_row(rows.values[k], scale, own.exceptions, 1u << k));
    }
    own.filled = own.exceptions;
    if (device::any_lane(own.filled != 0)) own.filler = first_integer(from, scale, own.filled);
  }
  const uint64_t start = work.starts[tile];
  const uint64_t sizes = work.sizes[tile];
  const uint32_t width = packed_rows_of(sizes);
  const BitsOf<T> reference = streams.integers == nullptr ? work.references[tile] : BitsOf<T>{0};
  if (sizeof(T) == 4 || (streams.integers == nullptr && width <= 32)) {
    write_integers<uint32_t>(work, streams, tile, rows.present, reference, own);
  } else {
    write_integers<BitsOf<T>>(work, streams, tile, rows.present, reference, own);
  }
  const uint32_t exceptions = own.exceptions & rows.present;
  if (device::any_lane(exceptions != 0)) {
    const BlockFit<T> block{exceptions_of(sizes), work.block_widths[tile], work.block_bases[tile]};
    write_block(from, exceptions, scheme == kRd ? kMaxLeftBits : kBits, own.shift, block, staged,
                streams.exceptions + exceptions_of(start));
  }
  if (lane != 0) return;
  put_start(work, streams, tile);
  if (tile + 1 == work.tiles) put_start(work, streams, work.tiles);
  if (streams.descriptors != nullptr) {
    streams.descriptors[tile] = packed::make_descriptor(packed_rows_of(start), width);
  }
  if (streams.dictionaries != nullptr && tile % kGroupTiles == 0) {
    const uint32_t group = tile / kGroupTiles;
    streams.dictionaries[group] = work.uses_dictionary[group] != 0 ? work.found[group].dictionary : Dictionary{};
  }
}

}  // namespace basalt::galp
