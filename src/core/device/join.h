// One value out of all lanes' values.
#pragma once

#include "core/device/warp.h"

namespace basalt::device {

// Every lane gets join() over all lanes; the order must not matter to it.
template <typename T, typename Join>
__device__ __forceinline__ T join_lanes(T value, const Join& join) {
#pragma unroll
  for (uint32_t distance = kLanes / 2; distance > 0; distance /= 2) {
    value = join(value, shuffle_xor(value, distance));
  }
  return value;
}

}  // namespace basalt::device
