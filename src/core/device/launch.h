// Host side of launching kernels over a batch of chunks.
#pragma once

#include <cuda_runtime_api.h>

#include "core/device/batch.h"
#include "core/device/decode_tiles.h"

namespace basalt::device {

constexpr uint32_t kMaxGridY = 65535;

inline dim3 tile_grid(const ChunkBatch& batch, uint32_t tiles_per_block) {
  return dim3((batch.tiles_per_chunk + tiles_per_block - 1) / tiles_per_block,
              batch.chunks < kMaxGridY ? batch.chunks : kMaxGridY);
}

inline bool is_empty(const ChunkBatch& batch) { return batch.chunks == 0 || batch.tiles_per_chunk == 0; }

// Tiles that a warp takes one after the other, at most `most`: several once there is enough work to fill any GPU of
// today with warps.
inline uint32_t strip_of(const ChunkBatch& batch, uint32_t most) {
  constexpr uint64_t kEnoughWarps = 8192;
  const uint64_t strip = uint64_t{batch.chunks} * batch.tiles_per_chunk / kEnoughWarps;
  return strip < 1 ? 1 : strip < most ? static_cast<uint32_t>(strip) : most;
}

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

// Prepares a kernel whose blocks use `bytes` of dynamic shared memory: more than 48 KB must be asked for, and the
// multiprocessor's memory is divided in favour of shared memory so that as many blocks as possible fit.
template <typename Kernel>
cudaError_t prepare_shared(Kernel kernel, uint32_t bytes) {
  const auto* function = reinterpret_cast<const void*>(kernel);
  if (bytes == 0) return cudaSuccess;
  const cudaError_t error =
      cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  if (error != cudaSuccess || bytes <= 48 * 1024) return error;
  return cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

// Launches a kernel that writes the rows of a batch's tiles, one warp per tile.
template <uint32_t kWarps, typename Kernel, typename T>
cudaError_t launch_over_tiles(Kernel kernel, uint32_t bytes_per_warp, const ChunkBatch& batch, T* out, uint32_t* fault,
                              cudaStream_t stream) {
  if (is_empty(batch)) return cudaSuccess;
  const cudaError_t error = prepare_shared(kernel, kWarps * bytes_per_warp);
  if (error != cudaSuccess) return error;
  kernel<<<tile_grid(batch, kWarps), kWarps * kLanes, kWarps * bytes_per_warp, stream>>>(batch, out, fault);
  return cudaGetLastError();
}

// Decodes every row of the batch to out[first_rows[chunk] + row].
template <typename Reader, uint32_t kWarps, uint32_t kMinBlocks, Stores kStores = Stores::kOnce>
cudaError_t launch_decode_tiles(const ChunkBatch& batch, typename Reader::value_type* out, uint32_t* fault,
                                cudaStream_t stream) {
  return launch_over_tiles<kWarps>(decode_tiles<Reader, kWarps, kMinBlocks, kStores>, kDecodeBytesPerWarp<Reader>,
                                   batch, out, fault, stream);
}

}  // namespace basalt::device
