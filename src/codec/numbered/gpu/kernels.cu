// The numbered codec's decoding kernel, precompiled.
#include "codec/numbered/gpu/kernels.h"

#include "codec/numbered/gpu/kernels.cuh"
#include "codec/strings/gpu/launch.cuh"

namespace basalt::numbered {

namespace {

constexpr uint32_t kWarps = 8;

// A warp per tile; y is the array.
template <typename Numbers>
__global__ __launch_bounds__(kWarps* kLanes) void decode_kernel(const DecodeWork* works) {
  __shared__ alignas(16) unsigned char stages[kWarps][kStageBytes];
  static_assert(kStageBytes % 16 == 0);
  const DecodeWork work = works[blockIdx.y];
  if (blockIdx.x == 0 && threadIdx.x == 0) work.put_offset(work.rows, uint64_t{work.rows} * work.row_bytes());
  const uint32_t warp = threadIdx.x / kLanes;
  const uint32_t tile = blockIdx.x * kWarps + warp;
  if (tile < work.tiles() && !decode_tile<Numbers>(work, tile, stages[warp])) *work.fault = 1;
}

}  // namespace

cudaError_t decode(const DecodeBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  const strings::TextBatch texts = strings::text_batch(batch.works, batch.count, batch.most_tiles, batch.numbers);
  return strings::with_child<uint64_t>(batch.numbers, [&](auto numbers) {
    decode_kernel<decltype(numbers)><<<strings::tile_grid(texts, kWarps), kWarps * kLanes, 0, stream>>>(batch.works);
    return cudaGetLastError();
  });
}

}  // namespace basalt::numbered
