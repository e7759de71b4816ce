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

// An integer of 64 bits out of all lanes' integers, as `of` chooses among integers of 32 bits: first among the upper
// halves, then among the lower halves of those that have it. `never`: a lower half that is not chosen.
template <typename T, typename Of>
__device__ __forceinline__ T by_halves(T value, uint32_t never, const Of& of) {
  constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);
  using Upper = typename SelectType<kSigned, int32_t, uint32_t>::type;
  const auto own = static_cast<Upper>(value >> 32);
  const Upper upper = of(own);
  const uint32_t lower = of(own == upper ? static_cast<uint32_t>(value) : never);
  return static_cast<T>(static_cast<uint64_t>(static_cast<uint32_t>(upper)) << 32 | lower);
}

// The least and the largest of all lanes' integers; one instruction for 32 bits from Ampere on.
template <typename T>
__device__ __forceinline__ T lowest_of_lanes(T value) {
  if constexpr (sizeof(T) == 8) {
    return by_halves(value, ~0u, [](auto half) { return lowest_of_lanes(half); });
  }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static_assert(static_cast<T>(1) / 2 == 0, "integers");
  if constexpr (sizeof(T) == 4) return __reduce_min_sync(kWholeWarp, value);
#endif
  return join_lanes(value, [](T a, T b) { return a < b ? a : b; });
}
template <typename T>
__device__ __forceinline__ T highest_of_lanes(T value) {
  if constexpr (sizeof(T) == 8) {
    return by_halves(value, 0, [](auto half) { return highest_of_lanes(half); });
  }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  static_assert(static_cast<T>(1) / 2 == 0, "integers");
  if constexpr (sizeof(T) == 4) return __reduce_max_sync(kWholeWarp, value);
#endif
  return join_lanes(value, [](T a, T b) { return a > b ? a : b; });
}

}  // namespace basalt::device
