// Loops over rows on the host, in a shuffled order: code that relies on one would be wrong on a device.
#pragma once

#include "cuda/emulated_warp.h"
//
#include "cuda/runtime/device_buffer.h"

namespace basalt::cuda {

template <typename Body>
void each_row(uint64_t count, cudaStream_t, Body body) {
  constexpr uint64_t kStride = 7919;  // a prime; where it divides the count, plain order
  uint64_t row = count / 3;
  for (uint64_t i = 0; i < count; ++i) {
    row = count % kStride == 0 ? i : (row + kStride) % count;
    body(row);
  }
}

template <typename Call>
void with_temporary(cudaStream_t stream, Call call) {
  size_t bytes = 0;
  check(call(nullptr, bytes), "sizing temporary memory");
  DeviceBuffer temporary(bytes, stream);
  check(call(temporary.data(), bytes), "running a device-wide primitive");
}

}  // namespace basalt::cuda
