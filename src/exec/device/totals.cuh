// The step of generated kernels that filters and sums one column at once, by its codec's totals (core/device/totals.h).
#pragma once

#include "core/device/totals.h"
#include "exec/device/scan.cuh"

namespace basalt::device {

// S: the column's logical type; kAt: where its words begin in a chunk's slot of kSlotWords words.
template <typename S, uint32_t kAt, uint32_t kSlotWords, typename Reader>
class Totals {
  using T = typename Reader::value_type;
  using Scratch = typename Reader::Scratch;

 public:
  static constexpr uint32_t kScratchBytes = round_to_16(sizeof(Scratch));

  // `scratch`: kScratchBytes of shared memory for each warp.
  __device__ __forceinline__ explicit Totals(void* scratch) : scratch_(*static_cast<Scratch*>(scratch)) {}

  // What the lane's rows from first to last of the tile at which `work` stands add up to; once for every tile.
  template <Test kTest>
  __device__ __forceinline__ TileSum of(const Work& work, const uint64_t* slots, S first, S last) {
    constexpr bool kSigned = static_cast<S>(-1) < static_cast<S>(0);
    constexpr T kTop = kSigned ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0};
    const SumRange<T> range{static_cast<T>(static_cast<T>(first) + kTop), static_cast<T>(static_cast<T>(last) + kTop),
                            kTop};
    if (next_ == 0) {
      uint32_t item = 0;
      const bool exists = work.ahead(lane_id() / (kLanes / Reader::kTiles), item);
      sync_warp();  // nobody reads the last tiles any more
      if (exists) Reader::describe(descriptor(slots, work_slot(item)), work_tile(item), scratch_, range);
      sync_warp();
    }
    const uint32_t number = next_;
    next_ = number + 1 == Reader::kTiles ? 0 : number + 1;
    return Reader::template total<kTest != Test::kAtMost>(descriptor(slots, work.slot()), work.tile(), number,
                                                          next_ != 0 && !work.last(), scratch_, range);
  }

 private:
  __device__ __forceinline__ static const uint64_t* descriptor(const uint64_t* slots, uint32_t slot) {
    return slots + static_cast<uint64_t>(slot) * kSlotWords + kAt + 1;
  }

  Scratch& scratch_;
  uint32_t next_ = 0;  // of the described tiles
};

}  // namespace basalt::device
