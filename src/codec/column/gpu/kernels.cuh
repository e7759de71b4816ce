// Tile reader of `column_i8` … `column_u64`: another column's reader, its values in another width.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/column/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

// kSigned: of the source's type.
template <typename T, typename Source, bool kSigned>
class OtherColumn : public OneChangingForm<OtherColumn<T, Source, kSigned>, T> {
  using Bits = typename Source::value_type;
  using Number = typename SelectType<kSigned, typename SignedOf<Bits>::type, Bits>::type;

 public:
  using value_type = T;
  static constexpr uint32_t kSourceWord = 1 + (column::kParameterBytes + 7) / 8;
  static constexpr uint32_t kDescriptorWords = kSourceWord + Source::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = Source::kScratchBytes;
  static constexpr bool kPointAccess = Source::kPointAccess;
  static constexpr bool kRowsInShared = false;

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) { source_.bind(descriptor + kSourceWord); }
  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    source_.seek(tile, scratch);
    bad = bad || source_.bad;
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    source_.open(descriptor + kSourceWord, tile, scratch);
    bad = bad || source_.bad;
  }

  __device__ __forceinline__ T at(uint32_t k) { return converted(source_.at(k)); }
  __device__ __forceinline__ T row(uint32_t i) { return converted(source_.row(i)); }

 private:
  __device__ __forceinline__ T converted(Bits bits) {
    bad = bad || source_.bad;
    return static_cast<T>(static_cast<Number>(bits));
  }

  Source source_;
};

}  // namespace basalt::device
