// Tile reader of `place`. Opening a tile compares every row of the source with the one before it: a bit for each, 32 of
// a word, and for each word where the run begins that its first rows may be in. A row then looks for the highest bit up
// to its own.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/place/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T, typename Source>
class Place : public OneForm<Place<T, Source>, T> {
 public:
  using value_type = T;
  static constexpr uint32_t kBaseWord = 1 + place::kStreams;
  static constexpr uint32_t kSourceWord = kBaseWord + place::kParameterBytes / 8;
  static constexpr uint32_t kDescriptorWords = kSourceWord + Source::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = place::scratch_bytes(Source::kScratchBytes);
  static constexpr bool kPointAccess = false;
  static constexpr bool kRowsInShared = false;

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    bind_own(descriptor);
    source_.bind(descriptor + kSourceWord);
  }
  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    const uint32_t checkpoint = load(checkpoints_ + tile);  // waits for memory beside the source
    source_.seek(tile, behind_starts(scratch));
    find_starts(checkpoint, scratch);
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind_own(descriptor);
    const uint32_t checkpoint = load(checkpoints_ + tile);
    source_.open(descriptor + kSourceWord, tile, behind_starts(scratch));
    find_starts(checkpoint, scratch);
  }

  __device__ __forceinline__ T at(uint32_t k) const {
    const uint32_t lane = lane_id();
    const uint32_t up_to_own = starts_[k] & (~0u >> (kLanes - 1 - lane));
    const uint32_t first = up_to_own != 0 ? k * kLanes + highest_bit(up_to_own) : starts_[kRowsPerLane + k];
    return static_cast<T>(base_ + static_cast<uint32_t>(k * kLanes + lane - first));
  }

  __device__ __forceinline__ T row(uint32_t i) {
    const uint32_t first = i / kTileRows * kTileRows;
    uint32_t j = i;
    while (j > first && source_.row(j) == source_.row(j - 1)) --j;
    bad = bad || source_.bad;
    return static_cast<T>(base_ + static_cast<uint32_t>(i - j + (j == first ? load(checkpoints_ + i / kTileRows) : 0)));
  }

 private:
  __device__ __forceinline__ void bind_own(const uint64_t* descriptor) {
    checkpoints_ = stream<uint32_t>(descriptor, 1 + place::kCheckpoints);
    base_ = static_cast<T>(load(descriptor + kBaseWord));
  }
  __device__ __forceinline__ static void* behind_starts(void* scratch) {
    return static_cast<unsigned char*>(scratch) + place::kStartsBytes;
  }

  // Of the tile that `source_` has open. Rows are counted modulo 2^32 from the tile's first, before which its own run
  // may begin.
  __device__ __forceinline__ void find_starts(uint32_t checkpoint, void* scratch) {
    const uint32_t lane = lane_id();
    starts_ = static_cast<uint32_t*>(scratch);
    uint32_t own_starts = 0;  // of the rows whose k is the lane's number
    source_.visit([&](auto&& view) {
      typename Source::value_type last = 0;  // the lane's row before
      for_each_row(view, [&](uint32_t k, typename Source::value_type value) {
        const typename Source::value_type below = shuffle_up(value, 1);
        const typename Source::value_type wrapped = shuffle(last, kLanes - 1);
        const uint32_t starts = ballot(value != (lane == 0 ? wrapped : below));
        if (lane == k) own_starts = starts;
        last = value;
      });
    });
    bad = bad || source_.bad;
    if (lane == 0) own_starts &= ~1u;
    // Behind the last start among the lanes below; 0: there is none.
    uint32_t behind = own_starts != 0 ? lane * kLanes + highest_bit(own_starts) + 1 : 0;
#pragma unroll
    for (uint32_t distance = 1; distance < kLanes; distance *= 2) {
      const uint32_t other = shuffle_up(behind, distance);
      if (lane >= distance && other > behind) behind = other;
    }
    behind = shuffle_up(behind, 1);
    if (lane == 0) behind = 0;
    sync_warp();  // nobody reads the last tile any more
    starts_[lane] = own_starts;
    starts_[kRowsPerLane + lane] = behind != 0 ? behind - 1 : 0 - checkpoint;
    sync_warp();
  }

  const uint32_t* checkpoints_;
  Source source_;
  uint32_t* starts_;
  T base_;
};

}  // namespace basalt::device
