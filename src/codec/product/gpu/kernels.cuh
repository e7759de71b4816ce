// Tile reader of `product`: the readers of both children, side by side.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/product/layout.h"
#include "core/device/reader_pair.h"
#include "core/device/warp.h"

namespace basalt::device {

// kSigned: of the value type, whose bits T are.
template <typename T, typename Factor, typename Source, bool kSigned>
class Product : public OneChangingForm<Product<T, Factor, Source, kSigned>, T> {
  using Number = typename SelectType<kSigned, typename SignedOf<T>::type, T>::type;
  using Children = ReaderPair<Factor, Source, 1 + sizeof(product::Parameters) / 8>;
  static_assert(Children::kSecondScratch == product::source_scratch(Factor::kScratchBytes));

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = Children::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = Children::kScratchBytes;
  static constexpr bool kPointAccess = Children::kPointAccess;
  static constexpr bool kRowsInShared = false;

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    bind_own(descriptor);
    children_.bind(descriptor);
  }
  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    children_.seek(tile, scratch);
    note();
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind_own(descriptor);
    children_.open(descriptor, tile, scratch);
    note();
  }

  __device__ __forceinline__ T at(uint32_t k) { return multiplied(children_.first.at(k), children_.second.at(k)); }
  __device__ __forceinline__ T row(uint32_t i) { return multiplied(children_.first.row(i), children_.second.row(i)); }

 private:
  __device__ __forceinline__ void bind_own(const uint64_t* descriptor) {
    multiplier_ = static_cast<T>(load(descriptor + 1));
    shift_ = static_cast<uint32_t>(load(descriptor + 2));
  }
  __device__ __forceinline__ T multiplied(T factor, T source) {
    note();
    return static_cast<T>(uint64_t{factor} * product::scaled<Number>(source, multiplier_, shift_));
  }
  __device__ __forceinline__ void note() { bad = bad || children_.bad(); }

  Children children_;
  T multiplier_;
  uint32_t shift_;
};

}  // namespace basalt::device
