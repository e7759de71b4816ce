// The memory rates that kernels are held against, measured in the same run: the best of the runtime's own copy and
// plain vectorised kernels over buffers far larger than L2.
#pragma once

#include "gpu_bench.h"

namespace basalt::bench {

struct Ceilings {
  double copy = 0;  // bytes read plus bytes written per second
  double read = 0;
  double write = 0;
  double memcpy = 0;  // cudaMemcpy from device to device, counted like copy
};

template <int kUnroll>
__global__ void copy_kernel(const uint4* __restrict__ from, uint4* __restrict__ to, size_t count) {
  const size_t first = blockIdx.x * size_t{blockDim.x} * kUnroll + threadIdx.x;
  uint4 v[kUnroll];
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) {
    if (first + j * blockDim.x < count) v[j] = __ldcs(from + first + j * blockDim.x);
  }
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) {
    if (first + j * blockDim.x < count) __stcs(to + first + j * blockDim.x, v[j]);
  }
}

template <int kUnroll>
__global__ void write_kernel(uint4* to, size_t count, uint32_t value) {
  const size_t first = blockIdx.x * size_t{blockDim.x} * kUnroll + threadIdx.x;
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) {
    if (first + j * blockDim.x < count) __stcs(to + first + j * blockDim.x, make_uint4(value, value, value, value));
  }
}

template <int kUnroll>
__global__ void read_kernel(const uint4* from, size_t count, uint32_t* sink) {
  const size_t first = blockIdx.x * size_t{blockDim.x} * kUnroll + threadIdx.x;
  uint4 v[kUnroll];
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) {
    v[j] = first + j * blockDim.x < count ? __ldcs(from + first + j * blockDim.x) : make_uint4(0, 0, 0, 0);
  }
  uint32_t sum = 0;
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) sum += v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
  if (sum == 0x12345678u) *sink = sum;
}

template <int kUnroll>
unsigned int blocks_for(size_t count) {
  return static_cast<unsigned int>((count + 256 * kUnroll - 1) / (256 * kUnroll));
}

// `from` and `to` hold `bytes` each and are overwritten (`to`).
inline Ceilings measure_ceilings(Timer& timer, const void* from, void* to, size_t bytes) {
  Ceilings result;
  const auto* source = static_cast<const uint4*>(from);
  auto* target = static_cast<uint4*>(to);
  const size_t count = bytes / 16;
  DeviceArray<uint32_t> sink(1);
  const auto best = [](double& rate, double moved, double seconds) { rate = std::max(rate, moved / seconds); };

  best(result.memcpy, 2.0 * bytes,
       timer.time([&] { BASALT_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice)); }));
  result.copy = result.memcpy;
  best(result.copy, 2.0 * bytes,
       timer.time([&] { copy_kernel<1><<<blocks_for<1>(count), 256>>>(source, target, count); }));
  best(result.copy, 2.0 * bytes,
       timer.time([&] { copy_kernel<4><<<blocks_for<4>(count), 256>>>(source, target, count); }));
  best(result.copy, 2.0 * bytes,
       timer.time([&] { copy_kernel<8><<<blocks_for<8>(count), 256>>>(source, target, count); }));

  best(result.write, bytes, timer.time([&] { BASALT_CHECK(cudaMemsetAsync(to, 0x5A, bytes)); }));
  best(result.write, bytes, timer.time([&] { write_kernel<1><<<blocks_for<1>(count), 256>>>(target, count, 7); }));
  best(result.write, bytes, timer.time([&] { write_kernel<8><<<blocks_for<8>(count), 256>>>(target, count, 7); }));

  best(result.read, bytes,
       timer.time([&] { read_kernel<4><<<blocks_for<4>(count), 256>>>(source, count, sink.data()); }));
  best(result.read, bytes,
       timer.time([&] { read_kernel<8><<<blocks_for<8>(count), 256>>>(source, count, sink.data()); }));
  best(result.read, bytes,
       timer.time([&] { read_kernel<16><<<blocks_for<16>(count), 256>>>(source, count, sink.data()); }));
  best(result.read, bytes, timer.time([&] { read_all_kernel<<<132 * 8, 256>>>(source, count, sink.data()); }));

  std::printf("ceilings over %.1f GB: copy %.0f GB/s (cudaMemcpy %.0f), read %.0f GB/s, write %.0f GB/s\n\n",
              bytes * 1e-9, result.copy * 1e-9, result.memcpy * 1e-9, result.read * 1e-9, result.write * 1e-9);
  return result;
}

}  // namespace basalt::bench
