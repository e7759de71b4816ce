// Kernels that all decoders of strings share, precompiled.
#include "codec/strings/gpu/kernels.h"

#include <cub/block/block_scan.cuh>

#include "codec/strings/gpu/kernels.cuh"
#include "codec/strings/gpu/launch.cuh"

namespace basalt::strings {

namespace {

constexpr uint32_t kWarps = 8;
constexpr uint32_t kScanThreads = 256;

__device__ __forceinline__ uint32_t tile_of_warp() { return blockIdx.x * kWarps + threadIdx.x / kLanes; }

// Tile t's bytes go to text_starts[t + 1].
template <typename Lengths>
__global__ __launch_bounds__(kWarps* kLanes) void measure_kernel(const TextBatch batch) {
  const TextWork work = batch.work(blockIdx.y);
  const uint32_t tile = tile_of_warp();
  if (tile >= work.tiles()) return;
  const uint64_t bytes = measure_tile<Lengths>(work, tile);
  if (lane_id() == 0) work.text_starts[tile + 1] = bytes;
}

// A block per array.
__global__ __launch_bounds__(kScanThreads) void add_up_kernel(const TextBatch batch) {
  using Scan = cub::BlockScan<uint64_t, kScanThreads>;
  __shared__ typename Scan::TempStorage storage;
  const TextWork work = batch.work(blockIdx.x);
  uint64_t before = 0;
  for (uint32_t first = 0; first < work.tiles(); first += kScanThreads) {
    const uint32_t tile = first + threadIdx.x;
    uint64_t end = tile < work.tiles() ? work.text_starts[tile + 1] : 0;
    uint64_t sum = 0;
    Scan(storage).InclusiveSum(end, end, sum);
    if (tile < work.tiles()) work.text_starts[tile + 1] = before + end;
    before += sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) work.text_starts[0] = 0;
}

template <typename Lengths>
__global__ __launch_bounds__(kWarps* kLanes) void place_rows_kernel(const TextBatch batch) {
  const TextWork work = batch.work(blockIdx.y);
  if (blockIdx.x == 0 && threadIdx.x == 0) place_end(work);
  const uint32_t tile = tile_of_warp();
  if (tile < work.tiles() && !place_rows<Lengths>(work, tile)) *work.fault = 1;
}

}  // namespace

cudaError_t place_tiles(const TextBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  const cudaError_t error = with_child<uint32_t>(batch.lengths, [&](auto reader) {
    measure_kernel<decltype(reader)><<<tile_grid(batch, kWarps), kWarps * kLanes, 0, stream>>>(batch);
    return cudaGetLastError();
  });
  if (error != cudaSuccess) return error;
  add_up_kernel<<<batch.count, kScanThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

cudaError_t place_rows(const TextBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  return with_child<uint32_t>(batch.lengths, [&](auto reader) {
    place_rows_kernel<decltype(reader)><<<tile_grid(batch, kWarps), kWarps * kLanes, 0, stream>>>(batch);
    return cudaGetLastError();
  });
}

}  // namespace basalt::strings
