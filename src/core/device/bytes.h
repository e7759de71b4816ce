// Bytes inside of words.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::device {

// high : byte i of `bytes`, for high < 256; one instruction.
__device__ __forceinline__ uint32_t byte_below(uint32_t high, uint32_t bytes, uint32_t i) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(bytes, high, 0x5540 | i);
#else
  return high << 8 | (bytes >> 8 * i & 0xFF);
#endif
}

}  // namespace basalt::device
