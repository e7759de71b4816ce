// Copies of strings, side by side.
#include "cuda/codec/gather_strings.h"

#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_scan.cuh>

#include "cuda/codec/encode_array.cuh"

namespace basalt::cuda {

DeviceStrings gather_strings(const strings::Texts& texts, const uint32_t* rows, uint64_t count, cudaStream_t stream,
                             const uint8_t* valid) {
  DeviceStrings out;
  out.count = count;
  out.offsets = DeviceBuffer((count + 1) * sizeof(int64_t), stream);
  auto* offsets = out.offsets.as<int64_t>();
  check(cudaMemsetAsync(offsets, 0, sizeof(int64_t), stream), "clearing an offset");
  if (count == 0) return out;
  DeviceBuffer lengths(count * sizeof(int64_t), stream);
  auto* length = lengths.as<int64_t>();
  each_row(count, stream, [=] __device__(uint64_t i) {
    const bool there = valid == nullptr || valid[i] != 0;
    length[i] = there ? texts.offsets[rows[i] + uint64_t{1}] - texts.offsets[rows[i]] : 0;
  });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(temporary, bytes, length, offsets + 1, static_cast<int64_t>(count), stream);
  });
  out.byte_count = static_cast<uint64_t>(fetch(offsets + count, stream));
  out.bytes = DeviceBuffer(out.byte_count, stream);
  DeviceBuffer sources(count * sizeof(void*), stream);
  DeviceBuffer targets(count * sizeof(void*), stream);
  auto** source = sources.as<const char*>();
  auto** target = targets.as<char*>();
  char* to = out.bytes.as<char>();
  each_row(count, stream, [=] __device__(uint64_t i) {
    source[i] = reinterpret_cast<const char*>(texts.words) + (texts.offsets[rows[i]] - texts.first_byte);
    target[i] = to + offsets[i];
  });
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceMemcpy::Batched(temporary, bytes, source, target, length, static_cast<int64_t>(count), stream);
  });
  return out;
}

}  // namespace basalt::cuda
