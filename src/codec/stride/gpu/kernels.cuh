// Tile reader of `stride`: the bases' reader, and one multiplication and addition for each row.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/stride/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

// What the caller of visit() gets: a view of the bases, and each lane's rise.
template <typename T, typename BasesView>
class StrideView {
 public:
  using value_type = T;
  __device__ __forceinline__ StrideView(const BasesView& bases, T step, uint32_t first)
      : bases_(bases), step_(step), first_(first) {}
  __device__ __forceinline__ T at(uint32_t k) const { return lifted(k, bases_.at(k)); }

  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) const {
    bases_.for_each_between(first, last, [&](uint32_t k, T base) { f(k, lifted(k, base)); });
  }

 private:
  __device__ __forceinline__ T lifted(uint32_t k, T base) const {
    return static_cast<T>(base + stride::rise(step_, first_ + k * kLanes));
  }

  const BasesView& bases_;
  T step_;
  uint32_t first_;
};
template <typename T, typename BasesView>
struct WantsConstants<StrideView<T, BasesView>> {
  static constexpr bool value = WantsConstants<BasesView>::value;
};

template <typename T, typename Bases>
class Stride : public SingleRows<Stride<T, Bases>, T> {
 public:
  using value_type = T;
  static constexpr uint32_t kStepWord = 1;
  static constexpr uint32_t kBasesWord = kStepWord + stride::kParameterWords;
  static constexpr uint32_t kDescriptorWords = kBasesWord + Bases::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = Bases::kScratchBytes;
  static constexpr bool kPointAccess = Bases::kPointAccess;
  static constexpr bool kRowsInShared = Bases::kRowsInShared;
  static_assert(sizeof(typename Bases::value_type) == sizeof(T), "bases are as wide as the values");

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    step_ = static_cast<T>(load(descriptor + kStepWord));
    bases_.bind(descriptor + kBasesWord);
  }
  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    bases_.seek(tile, scratch);
    opened(tile);
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind(descriptor);
    bases_.open(descriptor + kBasesWord, tile, scratch);
    opened(tile);
  }

  __device__ __forceinline__ T at(uint32_t k) {
    const T base = bases_.at(k);
    bad = bad || bases_.bad;  // some are known when they are read
    return static_cast<T>(base + stride::rise(step_, first_ + k * kLanes));
  }
  __device__ __forceinline__ T row(uint32_t i) {
    const T base = bases_.row(i);
    bad = bad || bases_.bad;
    return static_cast<T>(base + stride::rise(step_, i));
  }

  template <typename F>
  __device__ __forceinline__ void visit(F&& f) {
    bases_.visit([&](auto&& bases) {
      using View = typename Bare<decltype(bases)>::type;
      f(StrideView<T, View>(bases, step_, first_));
    });
    bad = bad || bases_.bad;
  }
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) {
    for_groups<2>(first, last, [&](uint32_t k) { f(k, at(k)); });
  }

 private:
  __device__ __forceinline__ void opened(uint32_t tile) {
    first_ = tile * kTileRows + lane_id();
    bad = bad || bases_.bad;
  }

  Bases bases_;
  T step_;
  uint32_t first_;  // the lane's first row of the tile
};

}  // namespace basalt::device
