// Tile reader of fixed-width `plain`.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/plain/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T>
class Plain {
 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = 1 + plain::kFixedStreams;
  static constexpr uint32_t kScratchBytes = 0;
  static constexpr bool kPointAccess = true;
  static constexpr bool kRowsInShared = false;
  static constexpr bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    count_ = row_count(descriptor);
    values_ = stream<T>(descriptor, 1 + plain::kValues);
  }
  __device__ __forceinline__ void seek(uint32_t tile, void*) { first_ = tile * kTileRows + lane_id(); }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind(descriptor);
    seek(tile, scratch);
  }

  __device__ __forceinline__ T at(uint32_t k) const {
    const uint32_t i = first_ + k * kLanes;
    return i < count_ ? load(values_ + i) : T{0};
  }
  __device__ __forceinline__ T row(uint32_t i) const { return load(values_ + i); }
  __device__ __forceinline__ static T value(const uint64_t* descriptor, uint32_t i) {
    return load(stream<T>(descriptor, 1 + plain::kValues) + i);
  }

  template <typename F>
  __device__ __forceinline__ void visit(F&& f) const {
    f(*this);
  }
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) const {
#pragma unroll 4
    for (uint32_t k = first; k <= last; ++k) f(k, at(k));
  }

 private:
  const T* values_;
  uint32_t count_;
  uint32_t first_;
};

}  // namespace basalt::device
