// Copy, read and transfer bandwidth; see bandwidth.h. Buffers are far larger than the L2 cache; the best of several
// runs counts.
#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cuda/runtime/bandwidth.h"
#include "cuda/runtime/resources.h"

namespace basalt::cuda {

namespace {

constexpr size_t kDeviceBytes = size_t{1} << 30;
constexpr size_t kHostBytes = size_t{256} << 20;
constexpr size_t kOtherBytes = size_t{256} << 20;  // several times the L2 of any GPU

__global__ void __launch_bounds__(512) copy_all(const uint4* from, uint4* to, size_t count) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    __stcs(to + i, __ldcs(from + i));
  }
}

__global__ void __launch_bounds__(512) read_all(const uint4* from, size_t count, uint32_t* out) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  uint32_t sum = 0;
  size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < count; i += 4 * stride) {
    const uint4 a = __ldcs(from + i);
    const uint4 b = __ldcs(from + i + stride);
    const uint4 c = __ldcs(from + i + 2 * stride);
    const uint4 d = __ldcs(from + i + 3 * stride);
    sum += (a.x ^ a.y ^ a.z ^ a.w) + (b.x ^ b.y ^ b.z ^ b.w) + (c.x ^ c.y ^ c.z ^ c.w) + (d.x ^ d.y ^ d.z ^ d.w);
  }
  for (; i < count; i += stride) sum += __ldcs(from + i).x;
  if (sum == 0x5EED5EEDu) *out = sum;  // never, but the compiler cannot know
}

template <typename Work>
double best_gbs(cudaStream_t stream, double bytes, Work&& work) {
  Event begin;
  Event end;
  double best = 0;
  for (int round = 0; round < 6; ++round) {
    begin.record(stream);
    work();
    end.record(stream);
    check(cudaEventSynchronize(end), "measuring bandwidth");
    if (round > 0) best = std::max(best, bytes / elapsed_ms(begin, end) * 1e-6);
  }
  return best;
}

}  // namespace

GpuBandwidth measure(cudaStream_t stream) {
  size_t free = 0;
  size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "reading the device's memory");
  const size_t bytes = std::min(kDeviceBytes, free / 4) / 4096 * 4096;
  if (bytes < (16u << 20)) throw Error(ErrorCode::kOutOfMemory, "too little free device memory to measure bandwidth");
  DeviceBlock from(bytes, stream, stream);
  DeviceBlock to(bytes, stream, stream);
  check(cudaMemsetAsync(from.data(), 0xA5, bytes, stream), "clearing memory");
  check(cudaMemsetAsync(to.data(), 0x5A, bytes, stream), "clearing memory");
  int multiprocessors = 0;
  int device = 0;
  check(cudaGetDevice(&device), "reading the device");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "reading the device");
  const unsigned blocks = static_cast<unsigned>(multiprocessors) * 8;
  const size_t count = bytes / sizeof(uint4);

  GpuBandwidth out;
  out.copy_gbs = best_gbs(stream, 2.0 * static_cast<double>(bytes), [&] {
    copy_all<<<blocks, 512, 0, stream>>>(from.as<uint4>(), to.as<uint4>(), count);
    check(cudaGetLastError(), "launching a kernel");
  });
  out.read_gbs = best_gbs(stream, static_cast<double>(bytes), [&] {
    read_all<<<blocks, 512, 0, stream>>>(from.as<uint4>(), count, to.as<uint32_t>());
    check(cudaGetLastError(), "launching a kernel");
  });
  const size_t host_bytes = std::min(kHostBytes, bytes);
  {
    PinnedBuffer pinned(host_bytes);
    std::fill_n(reinterpret_cast<unsigned char*>(pinned.data()), host_bytes, static_cast<unsigned char>(7));
    out.host_to_device_gbs = best_gbs(stream, static_cast<double>(host_bytes), [&] {
      check(cudaMemcpyAsync(to.data(), pinned.data(), host_bytes, cudaMemcpyHostToDevice, stream),
            "copying to the device");
    });
  }
  const std::vector<unsigned char> pageable(host_bytes, 7);
  out.host_to_device_pageable_gbs = best_gbs(stream, static_cast<double>(host_bytes), [&] {
    check(cudaMemcpyAsync(to.data(), pageable.data(), host_bytes, cudaMemcpyHostToDevice, stream),
          "copying to the device");
  });
  return out;
}

ColdCache::ColdCache(cudaStream_t stream) : other_(cleared(kOtherBytes, stream)) {}

void ColdCache::make(cudaStream_t stream) const {
  read_all<<<1024, 512, 0, stream>>>(other_.as<uint4>(), kOtherBytes / sizeof(uint4), other_.as<uint32_t>());
  check(cudaGetLastError(), "launching a kernel");
}

}  // namespace basalt::cuda
