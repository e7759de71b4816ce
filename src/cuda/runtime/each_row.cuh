// Loops over rows on the device, and CUB's primitives.
#pragma once

#include "cuda/runtime/device_buffer.h"

namespace basalt::cuda {

constexpr uint32_t kThreads = 256;

inline uint32_t blocks_for(uint64_t items) { return static_cast<uint32_t>((items + kThreads - 1) / kThreads); }

template <typename Body>
__global__ void rows_kernel(uint64_t count, Body body) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) body(i);
}

template <typename Body>
void each_row(uint64_t count, cudaStream_t stream, Body body) {
  if (count == 0) return;
  rows_kernel<<<blocks_for(count), kThreads, 0, stream>>>(count, body);
  check(cudaGetLastError(), "launching a loop over rows");
}

// CUB's two calls: the first asks for temporary memory, the second works.
template <typename Call>
void with_temporary(cudaStream_t stream, Call call) {
  size_t bytes = 0;
  check(call(nullptr, bytes), "sizing temporary memory");
  DeviceBuffer temporary(bytes == 0 ? 1 : bytes, stream);
  check(call(temporary.data(), bytes), "running a device-wide primitive");
}

}  // namespace basalt::cuda
