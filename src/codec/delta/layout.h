// `delta`: differences between neighbours, restarted at every tile: value i of a tile is checkpoint + the sum of the
// tile's deltas 1..i, modulo 2^bits of the value type.
//
// streams: 0 checkpoints  T[tiles], each tile's first value
// Parameters: none. Children: 0 deltas (signed integer of the value's width, one per row). The delta in a tile's row 0
// is not used in decoding; the encoder repeats the tile's row 1 there (0 if there is no row 1), so that it costs
// nothing.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::delta {

constexpr uint32_t kCheckpoints = 0;
constexpr uint32_t kStreams = 1;

constexpr uint32_t kDeltas = 0;

// Shared memory of the tile reader, per warp: 32 neighbouring rows take their bytes and 16 more, so that a lane's
// 16-byte accesses fall on other banks than its neighbours'; then what the reader of the deltas takes. Shared memory
// moves words of four bytes, so narrower values are summed in those.
BASALT_HD constexpr uint32_t sums_bytes(uint32_t sum_bytes) { return kRowsPerLane * (kLanes * sum_bytes + 16); }
BASALT_HD constexpr uint32_t scratch_bytes(uint32_t value_bytes, uint32_t deltas_scratch) {
  return sums_bytes(value_bytes < 4 ? 4 : value_bytes) + (deltas_scratch + 15) / 16 * 16;
}

}  // namespace basalt::delta
