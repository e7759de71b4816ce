#pragma once

#include <cuda_runtime_api.h>

namespace cub {

struct DeviceMemcpy {
  template <typename Source, typename Target, typename Size>
  static cudaError_t Batched(void* room, size_t& bytes, Source sources, Target targets, Size sizes, int64_t count,
                             cudaStream_t) {
    bytes = 1;
    if (room == nullptr) return cudaSuccess;
    for (int64_t i = 0; i < count; ++i) {
      if (sizes[i] > 0) std::memcpy(targets[i], sources[i], sizes[i]);
    }
    return cudaSuccess;
  }
};

}  // namespace cub
