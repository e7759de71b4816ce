// Arrays in device memory, and the way there and back.
#pragma once

#include <memory>

#include "basalt/core/buffer.h"
#include "cuda/runtime/resources.h"

namespace basalt::cuda {

// A device array. Copies share its memory, which is given back with the last of them; nothing is allocated for nothing.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(size_t bytes, cudaStream_t stream) {
    if (bytes > 0) block_ = std::make_shared<DeviceBlock>(bytes, stream, stream);
  }
  void* data() const { return block_ == nullptr ? nullptr : block_->data(); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data());
  }
  uint64_t bytes() const { return block_ == nullptr ? 0 : block_->bytes(); }

 private:
  std::shared_ptr<DeviceBlock> block_;
};

inline DeviceBuffer upload(const void* from, size_t bytes, cudaStream_t stream) {
  DeviceBuffer to(bytes, stream);
  if (bytes > 0) check(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyHostToDevice, stream), "uploading values");
  return to;
}

// An array of zeros.
inline DeviceBuffer cleared(size_t bytes, cudaStream_t stream) {
  DeviceBuffer out(bytes, stream);
  if (bytes > 0) check(cudaMemsetAsync(out.data(), 0, bytes, stream), "clearing memory");
  return out;
}

template <typename T>
T fetch(const T* from, cudaStream_t stream) {
  T value;
  check(cudaMemcpyAsync(&value, from, sizeof(T), cudaMemcpyDeviceToHost, stream), "reading a count back");
  check(cudaStreamSynchronize(stream), "waiting for a count");
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

}  // namespace basalt::cuda
