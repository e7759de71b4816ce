// The quartered tile: how a tile is stored whose four units of 256 rows differ in width. In a unit of width b, lane l
// owns rows l, 32 + l, …, 224 + l, as in a packed tile; its 8 values are a bit stream of exactly b bytes, least
// significant bit first, at byte l·b of the unit. A unit takes 32·b bytes, so every unit starts on a multiple of 32.
#pragma once

#include "basalt/core/host_device.h"
#include "core/packed_tile.h"

namespace basalt {

constexpr uint32_t kUnitRows = 256;
constexpr uint32_t kUnitsPerTile = kTileRows / kUnitRows;
constexpr uint32_t kUnitRowsPerLane = kUnitRows / kLanes;

// 32-bit words of one unit.
BASALT_HD constexpr uint32_t unit_words(uint32_t width) { return width * 8; }

// As stream_bits() of 1 to 32 bits. Whether they lie in one word or two is no branch, which nobody could predict: two
// are read, or one twice.
BASALT_HD uint64_t short_stream_bits(const uint32_t* words, uint64_t at, uint32_t width) {
  const uint64_t both = words[at >> 5] | static_cast<uint64_t>(words[(at + width - 1) >> 5]) << 32;
  return both >> (at & 31) & low_bits(width);
}
// `width` bits at bit `at` of a stream, least significant bit first. No word beyond the last bit is read.
BASALT_HD uint64_t stream_bits(const uint32_t* words, uint64_t at, uint32_t width) {
  if (width == 0) return 0;
  const uint64_t word = at >> 5;
  const uint32_t shift = at & 31;
  uint64_t value = words[word] >> shift;
  uint32_t have = 32 - shift;
  if (have < width) {
    value |= static_cast<uint64_t>(words[word + 1]) << have;
    have += 32;
    if (have < width) value |= static_cast<uint64_t>(words[word + 2]) << have;
  }
  return value & low_bits(width);
}

// Any one row of a unit.
BASALT_HD uint64_t unit_row(const uint32_t* unit, uint32_t width, uint32_t row) {
  return stream_bits(unit, (row % kLanes * kUnitRowsPerLane + row / kLanes) * width, width);
}

}  // namespace basalt
