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

}  // namespace basalt::delta
