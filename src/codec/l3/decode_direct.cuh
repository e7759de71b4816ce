// The kernel that decodes l3 chunks to memory, one warp per tile.
#pragma once

#include "codec/l3/direct.cuh"
#include "core/device/batch.h"
#include "core/device/decode_tiles.h"

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
