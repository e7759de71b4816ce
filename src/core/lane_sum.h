// The order in which the lanes' sums of a tile are added on the CPU; device code has the same (core/device/warp.h).
#pragma once

#include "core/packed_tile.h"

namespace basalt {

// Lane l becomes lane l + lane (l ^ 16), then ^ 8, ^ 4, ^ 2, ^ 1; changes `lanes`, of which there are 32.
template <typename Float>
Float sum_of_lanes(Float* lanes) {
  for (uint32_t step = kLanes / 2; step > 0; step /= 2) {
    for (uint32_t l = 0; l < step; ++l) lanes[l] += lanes[l + step];
  }
  return lanes[0];
}

}  // namespace basalt
