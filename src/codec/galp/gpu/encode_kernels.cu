// The device encoder's kernels: stages of encode_search.cuh, encode_tiles.cuh and encode_write.cuh, each with the grid
// it wants.
#include "codec/galp/gpu/encode_kernels.h"

#include "codec/galp/gpu/encode_write.cuh"

namespace basalt::galp {

namespace {

constexpr uint32_t kSearchThreads = kPieces * kLanes;  // a warp per piece
constexpr uint32_t kTileThreads = 64;                  // small blocks: registers decide how many there are
// Blocks at once: registers for what doubles have in flight, more warps for floats. See docs/decisions/gpu-kernels.md.
template <typename T>
constexpr uint32_t kChooseBlocks = sizeof(T) == 8 ? 8 : 12;
template <typename T>
constexpr uint32_t kWriteBlocks = sizeof(T) == 8 ? 8 : 16;

__device__ __forceinline__ uint32_t tile_of_warp() { return (blockIdx.x * blockDim.x + threadIdx.x) / kLanes; }

template <typename T>
__global__ __launch_bounds__(kSearchThreads) void search_groups_kernel(const __grid_constant__ EncodeWork<T> work) {
  search_group(work, blockIdx.x);
}
template <typename T>
__global__ __launch_bounds__(kSearchThreads) void sample_groups_kernel(const __grid_constant__ EncodeWork<T> work) {
  sample_group(work, blockIdx.x);
}
template <typename T>
__global__ void rank_array_kernel(const __grid_constant__ EncodeWork<T> work) {
  rank_array(work);
}
template <typename T>
__global__ __launch_bounds__(kSearchThreads) void fit_groups_kernel(const __grid_constant__ EncodeWork<T> work) {
  fit_group(work, blockIdx.x);
}
template <typename T>
__global__ void choose_pair_kernel(const __grid_constant__ EncodeWork<T> work) {
  choose_pair(work);
}

template <typename T>
__global__ __launch_bounds__(kTileThreads,
                             kChooseBlocks<T>) void choose_tiles_kernel(const __grid_constant__ EncodeWork<T> work) {
  const uint32_t tile = tile_of_warp();
  if (tile < work.tiles) choose_tile(work, tile);
}
template <typename T>
__global__ __launch_bounds__(kTileThreads) void take_schemes_kernel(const __grid_constant__ EncodeWork<T> work,
                                                                    uint32_t scheme) {
  const uint32_t tile = tile_of_warp();
  if (tile < work.tiles) take_scheme(work, tile, scheme);
}
template <typename T>
__global__ __launch_bounds__(kTileThreads, kWriteBlocks<T>) void write_tiles_kernel(
    const __grid_constant__ EncodeWork<T> work, const __grid_constant__ EncodedStreams<T> streams) {
  __shared__ uint32_t staged[kTileThreads / kLanes][kMostBlockWords<T>];
  const uint32_t tile = tile_of_warp();
  if (tile < work.tiles) write_tile(work, streams, tile, staged[warp_of_block()]);
}

template <typename T>
uint32_t tile_blocks(const EncodeWork<T>& work) {
  constexpr uint32_t kWarps = kTileThreads / kLanes;
  return (work.tiles + kWarps - 1) / kWarps;
}

}  // namespace

template <typename T>
cudaError_t choose_schemes(const EncodeWork<T>& work, cudaStream_t stream) {
  if (work.tiles == 0) return cudaSuccess;
  search_groups_kernel<T><<<work.groups, kSearchThreads, 0, stream>>>(work);
  choose_tiles_kernel<T><<<tile_blocks(work), kTileThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

template <typename T>
cudaError_t search_pair(const EncodeWork<T>& work, cudaStream_t stream) {
  if (work.tiles == 0) return cudaSuccess;
  sample_groups_kernel<T><<<work.groups, kSearchThreads, 0, stream>>>(work);
  rank_array_kernel<T><<<1, 1, 0, stream>>>(work);
  fit_groups_kernel<T><<<work.groups, kSearchThreads, 0, stream>>>(work);
  choose_pair_kernel<T><<<1, 1, 0, stream>>>(work);
  return cudaGetLastError();
}

template <typename T>
cudaError_t take_schemes(const EncodeWork<T>& work, uint32_t scheme, cudaStream_t stream) {
  if (work.tiles == 0) return cudaSuccess;
  take_schemes_kernel<T><<<tile_blocks(work), kTileThreads, 0, stream>>>(work, scheme);
  return cudaGetLastError();
}

template <typename T>
cudaError_t write_streams(const EncodeWork<T>& work, const EncodedStreams<T>& streams, cudaStream_t stream) {
  if (work.tiles == 0) return cudaSuccess;
  write_tiles_kernel<T><<<tile_blocks(work), kTileThreads, 0, stream>>>(work, streams);
  return cudaGetLastError();
}

template cudaError_t choose_schemes(const EncodeWork<double>&, cudaStream_t);
template cudaError_t choose_schemes(const EncodeWork<float>&, cudaStream_t);
template cudaError_t search_pair(const EncodeWork<double>&, cudaStream_t);
template cudaError_t search_pair(const EncodeWork<float>&, cudaStream_t);
template cudaError_t take_schemes(const EncodeWork<double>&, uint32_t, cudaStream_t);
template cudaError_t take_schemes(const EncodeWork<float>&, uint32_t, cudaStream_t);
template cudaError_t write_streams(const EncodeWork<double>&, const EncodedStreams<double>&, cudaStream_t);
template cudaError_t write_streams(const EncodeWork<float>&, const EncodedStreams<float>&, cudaStream_t);

}  // namespace basalt::galp
