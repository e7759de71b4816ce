// Counting the rows of packed chunks whose value is at most a literal, without decoding them: each tile compares its
// packed values with the literal less its reference, or is decided whole. Statements are counted by generated kernels;
// this one shows how many registers such a filter wants, which Generator::resident_warps() goes by.
#pragma once

#include "codec/packed/gpu/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/warp.h"

namespace basalt::device {

constexpr uint32_t kCountThreads = 256;

// A warp takes kTilesPerWarp (at most 32) neighbouring tiles. Lane i fetches tile i's entry and moves the literal into
// its frame, so that this costs once per warp and words are the only thing a tile waits for.
// Grid: x covers the tiles of the longest chunk, y the chunks. The count is added to *result.
// Signed columns pass their sign bit as `flip` and the literal with that bit flipped: flipping it in the reference too
// turns signed order into unsigned order and leaves every difference as it was.
template <typename T, uint32_t kTilesPerWarp, uint32_t kMinBlocks>
__global__ __launch_bounds__(kCountThreads, kMinBlocks) void count_at_most(ChunkBatch batch, T flip, T literal,
                                                                           unsigned long long* result) {
  constexpr uint32_t kWarps = kCountThreads / kLanes;
  const uint32_t lane = lane_id();
  const uint32_t first_tile = (blockIdx.x * kWarps + threadIdx.x / kLanes) * kTilesPerWarp;
  uint32_t count = 0;
#pragma unroll 1
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* descriptor = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    Packed<T, AllWidths> column;
    column.bind(descriptor);
    const uint32_t rows = row_count(descriptor);
    const uint32_t tiles = tiles_of(rows);
    if (first_tile >= tiles) continue;
    const uint32_t here = tiles - first_tile < kTilesPerWarp ? tiles - first_tile : kTilesPerWarp;

    const auto entry = column.entry(first_tile + (lane < here ? lane : here - 1));
    column.seek_known(entry.descriptor, entry.reference ^ flip);
    const RawRange range = column.template range<false>(T{0}, literal);
    const uint32_t none = ballot(range.none);
    const uint32_t all = ballot(range.all);
#pragma unroll 1
    for (uint32_t i = 0; i < here; ++i) {
      const uint32_t tile_descriptor = shuffle(entry.descriptor, i);
      // The sum fits: a tile that is not decided whole has last < 2^width - 1.
      const uint64_t bound = shuffle(range.last, i) + 1;
      uint32_t mask = 0;
      if (all >> i & 1) {
        mask = ~0u;
      } else if (!(none >> i & 1)) {
        column.seek_known(tile_descriptor, T{0});
        column.visit([&](auto&& view) { mask = view.below(bound); });
      }
      const uint32_t rows_here = rows_of_tile(rows, first_tile + i);
      if (rows_here != kTileRows) mask &= rows_mask(rows_here, lane);
      count += population(mask);
    }
  }
  __shared__ uint32_t warp_counts[kWarps];
  count = sum_of_lanes(count);
  if (lane == 0) warp_counts[threadIdx.x / kLanes] = count;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned long long sum = 0;
    for (uint32_t w = 0; w < kWarps; ++w) sum += warp_counts[w];
    if (sum != 0) atomicAdd(result, sum);
  }
}

}  // namespace basalt::device
