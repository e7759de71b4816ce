// `rle`: maximal runs of equal values (equal bits for floats). Runs are never split at tile borders: the tile entry
// says with which run a tile begins and how many rows of it earlier tiles have consumed, so that any tile decodes
// alone.
//
// streams: 0 tile entries  {uint32 first_run, uint32 consumed}[tiles]
// Parameters: none. Children: 0 values (the value type, one per run); 1 run ends (uint32, one per run: the row behind
// the run's last row; strictly ascending, the last one is the count).
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::rle {

constexpr uint32_t kTileEntries = 0;
constexpr uint32_t kStreams = 1;

constexpr uint32_t kValues = 0;
constexpr uint32_t kRunEnds = 1;

struct TileEntry {
  uint32_t first_run;
  uint32_t consumed;
};

// Shared memory of the tile reader, per warp: 32 words of marks with the runs before them; then the marks, a byte per
// row, and the tile's ends, where the reader of the ends does not hold them itself; and in the same place, later, its
// values.
constexpr uint32_t kMarkWordBytes = 8;
BASALT_HD constexpr uint32_t marks_bytes(uint32_t ends_scratch, bool ends_in_shared) {
  return kTileRows + (ends_in_shared ? 0 : kTileRows * 4) + ends_scratch;
}
BASALT_HD constexpr uint32_t scratch_bytes(uint32_t value_bytes, uint32_t values_scratch, uint32_t ends_scratch,
                                           bool ends_in_shared) {
  const uint32_t marks = marks_bytes(ends_scratch, ends_in_shared);
  const uint32_t values = kTileRows * value_bytes + values_scratch;
  return kLanes * kMarkWordBytes + ((marks > values ? marks : values) + 15) / 16 * 16;
}

}  // namespace basalt::rle
