// Filling a lane's words of a packed tile.
#pragma once

#include "core/device/warp.h"

namespace basalt::device {

// number(k), k = 0…31, have `width` bits (0..32) and nothing above; `to` is the lane's word 0.
template <typename Number>
__device__ __forceinline__ void pack_lane_narrow(uint32_t width, uint32_t* to, Number&& number) {
  if (width == 0) return;
  uint32_t held = 0;
  uint32_t filled = 0;  // bits of it: fewer than 32
#pragma unroll
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    const auto value = static_cast<uint32_t>(number(k));
    const auto beyond = static_cast<uint32_t>(uint64_t{value} >> (32 - filled));
    held |= value << filled;
    filled += width;
    if (filled >= 32) {
      *to = held;
      to += kLanes;
      filled -= 32;
      held = beyond;
    }
  }
}

// The same for 33..64 bits.
template <typename Number>
__device__ __forceinline__ void pack_lane_wide(uint32_t width, uint32_t* to, Number&& number) {
  uint64_t held = 0;
  uint32_t filled = 0;  // bits of it: fewer than 32
  const auto store = [&] {
    *to = static_cast<uint32_t>(held);
    to += kLanes;
    held >>= 32;
  };
#pragma unroll
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    const uint64_t value = number(k);
    const uint64_t beyond = filled == 0 ? 0 : value >> (64 - filled);
    held |= value << filled;
    filled += width - 32;
    store();
    held |= beyond << 32;
    if (filled >= 32) {
      filled -= 32;
      store();
    }
  }
}

// For any width.
template <typename Number>
__device__ __forceinline__ void pack_lane(uint32_t width, uint32_t* to, Number&& number) {
  if (width <= 32) {
    pack_lane_narrow(width, to, number);
  } else {
    pack_lane_wide(width, to, number);
  }
}

}  // namespace basalt::device
