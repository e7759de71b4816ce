// Numbers of any width into a stream, by many threads at once.
#pragma once

#include "core/packed_tile.h"

namespace basalt::device {

// Sets bits of a stream that are zero and that other threads fill as well.
__device__ inline void put_bits(uint32_t* words, uint64_t at, uint32_t width, uint64_t value) {
  uint32_t* to = words + (at >> 5);
  const uint32_t shift = at & 31;
  const uint128_t bits = static_cast<uint128_t>(value & low_bits(width)) << shift;
  for (uint32_t i = 0; i * 32 < shift + width; ++i) {
    const auto word = static_cast<uint32_t>(bits >> (32 * i));
    if (word != 0) atomicOr(to + i, word);
  }
}

}  // namespace basalt::device
