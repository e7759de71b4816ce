// The device encoder's kernels: stages of encode_search.cuh, encode_tiles.cuh and encode_write.cuh, each with the grid
// it wants.
#include "codec/galp/encode_kernels.h"

#include <cstdlib>

#include "codec/galp/encode_write.cuh"

namespace basalt::galp {

namespace {

constexpr uint32_t kSearchThreads = kPieces * kLanes;  // a warp per piece
constexpr uint32_t kTileThreads = 64;                  // small blocks: registers decide how many there are
constexpr uint32_t kTileBlocks = 10;                   // at once: with 8 or 12 they are 3 to 15 % slower

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

template <typename T, int kBlocks, int kFirst = 8>
__global__ __launch_bounds__(kTileThreads,
                             kBlocks) void choose_tiles_kernel(const __grid_constant__ EncodeWork<T> work) {
  const uint32_t tile = tile_of_warp();
  if (tile < work.tiles) choose_tile<kFirst>(work, tile);
}
template <typename T>
__global__ __launch_bounds__(kTileThreads) void take_schemes_kernel(const __grid_constant__ EncodeWork<T> work,
                                                                    uint32_t scheme) {
  const uint32_t tile = tile_of_warp();
  if (tile < work.tiles) take_scheme(work, tile, scheme);
}
template <typename T, int kBlocks>
__global__ __launch_bounds__(kTileThreads,
                             kBlocks) void write_tiles_kernel(const __grid_constant__ EncodeWork<T> work,
                                                              const __grid_constant__ EncodedStreams<T> streams) {
  __shared__ uint32_t staged[kTileThreads / kLanes][kMostBlockWords<T>];
  const uint32_t tile = tile_of_warp();
  if (tile < work.tiles) write_tile(work, streams, tile, staged[warp_of_block()]);
}

int tried_blocks(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? kTileBlocks : std::atoi(text);
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
  const int blocks = tried_blocks(sizeof(T) == 8 ? "CHOOSE_DOUBLE" : "CHOOSE_FLOAT");
  if (blocks == 408) choose_tiles_kernel<T, 8, 4><<<tile_blocks(work), kTileThreads, 0, stream>>>(work);
  if (blocks == 412) choose_tiles_kernel<T, 12, 4><<<tile_blocks(work), kTileThreads, 0, stream>>>(work);
  if (blocks == 8) choose_tiles_kernel<T, 8><<<tile_blocks(work), kTileThreads, 0, stream>>>(work);
  if (blocks == 10) choose_tiles_kernel<T, 10><<<tile_blocks(work), kTileThreads, 0, stream>>>(work);
  if (blocks == 12) choose_tiles_kernel<T, 12><<<tile_blocks(work), kTileThreads, 0, stream>>>(work);
  if (blocks == 16) choose_tiles_kernel<T, 16><<<tile_blocks(work), kTileThreads, 0, stream>>>(work);
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
  const int blocks = tried_blocks(sizeof(T) == 8 ? "WRITE_DOUBLE" : "WRITE_FLOAT");
  if (blocks == 8) write_tiles_kernel<T, 8><<<tile_blocks(work), kTileThreads, 0, stream>>>(work, streams);
  if (blocks == 10) write_tiles_kernel<T, 10><<<tile_blocks(work), kTileThreads, 0, stream>>>(work, streams);
  if (blocks == 12) write_tiles_kernel<T, 12><<<tile_blocks(work), kTileThreads, 0, stream>>>(work, streams);
  if (blocks == 16) write_tiles_kernel<T, 16><<<tile_blocks(work), kTileThreads, 0, stream>>>(work, streams);
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
