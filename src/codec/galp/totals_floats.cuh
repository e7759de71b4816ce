// Totals of floats of four bytes, which are rounded so coarsely that a sum of their integers is no sum of them:
// integers become floats by three operations, with the bits that decoding gives (scale.h). Exceptions, which have their
// place in the order of additions, wait in shared memory.
#pragma once

#include "codec/galp/totals_tiles.cuh"

namespace basalt::device {

// Exceptions of a lane that wait in shared memory, in the order of its rows.
class WaitingExceptions {
 public:
  WaitingExceptions() = default;
  // `rows`: bit k stands for row k.
  __device__ __forceinline__ WaitingExceptions(uint32_t rows, const double* first) : rows_(rows) {
#if defined(__CUDA_ARCH__)
    next_ = static_cast<uint32_t>(__cvta_generic_to_shared(first));
#else
    next_ = first;
#endif
  }

  // Whether row k is an exception, whose value takes the place of `value` then; for k = 0, 1, ... one after the other.
  // Predicates, since the compiler would make a copy of the address in each row.
  __device__ __forceinline__ bool take(uint32_t k, double& value) {
#if defined(__CUDA_ARCH__)
    uint32_t taken;
    asm volatile(
        "{.reg .pred p; .reg .b32 bit; and.b32 bit, %3, %4; setp.ne.u32 p, bit, 0; @p ld.shared.f64 %0, [%1]; "
        "@p add.u32 %1, %1, 8; selp.u32 %2, 1, 0, p;}"
        : "+d"(value), "+r"(next_), "=r"(taken)
        : "r"(rows_), "r"(1u << k)
        : "memory");
    return taken != 0;
#else
    if ((rows_ >> k & 1) == 0) return false;
    value = *next_++;
    return true;
#endif
  }
  __device__ __forceinline__ uint32_t count() const { return population(rows_); }

 private:
  uint32_t rows_ = 0;
#if defined(__CUDA_ARCH__)
  uint32_t next_ = 0;
#else
  const double* next_ = nullptr;
#endif
};

// A lane's rows that pass, added one after the other. A sum and 0 or 1 times a finite value is one operation; of a sum
// under a condition the compiler makes an addition and two conditional moves.
class RowSum {
 public:
  __device__ __forceinline__ void add(double value, bool passes) {
    const uint32_t weight = passes ? kOne : 0;
    sum_ = galp::multiply_add(value, galp::float_of(static_cast<uint64_t>(weight) << 32), sum_);
    weights_ += weight;
  }
  __device__ __forceinline__ double sum() const { return sum_; }
  // Of at most 32 rows.
  __device__ __forceinline__ uint32_t count() const { return (0u - weights_) >> 20 & 63; }

 private:
  static constexpr uint32_t kOne = 0x3FF00000;  // the upper half of 1.0: 2^30 - 2^20
  double sum_ = 0;
  uint32_t weights_ = 0;
};

template <typename UnrolledWidths>
class GalpTotals<uint32_t, Packed<uint32_t, UnrolledWidths>> {
  using T = uint32_t;
  using Arithmetic = galp::Arithmetic<float>;
  struct alignas(16) Tile : DescribedDecimals<T> {
    float origin, times, back;
  };

 public:
  using Values = Galp<T, Packed<T>>;
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = Values::kDescriptorWords;
  static constexpr uint32_t kTiles = kLanes;  // that are described at once
  struct alignas(16) Scratch {
    Tile tiles[kTiles];
    double exceptions[galp::kMaxListed + kRowsPerLane];  // more than there are, for lists that break rules
    uint32_t rows[kLanes];                               // of each lane, that are exceptions
    uint32_t firsts[kLanes];                             // of each lane's exceptions
    uint8_t places[kLanes];                              // for ListedExceptions
    FloatKeyRange<T> range;                              // that passes, set before tiles are described
    alignas(16) unsigned char values[Values::kScratchBytes];
  };

  // As describe_decimals().
  template <typename Spans>
  __device__ __forceinline__ static void describe(bool exists, const uint64_t* descriptor, uint32_t tile,
                                                  Scratch& scratch, Spans&& spans) {
    describe_decimals(exists, descriptor, tile, scratch.tiles, spans,
                      [](Tile& out, const Packed<T>& integers, const galp::Scale<float>& scale, uint64_t most) {
                        // Integers that are fractions of a float, and so is what they are with the reference.
                        constexpr auto kWhole = static_cast<int64_t>(Arithmetic::kWhole);
                        const int64_t largest =
                            static_cast<int64_t>(most) < kWhole ? static_cast<int64_t>(most) : kWhole;
                        const int64_t reference = static_cast<int32_t>(integers.reference());
                        out.origin = static_cast<float>(reference) - Arithmetic::kWhole;
                        out.times = scale.times;
                        out.back = scale.back;
                        return integers.width() <= kWidest && reference >= -largest && reference <= largest &&
                               static_cast<int64_t>(low_bits(integers.width())) <= largest - reference;
                      });
  }

  // Of the tile that was described as number i, with keys from first to last.
  __device__ __forceinline__ static FloatTileSum total(const uint64_t* descriptor, uint32_t tile, uint32_t i,
                                                       Scratch& scratch, int64_t first, int64_t last) {
    const Tile& here = scratch.tiles[i];
    if (here.kind == GalpTile::kNoDecimals) return sum_galp_rows<T>(descriptor, tile, scratch.values, first, last);
    RowSum sums;
    uint32_t others = 0;
    if (here.exceptions.header == 0) {
      if (here.kind == GalpTile::kNonePasses) return {};
      if (!for_width<kWidest>(UnrolledWidths{}, here.width,
                              [&](auto width) { add_rows<decltype(width)::value, false>(here, {}, sums); })) {
        sums = sum_of_any_width(here, {});
      }
    } else {
      const Patches patches = stage_exceptions(here.exceptions, scratch);
      if (patches.bad != 0) return sum_galp_rows<T>(descriptor, tile, scratch.values, first, last);
      const WaitingExceptions waiting(patches.rows, scratch.exceptions + patches.first);
      if (!for_width<kWidest>(UnrolledWidths{}, here.width,
                              [&](auto width) { add_rows<decltype(width)::value, true>(here, waiting, sums); })) {
        sums = sum_of_any_width(here, waiting);
      }
      others = patches.count - waiting.count();  // each of them was added, as zero if need be
      sync_warp();
    }
    return {sum_of_lanes(sums.sum()), static_cast<int32_t>(others + sums.count()), 0, here.how()};
  }

 private:
  static constexpr uint32_t kWidest = 23;
  static constexpr uint32_t kMark = 0x4B000000;  // the bits of 2^23 as a float

  struct Patches {
    uint32_t rows = 0;   // of the lane, that are exceptions
    uint32_t first = 0;  // of them, in the scratch
    uint32_t count = 0;  // of any rows, that pass
    uint32_t bad = 0;
  };

  // Packed values that pass, as the bits of which floats are made: those from `low` to `low` + `span`, or nothing.
  struct Passing {
    uint32_t low;
    uint32_t span;
    __device__ __forceinline__ Passing(const Tile& here, uint32_t mark)
        : low(here.kind == GalpTile::kNonePasses ? ~0u : here.first + mark),
          span(here.kind == GalpTile::kNonePasses ? 0 : here.last - here.first) {}
    __device__ __forceinline__ bool operator()(uint32_t marked) const { return marked - low <= span; }
  };

  template <uint32_t W, bool kPatched>
  __device__ __forceinline__ static void add_rows(const Tile& here, WaitingExceptions waiting, RowSum& sums) {
    const PackedTile<T, W> tile(here.words_of(lane_id()), T{0});
    uint32_t mark = kMark;
#if defined(__CUDA_ARCH__)
    asm("" : "+r"(mark));  // in a register, where one instruction masks and marks
#endif
    const Passing passing(here, mark);
    const float origin = here.origin;
    const float times = here.times;
    const float back = here.back;
    for_each_k([&](uint32_t k) {
      const uint32_t marked = tile.raw_at(k) | mark;
      const float whole = galp::sum(galp::float_of(marked), origin);
      double value = galp::multiply(galp::multiply(whole, times), back);
      bool passes = passing(marked);
      if constexpr (kPatched) passes = waiting.take(k, value) || passes;
      sums.add(value, passes);
    });
  }

  // The same for a tile whose width has no code of its own.
  __device__ __noinline__ static RowSum sum_of_any_width(const Tile& here, WaitingExceptions waiting) {
    RowSum sums;
    const Passing passing(here, kMark);
    const uint32_t* words = here.words_of(lane_id());
#pragma unroll 4
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const uint32_t marked = static_cast<uint32_t>(raw_whole(words, here.width, k)) | kMark;
      const float whole = galp::sum(galp::float_of(marked), here.origin);
      double value = galp::multiply(galp::multiply(whole, here.times), here.back);
      const bool is_exception = waiting.take(k, value);
      sums.add(value, is_exception || passing(marked));
    }
    return sums;
  }

  // Exceptions that do not pass wait as zeros, which change no sum.
  __device__ __noinline__ static Patches stage_exceptions(const ListedExceptions<T>& exceptions, Scratch& scratch) {
    const uint32_t lane = lane_id();
    const auto fetched = exceptions.fetch(lane);
    scratch.rows[lane] = 0;
    scratch.firsts[lane] = ~0u;
    sync_warp();
    Patches patches;
    uint32_t i = lane;
    const bool sound =
        exceptions.for_each(fetched, scratch.places, [&](bool exists, uint32_t row, uint32_t of_lane, T bits) {
          if (exists) {
            const float value = galp::float_of(bits);
            const bool passes = scratch.range.holds(value);
            scratch.exceptions[i] = passes ? static_cast<double>(value) : 0.0;
            patches.count += passes ? 1 : 0;
            atomicOr(&scratch.rows[of_lane], 1u << row);
            atomicMin(&scratch.firsts[of_lane], i);
          }
          i += kLanes;
        });
    sync_warp();
    patches.rows = scratch.rows[lane];
    patches.first = scratch.firsts[lane] % galp::kMaxListed;
    patches.bad = sound ? 0 : 1;
    return patches;
  }
};

}  // namespace basalt::device
