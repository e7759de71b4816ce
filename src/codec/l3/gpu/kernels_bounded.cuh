// Units of l3 whose values lie within 2^25 of a base, so that sums of them fit words.
#pragma once

#include "codec/l3/gpu/kernels_unit.cuh"

namespace basalt::device {

constexpr uint32_t kWidestBounded = 24;
// Offsets of eight rows add up below the marks of rows that passed.
constexpr uint32_t kMarkBit = 28;
// The same for 32 residuals of references of up to 21 bits.
constexpr uint32_t kTileMarkBit = 26;
constexpr uint32_t kWidestTileMark = 21;

BASALT_HD bool magnitude_below(uint64_t value, uint32_t bits) {
  return (value + (uint64_t{1} << bits)) >> (bits + 1) == 0;
}

// Of a bounded unit: offsets below `end` are up to the literal, and none is above `highest`.
struct UnitOffsets {
  uint32_t end = 0;
  uint32_t highest = 0;
};

// Moves base and literal of a unit whose offsets stay small over its rows, 1024 in a whole tile, so that they lie in
// 0 … 2^25 − 1. Such units are marked as bounded. Curves in tiles that partitions share are not: with code of their own
// beside that of whole tiles, warps wait for instructions.
template <typename T>
__device__ __forceinline__ UnitOffsets bound_unit(LearnedUnit& unit, T last) {
  static_assert(sizeof(T) >= 4);
  constexpr uint32_t kMost = 1u << 25;
  const bool packed = unit.is(LearnedUnit::kPackedTile);
  // Differences of these sizes move offsets by less than 2^23 in all.
  if (unit.is(LearnedUnit::kWide | LearnedUnit::kRuns) || unit.width() > kWidestBounded ||
      (!packed && unit.degree() > 1) || !magnitude_below(unit.y, 62) || !magnitude_below(unit.d1, packed ? 44 : 46) ||
      !magnitude_below(unit.d2, 34) || !magnitude_below(unit.d3, 25)) {
    return {};
  }
  const uint64_t one = (packed ? kTileRows : kUnitRows) - 1;
  constexpr uint64_t kTwo = (kTileRows - 1) * (kTileRows - 2) / 2;
  constexpr uint64_t kThree = kTwo * (kTileRows - 3) / 3;
  const auto rise = [&](uint64_t d1, uint64_t d2, uint64_t d3) {
    const auto above = [](uint64_t difference) { return static_cast<int64_t>(difference) > 0 ? difference : 0; };
    return above(d1) * one + above(d2) * kTwo + above(d3) * kThree;
  };
  const uint64_t lowest = rise(0 - unit.d1, 0 - unit.d2, 0 - unit.d3);
  const uint64_t up = (lowest + 0xFFFFFFFF) >> 32;
  const T base = static_cast<T>(unit.base + static_cast<uint64_t>(int64_t{static_cast<int32_t>(unit.y >> 32)}) - up);
  // Near the end of the type values may wrap.
  if (base > static_cast<T>(-1) - kMost) return {};
  unit.base = base;
  unit.y = (unit.y & 0xFFFFFFFF) + (up << 32);
  unit.info |= LearnedUnit::kBounded;
  UnitOffsets offsets;
  offsets.highest = static_cast<uint32_t>((unit.y + rise(unit.d1, unit.d2, unit.d3)) >> 32) +
                    static_cast<uint32_t>(low_bits(unit.width()));
  if (last >= base) offsets.end = last - base < kMost ? static_cast<uint32_t>(last - base) + 1 : kMost;
  return offsets;
}

}  // namespace basalt::device
