// The least of an array's integers, and how far the largest lies above it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace basalt::cuda {

struct DeviceValues;

struct ValueRange {
  uint64_t reference = 0;  // as a number of the values' width, the rest zero
  uint64_t span = 0;
};

// By the type's own order, of at least one value of at most 64 bits. Waits for it.
ValueRange range_of(const DeviceValues& values, cudaStream_t stream);

}  // namespace basalt::cuda
