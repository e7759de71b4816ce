// What the device encoders work with: arrays on the device, loops over their rows, and each other.
#pragma once

#include <memory>

#include "core/dispatch.h"
#include "cuda/encode.h"
#include "cuda/runtime.h"

namespace basalt::cuda {

constexpr uint32_t kThreads = 256;

inline uint32_t blocks_for(uint64_t items) { return static_cast<uint32_t>((items + kThreads - 1) / kThreads); }

// A device array that can be moved from a codec to its child; nothing is allocated for nothing.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(size_t bytes, cudaStream_t stream) {
    if (bytes > 0) block_ = std::make_unique<DeviceBlock>(bytes, stream, stream);
  }
  void* data() const { return block_ == nullptr ? nullptr : block_->data(); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }

 private:
  std::unique_ptr<DeviceBlock> block_;
};

// An array of plain values on the device; strings have their bytes and offsets apart.
struct DeviceValues {
  Physical type = Physical::kU64;
  uint64_t count = 0;
  DeviceBuffer data;
  DeviceBuffer offsets;              // int64, count + 1
  DeviceBuffer validity;             // bitmap
  const char* host_bytes = nullptr;  // strings: bytes are copied through, never looked at
  int64_t first_byte = 0;
  int64_t end_byte = 0;
};

template <typename Body>
__global__ void rows_kernel(uint64_t count, Body body) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) body(i);
}

template <typename Body>
void each_row(uint64_t count, cudaStream_t stream, Body body) {
  if (count == 0) return;
  rows_kernel<<<blocks_for(count), kThreads, 0, stream>>>(count, body);
  check(cudaGetLastError(), "launching an encoder");
}

// CUB's two calls: the first asks for temporary memory, the second works.
template <typename Call>
void with_temporary(cudaStream_t stream, Call call) {
  size_t bytes = 0;
  check(call(nullptr, bytes), "sizing temporary memory");
  DeviceBuffer temporary(bytes == 0 ? 1 : bytes, stream);
  check(call(temporary.data(), bytes), "running a device-wide primitive");
}

template <typename T>
T fetch(const T* from, cudaStream_t stream) {
  T value;
  check(cudaMemcpyAsync(&value, from, sizeof(T), cudaMemcpyDeviceToHost, stream), "reading a count back");
  check(cudaStreamSynchronize(stream), "waiting for the encoder");
  return value;
}

inline Buffer download(const DeviceBuffer& from, size_t bytes, cudaStream_t stream) {
  Buffer out(bytes);
  if (bytes > 0) {
    check(cudaMemcpyAsync(out.data(), from.data(), bytes, cudaMemcpyDeviceToHost, stream), "reading a stream back");
    check(cudaStreamSynchronize(stream), "waiting for a stream");
  }
  return out;
}

// With the encoder of the tree's codec.
Node encode_node(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream);

// Encoders that have files of their own.
Node encode_packed(const DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream);
Node encode_dict(const DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream);

inline Node make_node(const DeviceValues& values, const Tree& tree, size_t streams) {
  Node node{&get_codec(tree.codec), values.type, values.count, {}, {}, {}};
  node.streams.resize(streams);
  return node;
}

}  // namespace basalt::cuda
