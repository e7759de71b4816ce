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

}  // namespace basalt::rle
