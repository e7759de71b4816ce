// Rows of doubles: the integers of a tile are added as they are stored, exactly, and become a double once (scale.h).
#pragma once

#include "codec/galp/gpu/filter_sum_tiles.cuh"
#include "codec/packed/gpu/filter_sum.cuh"

namespace basalt::device {

struct DoubleRows {
  using Float = double;
  using T = uint64_t;
  struct Factors {
    double times, back;
    int64_t reference;
    uint32_t mark;  // for sum_tile()
    __device__ __forceinline__ void note(const Packed<T>& integers, uint32_t, const galp::Scale<double>& scale) {
      times = scale.times;
      back = scale.back;
      reference = static_cast<int64_t>(integers.reference());
      mark = PackedFilterSum<T>::mark_of(integers.width());
    }
  };
  using Tile = DecimalTile<T, Factors>;
  static constexpr uint32_t kWidest = 64;

  // Rows from `first` to `last`; kPatched: but for the lane's `exceptions`.
  template <uint32_t W, bool kPatched>
  __device__ __forceinline__ void add(const Tile& tile, uint32_t exceptions) {
    const TileSum sums = PackedFilterSum<T>::template sum_tile<W, true, kPatched>(
        tile.lane_words(), tile.first, tile.last, tile.factors.mark, exceptions);
    count_ = sums.count;
    if constexpr (W <= kShortSums) {
      integers_ = sum_of_lanes(static_cast<uint32_t>(sums.sum));
    } else {
      integers_ = sum_of_lanes(sums.sum);
    }
  }
  __device__ __forceinline__ void add_any_width(const Tile& tile, uint32_t exceptions) {
    const TileSum sums = sum_within(tile.lane_words(), tile.width, tile.first, tile.last - tile.first, ~exceptions);
    count_ = sums.count;
    integers_ = sum_of_lanes(sums.sum);
  }

  __device__ __forceinline__ double sum(const Tile& tile) const {
    const uint64_t references = static_cast<uint64_t>(tile.factors.reference) * sum_of_lanes(count_);
    return galp::value_of_sum(static_cast<int64_t>(integers_ + references), tile.factors.times, tile.factors.back);
  }
  // Of the lane.
  __device__ __forceinline__ uint32_t count() const { return count_; }

 private:
  uint64_t integers_ = 0;  // of the tile, as they are stored
  uint32_t count_ = 0;
};

}  // namespace basalt::device
