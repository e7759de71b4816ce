#include "cuda/codec/value_range.h"

#include <algorithm>

#include "core/device/join.h"
#include "cuda/codec/encode_array.cuh"

namespace basalt::cuda {

namespace {

constexpr uint32_t kMostBlocks = 1024;

// `top`: the bit that makes the order unsigned when it is turned, or none.
template <typename T>
__global__ void range_kernel(const T* values, uint64_t rows, T top, unsigned long long* range) {
  T low = static_cast<T>(~T{0});
  T high = 0;
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += stride) {
    const T key = static_cast<T>(device::load(values + row) ^ top);
    low = key < low ? key : low;
    high = key > high ? key : high;
  }
  low = device::lowest_of_lanes(low);
  high = device::highest_of_lanes(high);
  if (device::lane_id() != 0) return;
  atomicMin(&range[0], static_cast<unsigned long long>(low));
  atomicMax(&range[1], static_cast<unsigned long long>(high));
}

template <typename T>
ValueRange find_range(const DeviceValues& values, cudaStream_t stream) {
  const T top = is_signed(values.type) ? static_cast<T>(T{1} << (sizeof(T) * 8 - 1)) : T{0};
  unsigned long long range[2] = {~0ull, 0};
  const DeviceBuffer on_device = upload(range, sizeof(range), stream);
  const uint32_t blocks = std::min(kMostBlocks, blocks_for(values.count));
  range_kernel<T>
      <<<blocks, kThreads, 0, stream>>>(values.data.as<T>(), values.count, top, on_device.as<unsigned long long>());
  check(cudaGetLastError(), "finding a range");
  check(cudaMemcpyAsync(range, on_device.data(), sizeof(range), cudaMemcpyDeviceToHost, stream), "reading a range");
  check(cudaStreamSynchronize(stream), "waiting for a range");
  return {static_cast<T>(static_cast<T>(range[0]) ^ top), range[1] - range[0]};
}

}  // namespace

ValueRange range_of(const DeviceValues& values, cudaStream_t stream) {
  return dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (sizeof(T) <= 8) return find_range<T>(values, stream);
    return ValueRange{0, UINT64_MAX};
  });
}

}  // namespace basalt::cuda
