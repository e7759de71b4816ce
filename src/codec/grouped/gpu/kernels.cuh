// Tile reader of `grouped`. The groups of a tile wait in shared memory: neighbouring lanes ask for the same one.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/grouped/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T, typename Groups>
class Grouped : public OneForm<Grouped<T, Groups>, T> {
 public:
  using value_type = T;
  static constexpr uint32_t kParametersWord = 1;
  static constexpr uint32_t kGroupsWord = kParametersWord + grouped::kParameterWords;
  static constexpr uint32_t kDescriptorWords = kGroupsWord + Groups::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = grouped::scratch_bytes(Groups::kScratchBytes);
  static constexpr bool kPointAccess = false;
  static constexpr bool kRowsInShared = true;

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    reference_ = static_cast<T>(load(descriptor + kParametersWord));
    const uint64_t sizes = load(descriptor + kParametersWord + 1);
    values_ = static_cast<uint32_t>(sizes);
    bits_ = static_cast<uint32_t>(sizes >> 32);
    groups_.bind(descriptor + kGroupsWord);
  }

  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    staged_ = static_cast<uint64_t*>(scratch);
    sync_warp();  // nobody reads the last tile any more
    groups_.seek(tile / values_, staged_ + kTileRows);
    const uint32_t ks = kRowsPerLane / values_;
    const uint32_t first_k = tile % values_ * ks;
    stage_rows(groups_, first_k, first_k + ks - 1, WholeTile{}, staged_, kLanes);
    first_ = first_k * kLanes;
    bad = bad || groups_.bad;
    sync_warp();
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind(descriptor);
    seek(tile, scratch);
  }

  __device__ __forceinline__ T at(uint32_t k) const {
    const uint32_t row = k * kLanes + lane_id();
    return value_of(staged_[first_ + row / values_], row);
  }
  __device__ __forceinline__ T row(uint32_t i) {
    const uint64_t group = groups_.row(i / values_);
    bad = bad || groups_.bad;
    return value_of(group, i);
  }

 private:
  __device__ __forceinline__ T value_of(uint64_t group, uint32_t row) const {
    return static_cast<T>(reference_ + static_cast<T>(grouped::value_in(group, row % values_, bits_)));
  }

  Groups groups_;
  uint64_t* staged_;
  T reference_;
  uint32_t values_;
  uint32_t bits_;
  uint32_t first_;  // place of the tile's first group
};

}  // namespace basalt::device
