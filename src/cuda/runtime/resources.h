// Small owners of CUDA objects: errors as basalt::Error, device and pinned memory, streams, events.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "basalt/core/error.h"

namespace basalt::cuda {

inline void check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // the runtime keeps the last error until it is asked; the next statement must not see it
  const ErrorCode kind = code == cudaErrorMemoryAllocation ? ErrorCode::kOutOfMemory : ErrorCode::kDevice;
  throw Error(kind, std::string("the GPU failed while ") + doing + ": " + cudaGetErrorString(code));
}

// How much device memory all blocks take, and the most they took since the count began. A block counts until its owner
// goes: the device gets it back behind the work that is in its stream by then.
class DeviceMemoryCount {
 public:
  void add(uint64_t bytes) {
    const uint64_t now = current_.fetch_add(bytes) + bytes;
    uint64_t most = most_.load();
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }
  void remove(uint64_t bytes) { current_.fetch_sub(bytes); }
  void begin() { most_.store(current_.load()); }
  uint64_t most() const { return most_.load(); }

 private:
  std::atomic<uint64_t> current_{0};
  std::atomic<uint64_t> most_{0};
};

inline DeviceMemoryCount& device_memory() {
  static DeviceMemoryCount count;
  return count;
}

// Device memory out of the device's pool, ordered by streams: usable by work behind the allocation in `stream`, given
// back behind the work already in `freed_in` when the owner goes. No call waits for the GPU.
class DeviceBlock {
 public:
  static constexpr size_t kSlack = 256;  // behind the last byte, for whole-vector loads

  DeviceBlock(size_t bytes, cudaStream_t stream, cudaStream_t freed_in) : bytes_(bytes), freed_in_(freed_in) {
    check(cudaMallocAsync(&data_, bytes + kSlack, stream), "allocating device memory");
    device_memory().add(bytes + kSlack);
  }
  ~DeviceBlock() {
    if (data_ == nullptr) return;
    cudaFreeAsync(data_, freed_in_);
    device_memory().remove(bytes_ + kSlack);
  }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  cudaStream_t freed_in_ = nullptr;
};

class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(size_t bytes) { ensure(bytes); }
  ~PinnedBuffer() {
    if (data_ != nullptr) cudaFreeHost(data_);
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  // Contents are lost when it grows.
  void ensure(size_t bytes) {
    if (bytes <= bytes_) return;
    if (data_ != nullptr) check(cudaFreeHost(data_), "freeing pinned memory");
    data_ = nullptr;
    bytes_ = 0;
    check(cudaHostAlloc(&data_, bytes, cudaHostAllocDefault), "allocating pinned memory");
    bytes_ = bytes;
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void synchronize() const { check(cudaStreamSynchronize(stream_), "running a kernel"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) {
    check(cudaEventCreateWithFlags(&event_, flags), "creating an event");
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "recording an event"); }

 private:
  cudaEvent_t event_ = nullptr;
};

inline double elapsed_ms(const Event& from, const Event& to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, from, to), "reading an event");
  return ms;
}

}  // namespace basalt::cuda
