// Tile reader of `dict`. Entries are looked up in memory; kernels whose blocks read many tiles of a chunk put them into
// shared memory first (`stage_entries`, `StagedDict`), where 32 random look-ups take 3–4 cycles instead of up to 32.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/dict/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

// What dict readers give to the caller of visit(): a view of the codes, and values looked up by `find`.
template <typename T, typename CodesView, typename Find>
class DictView {
 public:
  using value_type = T;
  __device__ __forceinline__ DictView(const CodesView& codes, const Find& find) : codes_(codes), find_(find) {}
  __device__ __forceinline__ uint32_t code_at(uint32_t k) const { return codes_.at(k); }
  __device__ __forceinline__ T at(uint32_t k) const { return find_(k, codes_.at(k)); }

  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) const {
    codes_.for_each_between(first, last, [&](uint32_t k, uint32_t code) { f(k, find_(k, code)); });
  }

 private:
  const CodesView& codes_;
  const Find& find_;
};

template <typename T, typename CodesView, typename Find>
__device__ __forceinline__ DictView<T, CodesView, Find> dict_view(const CodesView& codes, const Find& find) {
  return DictView<T, CodesView, Find>(codes, find);
}

// Where a dictionary's children are in its descriptor: one behind the other.
template <typename Codes, typename Entries>
struct DictWords {
  static constexpr uint32_t kCodes = 1;
  static constexpr uint32_t kEntries = kCodes + Codes::kDescriptorWords;
  static constexpr uint32_t kAll = kEntries + Entries::kDescriptorWords;
};

template <typename T, typename Codes, typename Entries, typename Words = DictWords<Codes, Entries>>
class Dict : public SingleRows<Dict<T, Codes, Entries, Words>, T> {
 public:
  using value_type = T;
  static constexpr uint32_t kCodesWord = Words::kCodes;
  static constexpr uint32_t kEntriesWord = Words::kEntries;
  static constexpr uint32_t kDescriptorWords = Words::kAll;
  static constexpr uint32_t kScratchBytes = Codes::kScratchBytes;
  static constexpr bool kPointAccess = Codes::kPointAccess && Entries::kPointAccess;
  static constexpr bool kRowsInShared = false;
  static_assert(Entries::kPointAccess, "dictionary entries are looked up one by one");

  bool bad = false;  // a row's code lies beyond the entries

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    count_ = row_count(descriptor);
    codes_.bind(descriptor + kCodesWord);
    entries_.bind(descriptor + kEntriesWord);
    last_entry_ = row_count(descriptor + kEntriesWord) - 1;  // rows without entries do not pass validation
  }
  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    codes_.seek(tile, scratch);
    opened(tile);
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    open_by(descriptor, tile, [&](Codes& codes) { codes.open(descriptor + kCodesWord, tile, scratch); });
  }
  // The same for a caller that opens the codes itself.
  template <typename OpenCodes>
  __device__ __forceinline__ void open_by(const uint64_t* descriptor, uint32_t tile, OpenCodes&& open_codes) {
    bind(descriptor);
    open_codes(codes_);
    opened(tile);
  }

  __device__ __forceinline__ Entries& entries() { return entries_; }
  __device__ __forceinline__ uint32_t code_at(uint32_t k) { return codes_.at(k); }
  __device__ __forceinline__ T at(uint32_t k) { return with_codes(find(codes_.at(k), k * kLanes < rows_left_)); }
  __device__ __forceinline__ T row(uint32_t i) { return with_codes(find(codes_.row(i), true)); }

  template <typename F>
  __device__ __forceinline__ void visit(F&& f) {
    const auto look_up = [this](uint32_t k, uint32_t code) { return find(code, k * kLanes < rows_left_); };
    codes_.visit([&](auto&& codes) { f(dict_view<T>(codes, look_up)); });
    bad = bad || codes_.bad;  // some are known when they are read
  }
  // In pairs: a look-up is long code, and what is staged through here are the few runs of a tile.
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) {
    for_groups<2>(first, last, [&](uint32_t k) { f(k, at(k)); });
  }

 private:
  __device__ __forceinline__ void opened(uint32_t tile) {
    const uint32_t first = tile * kTileRows + lane_id();
    rows_left_ = first < count_ ? count_ - first : 0;
    bad = bad || codes_.bad;
  }

  __device__ __forceinline__ T with_codes(T value) {
    bad = bad || codes_.bad;
    return value;
  }

  // Codes behind the last row may be anything.
  __device__ __forceinline__ T find(uint32_t code, bool row_exists) {
    const bool beyond = code > last_entry_;
    bad = bad | (beyond & row_exists);
    const T value = entries_.row(beyond ? last_entry_ : code);
    bad = bad | entries_.bad;
    return value;
  }

  Codes codes_;
  Entries entries_;
  uint32_t count_;
  uint32_t last_entry_;
  uint32_t rows_left_;  // of the chunk, from the lane's first row of the tile
};

// Entries that the block has put into shared memory: stands in for the entries' reader in a Dict, which is then given
// the place by `entries().use(place)` after bind(). It must be the last child, since it knows no descriptor words.
template <typename T>
class StagedEntries {
 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = 0;
  static constexpr bool kPointAccess = true;
  static constexpr bool bad = false;  // as with packed and plain entries, the only ones staged

  __device__ __forceinline__ void bind(const uint64_t*) {}
  __device__ __forceinline__ void use(const T* staged) { staged_ = staged; }
  __device__ __forceinline__ T row(uint32_t i) const { return staged_[i]; }

 private:
  const T* staged_;
};

// By the whole block: decodes all entries to shared memory. The caller synchronises the block before reading them.
// `descriptor` is that of the entries; `room` is how many fit, which the launch has made enough for every chunk.
template <typename Entries>
__device__ __forceinline__ void stage_entries(const uint64_t* descriptor, typename Entries::value_type* staged,
                                              uint32_t room) {
  static_assert(Entries::kScratchBytes == 0);
  uint32_t count = row_count(descriptor);
  if (count > room) count = room;
  Entries entries;
  entries.bind(descriptor);
  for (uint32_t tile = threadIdx.x / kLanes; tile * kTileRows < count; tile += blockDim.x / kLanes) {
    entries.seek(tile, nullptr);
#pragma unroll 4
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const uint32_t i = tile * kTileRows + k * kLanes + lane_id();
      const typename Entries::value_type value = entries.at(k);
      if (i < count) staged[i] = value;
    }
  }
}

}  // namespace basalt::device
