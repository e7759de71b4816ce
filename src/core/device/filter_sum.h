// How device code answers how many rows of a tile lie in a range of integers, and what they add up to, without making
// values of them. A codec that can offers `<Codec>FilterSum` in its filter_sum.cuh: tiles are described some at a time,
// so that a warp waits for their metadata once, and then summed one by one.
#pragma once

#include "basalt/core/host_device.h"
#include "core/device/answer.h"
#include "core/device/warp.h"

namespace basalt::device {

// What a lane's rows add.
struct TileSum {
  uint64_t sum;  // modulo 2^64
  uint32_t count;
  uint32_t bad;  // rows break a rule
  uint32_t how;  // kByBounds or kByRows: what decided which rows pass
};

// The same of floats. `sum` is the tile's, in every lane; `count` the lane's part of it.
struct FloatTileSum {
  double sum;
  uint32_t count;
  uint32_t bad;
};

// Values from first to last by the order of the column's type. `top`: what makes its order that of unsigned numbers
// when it is added, 0 or the sign bit. The ends have it already.
template <typename T>
struct SumRange {
  T first;
  T last;
  T top;

  __device__ __forceinline__ T place(T bits) const { return static_cast<T>(bits + top); }
  // The number at such a place, sign extended.
  __device__ __forceinline__ uint64_t number(T place) const { return uint64_t{place} - uint64_t{top}; }
  __device__ __forceinline__ bool holds(T place) const { return place >= first && place <= last; }
};

// Numbers of a few rows that are counted in the bits above their sum: numbers carry a mark, which is their count.
template <uint32_t kMarkBit>
struct MarkedSum {
  static constexpr uint32_t kMark = 1u << kMarkBit;
  uint32_t both = 0;

  // `marked` lies in the range if it is one of the `span` numbers from `low` on; kLow: or else low is 0.
  template <bool kLow>
  __device__ __forceinline__ void add(uint32_t marked, uint32_t low, uint32_t span) {
    add_if_less(both, marked, tested<kLow>(marked, low), kLow ? span : span + kMark);
  }
  // The same unless `bit` is set in `without`.
  template <bool kLow>
  __device__ __forceinline__ void add_unless(uint32_t without, uint32_t bit, uint32_t marked, uint32_t low,
                                             uint32_t span) {
    add_if_less_unless(both, marked, tested<kLow>(marked, low), kLow ? span : span + kMark, without, bit);
  }
  __device__ __forceinline__ uint32_t count() const { return both >> kMarkBit; }
  __device__ __forceinline__ uint32_t sum() const { return both & (kMark - 1); }

 private:
  template <bool kLow>
  __device__ __forceinline__ static uint32_t tested(uint32_t marked, uint32_t low) {
    return kLow ? multiply_add(marked, 1, 0u - low - kMark) : marked;
  }
};

}  // namespace basalt::device
