#pragma once

#include <cuda_runtime_api.h>

namespace cub {

struct DeviceScan {
  template <typename In, typename Out>
  static cudaError_t ExclusiveSum(void* room, size_t& bytes, const In* in, Out* out, int64_t count, cudaStream_t) {
    bytes = 1;
    if (room == nullptr) return cudaSuccess;
    Out sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const In value = in[i];
      out[i] = sum;
      sum += value;
    }
    return cudaSuccess;
  }
  template <typename In, typename Out>
  static cudaError_t InclusiveSum(void* room, size_t& bytes, const In* in, Out* out, int64_t count, cudaStream_t) {
    bytes = 1;
    if (room == nullptr) return cudaSuccess;
    Out sum = 0;
    for (int64_t i = 0; i < count; ++i) out[i] = sum += in[i];
    return cudaSuccess;
  }
};

}  // namespace cub
