// Tile reader of fixed-width `constant`.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/constant/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T>
class Constant {
 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = 1 + constant::kParameterBytes / 8;
  static constexpr uint32_t kScratchBytes = 0;
  static constexpr bool kPointAccess = true;
  static constexpr bool kRowsInShared = false;
  static constexpr bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) { value_ = value(descriptor, 0); }
  __device__ __forceinline__ void seek(uint32_t, void*) {}
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t, void*) { bind(descriptor); }

  __device__ __forceinline__ T at(uint32_t) const { return value_; }
  __device__ __forceinline__ T row(uint32_t) const { return value_; }
  __device__ __forceinline__ static T value(const uint64_t* descriptor, uint32_t) {
    const uint64_t low = load(descriptor + 1);
    if constexpr (sizeof(T) == 16) return static_cast<T>(load(descriptor + 2)) << 64 | low;
    return static_cast<T>(low);
  }

  template <typename F>
  __device__ __forceinline__ void visit(F&& f) const {
    f(*this);
  }
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) const {
#pragma unroll 4
    for (uint32_t k = first; k <= last; ++k) f(k, value_);
  }

 private:
  T value_;
};

}  // namespace basalt::device
