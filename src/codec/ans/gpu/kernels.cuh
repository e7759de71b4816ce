// Tile reader of `ans` in its form on the device: the symbols, decoded before (decode_units.cuh), which are added to
// the reference. A column's chunks may differ in how many bytes a symbol takes; all lanes of a warp see the same.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/ans/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T>
class Ans : public OneForm<Ans<T>, T> {
 public:
  using value_type = T;
  static constexpr uint32_t kParametersWord = 1 + ans::kDeviceStreams;
  static constexpr uint32_t kDescriptorWords = kParametersWord + ans::kParameterWords;
  static constexpr uint32_t kScratchBytes = 0;
  static constexpr bool kPointAccess = true;
  static constexpr bool kRowsInShared = false;
  static constexpr bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    codes_ = stream<uint8_t>(descriptor, 1 + ans::kDeviceCodes);
    reference_ = static_cast<T>(load(descriptor + kParametersWord));
    narrow_ = ans::is_narrow(static_cast<uint32_t>(load(descriptor + kParametersWord + 1)));
  }
  __device__ __forceinline__ void seek(uint32_t tile, void*) { first_ = tile * kTileRows + lane_id(); }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind(descriptor);
    seek(tile, scratch);
  }

  // Whole tiles are there: rows behind the last one can be read.
  __device__ __forceinline__ T at(uint32_t k) const { return row(first_ + k * kLanes); }
  __device__ __forceinline__ T row(uint32_t i) const {
    const uint32_t code = narrow_ ? load(codes_ + i) : load(reinterpret_cast<const uint16_t*>(codes_) + i);
    return static_cast<T>(reference_ + static_cast<T>(code));
  }

 private:
  const uint8_t* codes_;
  T reference_;
  bool narrow_;
  uint32_t first_;
};

}  // namespace basalt::device
