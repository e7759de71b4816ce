// Tiles in groups: the lanes of a warp look at several tiles at once, each at one of its own, and note what the warp
// has to know before it reads them (they describe them), so that it waits for metadata once per group. Used by steps of
// generated kernels that do nothing with a column but filter it, or filter and sum it.
#pragma once

#include "core/device/warp.h"
#include "exec/device/scan.cuh"

namespace basalt::device {

// Goes through a warp's tiles as some are described at a time. kAt: where the column's words begin in a chunk's slot of
// kSlotWords words.
template <uint32_t kAt, uint32_t kSlotWords, typename Reader>
class TileGroups {
 public:
  using Scratch = typename Reader::Scratch;
  static constexpr uint32_t kScratchBytes = round_to_16(sizeof(Scratch));

  // `place`: kScratchBytes of shared memory for each warp.
  __device__ __forceinline__ explicit TileGroups(void* place) : scratch(*static_cast<Scratch*>(place)) {}

  // The number of the tile at which `work` stands, once for every tile. describe(exists, item) comes first where none
  // is described, by each lane for the work item that is its to describe.
  template <typename Describe>
  __device__ __forceinline__ uint32_t next(const Work& work, Describe&& describe) {
    if (next_ == 0) {
      uint32_t item = 0;
      const bool exists = work.ahead(lane_id() / (kLanes / Reader::kTiles), item);
      sync_warp();  // nobody reads the last tiles any more
      describe(exists, item);
      sync_warp();
    }
    const uint32_t number = next_;
    next_ = number + 1 == Reader::kTiles ? 0 : number + 1;
    return number;
  }
  // Whether the next tile was described with this one.
  __device__ __forceinline__ bool followed(const Work& work) const { return next_ != 0 && !work.last(); }
  __device__ __forceinline__ static const uint64_t* descriptor(const uint64_t* slots, uint32_t item) {
    return slots + static_cast<uint64_t>(work_slot(item)) * kSlotWords + kAt + 1;
  }

  Scratch& scratch;

 private:
  uint32_t next_ = 0;  // of the described tiles
};

}  // namespace basalt::device
