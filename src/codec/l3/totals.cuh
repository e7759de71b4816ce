// Count and sum of the rows of l3 tiles between two literals, in generated kernels. 32 lanes describe the units of
// eight tiles at once; where a tile's offsets stay below 2^25, a row is two additions and a comparison on them, and the
// base is added as often as rows passed. Residuals come unit by unit, by code unrolled for their width: one copy serves
// tiles of one partition and tiles that several share.
#pragma once

#include "codec/l3/kernels.cuh"
#include "codec/l3/kernels_bounded.cuh"
#include "codec/packed/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/totals.h"

namespace basalt::device {

// The lane's part of a unit's residuals: 8 · W bits that begin at bit `shift` of the first word, where words lie
// `stride` apart and `left` of them belong to the unit or tile.
struct UnitWords {
  const uint32_t* first;
  uint32_t stride;
  uint32_t shift;
  uint32_t left;

  // Of unit u of a packed tile, whose lanes have streams of their own, or of a unit by itself, which is one stream.
  __device__ __forceinline__ static UnitWords of(const uint32_t* words, bool packed, uint32_t u, uint32_t width) {
    const uint32_t lane = lane_id_here();
    const uint32_t byte = (packed ? u : lane) * width;
    const uint32_t word = byte / 4;
    return {words + (packed ? word * kLanes + lane : word), packed ? kLanes : 1, byte % 4 * 8,
            (packed ? width : unit_words(width)) - word};
  }
};

// A lane's residuals of a unit, each with the bits of `mark` above it.
__device__ __forceinline__ void unpack_marked(const UnitWords& from, uint32_t width, uint32_t mark,
                                              uint32_t (&residuals)[kUnitRowsPerLane]) {
  const bool known = for_width<kWidestBounded>(AllWidths{}, width, [&](auto w) {
    constexpr uint32_t W = decltype(w)::value;
    constexpr uint32_t kWords = (W + 3) / 4;
    uint32_t words[kWords + 1] = {};
#pragma unroll
    for (uint32_t j = 0; j < kWords; ++j) words[j] = load(from.first + j * from.stride);
    if constexpr (W % 4 != 0) {
      // What is not needed may lie beyond the stream.
      words[kWords] = load(from.first + (kWords < from.left ? kWords : 0) * from.stride);
#pragma unroll
      for (uint32_t j = 0; j < kWords; ++j) words[j] = funnel_right(words[j], words[j + 1], from.shift);
    }
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      residuals[k] = extract<W>(k * W, [&](uint32_t j) { return words[j]; }) | mark;
    }
  });
  if (!known) __builtin_unreachable();
}

template <typename T>
class L3Totals {
  using Marked = MarkedSum<kMarkBit>;
  using Runs = typename L3<T>::Runs;
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
      static_cast<LearnedUnit&>(unit) = describe_unit<Describe::kRunsInTile>(chunk, number, sizeof(T));
      unit.base += range.top;
      const uint32_t end = bound_unit(unit, range.last);
      unit.words = chunk.residuals + uint64_t{unit.place} * l3::kPieceWords;
      const T base = static_cast<T>(unit.base);
      const T low = range.first > base ? static_cast<T>(range.first - base) : T{0};
      unit.low = low < end ? static_cast<uint32_t>(low) : end;
      unit.span = end - unit.low;
      unit.base = unit.is(LearnedUnit::kBounded) ? range.number(base) : unit.base - range.top;
    }
    // The rows behind the last are nobody's.
    if ((tile + 1) * kTileRows > row_count(descriptor)) unit.info &= ~LearnedUnit::kBounded;
    scratch.units[lane_id()] = unit;
  }

  // Of the lane's rows of the tile that was described as number i. kLow: the range has a first value. `followed`: the
  // next one was described, too.
  template <bool kLow>
  __device__ __forceinline__ static TileSum total(const uint64_t* descriptor, uint32_t tile, uint32_t i, bool followed,
                                                  Scratch& scratch, const SumRange<T>& range) {
    const Unit* const units = scratch.units + i * kUnitsPerTile;
    if (followed) ask(units + kUnitsPerTile);
    const bool packed = units->is(LearnedUnit::kPackedTile);
    if ((units[0].info & (packed ? ~0u : units[1].info & units[2].info & units[3].info) & LearnedUnit::kBounded) == 0) {
      return total_of_any(descriptor, tile, units, scratch.runs, range);
    }
    TileSum sums{};
    l3::Steps steps{};
    uint32_t passed = 0;
    uint32_t sum = 0;
    // Marks from a register: masking and marking are one instruction then.
    uint32_t mark = Marked::kMark;
#if defined(__CUDA_ARCH__)
    asm("" : "+r"(mark));
#endif
#pragma unroll 1
    for (uint32_t u = 0; u < kUnitsPerTile; ++u) {
      const Unit& unit = units[packed ? 0 : u];
      uint32_t residuals[kUnitRowsPerLane];
      unpack_marked(UnitWords::of(unit.words, packed, u, unit.width()), unit.width(), mark, residuals);
      if (unit.degree() > 0 && (!packed || u == 0)) steps = steps_of_lane<true>(unit);
      const Marked marked = add_rows<kLow>(unit, steps, residuals);
      passed += marked.count();
      sum += marked.sum();
      if (packed && u + 1 < kUnitsPerTile) continue;
      sums.count += passed;
      sums.sum += unit.base * passed + sum;
      passed = sum = 0;
    }
    return sums;
  }

 private:
  // For the residuals of a tile, which are wanted next.
  __device__ __forceinline__ static void ask(const Unit* units) {
    const bool packed = units->is(LearnedUnit::kPackedTile);
    const uint32_t u = lane_id();
    if (u >= (packed ? 1 : kUnitsPerTile) || !units[u].is(LearnedUnit::kBounded) || units[u].width() == 0) return;
    prefetch(units[u].words, unit_words(units[u].width()) * (packed ? kUnitsPerTile : 1) * sizeof(uint32_t));
  }

  template <bool kLow>
  __device__ __forceinline__ static Marked add_rows(const Unit& unit, l3::Steps& steps,
                                                    const uint32_t (&residuals)[kUnitRowsPerLane]) {
    switch (unit.degree()) {
      case 0: return add_rows_of<0, kLow>(unit, steps, residuals);
      case 1: return add_rows_of<1, kLow>(unit, steps, residuals);
      case 2: return add_rows_of<2, kLow>(unit, steps, residuals);
      default: return add_rows_of<3, kLow>(unit, steps, residuals);
    }
  }
  template <uint32_t kDegree, bool kLow>
  __device__ __forceinline__ static Marked add_rows_of(const Unit& unit, l3::Steps& s,
                                                       const uint32_t (&residuals)[kUnitRowsPerLane]) {
    Marked marked;
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const uint32_t offset = kDegree == 0 ? residuals[k] : residuals[k] + static_cast<uint32_t>(s.y >> 32);
      marked.template add<kLow>(offset, unit.low, unit.span);
      if constexpr (kDegree > 0) s.y += s.d1;
      if constexpr (kDegree > 1) s.d1 += s.d2;
      if constexpr (kDegree > 2) s.d2 += s.d3;
    }
    return marked;
  }

  // Row by row, whatever the models are: bounded units have the same values as before, modulo 2^bits.
  __device__ __noinline__ static TileSum total_of_any(const uint64_t* descriptor, uint32_t tile, const Unit* units,
                                                      typename Runs::Scratch& runs, const SumRange<T>& range) {
    const uint32_t rows = rows_mask(rows_of_tile(row_count(descriptor), tile), lane_id());
    TileSum sums{};
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
