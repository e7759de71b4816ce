// Count and sum of the rows of galp tiles between two literals, in generated kernels. Rows of decimals are tested as
// the integers they are stored as; those integers become floats by two or three operations, with the bits that decoding
// gives (scale.h). Lanes work out for 32 tiles at once where the literals lie. Exceptions, which have
// their place in the order of additions, wait in shared memory.
#pragma once

#include "codec/galp/kernels.cuh"
#include "codec/packed/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/totals.h"
#include "core/float_key.h"

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

template <typename T, typename Integers>
class GalpTotals;

template <typename T, typename UnrolledWidths>
class GalpTotals<T, Packed<T, UnrolledWidths>> {
 public:
  using Values = Galp<T, Packed<T>>;

 private:
  using Float = typename Values::Float;
  using Arithmetic = galp::Arithmetic<Float>;
  enum How : uint32_t { kSomeRows, kAllRows, kNoRows, kNoDecimals };
  struct Tile {
    const uint32_t* words;  // of lane 0
    const uint32_t* block;  // of exceptions
    uint64_t first, span;   // packed values that pass
    Float origin, times, back;
    Float offset;  // for galp::scaled_small()
    uint32_t width;
    uint32_t unrolled_width;  // kNotUnrolled: the offset is not exact
    uint32_t block_words;
    How how;
  };
  static constexpr uint32_t kNotUnrolled = ~0u;

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = Values::kDescriptorWords;
  static constexpr uint32_t kTiles = kLanes;  // that are described at once
  struct alignas(16) Scratch {
    Tile tiles[kTiles];
    double exceptions[galp::kMaxListed + kRowsPerLane];  // more than there are, for lists that break rules
    uint32_t rows[kLanes];                               // of each lane, that are exceptions
    uint32_t firsts[kLanes];                             // of each lane's exceptions
    uint8_t lanes[kLanes];                               // for ExceptionWords
    alignas(16) unsigned char values[Values::kScratchBytes + 16];
  };

  // By each lane for a tile of its own, if it `exists`. spans(pair): the integers of a pair that pass, by the whole
  // warp, as numbers begin … end − 1 of those from −most to most.
  template <typename Spans>
  __device__ __forceinline__ static void describe(bool exists, const uint64_t* descriptor, uint32_t tile,
                                                  Scratch& scratch, Spans&& spans) {
    constexpr uint32_t kNoPair = ~0u;
    Tile out{};
    out.how = kNoDecimals;
    uint32_t pair = kNoPair;
    if (exists && (tile + 1) * kTileRows <= row_count(descriptor)) {
      const typename Values::Entry entry = Values::entry(descriptor, tile);
      bool is_bad = false;
      const ExceptionWords::Asked block = Values::block_of(descriptor, entry, is_bad);
      out.block = block.block;
      out.block_words = block.size;
      if (Values::is_pair(entry.scheme) && !is_bad) pair = entry.scheme;
    }
#pragma unroll 1
    for (uint32_t open = ballot(pair != kNoPair); open != 0;) {
      const uint32_t here = shuffle(pair, lowest_bit(open));
      const auto span = spans(here);
      if (pair == here) place(out, descriptor, tile, pair, span.begin, span.end, span.most);
      open &= ~ballot(pair == here);
    }
    scratch.tiles[lane_id()] = out;
  }

  // The first words of the exceptions of tile i, one per lane, which total() will want.
  __device__ __forceinline__ static uint32_t ask(const Scratch& scratch, uint32_t i) {
    ExceptionWords words;
    words.ask(scratch.tiles[i].block, scratch.tiles[i].block_words);
    return words.asked().word;
  }

  // Of the lane's rows of the tile that was described as number i, with keys from first to last.
  __device__ __forceinline__ static FloatTileSum total(const uint64_t* descriptor, uint32_t tile, uint32_t i,
                                                       uint32_t asked, Scratch& scratch, int64_t first, int64_t last) {
    const Tile& here = scratch.tiles[i];
    const How how = here.how;
    if (how == kNoDecimals) return total_of_any(descriptor, tile, scratch, first, last);
    if (how == kNoRows) return {};
    RowSum sums;
    uint32_t count = 0;
    if (here.block_words == 0) {
      if (!for_width<kWidest>(UnrolledWidths{}, here.unrolled_width,
                              [&](auto width) { add_rows<decltype(width)::value, false>(here, {}, sums); })) {
        sums = sum_of_any_width(here, {});
      }
    } else {
      const Patches patches = stage_exceptions({here.block, here.block_words, asked}, scratch, first, last);
      if (patches.bad != 0) return total_of_any(descriptor, tile, scratch, first, last);
      const WaitingExceptions waiting(patches.rows, scratch.exceptions + patches.first);
      if (!for_width<kWidest>(UnrolledWidths{}, here.unrolled_width,
                              [&](auto width) { add_rows<decltype(width)::value, true>(here, waiting, sums); })) {
        sums = sum_of_any_width(here, waiting);
      }
      count = patches.count - waiting.count();  // each of them was added, as zero if need be
      sync_warp();
    }
    return {sums.sum(), count + sums.count(), 0, how == kAllRows ? kByBounds : kByRows};
  }

 private:
  // Integers that are fractions of a float.
  static constexpr uint32_t kWidest = sizeof(T) == 8 ? 52 : 23;
  static constexpr uint32_t kWholeBits = 0x4B000000;  // of 2^23 as a float
  BASALT_HD static constexpr bool is_small(uint32_t width) { return sizeof(T) == 8 && width <= galp::kSmallBits; }

  __device__ __forceinline__ static void place(Tile& out, const uint64_t* descriptor, uint32_t tile, uint32_t pair,
                                               uint64_t begin, uint64_t end, uint64_t most) {
    Packed<T> integers;
    integers.open(descriptor + Values::kIntegersWord, tile, nullptr);
    if (integers.width() > kWidest) return;
    const auto reference = static_cast<typename Values::Int>(integers.reference());
    constexpr auto kWhole = static_cast<int64_t>(Arithmetic::kWhole);
    const int64_t largest = most < static_cast<uint64_t>(kWhole) ? static_cast<int64_t>(most) : kWhole;
    if (reference < -largest || reference > largest ||
        low_bits(integers.width()) > static_cast<uint64_t>(largest) - static_cast<uint64_t>(int64_t{reference})) {
      return;
    }
    RawRange range = integers.template range<true>(static_cast<T>(begin - most), static_cast<T>(end - 1 - most));
    range.none = range.none || begin >= end;
    if (range.none && out.block_words != 0 && integers.width() == 32) return;  // words have no number that is too large
    const bool all = !range.none && range.first == 0 && range.last >= low_bits(integers.width());
    out.how = out.block_words != 0 ? kSomeRows : range.none ? kNoRows : all ? kAllRows : kSomeRows;
    out.words = integers.words() - (integers.width() == 0 ? 0 : lane_id());
    out.width = out.unrolled_width = integers.width();
    // Nothing is as far as `first` then.
    out.first = range.none ? low_bits(out.width) + 1 : range.first;
    out.span = range.none ? 0 : range.last - range.first;
    const auto scale = Values::scale_of(pair);
    out.origin = static_cast<Float>(reference) - Arithmetic::kWhole;
    out.times = scale.times;
    out.back = scale.back;
    if constexpr (sizeof(T) == 8) {
      const double from = static_cast<double>(reference) - galp::kSmall;
      out.offset = galp::multiply(from, scale.times);
      const bool is_exact = galp::multiply_add(from, scale.times, -out.offset) == 0;
      if (is_small(out.width) && !is_exact) out.unrolled_width = kNotUnrolled;
    }
  }

  struct Patches {
    uint32_t rows = 0;   // of the lane, that are exceptions
    uint32_t first = 0;  // of them, in the scratch
    uint32_t count = 0;  // of any rows, that pass
    uint32_t bad = 0;
  };

  template <uint32_t W, bool kPatched>
  __device__ __forceinline__ static void add_rows(const Tile& here, WaitingExceptions waiting, RowSum& sums) {
    using Raw = typename PackedTile<T, W>::raw_type;
    const PackedTile<T, W> tile(here.words + (W == 0 ? 0 : lane_id()), T{0});
    // Tests see the bits of which floats are made, where these are one word.
    constexpr bool kMarked = is_small(W) || sizeof(T) == 4;
    Raw mark = is_small(W) ? galp::kSmallMark : kMarked ? kWholeBits : 0;
#if defined(__CUDA_ARCH__)
    if constexpr (kMarked) asm("" : "+r"(mark));  // in a register, where one instruction masks and marks
#endif
    const auto low = static_cast<Raw>(here.first + mark);
    const auto span = static_cast<Raw>(here.span);
    const Float origin = is_small(W) ? here.offset : here.origin;
    const Float times = here.times;
    const Float back = here.back;
    for_each_k([&](uint32_t k) {
      const auto marked = static_cast<Raw>(tile.raw_at(k) | mark);
      Float scaled;
      if constexpr (is_small(W)) {
        scaled = galp::scaled_small(marked, times, origin);
      } else if constexpr (kMarked) {
        scaled = galp::multiply(galp::sum(galp::float_of(marked), origin), times);
      } else {
        scaled = galp::multiply(galp::whole_float<Float>(marked, origin), times);
      }
      double value = galp::multiply(scaled, back);
      bool passes = static_cast<Raw>(marked - low) <= span;
      if constexpr (kPatched) passes = waiting.take(k, value) || passes;
      sums.add(value, passes);
    });
  }

  // The same for a tile whose width has no code of its own.
  __device__ __noinline__ static RowSum sum_of_any_width(const Tile& here, WaitingExceptions waiting) {
    RowSum sums;
    const uint32_t* words = here.words + (here.width == 0 ? 0 : lane_id());
#pragma unroll 4
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const uint64_t raw = raw_whole(words, here.width, k);
      const Float whole = galp::whole_float<Float>(static_cast<T>(raw), here.origin);
      double value = galp::multiply(galp::multiply(whole, here.times), here.back);
      const bool is_exception = waiting.take(k, value);
      sums.add(value, is_exception || raw - here.first <= here.span);
    }
    return sums;
  }

  // Exceptions that do not pass wait as zeros, which change no sum.
  __device__ __noinline__ static Patches stage_exceptions(ExceptionWords::Asked asked, Scratch& scratch, int64_t first,
                                                          int64_t last) {
    Patches patches;
    patches.bad = 1;
    ExceptionWords words(asked);
    if (!words.take(Values::kBits) || !words.listed()) return patches;
    const uint32_t lane = lane_id();
    scratch.rows[lane] = 0;
    scratch.firsts[lane] = ~0u;
    sync_warp();
    const bool sound = words.template for_each<T>(scratch.lanes, [&](uint32_t row, T bits, uint32_t i) {
      const int64_t key = float_key_of_bits(bits);
      const bool passes = key >= first && key <= last;
      scratch.exceptions[i] = passes ? static_cast<double>(galp::float_of(bits)) : 0.0;
      patches.count += passes ? 1 : 0;
      atomicOr(&scratch.rows[row % kLanes], 1u << row / kLanes);
      atomicMin(&scratch.firsts[row % kLanes], i);
    });
    sync_warp();
    patches.rows = scratch.rows[lane];
    patches.first = scratch.firsts[lane] % galp::kMaxListed;
    patches.bad = sound ? 0 : 1;
    return patches;
  }

  // Row by row.
  __device__ __noinline__ static FloatTileSum total_of_any(const uint64_t* descriptor, uint32_t tile, Scratch& scratch,
                                                           int64_t first, int64_t last) {
    const uint32_t rows = rows_mask(rows_of_tile(row_count(descriptor), tile), lane_id());
    Values reader;
    reader.open(descriptor, tile, scratch.values);
    FloatTileSum sums{};
    sums.how = kByRows;
#pragma unroll 2
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const T bits = reader.at(k);
      const int64_t key = float_key_of_bits(bits);
      if ((rows >> k & 1) == 0 || key < first || key > last) continue;
      sums.sum = sums.sum + static_cast<double>(galp::float_of(bits));
      ++sums.count;
    }
    sums.bad = reader.bad ? 1 : 0;
    return sums;
  }
};

}  // namespace basalt::device
