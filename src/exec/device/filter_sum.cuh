// The step of generated kernels that filters and sums one column at once, as its codec stores it
// (core/device/filter_sum.h).
#pragma once

#include "core/device/filter_sum.h"
#include "core/float_key.h"
#include "exec/device/aggregate.cuh"
#include "exec/device/scan.cuh"
#include "exec/device/tile_groups.cuh"

namespace basalt::device {

// Of integers. S: the column's logical type.
template <typename S, uint32_t kAt, uint32_t kSlotWords, typename Reader>
class FilterSum {
  using T = typename Reader::value_type;
  using Tiles = TileGroups<kAt, kSlotWords, Reader>;

 public:
  static constexpr uint32_t kScratchBytes = Tiles::kScratchBytes;

  __device__ __forceinline__ explicit FilterSum(void* scratch) : tiles_(scratch) {}

  // What the lane's rows from first to last of the tile at which `work` stands add up to; once for every tile.
  template <Test kTest>
  __device__ __forceinline__ TileSum of(const Work& work, const uint64_t* slots, S first, S last) {
    constexpr bool kSigned = static_cast<S>(-1) < static_cast<S>(0);
    constexpr T kTop = kSigned ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0};
    const SumRange<T> range{static_cast<T>(static_cast<T>(first) + kTop), static_cast<T>(static_cast<T>(last) + kTop),
                            kTop};
    const uint32_t number = tiles_.next(work, [&](bool exists, uint32_t item) {
      if (exists) Reader::describe(Tiles::descriptor(slots, item), work_tile(item), tiles_.scratch, range);
    });
    return Reader::template sum<kTest != Test::kAtMost>(Tiles::descriptor(slots, work.item()), work.tile(), number,
                                                        tiles_.followed(work), tiles_.scratch, range);
  }

 private:
  Tiles tiles_;
};

// Of floats, tested by their keys.
template <uint32_t kAt, uint32_t kSlotWords, typename Reader>
class FloatFilterSum {
  using Tiles = TileGroups<kAt, kSlotWords, Reader>;

 public:
  static constexpr uint32_t kScratchBytes = Tiles::kScratchBytes;

  __device__ __forceinline__ FloatFilterSum(void* scratch, int64_t first, int64_t last) : tiles_(scratch) {
    if (lane_id() == 0) tiles_.scratch.range = FloatKeyRange<typename Reader::value_type>(first, last);
  }

  // Of the tile at which `work` stands; once for every tile. Tiles that their bounds decided are counted as they are
  // described, and work items are read again where they are needed: most tiles do without.
  __device__ __forceinline__ FloatTileSum of(const Work& work, const uint64_t* slots, TileTally& tally, int64_t first,
                                             int64_t last) {
    const uint32_t number = tiles_.next(work, [&](bool exists, uint32_t item) {
      const bool by_bounds =
          Reader::describe(exists, Tiles::descriptor(slots, item), work_tile(item), tiles_.scratch, [&](uint32_t pair) {
            if (pair != pair_) {
              span_ = integers_between<typename Reader::Values>(pair, first, last);
              pair_ = pair;
            }
            return span_;
          });
      tally.count_by_bounds(by_bounds && exists && !work_all_pass(item));
    });
    const auto one_by_one = [&](void* scratch) {
      const uint32_t item = work.item_again();
      return Reader::sum_of_rows(Tiles::descriptor(slots, item), work_tile(item), scratch, first, last);
    };
    return Reader::sum(number, tiles_.scratch, one_by_one);
  }

 private:
  Tiles tiles_;
  uint32_t pair_ = ~0u;  // whose integers between the literals are known
  IntegerSpan span_{};
};

}  // namespace basalt::device
