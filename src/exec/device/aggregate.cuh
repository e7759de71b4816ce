// Aggregates inside generated kernels: lane states, how a block folds them into one record, checked arithmetic. Sums
// are exact; the host merges the blocks' records and decides about overflow of the whole.
#pragma once

#include "basalt/core/host_device.h"
#include "core/device/answer.h"
#include "core/device/warp.h"
#include "exec/device/work.h"

namespace basalt::device {

constexpr uint32_t kMaxWarps = 8;

// As many warps per block as their scratch, and what the block has beside it, let into 44 KiB of shared memory.
BASALT_HD constexpr uint32_t warps_that_fit(uint32_t scratch_bytes, uint32_t block_bytes = 0) {
  for (uint32_t warps = kMaxWarps; warps > 1; warps /= 2) {
    if (scratch_bytes * warps + block_bytes <= 44 * 1024) return warps;
  }
  return 1;
}

// A list of integers in memory, ascending: a literal with its address and its length.
class LongList {
 public:
  __device__ __forceinline__ explicit LongList(const Literal& bits)
      : values_(reinterpret_cast<const int64_t*>(bits.low)), count_(static_cast<uint32_t>(bits.high)) {}
  template <typename V>
  __device__ __forceinline__ bool has(V value) const {
    const auto wanted = static_cast<int64_t>(value);
    if (static_cast<V>(wanted) != value) return false;
    uint32_t first = 0;  // all before it are smaller
#pragma unroll 1
    for (uint32_t left = count_; left > 0;) {
      const uint32_t half = left / 2;
      const bool smaller = load(values_ + first + half) < wanted;
      first = smaller ? first + half + 1 : first;
      left = smaller ? left - half - 1 : half;
    }
    return first < count_ && load(values_ + first) == wanted;
  }

 private:
  const int64_t* values_;
  uint32_t count_;
};

template <typename V>
__device__ __forceinline__ V literal(const Literal& bits) {
  if constexpr (SameType<V, LongList>::value) {
    return LongList(bits);
  } else if constexpr (SameType<V, float>::value) {
    return __uint_as_float(static_cast<uint32_t>(bits.low));
  } else if constexpr (SameType<V, double>::value) {
    return __longlong_as_double(static_cast<long long>(bits.low));
  } else {
    return static_cast<V>(static_cast<uint128_t>(bits.high) << 64 | bits.low);
  }
}

// A 128-bit constant of the statement.
__device__ __forceinline__ int128_t wide_constant(uint64_t high, uint64_t low) {
  return static_cast<int128_t>(static_cast<uint128_t>(high) << 64 | low);
}

// --- checked arithmetic in 128 bits: true if the result left them
// -------------------------------------------------------

__device__ __forceinline__ bool add_overflows(int128_t a, int128_t b, int128_t& out) {
  out = static_cast<int128_t>(static_cast<uint128_t>(a) + static_cast<uint128_t>(b));
  return ((a ^ out) & (b ^ out)) < 0;
}
__device__ __forceinline__ bool subtract_overflows(int128_t a, int128_t b, int128_t& out) {
  out = static_cast<int128_t>(static_cast<uint128_t>(a) - static_cast<uint128_t>(b));
  return ((a ^ b) & (a ^ out)) < 0;
}
__device__ __noinline__ inline bool multiply_overflows(int128_t a, int128_t b, int128_t& out) {
  const bool negative = (a < 0) != (b < 0);
  const uint128_t x = a < 0 ? -static_cast<uint128_t>(a) : static_cast<uint128_t>(a);
  const uint128_t y = b < 0 ? -static_cast<uint128_t>(b) : static_cast<uint128_t>(b);
  const uint64_t x_low = static_cast<uint64_t>(x);
  const uint64_t x_high = static_cast<uint64_t>(x >> 64);
  const uint64_t y_low = static_cast<uint64_t>(y);
  const uint64_t y_high = static_cast<uint64_t>(y >> 64);
  bool overflow = x_high != 0 && y_high != 0;
  const uint128_t cross = static_cast<uint128_t>(x_high) * y_low + static_cast<uint128_t>(x_low) * y_high;
  overflow = overflow || (cross >> 64) != 0;
  const uint128_t shifted = cross << 64;
  const uint128_t magnitude = shifted + static_cast<uint128_t>(x_low) * y_low;
  overflow = overflow || magnitude < shifted;
  const uint128_t limit = (static_cast<uint128_t>(1) << 127) - (negative ? 0 : 1);
  out = static_cast<int128_t>(negative ? -magnitude : magnitude);
  return overflow || magnitude > limit;
}

// --- lane states
// --------------------------------------------------------------------------------------------------------

// An exact sum of 192 bits. Tiles are added as 128-bit numbers; the third word counts what those additions carry out.
class Sum {
 public:
  __device__ __forceinline__ void add(int128_t value) {
    low_ += static_cast<uint128_t>(value);
    high_ += (low_ < static_cast<uint128_t>(value) ? 1 : 0) - (value < 0 ? 1 : 0);
  }
  __device__ __forceinline__ void add(const Sum& other) {
    low_ += other.low_;
    high_ += other.high_ + (low_ < other.low_ ? 1 : 0);
  }
  __device__ __forceinline__ Sum across(uint32_t distance) const {
    Sum other;
    const uint64_t low = exchange(static_cast<uint64_t>(low_), distance);
    const uint64_t middle = exchange(static_cast<uint64_t>(low_ >> 64), distance);
    other.low_ = static_cast<uint128_t>(middle) << 64 | low;
    other.high_ = static_cast<int64_t>(exchange(static_cast<uint64_t>(high_), distance));
    return other;
  }
  __device__ __forceinline__ void put(uint64_t* words) const {
    words[0] = static_cast<uint64_t>(low_);
    words[1] = static_cast<uint64_t>(low_ >> 64);
    words[2] = static_cast<uint64_t>(high_);
  }
  __device__ __forceinline__ void get(const uint64_t* words) {
    low_ = static_cast<uint128_t>(words[1]) << 64 | words[0];
    high_ = static_cast<int64_t>(words[2]);
  }

 private:
  __device__ __forceinline__ static uint64_t exchange(uint64_t value, uint32_t distance) {
    return __shfl_xor_sync(kWholeWarp, static_cast<unsigned long long>(value), static_cast<int>(distance));
  }

  uint128_t low_ = 0;
  int64_t high_ = 0;
};

// Number of rows that took part.
using Count = uint64_t;

// Floats are compared by integer keys, in which NaN is the largest and −0.0 lies below 0.0.
__device__ __forceinline__ int64_t order_key(double value) {
  if (value != value) return 0x7FFFFFFFFFFFFFFFll;
  const int64_t bits = __double_as_longlong(value);
  return bits ^ (bits >> 63 & 0x7FFFFFFFFFFFFFFFll);
}

template <typename V, bool kMinimum>
class Extreme {
 public:
  __device__ __forceinline__ void take(bool ok, V value) {
    if (ok && (kMinimum ? value < best_ : value > best_)) best_ = value;
  }
  __device__ __forceinline__ void add(const Extreme& other) { take(true, other.best_); }
  __device__ __forceinline__ Extreme across(uint32_t distance) const {
    const auto bits = static_cast<uint128_t>(static_cast<int128_t>(best_));
    const uint64_t low = __shfl_xor_sync(kWholeWarp, static_cast<unsigned long long>(bits), static_cast<int>(distance));
    const uint64_t high =
        __shfl_xor_sync(kWholeWarp, static_cast<unsigned long long>(bits >> 64), static_cast<int>(distance));
    Extreme other;
    other.best_ = static_cast<V>(static_cast<uint128_t>(high) << 64 | low);
    return other;
  }
  __device__ __forceinline__ void put(uint64_t* words) const {
    const auto bits = static_cast<uint128_t>(static_cast<int128_t>(best_));
    words[0] = static_cast<uint64_t>(bits);
    words[1] = static_cast<uint64_t>(bits >> 64);
    words[2] = 0;
  }
  __device__ __forceinline__ void get(const uint64_t* words) {
    best_ = static_cast<V>(static_cast<uint128_t>(words[1]) << 64 | words[0]);
  }

 private:
  static constexpr int kSignBit = 8 * sizeof(V) - 1;
  static __device__ __forceinline__ V worst() {
    const auto lowest = static_cast<V>(static_cast<uint128_t>(1) << kSignBit);
    return kMinimum ? static_cast<V>(~lowest) : lowest;
  }
  V best_ = worst();
};

// A tile's float sum, which all lanes have.
__device__ __forceinline__ void store_tile_sum(const Parameters& p, uint32_t which, uint32_t work_index, double sum) {
  if (lane_id() == 0) p.tile_sums[static_cast<uint64_t>(which) * p.work_count + work_index] = sum;
}

// --- tiles by what decided them
// ------------------------------------------------------------------------------------------

// Of one warp, in shared memory: registers are dearer, and the tiles of most statements are read, which counts nothing.
class TileTally {
 public:
  __device__ __forceinline__ void begin() {
    if (lane_id() < kByRows) counts_[lane_id()] = 0;
    texts_ = 0;
    last_text_ = ~0u;
    sync_warp();
  }
  // A tile whose filter was answered so, at most.
  __device__ __forceinline__ void count(uint32_t how) {
    if (how < kByRows && lane_id() == 0) ++counts_[how];
  }
  // By the whole warp, once for a tile of each lane.
  __device__ __forceinline__ void count_by_bounds(bool decided) {
    const uint32_t tiles = population(ballot(decided));
    if (lane_id() == 0) counts_[kByBounds] += tiles;
  }
  // Whether no row of the tile is left, which ends it.
  __device__ __forceinline__ bool ends(uint32_t alive, uint32_t how) {
    if (any_lane(alive != 0)) return false;
    count(how);
    return true;
  }
  // The strings of a work item were tested; several tests of it count once.
  __device__ __forceinline__ void text(uint32_t work_index) {
    if (lane_id() != 0 || last_text_ == work_index) return;
    last_text_ = work_index;
    ++texts_;
  }
  __device__ __forceinline__ uint32_t of(uint32_t how) const { return counts_[how]; }
  __device__ __forceinline__ uint32_t texts() const { return texts_; }

 private:
  uint32_t counts_[kByRows];
  uint32_t texts_;
  uint32_t last_text_;
};

// --- the block's record
// -------------------------------------------------------------------------------------------------

// Called by all threads of the block, in the same order; thread 0 writes.
class Record {
 public:
  __device__ __forceinline__ Record(const Parameters& p, uint32_t aggregates)
      : words_(p.partials + static_cast<uint64_t>(blockIdx.x) * (kRecordHead + kRecordAggregate * aggregates)) {}

  __device__ __forceinline__ void head(Count rows, uint32_t overflow, uint32_t bad) {
    const Count total = fold(rows);
    const bool any_overflow = __syncthreads_or(static_cast<int>(overflow)) != 0;
    const bool any_bad = __syncthreads_or(static_cast<int>(bad)) != 0;
    if (threadIdx.x == 0) {
      words_[kRecordRows] = total;
      words_[kRecordFlags] = (any_overflow ? kFlagOverflow : 0) | (any_bad ? kFlagBad : 0);
      words_[kRecordTiles + kByBounds] = words_[kRecordTiles + kByModel] = words_[kRecordTexts] = 0;
    }
  }
  // Of a launch that goes on where another one left its record.
  __device__ __forceinline__ void add_flags(uint32_t overflow, uint32_t bad) {
    const bool any_overflow = __syncthreads_or(static_cast<int>(overflow)) != 0;
    const bool any_bad = __syncthreads_or(static_cast<int>(bad)) != 0;
    if (threadIdx.x == 0) words_[kRecordFlags] |= (any_overflow ? kFlagOverflow : 0) | (any_bad ? kFlagBad : 0);
  }
  __device__ __forceinline__ void tiles(const TileTally& tally) {
    sync_warp();  // lane 0 counts
#pragma unroll 1
    for (uint32_t how = 0; how < kByRows; ++how) {
      const Count total = fold(lane_id() == 0 ? tally.of(how) : 0);
      if (threadIdx.x == 0) words_[kRecordTiles + how] = total;
    }
  }
  __device__ __forceinline__ void texts(const TileTally& tally) {
    const Count total = fold(lane_id() == 0 ? tally.texts() : 0);
    if (threadIdx.x == 0) words_[kRecordTexts] = total;
  }
  __device__ __forceinline__ void count(uint32_t aggregate, Count rows) {
    const Count total = fold(rows);
    if (threadIdx.x == 0) at(aggregate)[0] = total;
  }
  // Not inlined, as it runs once per block but would be compiled once per aggregate.
  template <typename State>
  __device__ __noinline__ void state(uint32_t aggregate, State lane) {
    __shared__ uint64_t warps[kMaxWarps][3];
#pragma unroll 1
    for (uint32_t distance = kLanes / 2; distance > 0; distance /= 2) lane.add(lane.across(distance));
    if (lane_id() == 0) lane.put(warps[threadIdx.x / kLanes]);
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (uint32_t warp = 1; warp < blockDim.x / kLanes; ++warp) {
        State other;
        other.get(warps[warp]);
        lane.add(other);
      }
      lane.put(at(aggregate) + 1);
    }
    __syncthreads();
  }

 private:
  __device__ __forceinline__ uint64_t* at(uint32_t aggregate) const {
    return words_ + kRecordHead + kRecordAggregate * aggregate;
  }
  __device__ __noinline__ static Count fold(Count rows) {
    __shared__ uint64_t warps[kMaxWarps];
#pragma unroll 1
    for (int distance = 16; distance > 0; distance /= 2) {
      rows += __shfl_xor_sync(kWholeWarp, static_cast<unsigned long long>(rows), distance);
    }
    if (lane_id() == 0) warps[threadIdx.x / kLanes] = rows;
    __syncthreads();
#pragma unroll 1
    for (uint32_t warp = 1; warp < blockDim.x / kLanes && threadIdx.x == 0; ++warp) rows += warps[warp];
    __syncthreads();
    return rows;
  }

  uint64_t* words_;
};

}  // namespace basalt::device
