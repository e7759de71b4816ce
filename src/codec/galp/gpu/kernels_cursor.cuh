// Cursors over tiles of `galp`: a lane takes its 32 values in ascending rows, kValues at a time, so that a kernel over
// many columns keeps few values in registers, or one over few columns many loads in flight. How a lane comes to its
// exceptions on the way is a policy: three patchers of G-ALP, which follow the stored positions, and one that keeps the
// lane's rows as a mask. bench/galp_cursor_gpu.cu measures them.
//
// Opening a tile costs the same for all: what is wrong with its exceptions is found there, and each lane learns its
// rows among them. Tiles that are no decimals (RD and RAW) are read row by row, by point access: right, but slow.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/galp/gpu/kernels.cuh"
#include "codec/galp/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

// One lane's exceptions in a block, taken one after the other.
class LaneList {
 public:
  LaneList() = default;
  __device__ __forceinline__ LaneList(const galp::Exceptions& block, const ExceptionWords::Lane& lane)
      : block_(block), number_(lane.first), end_(lane.first + population(lane.rows)) {}

  // Where the next one lies, whose row is k or behind it; kRowsPerLane: there is none. Asks memory.
  __device__ __forceinline__ uint32_t row_from(uint32_t k) const {
    if (number_ == end_) return kRowsPerLane;
    if (block_.listed()) {
      return load(reinterpret_cast<const uint8_t*>(block_.positions + 1) + number_) % kRowsPerLane;
    }
    return lowest_bit(load(block_.positions + lane_id()) >> k << k);
  }
  // Only of one that there is.
  __device__ __forceinline__ uint64_t value() const { return block_.value(number_); }
  __device__ __forceinline__ void pop() { ++number_; }

 private:
  galp::Exceptions block_;
  uint32_t number_ = 0;
  uint32_t end_ = 0;
};

// Loads the next position for every row.
class NaivePatcher {
 public:
  __device__ __forceinline__ void open(const LaneList& list, uint32_t) { list_ = list; }
  template <typename T>
  __device__ __forceinline__ T patched(uint32_t k, T value) {
    if (list_.row_from(k) != k) return value;
    value = static_cast<T>(list_.value());
    list_.pop();
    return value;
  }

 private:
  LaneList list_;
};

// Keeps the next position, loaded when the one before it was met.
class PositionPatcher {
 public:
  __device__ __forceinline__ void open(const LaneList& list, uint32_t) {
    list_ = list;
    next_ = list_.row_from(0);
  }
  template <typename T>
  __device__ __forceinline__ T patched(uint32_t k, T value) {
    if (k != next_) return value;
    value = static_cast<T>(list_.value());
    list_.pop();
    next_ = list_.row_from(k + 1);
    return value;
  }

 private:
  LaneList list_;
  uint32_t next_;
};

// Keeps the next position and its value. Blocks have no padding, so a value is loaded only where there is one.
class ValuePatcher {
 public:
  __device__ __forceinline__ void open(const LaneList& list, uint32_t) {
    list_ = list;
    fetch(0);
  }
  template <typename T>
  __device__ __forceinline__ T patched(uint32_t k, T value) {
    if (k != next_) return value;
    value = static_cast<T>(value_);
    list_.pop();
    fetch(k + 1);
    return value;
  }

 private:
  __device__ __forceinline__ void fetch(uint32_t k) {
    next_ = list_.row_from(k);
    if (next_ < kRowsPerLane) value_ = list_.value();
  }

  LaneList list_;
  uint32_t next_;
  uint64_t value_ = 0;
};

// Keeps the lane's rows: a bit test per row, and no positions.
class MaskPatcher {
 public:
  __device__ __forceinline__ void open(const LaneList& list, uint32_t rows) {
    list_ = list;
    rows_ = rows;
  }
  template <typename T>
  __device__ __forceinline__ T patched(uint32_t k, T value) {
    if ((rows_ >> k & 1) == 0) return value;
    value = static_cast<T>(list_.value());
    list_.pop();
    return value;
  }

 private:
  LaneList list_;
  uint32_t rows_;
};

// T: the bits of a float or a double. Integers: a reader of rows in any order without scratch, as Packed is; of those
// with unrolled widths only a cursor over all 32 values at once makes use.
template <typename T, typename Integers, uint32_t kValues, typename Patcher>
class GalpCursor {
  static_assert(kValues > 0 && kRowsPerLane % kValues == 0, "calls share the lane's rows evenly");
  static_assert(Integers::kScratchBytes == 0 && Integers::kPointAccess, "integers are read where they lie");

 public:
  using value_type = T;
  using Reader = Galp<T, Integers>;
  static constexpr uint32_t kCalls = kRowsPerLane / kValues;

  bool bad = false;  // as of readers

  // By the whole warp.
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile) {
    const typename Reader::Entry entry = Reader::entry(descriptor, tile);
    ExceptionWords words;
    const bool has_exceptions = Reader::ask(descriptor, entry, words, bad);
    integers_.open(descriptor + Reader::kIntegersWord, tile, nullptr);
    descriptor_ = descriptor;
    row_ = tile * kTileRows + lane_id();
    k_ = 0;
    decimals_ = Reader::is_pair(entry.scheme);
    scale_ = Reader::scale_of(decimals_ ? entry.scheme : 0);
    ExceptionWords::Lane lane;
    LaneList list;
    if (decimals_ && has_exceptions) {
      const bool sound = words.take(Reader::kBits);
      if (sound) lane = words.of_lane();
      bad = bad | !sound | !lane.sound;
      list = LaneList(words.block(), lane);
    }
    patcher_.open(list, lane.rows);
  }

  // The lane's next values, kCalls times: rows k_·32 + lane of the tile and the next. Those behind the array's last row
  // may be anything.
  __device__ __forceinline__ void next(T (&out)[kValues]) {
    if (decimals_) {
      if constexpr (kValues == kRowsPerLane) {
        integers_.visit([&](auto&& tile) { for_each_k([&](uint32_t k) { out[k] = tile.at(k); }); });
      } else {
#pragma unroll
        for (uint32_t j = 0; j < kValues; ++j) out[j] = integers_.at(k_ + j);
      }
#pragma unroll
      for (uint32_t j = 0; j < kValues; ++j) {
        out[j] = patcher_.patched(k_ + j, Reader::scaled(out[j], scale_));
      }
    } else {
#pragma unroll
      for (uint32_t j = 0; j < kValues; ++j) {
        const Point point = point_at(descriptor_, row_ + (k_ + j) * kLanes);
        out[j] = point.bits;
        bad = bad | (point.bad != 0);
      }
    }
    k_ += kValues;
  }

 private:
  struct Point {
    T bits;
    uint32_t bad;
  };
  __device__ __noinline__ static Point point_at(const uint64_t* descriptor, uint32_t row) {
    if (row >= row_count(descriptor)) return {T{0}, 0};
    Reader reader;
    reader.bind(descriptor);
    const T bits = reader.row(row);
    return {bits, reader.bad};
  }

  Integers integers_;
  Patcher patcher_;
  typename Reader::Scale scale_;
  const uint64_t* descriptor_;
  uint32_t row_;  // the lane's first
  uint32_t k_;
  bool decimals_;
};

}  // namespace basalt::device
