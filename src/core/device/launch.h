// Host side of launching kernels over a batch of chunks.
#pragma once

#include <cuda_runtime_api.h>

#include "core/device/batch.h"

namespace basalt::device {

constexpr uint32_t kMaxGridY = 65535;

inline dim3 tile_grid(const ChunkBatch& batch, uint32_t tiles_per_block) {
  return dim3((batch.tiles_per_chunk + tiles_per_block - 1) / tiles_per_block,
              batch.chunks < kMaxGridY ? batch.chunks : kMaxGridY);
}

inline bool is_empty(const ChunkBatch& batch) { return batch.chunks == 0 || batch.tiles_per_chunk == 0; }

// Properties of the current device that decide launches.
struct DeviceShape {
  int multiprocessors = 0;
  int compute_major = 0;
  int shared_bytes_per_block = 0;  // the most a block may ask for
};

inline cudaError_t current_shape(DeviceShape& shape) {
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&shape.multiprocessors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&shape.compute_major, cudaDevAttrComputeCapabilityMajor, device);
  }
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&shape.shared_bytes_per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  }
  return error;
}

// Blocks ask for more than 48 KB of shared memory only after saying so.
template <typename Kernel>
cudaError_t allow_shared(Kernel kernel, uint32_t bytes) {
  if (bytes <= 48 * 1024) return cudaSuccess;
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(bytes));
}

}  // namespace basalt::device
