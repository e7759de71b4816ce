// The tokens codec's decoding kernels, precompiled. Grids: y is the array.
#include "codec/tokens/gpu/kernels.h"

#include "codec/strings/gpu/launch.cuh"
#include "codec/tokens/gpu/kernels.cuh"

namespace basalt::tokens {

namespace {

constexpr uint32_t kWarps = 8;
constexpr uint32_t kThreads = kWarps * kLanes;
constexpr uint32_t kDecodeBlocks = 4;

__global__ __launch_bounds__(kThreads) void make_slots_kernel(const DecodeWork* works) {
  const DecodeWork work = works[blockIdx.y];
  const uint32_t entry = blockIdx.x * kThreads + threadIdx.x;
  if (entry < work.entry_count && !make_slot(work, entry)) *work.fault = 1;
}

// A warp per tile.
template <typename Lengths, typename Ids>
__global__ __launch_bounds__(kThreads, kDecodeBlocks) void decode_kernel(const DecodeWork* works) {
  __shared__ DecodeScratch scratch[kWarps];
  const DecodeWork work = works[blockIdx.y];
  if (blockIdx.x == 0 && threadIdx.x == 0) strings::place_end(work);
  const uint32_t warp = threadIdx.x / kLanes;
  const uint32_t tile = blockIdx.x * kWarps + warp;
  if (tile < work.tiles() && !decode_tile<Lengths, Ids>(work, tile, scratch[warp])) *work.fault = 1;
}

template <typename Lengths, typename Ids, typename Counts>
__global__ __launch_bounds__(kThreads) void check_rows_kernel(const DecodeWork* works) {
  const DecodeWork work = works[blockIdx.y];
  const uint32_t tile = blockIdx.x * kWarps + threadIdx.x / kLanes;
  if (tile < work.tiles() && !check_tile<Lengths, Ids, Counts>(work, tile)) *work.fault = 1;
}

}  // namespace

cudaError_t make_slots(const DecodeBatch& batch, cudaStream_t stream) {
  if (batch.count == 0 || batch.most_entries == 0) return cudaSuccess;
  const dim3 grid((batch.most_entries + kThreads - 1) / kThreads, batch.count);
  make_slots_kernel<<<grid, kThreads, 0, stream>>>(batch.works);
  return cudaGetLastError();
}

cudaError_t decode(const DecodeBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  return strings::with_child<uint32_t>(batch.lengths, [&](auto lengths) {
    return strings::with_child<uint32_t>(batch.ids, [&](auto ids) {
      decode_kernel<decltype(lengths), decltype(ids)>
          <<<strings::tile_grid(batch.texts(), kWarps), kThreads, 0, stream>>>(batch.works);
      return cudaGetLastError();
    });
  });
}

cudaError_t check_rows(const DecodeBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  return strings::with_child<uint32_t>(batch.lengths, [&](auto lengths) {
    return strings::with_child<uint32_t>(batch.ids, [&](auto ids) {
      return strings::with_child<uint32_t>(batch.counts, [&](auto counts) {
        check_rows_kernel<decltype(lengths), decltype(ids), decltype(counts)>
            <<<strings::tile_grid(batch.texts(), kWarps), kThreads, 0, stream>>>(batch.works);
        return cudaGetLastError();
      });
    });
  });
}

}  // namespace basalt::tokens
