// What the decoder of packed chunks that ships is compared with: the same kernel with other parameters, one that
// overlaps copies on both sides, and counting by itself.
#pragma once

#include "codec/packed/gpu/kernels.cuh"
#include "core/device/launch.h"
#include "packed_count.h"
#include "packed_pipelined.h"

namespace basalt::packed {

template <typename T, device::Stores kStores, uint32_t kWarps, uint32_t kMinBlocks>
cudaError_t launch_decode_direct(const device::ChunkBatch& batch, T* out, cudaStream_t stream) {
  // Packed values cannot be wrong, so there is no fault to report.
  return device::launch_decode_tiles<device::Packed<T, device::AllWidths>, kWarps, kMinBlocks, kStores>(
      batch, out, nullptr, stream);
}

// Shared memory a Hopper block may ask for; one block fills a multiprocessor.
constexpr uint32_t kPipelineSharedBytes = 227 * 1024;

inline bool can_pipeline(const device::DeviceShape& shape) {
  return shape.compute_major >= 9 && shape.shared_bytes_per_block >= static_cast<int>(kPipelineSharedBytes);
}

template <typename T, uint32_t kStages>
cudaError_t launch_decode_pipelined(const device::ChunkBatch& batch, T* out, int multiprocessors, cudaStream_t stream) {
  if (device::is_empty(batch)) return cudaSuccess;
  constexpr uint32_t kBytes = device::kPipelineBytesPerWarp<T, kStages>;
  constexpr uint32_t kFit = kPipelineSharedBytes / kBytes;
  constexpr uint32_t kWarps = kFit < 32 ? kFit : 32;
  const auto kernel = device::decode_pipelined<T, kWarps, kStages>;
  const cudaError_t error = device::prepare_shared(kernel, kWarps * kBytes);
  if (error != cudaSuccess) return error;
  kernel<<<multiprocessors, kWarps * kLanes, kWarps * kBytes, stream>>>(batch, out);
  return cudaGetLastError();
}

template <typename T, uint32_t kTilesPerWarp, uint32_t kMinBlocks>
cudaError_t launch_count(const device::ChunkBatch& batch, T flip, T last, unsigned long long* result,
                         cudaStream_t stream) {
  if (device::is_empty(batch)) return cudaSuccess;
  constexpr uint32_t kTilesPerBlock = device::kCountThreads / kLanes * kTilesPerWarp;
  device::count_at_most<T, kTilesPerWarp, kMinBlocks>
      <<<device::tile_grid(batch, kTilesPerBlock), device::kCountThreads, 0, stream>>>(batch, flip, last, result);
  return cudaGetLastError();
}

}  // namespace basalt::packed
