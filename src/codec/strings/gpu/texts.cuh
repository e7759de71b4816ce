// Texts on the device. A lane reads short texts alone; what is longer is read by all lanes of its warp, so that a long
// text does not keep one lane busy while 31 wait. Every lane calls, with texts of its own (no_text() if it has none).
#pragma once

#include "codec/strings/gpu/texts.h"
#include "core/device/join.h"

namespace basalt::strings {

constexpr uint64_t kWordsAlone = 32;

// Calls together(owner) with each lane for which `waits`, one after the other.
template <typename Together>
__device__ __forceinline__ void take_turns(bool waits, Together together) {
  for (uint32_t waiting = device::ballot(waits); waiting != 0; waiting &= waiting - 1) {
    together(static_cast<uint32_t>(__ffs(static_cast<int>(waiting)) - 1));
  }
}

__device__ __forceinline__ Text text_of_lane(const Text& text, uint32_t lane) {
  const uint64_t words = device::shuffle(reinterpret_cast<uint64_t>(text.words), lane);
  return {reinterpret_cast<const uint64_t*>(words), device::shuffle(text.length, lane),
          device::shuffle(text.shift, lane)};
}

__device__ __forceinline__ uint64_t hash_text(const Text& text) {
  const bool is_long = text.word_count() > kWordsAlone;
  uint64_t sum = is_long ? 0 : hash_words(text, 0, 1);
  take_turns(is_long, [&](uint32_t owner) {
    const uint64_t part = hash_words(text_of_lane(text, owner), device::lane_id(), kLanes);
    const uint64_t all = device::join_lanes(part, [](uint64_t a, uint64_t b) { return a + b; });
    if (device::lane_id() == owner) sum = all;
  });
  return finish_hash(sum, text.length);
}

// Of the warp's `end` words from `first` on; the same texts and bounds in all lanes.
__device__ __forceinline__ uint64_t first_difference_together(const Text& a, const Text& b, uint64_t first,
                                                              uint64_t end) {
  constexpr uint32_t kAtOnce = 4;  // loads in flight per lane
  for (; first < end; first += kAtOnce * kLanes) {
    bool differs[kAtOnce];
    bool any = false;
#pragma unroll
    for (uint32_t j = 0; j < kAtOnce; ++j) {
      const uint64_t i = first + j * kLanes + device::lane_id();
      differs[j] = i < end && a.word(i) != b.word(i);
      any = any || differs[j];
    }
    if (!device::any_lane(any)) continue;
#pragma unroll
    for (uint32_t j = 0; j < kAtOnce; ++j) {
      const uint32_t lanes = device::ballot(differs[j]);
      if (lanes != 0) return first + j * kLanes + static_cast<uint32_t>(__ffs(static_cast<int>(lanes)) - 1);
    }
  }
  return end;
}

// The first of `words` words in which the lane's two texts differ, else `words`.
__device__ __forceinline__ uint64_t first_difference(const Text& a, const Text& b, uint64_t words) {
  uint64_t at = first_difference_alone(a, b, 0, smaller(words, kWordsAlone));
  take_turns(at == kWordsAlone && at < words, [&](uint32_t owner) {
    const Text all_a = text_of_lane(a, owner);
    const Text all_b = text_of_lane(b, owner);
    const uint64_t found = first_difference_together(all_a, all_b, kWordsAlone, device::shuffle(words, owner));
    if (device::lane_id() == owner) at = found;
  });
  return at;
}

// `compare`: this lane has two texts to compare; else the answer means nothing.
__device__ __forceinline__ bool are_equal(const Text& a, const Text& b, bool compare) {
  const bool same_length = a.length == b.length;
  const uint64_t words = compare && same_length ? a.word_count() : 0;
  return first_difference(a, b, words) == words && same_length;
}

}  // namespace basalt::strings
