// The l3 codec's kernels, compiled ahead.
#include "codec/l3/kernels.h"

#include "codec/l3/direct.cuh"
#include "core/device/launch.h"

namespace basalt::device {

// Grid as for decode_tiles.
template <typename T, uint32_t kWarps, uint32_t kMinBlocks>
__global__ __launch_bounds__(kWarps* kLanes, kMinBlocks) void decode_learned(ChunkBatch batch, T* out,
                                                                             uint32_t* fault) {
  const uint32_t tile = blockIdx.x * kWarps + threadIdx.x / kLanes;
  bool bad = false;
#pragma unroll 1
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* descriptor = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    const uint32_t rows = rows_of_tile(row_count(descriptor), tile);
    if (rows == 0) continue;
    T* lane_out = out + load(batch.first_rows + chunk) + uint64_t{tile} * kTileRows + lane_id();
    const bool wrong = for_each_learned_row<T>(l3_chunk(descriptor), tile, [&](uint32_t k, T value) {
      if (k * kLanes + lane_id() < rows) store_once(lane_out + k * kLanes, value);
    });
    bad = bad || wrong;
  }
  if (bad) *fault = 1;
}

}  // namespace basalt::device

namespace basalt::l3 {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, T* out, uint32_t* fault, cudaStream_t stream) {
  if (device::is_empty(batch)) return cudaSuccess;
  constexpr uint32_t kWarps = 8;
  constexpr uint32_t kMinBlocks = sizeof(T) == 8 ? 2 : 3;  // residuals of a tile take 64 or 32 registers
  device::decode_learned<T, kWarps, kMinBlocks>
      <<<device::tile_grid(batch, kWarps), kWarps * kLanes, 0, stream>>>(batch, out, fault);
  return cudaGetLastError();
}

template cudaError_t decode(const device::ChunkBatch&, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint64_t*, uint32_t*, cudaStream_t);

}  // namespace basalt::l3
