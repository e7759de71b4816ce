// Tests of values against a range without rebuilding them: a range of values is a range of offsets from a reference.
#pragma once

#include <algorithm>
#include <cstdint>

#include "basalt/core/host_device.h"
#include "basalt/core/types.h"
#include "core/packed_tile.h"

namespace basalt {

// Offsets first…last of a reference, as far as `width` bits can hold them.
struct OffsetRange {
  bool none = false;
  bool all = false;
  uint64_t first = 0;
  uint64_t last = 0;
};

// For values low…high. Differences are taken where they cannot wrap.
inline OffsetRange offsets_between(int128_t low, int128_t high, int128_t reference, uint32_t width) {
  const uint128_t most = low_bits(width);
  if (low > high || high < reference) return {true, false, 0, 0};
  const uint128_t first = low > reference ? static_cast<uint128_t>(low) - static_cast<uint128_t>(reference) : 0;
  const uint128_t last = std::min(most, static_cast<uint128_t>(high) - static_cast<uint128_t>(reference));
  if (first > most) return {true, false, 0, 0};
  return {false, first == 0 && last == most, static_cast<uint64_t>(first), static_cast<uint64_t>(last)};
}

// out[i] = 1 where first ≤ values[i] ≤ last, by one unsigned comparison; for signed values in their unsigned form, too.
template <typename U>
void test_between(const U* __restrict values, uint32_t rows, U first, U last, uint8_t* __restrict out) {
  const U span = static_cast<U>(last - first);
  for (uint32_t i = 0; i < rows; ++i) out[i] = static_cast<U>(values[i] - first) <= span ? 1 : 0;
}

}  // namespace basalt
