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

// The least and the largest of all lanes' integers; one instruction for 32 bits from Ampere on.
template <typename T>
__device__ __forceinline__ T lowest_of_lanes(T value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static_assert(static_cast<T>(1) / 2 == 0, "integers");
  if constexpr (sizeof(T) == 4) return __reduce_min_sync(kWholeWarp, value);
#endif
  return join_lanes(value, [](T a, T b) { return a < b ? a : b; });
}
template <typename T>
__device__ __forceinline__ T highest_of_lanes(T value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static_assert(static_cast<T>(1) / 2 == 0, "integers");
  if constexpr (sizeof(T) == 4) return __reduce_max_sync(kWholeWarp, value);
#endif
  return join_lanes(value, [](T a, T b) { return a > b ? a : b; });
}

}  // namespace basalt::device
