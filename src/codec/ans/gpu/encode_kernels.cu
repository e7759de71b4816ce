// The kernels of the device encoder of ans.
#include "codec/ans/gpu/encode_kernels.h"

#include <algorithm>

#include "codec/ans/gpu/encode_units.cuh"

namespace basalt::ans {

namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarps = kThreads / kLanes;
// Enough for every multiprocessor to have a few; each clears its counters and adds them up once.
constexpr uint64_t kMostBlocks = 1024;

template <typename T>
__global__ __launch_bounds__(kThreads) void count_kernel(const EncodeWork<T> work, uint32_t* counts) {
  __shared__ CountRoom room;
  count_symbols(work, room, uint64_t{blockIdx.x} * kThreads + threadIdx.x, uint64_t{gridDim.x} * kThreads, counts);
}

template <typename T>
__global__ __launch_bounds__(kThreads) void encode_kernel(const EncodeWork<T> work) {
  __shared__ CodeRoom room;
  encode_units(work, room, blockIdx.x * kWarps, gridDim.x * kWarps);
}

template <typename T>
__global__ __launch_bounds__(kThreads) void place_kernel(const EncodeWork<T> work, const uint32_t* starts,
                                                         uint32_t* units) {
  const uint32_t unit = (blockIdx.x * kThreads + threadIdx.x) / kLanes;
  if (unit < units_of(work.rows, work.unit_tiles)) place_unit(work, starts, unit, units);
}

uint32_t blocks_of_rows(uint64_t rows) {
  return static_cast<uint32_t>(std::min(kMostBlocks, (rows + kThreads - 1) / kThreads));
}
template <typename T>
uint32_t blocks_of_units(const EncodeWork<T>& work) {
  return static_cast<uint32_t>((units_of(work.rows, work.unit_tiles) + kWarps - 1) / kWarps);
}

}  // namespace

template <typename T>
cudaError_t count_symbols(const EncodeWork<T>& work, uint32_t* counts, cudaStream_t stream) {
  count_kernel<T><<<blocks_of_rows(work.rows), kThreads, 0, stream>>>(work, counts);
  return cudaGetLastError();
}

template <typename T>
cudaError_t encode_units(const EncodeWork<T>& work, cudaStream_t stream) {
  encode_kernel<T><<<blocks_of_units(work), kThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

template <typename T>
cudaError_t place_units(const EncodeWork<T>& work, const uint32_t* starts, uint32_t* units, cudaStream_t stream) {
  place_kernel<T><<<blocks_of_units(work), kThreads, 0, stream>>>(work, starts, units);
  return cudaGetLastError();
}

template cudaError_t count_symbols(const EncodeWork<uint8_t>&, uint32_t*, cudaStream_t);
template cudaError_t encode_units(const EncodeWork<uint8_t>&, cudaStream_t);
template cudaError_t place_units(const EncodeWork<uint8_t>&, const uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t count_symbols(const EncodeWork<uint16_t>&, uint32_t*, cudaStream_t);
template cudaError_t encode_units(const EncodeWork<uint16_t>&, cudaStream_t);
template cudaError_t place_units(const EncodeWork<uint16_t>&, const uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t count_symbols(const EncodeWork<uint32_t>&, uint32_t*, cudaStream_t);
template cudaError_t encode_units(const EncodeWork<uint32_t>&, cudaStream_t);
template cudaError_t place_units(const EncodeWork<uint32_t>&, const uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t count_symbols(const EncodeWork<uint64_t>&, uint32_t*, cudaStream_t);
template cudaError_t encode_units(const EncodeWork<uint64_t>&, cudaStream_t);
template cudaError_t place_units(const EncodeWork<uint64_t>&, const uint32_t*, uint32_t*, cudaStream_t);

}  // namespace basalt::ans
