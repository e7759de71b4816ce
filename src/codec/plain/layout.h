// `plain`: values as they are.
//
// Fixed width: streams: 0 values  T[count], little-endian.
// Bytes (the child of `strings`): streams: 0 tile starts  uint64[tiles + 1], where each tile's bytes begin, the last
//                                            entry being the total; 1 bytes, row after row.
// The borders of rows inside a tile come from the lengths that `strings` holds. Parameters: none. Children: none.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::plain {

constexpr uint32_t kValues = 0;
constexpr uint32_t kFixedStreams = 1;

constexpr uint32_t kTileStarts = 0;
constexpr uint32_t kBytes = 1;
constexpr uint32_t kBytesStreams = 2;

}  // namespace basalt::plain
