// Count and sum of the rows of l3 tiles between two literals, in generated kernels. 32 lanes describe the units of
// eight tiles at once; where a tile's offsets stay below 2^25, a row is two additions and a comparison on them, and the
// base is added as often as rows passed. Residuals come unit by unit, by code unrolled for their width: one copy serves
// tiles of one partition and tiles that several share.
#pragma once

#include "codec/l3/gpu/kernels.cuh"
#include "codec/l3/gpu/kernels_bounded.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/filter_sum.h"

namespace basalt::device {

template <typename T>
class L3FilterSum {
  using Runs = typename L3<T>::Runs;
  static constexpr uint32_t kHalfRows = kRowsPerLane / 2;
  // Of rows of one model.
  struct Passed {
    uint32_t rows = 0;
    uint32_t offsets = 0;

    __device__ __forceinline__ void add_to(TileSum& sums, uint64_t base) const {
      sums.count += rows;
      sums.sum += base * rows + offsets;
    }
  };
  struct Unit : LearnedUnit {
    const uint32_t* words;
    uint32_t low;   // offsets from here on pass,
    uint32_t span;  // so many of them
  };

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = L3<T>::kDescriptorWords;
  static constexpr uint32_t kTiles = kLanes / kUnitsPerTile;  // that are described at once
  struct alignas(16) Scratch {
    Unit units[kLanes];
    typename Runs::Scratch runs;
  };

  // By each lane for a unit of its tile, number lane / kUnitsPerTile of those that follow.
  __device__ __forceinline__ static void describe(const uint64_t* descriptor, uint32_t tile, Scratch& scratch,
                                                  const SumRange<T>& range) {
    const l3::Chunk chunk = l3_chunk(descriptor);
    const uint32_t number = tile * kUnitsPerTile + lane_id() % kUnitsPerTile;
    Unit unit{};
    if (number < chunk.units) {
      static_cast<LearnedUnit&>(unit) = describe_unit<false>(chunk, number, sizeof(T));
      unit.base += range.top;
      const auto [end, highest] = bound_unit(unit, range.last);
      unit.words = chunk.residuals + uint64_t{unit.place} * l3::kPieceWords;
      const T base = static_cast<T>(unit.base);
      const T low = range.first > base ? static_cast<T>(range.first - base) : T{0};
      unit.low = low < end ? static_cast<uint32_t>(low) : end;
      unit.span = low > highest ? 0 : end - unit.low;
      if (unit.span == 0 || (low == 0 && end > highest)) unit.info |= LearnedUnit::kDecided;
      unit.base = unit.is(LearnedUnit::kBounded) ? range.number(base) : unit.base - range.top;
    }
    // The rows behind the last are nobody's.
    if ((tile + 1) * kTileRows > row_count(descriptor)) unit.info &= ~LearnedUnit::kBounded;
    scratch.units[lane_id()] = unit;
  }

  // Of the lane's rows of the tile that was described as number i. kLow: the range has a first value. `followed`: the
  // next one was described, too.
  template <bool kLow>
  __device__ __forceinline__ static TileSum sum(const uint64_t* descriptor, uint32_t tile, uint32_t i, bool followed,
                                                Scratch& scratch, const SumRange<T>& range) {
    const Unit* const units = scratch.units + i * kUnitsPerTile;
    if (followed) ask(units + kUnitsPerTile);
    TileSum sums{};
    constexpr uint32_t kWhole = LearnedUnit::kPackedTile | LearnedUnit::kBounded;
    if ((units->info & kWhole) == kWhole) {
      sums.how = units->is(LearnedUnit::kDecided) ? kByBounds : kByRows;
      if (units->span != 0) add_tile<kLow>(*units, sums);
      return sums;
    }
    const uint32_t common = units[0].info & units[1].info & units[2].info & units[3].info;
    if ((common & LearnedUnit::kBounded) == 0) return total_of_any(descriptor, tile, units, scratch.runs, range);
    sums.how = (common & LearnedUnit::kDecided) != 0 ? kByBounds : kByRows;
#pragma unroll 1
    for (uint32_t u = 0; u < kUnitsPerTile; ++u) {
      if (units[u].span != 0) add_unit<kLow>(units[u], sums);
    }
    return sums;
  }

 private:
  // For the residuals of a tile, which are wanted next.
  __device__ __forceinline__ static void ask(const Unit* units) {
    const bool packed = units->is(LearnedUnit::kPackedTile);
    const uint32_t u = lane_id();
    if (u >= (packed ? 1 : kUnitsPerTile) || !units[u].is(LearnedUnit::kBounded) || units[u].width() == 0 ||
        units[u].span == 0) {
      return;
    }
    prefetch(units[u].words, unit_words(units[u].width()) * (packed ? kUnitsPerTile : 1) * sizeof(uint32_t));
  }

  // In halves: unrolled code for all widths is what compilation has time for.
  template <bool kLow>
  __device__ __forceinline__ static void add_tile(const Unit& unit, TileSum& sums) {
    const bool narrow = unit.degree() == 0 && unit.width() <= kWidestTileMark;
    const uint32_t mark = narrow ? 1u << kTileMarkBit : 1u << kMarkBit;
    l3::Steps steps{};
    if (unit.degree() > 0) steps = steps_of_lane<3>(unit);
    Passed passed;
#pragma unroll 1
    for (uint32_t half = 0; half < 2; ++half) {
      uint32_t residuals[kHalfRows];
      unpack_half(unit.words + unit.width() / 2 * half * kLanes + lane_id(), unit.width(), half, mark, residuals);
      if (narrow) {
        add_rows<0, kTileMarkBit, kLow>(unit, steps, residuals, passed);
      } else {
        add_rows_by_degree<kLow>(unit, steps, residuals, passed);
      }
    }
    passed.add_to(sums, unit.base);
  }

  // Residuals of half of a lane's rows of a packed tile, each with the bits of `mark` above it. An odd number of bits
  // puts the second half into the middle of a word.
  __device__ __forceinline__ static void unpack_half(const uint32_t* from, uint32_t width, uint32_t half, uint32_t mark,
                                                     uint32_t (&residuals)[kHalfRows]) {
    const bool known = for_width<kWidestBounded>(AllWidths{}, width, [&](auto w) {
      constexpr uint32_t W = decltype(w)::value;
      if constexpr (W == 0) {
#pragma unroll
        for (uint32_t& residual : residuals) residual = mark;
      } else {
        constexpr uint32_t kWords = (W + 1) / 2;
        uint32_t words[kWords + 1] = {};
#pragma unroll
        for (uint32_t j = 0; j < kWords; ++j) words[j] = load(from + j * kLanes);
        if constexpr (W % 2 != 0) {
#pragma unroll
          for (uint32_t j = 0; j < kWords; ++j) words[j] = funnel_right(words[j], words[j + 1], half * 16);
        }
#pragma unroll
        for (uint32_t k = 0; k < kHalfRows; ++k) {
          residuals[k] = extract<W>(k * W, [&](uint32_t j) { return words[j]; }) | mark;
        }
      }
    });
    if (!known) __builtin_unreachable();
  }

  template <bool kLow>
  __device__ __forceinline__ static void add_unit(const Unit& unit, TileSum& sums) {
    const uint32_t width = unit.width();
    uint32_t residuals[kUnitRowsPerLane] = {};
    if (width > 0) {
#pragma unroll
      for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
        const uint32_t row = lane_id() * kUnitRowsPerLane + k;
        residuals[k] = static_cast<uint32_t>(residual_bits<uint32_t>(unit.words, 1, row * width, width));
      }
    }
#pragma unroll
    for (uint32_t& residual : residuals) residual |= 1u << kMarkBit;
    l3::Steps steps = steps_of_lane<3>(unit);
    Passed passed;
    add_rows<3, kMarkBit, kLow>(unit, steps, residuals, passed);
    passed.add_to(sums, unit.base);
  }

  template <bool kLow>
  __device__ __forceinline__ static void add_rows_by_degree(const Unit& unit, l3::Steps& steps,
                                                            const uint32_t (&residuals)[kHalfRows], Passed& passed) {
    switch (unit.degree()) {
      case 0: return add_rows<0, kMarkBit, kLow>(unit, steps, residuals, passed);
      case 1: return add_rows<1, kMarkBit, kLow>(unit, steps, residuals, passed);
      case 2: return add_rows<2, kMarkBit, kLow>(unit, steps, residuals, passed);
      default: return add_rows<3, kMarkBit, kLow>(unit, steps, residuals, passed);
    }
  }

  // Rows whose marked residuals are given, in groups whose offsets add up below the marks.
  template <uint32_t kDegree, uint32_t kBit, bool kLow, uint32_t N>
  __device__ __forceinline__ static void add_rows(const Unit& unit, l3::Steps& s, const uint32_t (&residuals)[N],
                                                  Passed& passed) {
    constexpr uint32_t kGroup = kBit == kMarkBit ? kUnitRowsPerLane : N;
    const uint32_t low = unit.low;
    const uint32_t span = unit.span;
#pragma unroll
    for (uint32_t first = 0; first < N; first += kGroup) {
      MarkedSum<kBit> marked;
#pragma unroll
      for (uint32_t j = first; j < first + kGroup; ++j) {
        const uint32_t prediction = kDegree == 0 ? 0 : static_cast<uint32_t>(s.y >> 32);
        marked.template add<kLow>(residuals[j] + prediction, low, span);
        if constexpr (kDegree > 0) s.y += s.d1;
        if constexpr (kDegree > 1) s.d1 += s.d2;
        if constexpr (kDegree > 2) s.d2 += s.d3;
      }
      passed.rows += marked.count();
      passed.offsets += marked.sum();
    }
  }

  // Row by row, whatever the models are: bounded units have the same values as before, modulo 2^bits.
  __device__ __noinline__ static TileSum total_of_any(const uint64_t* descriptor, uint32_t tile, const Unit* units,
                                                      typename Runs::Scratch& runs, const SumRange<T>& range) {
    const uint32_t rows = rows_mask(rows_of_tile(row_count(descriptor), tile), lane_id());
    TileSum sums{};
    sums.how = kByRows;
    const bool bad = L3<T>::walk(l3_chunk(descriptor), tile, units, runs, [&](uint32_t k, T value) {
      const T place = range.place(value);
      if ((rows >> k & 1) == 0 || !range.holds(place)) return;
      sums.sum += range.number(place);
      ++sums.count;
    });
    sums.bad = bad ? 1 : 0;
    return sums;
  }
};

}  // namespace basalt::device
