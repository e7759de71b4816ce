// Count and sum of the rows of galp tiles between two literals, in generated kernels. Rows of decimals are tested as
// the integers they are stored as; those integers become floats by one addition and two multiplications, with the bits
// that decoding gives (scale.h). Lanes work out for 32 tiles at once where the literals lie. Exceptions, which have
// their place in the order of additions, wait in shared memory.
#pragma once

#include "codec/galp/kernels.cuh"
#include "codec/packed/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/totals.h"
#include "core/float_key.h"

namespace basalt::device {

template <typename T, typename Integers>
class GalpTotals;

template <typename T, typename UnrolledWidths>
class GalpTotals<T, Packed<T, UnrolledWidths>> {
 public:
  using Values = Galp<T, Packed<T>>;

 private:
  using Float = typename Values::Float;
  using Arithmetic = galp::Arithmetic<Float>;
  enum How : uint32_t { kNothing, kDecimals, kDecimalsAndExceptions, kAnything };
  struct Tile {
    const uint32_t* words;  // of lane 0
    uint64_t first, span;   // packed values that pass
    uint32_t width;
    How how;
    Float origin, times, back;
    uint32_t exceptions_begin, exceptions_end;
  };

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = Values::kDescriptorWords;
  static constexpr uint32_t kTiles = kLanes;  // that are described at once
  struct alignas(16) Scratch {
    Tile tiles[kTiles];
    double exceptions[galp::kMaxListed];
    alignas(16) unsigned char values[Values::kScratchBytes + 16];
  };

  // By each lane for a tile of its own, if it `exists`. spans(pair): the integers of a pair that pass, by the whole
  // warp, as numbers begin … end − 1 of those from −most to most.
  template <typename Spans>
  __device__ __forceinline__ static void describe(bool exists, const uint64_t* descriptor, uint32_t tile,
                                                  Scratch& scratch, Spans&& spans) {
    constexpr uint32_t kNoPair = ~0u;
    Tile out{};
    out.how = kAnything;
    uint32_t pair = kNoPair;
    if (exists && (tile + 1) * kTileRows <= row_count(descriptor)) {
      const typename Values::Entry entry = Values::entry(descriptor, tile);
      out.exceptions_begin = entry.exceptions_begin;
      out.exceptions_end = entry.exceptions_end;
      if (Values::is_pair(entry.scheme)) pair = entry.scheme;
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

  // Of the lane's rows of the tile that was described as number i, with keys from first to last.
  __device__ __forceinline__ static FloatTileSum total(const uint64_t* descriptor, uint32_t tile, uint32_t i,
                                                       Scratch& scratch, int64_t first, int64_t last) {
    const Tile& here = scratch.tiles[i];
    FloatTileSum sums{};
    if (here.how == kNothing) return sums;
    const bool all = here.how == kDecimals && here.first == 0 && here.span >= low_bits(here.width);
    sums.how = all ? kByBounds : kByRows;
    bool done = false;
    if (here.how == kDecimals) {
      done = for_width<kWidest>(UnrolledWidths{}, here.width,
                                [&](auto width) { add_rows<decltype(width)::value, false>(here, {}, scratch, sums); });
    } else if (here.how == kDecimalsAndExceptions) {
      const Patches patches = stage_exceptions(descriptor, here, scratch, first, last);
      sums.count = patches.count;
      sums.bad = patches.bad;
      done = patches.bad == 0 && for_width<kWidest>(UnrolledWidths{}, here.width, [&](auto width) {
               add_rows<decltype(width)::value, true>(here, patches, scratch, sums);
             });
      sync_warp();
    }
    return done ? sums : total_of_any(descriptor, tile, scratch, first, last);
  }

 private:
  // Integers that are fractions of a float.
  static constexpr uint32_t kWidest = sizeof(T) == 8 ? 52 : 23;

  __device__ __forceinline__ static void place(Tile& out, const uint64_t* descriptor, uint32_t tile, uint32_t pair,
                                               uint64_t begin, uint64_t end, uint64_t most) {
    Packed<T> integers;
    integers.open(descriptor + Values::kIntegersWord, tile, nullptr);
    const auto reference = static_cast<typename Values::Int>(integers.reference());
    constexpr auto kWhole = static_cast<int64_t>(Arithmetic::kWhole);
    const int64_t largest = most < static_cast<uint64_t>(kWhole) ? static_cast<int64_t>(most) : kWhole;
    if (reference < -largest || reference > largest ||
        low_bits(integers.width()) > static_cast<uint64_t>(largest) - static_cast<uint64_t>(int64_t{reference})) {
      return;
    }
    RawRange range = integers.template range<true>(static_cast<T>(begin - most), static_cast<T>(end - 1 - most));
    range.none = range.none || begin >= end;
    const bool has_exceptions = out.exceptions_begin != out.exceptions_end;
    if (range.none && has_exceptions && integers.width() == 32) return;  // words have no number that is too large
    out.how = has_exceptions ? kDecimalsAndExceptions : range.none ? kNothing : kDecimals;
    out.words = integers.words() - (integers.width() == 0 ? 0 : lane_id());
    out.width = integers.width();
    // Nothing is as far as `first` then.
    out.first = range.none ? low_bits(out.width) + 1 : range.first;
    out.span = range.none ? 0 : range.last - range.first;
    const auto scale = Values::scale_of(pair);
    out.origin = static_cast<Float>(reference) - Arithmetic::kWhole;
    out.times = scale.times;
    out.back = scale.back;
  }

  // Which of the lane's rows are exceptions, and where in the scratch its first one waits.
  struct Patches {
    uint32_t rows = 0;
    uint32_t first = 0;
    uint32_t count = 0;  // of any rows, that pass
    uint32_t bad = 0;
  };

  template <uint32_t W, bool kPatched>
  __device__ __forceinline__ static void add_rows(const Tile& here, Patches patches, const Scratch& scratch,
                                                  FloatTileSum& sums) {
    using Raw = typename PackedTile<T, W>::raw_type;
    const PackedTile<T, W> tile(here.words + (W == 0 ? 0 : lane_id()), T{0});
    const auto first = static_cast<Raw>(here.first);
    const auto span = static_cast<Raw>(here.span);
    const Float origin = here.origin;
    const Float times = here.times;
    const Float back = here.back;
    uint32_t at = patches.first;
    for_each_k([&](uint32_t k) {
      const Raw raw = tile.raw_at(k);
      const Float whole = galp::whole_float<Float>(raw, origin);
      double value = galp::multiply(galp::multiply(whole, times), back);
      bool adds = static_cast<Raw>(raw - first) <= span;
      if (adds && !(kPatched && (patches.rows >> k & 1) != 0)) ++sums.count;
      if (kPatched && (patches.rows >> k & 1) != 0) {
        value = scratch.exceptions[at++];
        adds = true;
      }
      if (adds) sums.sum = sums.sum + value;
    });
  }

  // Exceptions that do not pass wait as zeros, which change no sum.
  __device__ __noinline__ static Patches stage_exceptions(const uint64_t* descriptor, const Tile& here,
                                                          Scratch& scratch, int64_t first, int64_t last) {
    Patches patches;
    patches.bad = 1;
    ExceptionWords words;
    bool is_bad = false;
    const typename Values::Entry entry{0, here.exceptions_begin, here.exceptions_end};
    if (!Values::ask(descriptor, entry, words, is_bad) || !words.take(Values::kBits) || !words.listed()) return patches;
    const auto own = words.of_lane();
    const galp::Exceptions block = words.block();
#pragma unroll 1
    for (uint32_t i = lane_id(); i < block.count; i += kLanes) {
      const auto bits = static_cast<T>(block.value(i));
      const int64_t key = float_key_of_bits(bits);
      const bool passes = key >= first && key <= last;
      scratch.exceptions[i] = passes ? static_cast<double>(galp::float_of(bits)) : 0.0;
      patches.count += passes ? 1 : 0;
    }
    sync_warp();
    patches.rows = own.rows;
    patches.first = own.first;
    patches.bad = own.sound ? 0 : 1;
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
