// Strings of few rows as values: each row is its own entry, in a list of all rows. Small tables need no dictionary to
// be grouped and ordered by codes.
#pragma once

#include "basalt/core/host_device.h"
#include "core/device/warp.h"

namespace basalt::device {

class StringPlaces : public OneForm<StringPlaces, uint32_t> {
 public:
  using value_type = uint32_t;
  static constexpr uint32_t kDescriptorWords = 1;  // then those of lengths and bytes
  static constexpr uint32_t kScratchBytes = 0;
  static constexpr bool kPointAccess = true;
  static constexpr bool kRowsInShared = false;
  static constexpr bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) { count_ = row_count(descriptor); }
  __device__ __forceinline__ void seek(uint32_t tile, void*) { first_ = tile * kTileRows + lane_id(); }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind(descriptor);
    seek(tile, scratch);
  }

  __device__ __forceinline__ uint32_t at(uint32_t k) const { return row(first_ + k * kLanes); }
  // Rows behind the last have the place of another.
  __device__ __forceinline__ uint32_t row(uint32_t i) const { return i < count_ ? i : 0; }

 private:
  uint32_t count_;
  uint32_t first_;
};

}  // namespace basalt::device
