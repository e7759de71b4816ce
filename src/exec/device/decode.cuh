// The whole of one array to memory through its tile reader: what `verify` and tests compare with the CPU's decoder.
#pragma once

#include "basalt/core/host_device.h"
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

}  // namespace basalt::device
