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

// An array of plain values on the device. Strings are bytes [first_byte, end_byte), cut by offsets. Most encoders need
// only the offsets, so bytes that are on the host stay there until bytes_on_device() asks for them.
struct DeviceValues {
  Physical type = Physical::kU64;
  uint64_t count = 0;
  DeviceBuffer data;                 // values, or the bytes of strings
  DeviceBuffer offsets;              // int64, count + 1
  DeviceBuffer validity;             // bitmap
  const char* host_bytes = nullptr;  // where offset 0 points; nullptr: the bytes were made on the device
  int64_t first_byte = 0;
  int64_t end_byte = 0;
};

inline DeviceBuffer upload(const void* from, size_t bytes, cudaStream_t stream) {
  DeviceBuffer to(bytes, stream);
  if (bytes > 0) check(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyHostToDevice, stream), "uploading values");
  return to;
}

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

inline Buffer download(const void* from, size_t bytes, cudaStream_t stream) {
  Buffer out(bytes);
  if (bytes > 0) {
    check(cudaMemcpyAsync(out.data(), from, bytes, cudaMemcpyDeviceToHost, stream), "reading a stream back");
    check(cudaStreamSynchronize(stream), "waiting for a stream");
  }
  return out;
}

inline Buffer download(const DeviceBuffer& from, size_t bytes, cudaStream_t stream) {
  return download(from.data(), bytes, stream);
}

// The strings' bytes, from first_byte on.
inline const std::byte* bytes_on_device(DeviceValues& values, cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(values.end_byte - values.first_byte);
  if (values.data.data() == nullptr && bytes > 0) {
    values.data = upload(values.host_bytes + values.first_byte, bytes, stream);
  }
  return values.data.as<std::byte>();
}
// The bytes of the first strings, on the host.
inline Buffer bytes_on_host(const DeviceValues& values, size_t bytes, cudaStream_t stream) {
  if (values.host_bytes == nullptr) return download(values.data, bytes, stream);
  Buffer out;
  out.append(values.host_bytes + values.first_byte, bytes);
  return out;
}

// With the encoder of the tree's codec.
Node encode_node(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream);

// Encoders that have files of their own.
Node encode_packed(const DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream);
Node encode_galp(const DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream);
Node encode_fsst(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream);
Node encode_dict(DeviceValues& values, const Tree& tree, Effort effort, cudaStream_t stream);

// Throws if descriptors of `packed` cannot point at this 128-byte row, the first of the last tile.
void require_packed_rows(uint64_t last_row);

// Fills `codes` and `entries` of a dictionary of strings.
void find_distinct_strings(DeviceValues& values, DeviceValues& codes, DeviceValues& entries, cudaStream_t stream);

inline Node make_node(const DeviceValues& values, const Tree& tree, size_t streams) {
  Node node{&get_codec(tree.codec), values.type, values.count, {}, {}, {}};
  node.streams.resize(streams);
  return node;
}

}  // namespace basalt::cuda
