// Tile reader of `sum`: the readers of both children, side by side.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/sum/layout.h"
#include "core/device/reader_pair.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T, typename Residual, typename Source>
class SumOfTwo : public OneChangingForm<SumOfTwo<T, Residual, Source>, T> {
  using Children = ReaderPair<Residual, Source, 1>;
  static_assert(Children::kSecondScratch == sum::source_scratch(Residual::kScratchBytes));

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = Children::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = Children::kScratchBytes;
  static constexpr bool kPointAccess = Children::kPointAccess;
  static constexpr bool kRowsInShared = false;

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) { children_.bind(descriptor); }
  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    children_.seek(tile, scratch);
    note();
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    children_.open(descriptor, tile, scratch);
    note();
  }

  __device__ __forceinline__ T at(uint32_t k) { return added(children_.first.at(k), children_.second.at(k)); }
  __device__ __forceinline__ T row(uint32_t i) { return added(children_.first.row(i), children_.second.row(i)); }

 private:
  __device__ __forceinline__ T added(typename Residual::value_type residual, T source) {
    note();
    return static_cast<T>(static_cast<T>(residual) + source);
  }
  __device__ __forceinline__ void note() { bad = bad || children_.bad(); }

  Children children_;
};

}  // namespace basalt::device
