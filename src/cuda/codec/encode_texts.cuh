// Loops of the device encoders over the bytes of strings.
#pragma once

#include "codec/strings/gpu/texts.cuh"
#include "cuda/codec/encode_array.cuh"

namespace basalt::cuda {

static_assert(DeviceBlock::kSlack >= sizeof(uint64_t), "texts are read by words");

inline strings::Texts texts_of(DeviceValues& values, cudaStream_t stream) {
  const std::byte* bytes = bytes_on_device(values, stream);
  return {reinterpret_cast<const uint64_t*>(bytes), values.offsets.as<int64_t>(), values.first_byte};
}

template <typename Body>
__global__ void warps_kernel(Body body) {
  body(uint64_t{blockIdx.x} * blockDim.x + threadIdx.x);
}

// For bodies whose lanes work together: whole warps run, and rows behind the last are the body's affair.
template <typename Body>
void each_row_of_warps(uint64_t count, cudaStream_t stream, Body body) {
  if (count == 0) return;
  warps_kernel<<<blocks_for(count), kThreads, 0, stream>>>(body);
  check(cudaGetLastError(), "launching an encoder");
}

}  // namespace basalt::cuda
