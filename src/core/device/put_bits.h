// Numbers of any width into a stream, by many threads at once.
#pragma once

#include "core/packed_tile.h"

namespace basalt::device {

// Sets bits of a stream that are zero and that other threads fill as well.
__device__ inline void put_bits(uint32_t* words, uint64_t at, uint32_t width, uint64_t value) {
  uint32_t* to = words + (at >> 5);
  const uint32_t shift = at & 31;
  const uint128_t bits = static_cast<uint128_t>(value & low_bits(width)) << shift;
  for (uint32_t i = 0; i * 32 < shift + width; ++i) {
    const auto word = static_cast<uint32_t>(bits >> (32 * i));
    if (word != 0) atomicOr(to + i, word);
  }
}

// Puts numbers one behind the other; other threads fill what lies before and behind them. Only the first and the last
// word may be theirs, too.
class BitWriter {
 public:
  __device__ __forceinline__ BitWriter(uint32_t* words, uint32_t at)
      : to_(words + at / 32), filled_(at % 32), is_shared_(filled_ != 0) {}

  // A number of `width` bits (0..64, 0..32 if it is a uint32_t) and nothing above.
  template <typename Number>
  __device__ __forceinline__ void put(Number number, uint32_t width) {
    uint64_t beyond = 0;
    if constexpr (sizeof(Number) == 8) beyond = filled_ == 0 ? 0 : number >> (64 - filled_);
    held_ |= static_cast<uint64_t>(number) << filled_;
    filled_ += width;
    if (filled_ < 32) return;
    store();
    held_ |= beyond << 32;
    if (filled_ >= 32) store();
  }
  __device__ __forceinline__ void end() {
    if (filled_ > 0) atomicOr(to_, static_cast<uint32_t>(held_));
  }

 private:
  __device__ __forceinline__ void store() {
    const auto word = static_cast<uint32_t>(held_);
    if (is_shared_) {
      atomicOr(to_, word);
    } else {
      *to_ = word;
    }
    is_shared_ = false;
    ++to_;
    filled_ -= 32;
    held_ >>= 32;
  }

  uint32_t* to_;
  uint64_t held_ = 0;  // fewer than 32 bits
  uint32_t filled_;
  bool is_shared_;
};

}  // namespace basalt::device
