// Count and sum of the rows of l3 tiles that are at most a literal, for precompiled kernels. The lane that describes
// a unit also moves the literal to its offsets; where those stay below 2^25, a row is one comparison and one addition,
// which counts it in the bits above the sum. The base is added as often as rows passed, once per tile.
#pragma once

#include "codec/l3/gpu/kernels_bounded.cuh"
#include "codec/l3/gpu/tile_strip.cuh"
#include "core/device/filter_sum.h"

namespace basalt::device {

// One row at a time, exact whatever its model.
template <typename T>
struct SumRows {
  static_assert(static_cast<T>(-1) > 0);
  T last;
  uint32_t rows;  // of the tile, less the lane
  uint64_t sum = 0;
  uint32_t count = 0;
  uint32_t left = 0;

  __device__ __forceinline__ void begin(uint32_t k) { left = rows > k * kLanes ? rows - k * kLanes : 0; }
  __device__ __forceinline__ void value(uint32_t j, uint64_t value) {
    if (static_cast<T>(value) > last || j * kLanes >= left) return;
    sum += static_cast<T>(value);
    ++count;
  }
};

// Rows whose marked residuals are given, in groups of at most eight unless they are references of up to 21 bits.
template <uint32_t kDegree, uint32_t kMark, uint32_t N>
__device__ __forceinline__ void sum_rows(const LearnedUnit& unit, uint32_t bound, const uint32_t (&residuals)[N],
                                         TileSum& sums) {
  constexpr uint32_t kGroup = kMark == kMarkBit ? kUnitRowsPerLane : N;
  l3::Steps s{};
  if constexpr (kDegree > 0) s = steps_of_lane<kDegree>(unit);
  const uint32_t marked_bound = bound + (1u << kMark);
  uint32_t passed = 0;
  uint32_t sum = 0;
#pragma unroll
  for (uint32_t first = 0; first < N; first += kGroup) {
    uint32_t both = 0;
#pragma unroll
    for (uint32_t j = first; j < first + kGroup; ++j) {
      const uint32_t offset = residuals[j] + static_cast<uint32_t>(s.y >> 32);
      add_if_below(both, offset, marked_bound);
      if constexpr (kDegree > 0) s.y += s.d1;
      if constexpr (kDegree > 1) s.d1 += s.d2;
      if constexpr (kDegree > 2) s.d2 += s.d3;
    }
    passed += both >> kMark;
    sum += both & ((1u << kMark) - 1);
  }
  sums.count += passed;
  sums.sum += unit.base * passed + sum;
}
template <uint32_t N>
__device__ __forceinline__ void sum_rows_by_degree(const LearnedUnit& unit, uint32_t bound,
                                                   const uint32_t (&residuals)[N], TileSum& sums) {
  if (unit.degree() == 0) return sum_rows<0, kMarkBit>(unit, bound, residuals, sums);
  if (N == kUnitRowsPerLane || unit.degree() == 1) return sum_rows<1, kMarkBit>(unit, bound, residuals, sums);
  if (unit.degree() == 2) return sum_rows<2, kMarkBit>(unit, bound, residuals, sums);
  sum_rows<3, kMarkBit>(unit, bound, residuals, sums);
}

// Rows of a tile without residuals. Not unrolled: a branch of the others that gives 32 residuals at once would make
// them all move registers.
__device__ __forceinline__ void sum_predictions(const LearnedUnit& unit, uint32_t bound, TileSum& sums) {
  l3::Steps s = steps_of_lane<3>(unit);
  uint32_t passed = 0;
  uint64_t sum = 0;
#pragma unroll 4
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    const auto offset = static_cast<uint32_t>(s.y >> 32);
    if (offset < bound) {
      ++passed;
      sum += offset;
    }
    l3::step(s);
  }
  sums.count += passed;
  sums.sum += unit.base * passed + sum;
}

template <typename T, bool kStaged>
struct alignas(16) SumScratch {
  TileStripScratch<T, kStaged> strip;
  uint32_t bounds[kLanes];
};

// Of any tile. Called, so that the ways of most tiles keep their registers.
template <typename T>
__device__ __noinline__ TileSum sum_any_tile(const uint64_t* descriptor, uint32_t tile, T last,
                                             const LearnedUnit* units, typename TileStripRuns<T>::Scratch& scratch) {
  const uint32_t rows = rows_of_tile(row_count(descriptor), tile);
  SumRows<T> sums{last, rows > lane_id() ? rows - lane_id() : 0};
  const bool bad = feed_tile<T, false>(l3_chunk(descriptor), tile, units, scratch, nullptr, sums);
  return {sums.sum, sums.count, bad ? 1u : 0u, kByRows};
}

template <typename Words>
__device__ __forceinline__ void sum_packed_tile(const LearnedUnit& unit, uint32_t bound, const Words& words,
                                                TileSum& sums) {
  uint32_t residuals[kRowsPerLane];
  if (unit.width() == 0) return sum_predictions(unit, bound, sums);
  const bool whole = unit.degree() == 0 && unit.width() <= kWidestTileMark;
  const uint32_t mark = whole ? 1u << kTileMarkBit : 1u << kMarkBit;
  if (!unpack_tile<0, kWidestBounded>(words, unit.width(), mark, residuals)) __builtin_unreachable();
  if (whole) {
    sum_rows<0, kTileMarkBit>(unit, bound, residuals, sums);
  } else {
    sum_rows_by_degree(unit, bound, residuals, sums);
  }
}

// Adds the rows of a strip to the sums. kStaged: residuals of tiles that partitions share go through shared memory, one
// tile ahead.
template <typename T, bool kStaged>
__device__ __forceinline__ void filter_sum_strip(const uint64_t* descriptor, const TileStrip& strip, T last,
                                                 SumScratch<T, kStaged>& scratch, TileSum& sums) {
  const uint32_t lane = lane_id();
  const uint32_t rows = row_count(descriptor);
  const l3::Chunk chunk = l3_chunk(descriptor);
  LearnedUnit* const units = scratch.strip.units;
  const uint32_t unit = (strip.first + lane / kUnitsPerTile * strip.step) * kUnitsPerTile + lane % kUnitsPerTile;
  sync_warp();  // nobody reads the last strip any more
  if (lane < strip.count * kUnitsPerTile && unit < chunk.units) {
    LearnedUnit described = describe_unit<false>(chunk, unit, sizeof(T));
    scratch.bounds[lane] = bound_unit(described, last).end;
    units[lane] = described;
  }
  sync_warp();
  const auto stage = [&](uint32_t i) {
    if constexpr (kStaged) {
      if (i < strip.count) {
        constexpr uint32_t kWanted = LearnedUnit::kBounded;
        stage_units(chunk, units + i * kUnitsPerTile, units_of_tile(chunk, strip.first + i * strip.step),
                    kWanted | LearnedUnit::kPackedTile, kWanted, scratch.strip.staged.words[i % 2]);
      }
      close_copies();
    }
  };
  // Marks from a register: masking and marking are one instruction then.
  uint32_t mark = 1u << kMarkBit;
#if defined(__CUDA_ARCH__)
  asm("" : "+r"(mark));
#endif
  uint32_t others = 0;
  stage(0);
#pragma unroll 1
  for (uint32_t i = 0; i < strip.count; ++i) {
    stage(i + 1);
    const uint32_t tile = strip.first + i * strip.step;
    const LearnedUnit* const here = units + i * kUnitsPerTile;
    const uint32_t* const bounds = scratch.bounds + i * kUnitsPerTile;
    const auto stored = [&](uint32_t u) { return chunk.residuals + uint64_t{here[u].place} * l3::kPieceWords; };
    const auto words_of_unit = [&](uint32_t u) {
      if constexpr (kStaged) {
        return StagedWords{scratch.strip.staged.words[i % 2] + u * kStagedUnitWords};
      } else {
        return StoredWords{stored(u)};
      }
    };
    if constexpr (kStaged) {
      wait_for_copies<1>();
      sync_warp();
    }
    const bool full = (tile + 1) * kTileRows <= rows;
    constexpr uint32_t kPacked = LearnedUnit::kPackedTile | LearnedUnit::kBounded;
    if (full && (here->info & kPacked) == kPacked) {
      sum_packed_tile(*here, *bounds, StoredWords{stored(0) + lane}, sums);
    } else if (full && !here->is(LearnedUnit::kPackedTile) &&
               (here[0].info & here[1].info & here[2].info & here[3].info & LearnedUnit::kBounded) != 0) {
#pragma unroll 1
      for (uint32_t u = 0; u < kUnitsPerTile; ++u) {
        uint32_t residuals[kUnitRowsPerLane];
        if (!unpack_unit<kWidestBounded>(words_of_unit(u), here[u].width(), mark, residuals)) __builtin_unreachable();
        sum_rows_by_degree(here[u], bounds[u], residuals, sums);
      }
    } else {
      others |= 1u << i;
    }
    if constexpr (kStaged) sync_warp();  // the words of this tile make room
  }
  // Outside of the loop, which has no registers to give a call.
#pragma unroll 1
  for (; others != 0; others &= others - 1) {
    const uint32_t i = lowest_bit(others);
    const TileSum more =
        sum_any_tile<T>(descriptor, strip.first + i * strip.step, last, units + i * kUnitsPerTile, scratch.strip.runs);
    sums.sum += more.sum;
    sums.count += more.count;
    sums.bad |= more.bad;
  }
}

}  // namespace basalt::device
