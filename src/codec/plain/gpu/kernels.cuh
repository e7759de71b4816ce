// Tile reader of fixed-width `plain`.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/plain/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T>
class Plain : public OneForm<Plain<T>, T> {
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

 private:
  const T* values_;
  uint32_t count_;
  uint32_t first_;
};

}  // namespace basalt::device
