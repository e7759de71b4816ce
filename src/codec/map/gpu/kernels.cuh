// Tile reader of `map`. Entries are looked up in memory.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/map/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T, typename Source, typename Entries>
class Map : public OneChangingForm<Map<T, Source, Entries>, T> {
 public:
  using value_type = T;
  static constexpr uint32_t kSourceWord = 1 + map::kParameterBytes / 8;
  static constexpr uint32_t kEntriesWord = kSourceWord + Source::kDescriptorWords;
  static constexpr uint32_t kDescriptorWords = kEntriesWord + Entries::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = Source::kScratchBytes;
  static constexpr bool kPointAccess = Source::kPointAccess && Entries::kPointAccess;
  static constexpr bool kRowsInShared = false;
  static_assert(Entries::kPointAccess, "entries are looked up one by one");

  bool bad = false;  // a row's source has no entry

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    bind_own(descriptor);
    source_.bind(descriptor + kSourceWord);
  }
  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    source_.seek(tile, scratch);
    opened(tile);
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind_own(descriptor);
    source_.open(descriptor + kSourceWord, tile, scratch);
    opened(tile);
  }

  __device__ __forceinline__ T at(uint32_t k) { return find(source_.at(k), k * kLanes < rows_left_); }
  __device__ __forceinline__ T row(uint32_t i) { return find(source_.row(i), true); }

 private:
  __device__ __forceinline__ void bind_own(const uint64_t* descriptor) {
    count_ = row_count(descriptor);
    base_ = load(descriptor + 1);
    entries_.bind(descriptor + kEntriesWord);
    last_entry_ = row_count(descriptor + kEntriesWord) - 1;  // rows without entries do not pass validation
  }
  __device__ __forceinline__ void opened(uint32_t tile) {
    const uint32_t first = tile * kTileRows + lane_id();
    rows_left_ = first < count_ ? count_ - first : 0;
    bad = bad || source_.bad;
  }
  // What lies behind the last row may be anything.
  __device__ __forceinline__ T find(uint64_t source, bool row_exists) {
    const uint64_t place = source - base_;
    const bool beyond = place > last_entry_;
    bad = bad | ((beyond | source_.bad) & row_exists);
    const T value = entries_.row(beyond ? last_entry_ : static_cast<uint32_t>(place));
    bad = bad | entries_.bad;
    return value;
  }

  Source source_;
  Entries entries_;
  uint64_t base_;
  uint32_t count_;
  uint32_t last_entry_;
  uint32_t rows_left_;  // of the chunk, from the lane's first row of the tile
};

}  // namespace basalt::device
