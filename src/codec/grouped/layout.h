// `grouped`: neighbouring values side by side in one number, so that a further codec sees them together: where values
// come in few combinations, `dict` below has an entry for each. Values are counted from the smallest one, the
// reference, and take equally many bits; the first of a group takes the lowest.
//
// Streams: none. Parameters: Parameters. Children: 0 groups (uint64, one for each `values` rows, the last one filled up
// with zeros).
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::grouped {

constexpr uint32_t kGroups = 0;

struct Parameters {
  uint64_t reference;  // as a number of the values' width, the rest zero
  uint32_t values;     // of a group: 2, 4, 8, 16 or 32
  uint32_t bits;       // of a value; values · bits ≤ 64
};
constexpr uint32_t kParameterBytes = 16;
constexpr uint32_t kParameterWords = kParameterBytes / 8;
static_assert(sizeof(Parameters) == kParameterBytes);

constexpr uint32_t kFewestValues = 2;
constexpr uint32_t kMostValues = 32;

BASALT_HD constexpr uint64_t groups_of(uint64_t rows, uint32_t values) {
  return rows / values + (rows % values != 0 ? 1 : 0);
}
// `place` of a group's value above the reference; bits behind the last one mean nothing.
BASALT_HD constexpr uint64_t value_in(uint64_t group, uint32_t place, uint32_t bits) {
  return group >> (place * bits) & ((uint64_t{1} << bits) - 1);
}

// Shared memory of the tile reader, per warp: the groups of its tile, each at its place in the child's tile; then what
// their reader takes.
BASALT_HD constexpr uint32_t scratch_bytes(uint32_t groups_scratch) {
  return kTileRows * 8 + (groups_scratch + 15) / 16 * 16;
}

}  // namespace basalt::grouped
