// `packed`: frame of reference on packed tiles. Value i of tile t is reference[t] + packed value, modulo 2^bits of the
// value type, so that any signed or unsigned minimum works.
//
// streams: 0 references   T[tiles]        the tile's smallest value (by the type's own order), little-endian
//          1 descriptors  uint32[tiles]   first 128-byte row of the tile's words << 8 | width (0..64)
//          2 words        uint32[]        the packed tiles, one after the other, in tile order
// Rows beyond the count, in the last tile, hold packed value 0. Parameters: none. Children: none.
#pragma once

#include "basalt/core/host_device.h"
#include "core/packed_tile.h"

namespace basalt::packed {

constexpr uint32_t kReferences = 0;
constexpr uint32_t kDescriptors = 1;
constexpr uint32_t kWords = 2;
constexpr uint32_t kStreams = 3;
constexpr uint32_t kMaxFirstRow = (1u << 24) - 1;

BASALT_HD uint32_t make_descriptor(uint32_t first_row, uint32_t width) { return first_row << 8 | width; }
BASALT_HD uint32_t descriptor_width(uint32_t descriptor) { return descriptor & 0xFF; }
// Index of the tile's first word in the words stream.
BASALT_HD uint64_t descriptor_word(uint32_t descriptor) { return static_cast<uint64_t>(descriptor >> 8) * kLanes; }

}  // namespace basalt::packed
