// The packed tile: the one way Basalt stores narrow integers. 1024 values of b bits (0 ≤ b ≤ 64) lie in 32 lanes of 32
// values; lane l owns rows l, 32 + l, 64 + l, …, so its k-th value is row 32·k + l. A lane's 32 values form a bit
// stream of exactly b 32-bit words, least significant bit first; word j of lane l is stored at index j·32 + l, so that
// the 32 lanes of a warp read 128 consecutive bytes, and a CPU vectorises over lanes.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt {

constexpr uint32_t kMaxPackedWidth = 64;

// Words of one tile; a tile of width b is b rows of 32 words (128 bytes each).
BASALT_HD constexpr uint32_t packed_tile_words(uint32_t width) { return width * kLanes; }

BASALT_HD uint64_t low_bits(uint32_t width) { return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }

// Value k of a lane; `lane_words` points at the lane's word 0, its word j is lane_words[j * 32]. A value lies in at
// most two words up to width 33 and in up to three above.
BASALT_HD uint64_t packed_value(const uint32_t* lane_words, uint32_t width, uint32_t k) {
  if (width == 0) return 0;
  const uint32_t bit = k * width;
  const uint32_t word = bit >> 5;
  const uint32_t shift = bit & 31;
  uint64_t value = lane_words[word * kLanes] >> shift;
  uint32_t have = 32 - shift;
  if (have < width) {
    value |= static_cast<uint64_t>(lane_words[(word + 1) * kLanes]) << have;
    have += 32;
    if (have < width) value |= static_cast<uint64_t>(lane_words[(word + 2) * kLanes]) << have;
  }
  return value & low_bits(width);
}

// Any one row of the tile.
BASALT_HD uint64_t packed_row(const uint32_t* tile_words, uint32_t width, uint32_t row) {
  return packed_value(tile_words + (row & (kLanes - 1)), width, row / kLanes);
}

}  // namespace basalt
