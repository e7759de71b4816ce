// Tile reader of fixed-width `constant`.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/constant/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T>
class Constant : public OneForm<Constant<T>, T> {
 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = 1 + constant::kParameterBytes / 8;
  static constexpr uint32_t kScratchBytes = 0;
  static constexpr bool kPointAccess = true;
  static constexpr bool kRowsInShared = false;
  static constexpr bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    value_ = static_cast<T>(load(descriptor + 1));
    if constexpr (sizeof(T) == 16) value_ |= static_cast<T>(load(descriptor + 2)) << 64;
  }
  __device__ __forceinline__ void seek(uint32_t, void*) {}
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t, void*) { bind(descriptor); }

  __device__ __forceinline__ T at(uint32_t) const { return value_; }
  __device__ __forceinline__ T row(uint32_t) const { return value_; }

 private:
  T value_;
};

}  // namespace basalt::device
