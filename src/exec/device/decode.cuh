// Whole arrays to memory through their tile reader: what `verify` and tests compare with the CPU's decoder, and where
// kernels of strings find lengths and codes.
#pragma once

#include "basalt/core/host_device.h"
#include "core/device/batch.h"
#include "core/device/warp.h"
#include "exec/device/aggregate.cuh"

namespace basalt::device {

template <typename Reader>
BASALT_HD constexpr uint32_t decode_warps() {
  return warps_that_fit(Reader::kScratchBytes);
}

// One warp per tile in turn. *bad becomes 1 where values break a rule that only they can show.
template <typename Reader, typename T>
__device__ __forceinline__ void decode_array(const uint64_t* descriptor, T* out, uint32_t* bad) {
  constexpr uint32_t kWarps = decode_warps<Reader>();
  constexpr uint32_t kScratch = round_to_16(Reader::kScratchBytes);
  __shared__ __align__(16) unsigned char scratches[kWarps][kScratch > 0 ? kScratch : 16];
  const uint32_t rows = row_count(descriptor);
  const uint32_t tiles = (rows + kTileRows - 1) / kTileRows;
  const uint32_t warps = blockDim.x / kLanes;
  for (uint32_t tile = blockIdx.x * warps + threadIdx.x / kLanes; tile < tiles; tile += gridDim.x * warps) {
    Reader reader;
    reader.open(descriptor, tile, scratches[threadIdx.x / kLanes]);
    reader.visit([&](auto&& view) {
      for_each_row(view, [&](uint32_t k, T value) {
        const uint32_t row = tile * kTileRows + k * kLanes + lane_id();
        if (row < rows) store_once(out + row, value);
      });
    });
    if (reader.bad) *bad = 1;
    sync_warp();
  }
}

// Arrays that have the same reader, each for a row of blocks.
template <typename Reader, typename T>
__device__ __forceinline__ void decode_arrays(const ChunkBatch& batch, T* out, uint32_t* bad) {
#pragma unroll 1
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* descriptor = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    decode_array<Reader>(descriptor, out + load(batch.first_rows + chunk), bad);
  }
}

}  // namespace basalt::device
