// Rows of floats of four bytes, which are rounded so coarsely that a sum of their integers is no sum of them: integers
// are added as they are stored, and beside it what rounding made of each (galp::remainder()).
#pragma once

#include "codec/galp/gpu/filter_sum_tiles.cuh"

namespace basalt::device {

struct FloatRows {
  using Float = float;
  using T = uint32_t;
  using Arithmetic = galp::Arithmetic<float>;
  struct alignas(16) Factors {
    float origin, times, back;
    uint32_t mark;  // kMark, for marked_at()
    float digit;
    int32_t reference;

    __device__ __forceinline__ void note(const Packed<T>& integers, uint32_t pair, const galp::Scale<float>& scale) {
      reference = static_cast<int32_t>(integers.reference());
      origin = static_cast<float>(reference) - Arithmetic::kWhole;
      times = scale.times;
      back = scale.back;
      mark = kMark;
      digit = galp::digit_of(galp::pair_of(pair));
    }
    // Of a packed value with a mark.
    __device__ __forceinline__ float remainder(uint32_t marked) const {
      const float d = galp::sum(galp::float_of(marked), origin);
      return galp::remainder(d, galp::multiply(galp::multiply(d, times), back), digit);
    }
  };
  using Tile = DecimalTile<T, Factors>;
  static constexpr uint32_t kWidest = 23;

  // Rows from `first` to `last`; kPatched: but for the lane's `exceptions`.
  template <uint32_t W, bool kPatched>
  __device__ __forceinline__ void add(const Tile& tile, uint32_t exceptions) {
    // As many rows at a time as keep their sum below the marks.
    constexpr uint32_t kRows = W <= 19 ? kRowsPerLane : kRowsPerLane >> (W - 19);
    const PackedTile<T, W> packed(tile.lane_words(), T{0});
    const Factors factors = tile.factors;
    const uint32_t low = tile.first + factors.mark;
    const uint32_t span = tile.last - tile.first + 1;
    uint32_t integers = 0;
#pragma unroll
    for (uint32_t begin = 0; begin < kRowsPerLane; begin += kRows) {
      uint32_t both = 0;
#pragma unroll
      for (uint32_t k = begin; k < begin + kRows; ++k) {
        const uint32_t marked = packed.template marked_at<kMark>(k, factors.mark);
        add_row<kPatched>(both, marked, factors.remainder(marked), multiply_add(marked, 1, 0u - low), span, exceptions,
                          1u << k);
      }
      integers += both % (1u << kMarkShift);
      count_ += (both >> kMarkShift) * kMarkInverse % 256;
    }
    if constexpr (W <= kShortSums) {
      integers_ = sum_of_lanes(integers);
    } else {
      integers_ = sum_of_lanes(uint64_t{integers});
    }
  }
  __device__ __forceinline__ void add_any_width(const Tile& tile, uint32_t exceptions) {
    const Factors factors = tile.factors;
    const uint32_t* words = tile.lane_words();
    uint32_t integers = 0;
#pragma unroll 1
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const auto raw = static_cast<uint32_t>(raw_whole(words, tile.width, k));
      if (raw - tile.first > tile.last - tile.first || (exceptions >> k & 1) != 0) continue;
      integers += raw;
      remainders_ = galp::sum(remainders_, factors.remainder(raw | kMark));
      ++count_;
    }
    integers_ = sum_of_lanes(uint64_t{integers});
  }

  __device__ __forceinline__ double sum(const Tile& tile) const {
    const uint64_t references = static_cast<uint64_t>(int64_t{tile.factors.reference}) * sum_of_lanes(count_);
    return galp::value_of_sums(static_cast<int64_t>(integers_ + references), sum_of_lanes(remainders_),
                               tile.factors.digit);
  }
  // Of the lane.
  __device__ __forceinline__ uint32_t count() const { return count_; }

 private:
  static constexpr uint32_t kMark = 0x4B000000;  // the bits of 2^23 as a float
  static constexpr uint32_t kMarkShift = 24;
  static constexpr uint32_t kMarkInverse = 99;  // of kMark >> kMarkShift, modulo 256
  static_assert((kMark >> kMarkShift) * kMarkInverse % 256 == 1);

  // If tested < bound; kPatched: and `bit` is not set in `exceptions`. Under predicates: of conditions the compiler
  // makes moves.
  template <bool kPatched>
  __device__ __forceinline__ void add_row(uint32_t& both, uint32_t marked, float remainder, uint32_t tested,
                                          uint32_t bound, uint32_t exceptions, uint32_t bit) {
#if defined(__CUDA_ARCH__)
    if constexpr (kPatched) {
      asm("{.reg .pred p, q; .reg .b32 set; and.b32 set, %6, %7; setp.eq.u32 q, set, 0; setp.lt.and.u32 p, %4, %5, q; "
          "@p add.u32 %0, %0, %2; @p add.rn.f32 %1, %1, %3;}"
          : "+r"(both), "+f"(remainders_)
          : "r"(marked), "f"(remainder), "r"(tested), "r"(bound), "r"(exceptions), "r"(bit));
    } else {
      asm("{.reg .pred p; setp.lt.u32 p, %4, %5; @p add.u32 %0, %0, %2; @p add.rn.f32 %1, %1, %3;}"
          : "+r"(both), "+f"(remainders_)
          : "r"(marked), "f"(remainder), "r"(tested), "r"(bound));
    }
#else
    if (tested >= bound || (kPatched && (exceptions & bit) != 0)) return;
    both += marked;
    remainders_ = galp::sum(remainders_, remainder);
#endif
  }

  uint64_t integers_ = 0;  // of the tile, as they are stored
  uint32_t count_ = 0;
  float remainders_ = 0;  // of the lane
};

}  // namespace basalt::device
