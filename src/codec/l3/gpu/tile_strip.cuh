// Rows of l3 tiles for precompiled kernels. A warp takes a strip of up to eight tiles: its 32 lanes
// describe the 32 units at once, so that a strip waits for metadata once, and a tile only for its residuals. The warps
// of a block go through neighbouring tiles side by side, so that what they write at a time lies close together.
// Residuals go to registers by code unrolled for their width, then meet their predictions in one loop for all widths.
#pragma once

#include <type_traits>

#include "codec/l3/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "core/device/batch.h"

namespace basalt::device {

constexpr uint32_t kStripTiles = kLanes / kUnitsPerTile;
constexpr uint32_t kUnitLanes = kLanes / kUnitsPerTile;  // where a tile's units are worked on side by side

template <typename T>
using TileStripRuns = LearnedRuns<T, 128>;

// Residuals of units of up to this width go through shared memory where that is asked for.
constexpr uint32_t kWidestStaged = 24;
constexpr uint32_t kStagedUnitWords = unit_words(kWidestStaged);

// Residuals of two tiles that partitions share: one that is read, and the one after it.
struct alignas(16) StagedTiles {
  uint32_t words[2][kUnitsPerTile * kStagedUnitWords];
};
struct NotStaged {};

template <typename T, bool kStaged = false>
struct alignas(16) TileStripScratch {
  LearnedUnit units[kLanes];
  typename TileStripRuns<T>::Scratch runs;
  typename SelectType<kStaged, StagedTiles, NotStaged>::type staged;
};

// Words of residuals, where they are stored.
struct StoredWords {
  const uint32_t* words;
  __device__ __forceinline__ uint32_t operator()(uint32_t j) const { return load(words + j); }
  __device__ __forceinline__ StoredWords from(uint32_t first) const { return {words + first}; }
};

// A unit's residuals, in shared memory.
struct StagedWords {
  const uint32_t* words;
  __device__ __forceinline__ uint32_t operator()(uint32_t j) const { return words[j]; }
  __device__ __forceinline__ StagedWords from(uint32_t first) const { return {words + first}; }
};

// Residuals k = first … first + N − 1 of a lane of a packed tile, each with the bits of `mark` above it. word(j): word
// j of the tile, counted from the lane's first. False, and nothing done, if the width is above kWidest.
template <uint32_t kFirst, uint32_t kWidest, uint32_t N, typename R, typename Words>
__device__ __forceinline__ bool unpack_tile(const Words& word, uint32_t width, uint32_t mark, R (&residuals)[N]) {
  return for_width<kWidest>(AllWidths{}, width, [&](auto w) {
    constexpr uint32_t W = decltype(w)::value;
#pragma unroll
    for (uint32_t j = 0; j < N; ++j) {
      residuals[j] = extract<W>((kFirst + j) * W, [&](uint32_t i) { return word(i * kLanes); }) | mark;
    }
  });
}

// The eight residuals of a lane of a unit by itself. They are W bytes in a row, which begin anywhere in a word: shifted
// into place, they come out by constants.
template <uint32_t kWidest, typename R, typename Words>
__device__ __forceinline__ bool unpack_unit(const Words& word, uint32_t width, uint32_t mark,
                                            R (&residuals)[kUnitRowsPerLane]) {
  const uint32_t lane = lane_id_here();
  return for_width<kWidest>(AllWidths{}, width, [&](auto w) {
    constexpr uint32_t W = decltype(w)::value;
    if constexpr (W == 0) {
#pragma unroll
      for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) residuals[k] = mark;
    } else {
      constexpr uint32_t kWords = (W + 3) / 4;
      uint32_t words[kWords + 1];
      const uint32_t byte = lane * W;
      const Words own = word.from(byte / 4);
#pragma unroll
      for (uint32_t j = 0; j < kWords; ++j) words[j] = own(j);
      // What the last lane does not need may lie beyond the stream.
      if constexpr (W % 4 != 0) words[kWords] = own(byte / 4 + kWords < unit_words(W) ? kWords : 0);
      if constexpr (W % 4 != 0) {
#pragma unroll
        for (uint32_t j = 0; j < kWords; ++j) words[j] = funnel_right(words[j], words[j + 1], byte % 4 * 8);
      }
#pragma unroll
      for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
        residuals[k] = extract<W>(k * W, [&](uint32_t j) { return words[j]; }) | mark;
      }
    }
  });
}

// How a lane's rows are predicted, one after the other.
struct FixedPoint {
  // What the lane that describes a unit makes of it for the others.
  __device__ __forceinline__ static LearnedUnit prepared(const LearnedUnit& unit) { return unit; }

  template <uint32_t kDegree>
  struct Lane {
    l3::Steps s;
    __device__ __forceinline__ explicit Lane(const LearnedUnit& unit) : s(steps_of_lane<kDegree>(unit)) {}
    __device__ __forceinline__ uint32_t narrow() const { return static_cast<uint32_t>(s.y >> 32); }
    __device__ __forceinline__ uint64_t wide(uint32_t fraction) const {
      return static_cast<uint64_t>(static_cast<int64_t>(s.y) >> fraction);
    }
    __device__ __forceinline__ void step() {
      s.y += s.d1;
      if constexpr (kDegree > 1) s.d1 += s.d2;
      if constexpr (kDegree > 2) s.d2 += s.d3;
    }
  };
};
// A sink may name another way, which is how that is measured.
template <typename Sink>
struct PredictionsOf {
  using type = FixedPoint;
};
template <typename Sink>
requires requires { typename Sink::Predictions; }
struct PredictionsOf<Sink> {
  using type = typename Sink::Predictions;
};
template <typename Sink, uint32_t kDegree>
using LanePredictions = typename PredictionsOf<Sink>::type::template Lane<kDegree>;

// What becomes of rows is up to a sink: begin(k) is followed by value(j, v) for rows k + j of the lane. What a unit's
// rows have in common is read before the first of them: a sink that writes would make every row read it again.
template <uint32_t kDegree, uint32_t N, typename Sink>
__device__ __forceinline__ void narrow_rows(const LearnedUnit& unit, uint32_t first_k, const uint32_t (&residuals)[N],
                                            Sink& sink) {
  LanePredictions<Sink, kDegree> rows(unit);
  const uint64_t base = unit.base;
  sink.begin(first_k);
#pragma unroll
  for (uint32_t j = 0; j < N; ++j) {
    const auto offset = static_cast<int32_t>(rows.narrow() + residuals[j]);
    sink.value(j, base + static_cast<uint64_t>(static_cast<int64_t>(offset)));
    rows.step();
  }
}

template <uint32_t N, typename R, typename Sink>
__device__ __forceinline__ void wide_rows(const LearnedUnit& unit, LanePredictions<Sink, 3>& rows, uint32_t first_k,
                                          const R (&residuals)[N], Sink& sink) {
  const uint64_t base = unit.base;
  const uint32_t fraction = unit.fraction();
  sink.begin(first_k);
#pragma unroll
  for (uint32_t j = 0; j < N; ++j) {
    sink.value(j, base + rows.wide(fraction) + residuals[j]);
    rows.step();
  }
}

template <uint32_t N, typename Sink>
__device__ __forceinline__ void narrow_rows_by_degree(const LearnedUnit& unit, uint32_t first_k,
                                                      const uint32_t (&residuals)[N], Sink& sink) {
  if (unit.degree() <= 1) {
    narrow_rows<1>(unit, first_k, residuals, sink);
  } else if (N <= kUnitRowsPerLane && unit.degree() == 2) {
    narrow_rows<2>(unit, first_k, residuals, sink);
  } else {
    narrow_rows<3>(unit, first_k, residuals, sink);
  }
}

// Rows of wide residuals by one loop for all widths: an unrolled body for each would not stay in the instruction cache
// where neighbouring tiles have different widths.
template <typename T, uint32_t N, typename Sink>
__device__ __forceinline__ void rows_in_a_loop(const LearnedUnit& unit, const uint32_t* words, uint32_t stride,
                                               uint32_t bit, uint32_t first_k, Sink& sink) {
  LanePredictions<Sink, 3> rows(unit);
  const uint32_t width = unit.width();
  const uint32_t fraction = unit.fraction();
  const bool wide = unit.is(LearnedUnit::kWide);
  const uint64_t base = unit.base;
  sink.begin(first_k);
#pragma unroll 8
  for (uint32_t j = 0; j < N; ++j) {
    const uint64_t residual = residual_bits<T>(words, stride, bit + j * width, width);
    const auto offset = static_cast<int32_t>(rows.narrow() + static_cast<uint32_t>(residual));
    sink.value(j, base + (wide ? rows.wide(fraction) + residual : static_cast<uint64_t>(int64_t{offset})));
    rows.step();
  }
}

template <typename T, typename Sink>
__device__ __forceinline__ void feed_packed_tile(const l3::Chunk& chunk, const LearnedUnit& unit, Sink& sink) {
  const uint32_t* lane_words = chunk.residuals + uint64_t{unit.place} * l3::kPieceWords + lane_id();
  const StoredWords words{lane_words};
  const uint32_t width = unit.width();
  if (sizeof(T) <= 4 || width <= 32) {
    uint32_t residuals[kRowsPerLane] = {};
    unpack_tile<0, 32>(words, width, 0, residuals);
    if (!unit.is(LearnedUnit::kWide)) {
      narrow_rows_by_degree(unit, 0, residuals, sink);
    } else {
      LanePredictions<Sink, 3> rows(unit);
      wide_rows(unit, rows, 0, residuals, sink);
    }
  } else if constexpr (sizeof(T) > 4) {
    rows_in_a_loop<T, kRowsPerLane>(unit, lane_words, kLanes, 0, 0, sink);
  }
}

// A unit by itself. word(j): word j of its residuals if they are of up to kWidest bits.
template <typename T, uint32_t kWidest, typename Words, typename Sink>
__device__ __forceinline__ void feed_unit(const l3::Chunk& chunk, const LearnedUnit& unit, const Words& word,
                                          uint32_t first_k, Sink& sink) {
  const uint32_t width = unit.width();
  if (kWidest >= 8 * sizeof(T) || width <= kWidest) {
    uint32_t residuals[kUnitRowsPerLane];
    if (!unpack_unit<kWidest>(word, width, 0, residuals)) __builtin_unreachable();
    if (!unit.is(LearnedUnit::kWide)) {
      narrow_rows_by_degree(unit, first_k, residuals, sink);
    } else {
      LanePredictions<Sink, 3> rows(unit);
      wide_rows(unit, rows, first_k, residuals, sink);
    }
  } else {
    const uint32_t* words = chunk.residuals + uint64_t{unit.place} * l3::kPieceWords;
    rows_in_a_loop<T, kUnitRowsPerLane>(unit, words, 1, lane_id() * kUnitRowsPerLane * width, first_k, sink);
  }
}

// Gives all rows of `tile`, whose units are described at `units`, to the sink; rows beyond the count may come with any
// value. `staged`: where stage_units has put residuals. True if rows break a rule.
template <typename T, bool kStaged, typename Sink>
__device__ __forceinline__ bool feed_tile(const l3::Chunk& chunk, uint32_t tile, const LearnedUnit* units,
                                          typename TileStripRuns<T>::Scratch& scratch, const uint32_t* staged,
                                          Sink& sink) {
  const uint32_t count = units_of_tile(chunk, tile);
  if ((units->info & (LearnedUnit::kPackedTile | LearnedUnit::kRuns)) == LearnedUnit::kPackedTile) {
    feed_packed_tile<T>(chunk, *units, sink);
    return false;
  }
  bool bad = false;
#pragma unroll 1
  for (uint32_t u = 0; u < count;) {
    const LearnedUnit& unit = units[u];
    if (!unit.is(LearnedUnit::kRuns)) {
      if constexpr (kStaged) {
        const StagedWords words{staged + u * kStagedUnitWords};
        feed_unit<T, kWidestStaged>(chunk, unit, words, u * kUnitRowsPerLane, sink);
      } else {
        const StoredWords words{chunk.residuals + uint64_t{unit.place} * l3::kPieceWords};
        feed_unit<T, 32>(chunk, unit, words, u * kUnitRowsPerLane, sink);
      }
      ++u;
      continue;
    }
    const uint32_t partition = unit.place;
    const TileStripRuns<T> runs(chunk, partition, tile, scratch);
    bad = bad || runs.bad;
    for (; u < count && units[u].is(LearnedUnit::kRuns) && units[u].place == partition; ++u) {
      const uint32_t first_k = u * kUnitRowsPerLane;
      sink.begin(first_k);
      if (runs.staged()) {
#pragma unroll
        for (uint32_t j = 0; j < kUnitRowsPerLane; ++j) sink.value(j, runs.staged_at(first_k + j));
      } else {
#pragma unroll 1
        for (uint32_t j = 0; j < kUnitRowsPerLane; ++j) sink.value(j, runs.at(first_k + j));
      }
    }
  }
  return bad;
}

// Asks for the residuals of a tile's models, a line per lane. Wide ones would leave the cache again before they are
// wanted, pushed out by what is written.
__device__ __forceinline__ void prefetch_tile(const l3::Chunk& chunk, const LearnedUnit* units, uint32_t count) {
  constexpr uint32_t kWidest = 16;
  const bool packed = units->is(LearnedUnit::kPackedTile);
  const uint32_t u = packed ? 0 : lane_id() / kUnitLanes;
  if (u >= count || units[u].is(LearnedUnit::kRuns) || units[u].width() > kWidest) return;
  const uint32_t word = (packed ? lane_id() : lane_id() % kUnitLanes) * kLineWords;
  const uint32_t words = unit_words(units[u].width()) * (packed ? kUnitsPerTile : 1);
  if (word < words) prefetch_line(chunk.residuals + uint64_t{units[u].place} * l3::kPieceWords + word);
}

// Asks for the residuals of units that have the flags of `wanted` among those of `mask` and up to kWidestStaged bits,
// each at its place in `to`. A quarter of the lanes per unit.
__device__ __forceinline__ void stage_units(const l3::Chunk& chunk, const LearnedUnit* units, uint32_t count,
                                            uint32_t mask, uint32_t wanted, uint32_t* to) {
  constexpr uint32_t kCopyWords = 4;
  const uint32_t u = lane_id() / kUnitLanes;
  if (u >= count || (units[u].info & mask) != wanted || units[u].width() > kWidestStaged) return;
  const uint32_t* from = chunk.residuals + uint64_t{units[u].place} * l3::kPieceWords;
  const uint32_t words = unit_words(units[u].width());
#pragma unroll 1
  for (uint32_t j = lane_id() % kUnitLanes * kCopyWords; j < words; j += kUnitLanes * kCopyWords) {
    copy_to_shared(to + u * kStagedUnitWords + j, from + j);
  }
}

// Tiles first, first + step, … of a chunk; count ≤ kStripTiles.
struct TileStrip {
  uint32_t first;
  uint32_t step;
  uint32_t count;

  // The strip of a warp of this block, `most` tiles long; the block's warps take turns.
  __device__ __forceinline__ static TileStrip of_warp(uint32_t tiles, uint32_t most) {
    const uint32_t warps = blockDim.x / kLanes;
    const uint32_t block_first = blockIdx.x * warps * most;
    const uint32_t end = tiles - block_first < warps * most ? tiles : block_first + warps * most;
    TileStrip strip{block_first + threadIdx.x / kLanes, warps, 0};
    if (block_first < tiles && strip.first < end) strip.count = (end - strip.first + warps - 1) / warps;
    return strip;
  }
};

// How the residuals of a tile are asked for while a warp works on the tile before.
enum class ResidualFetch {
  kOnDemand,  // not at all
  kPrefetch,  // residuals to the second-level cache
  kStage,     // the same of whole tiles; those of tiles that partitions share to shared memory
};

// Calls sink_of(tile) and gives the sink the tile's rows, tile after tile. True if rows break a rule.
template <typename T, ResidualFetch kFetch, typename SinkOf>
__device__ __forceinline__ bool feed_strip(const l3::Chunk& chunk, const TileStrip& strip,
                                           TileStripScratch<T, kFetch == ResidualFetch::kStage>& scratch,
                                           SinkOf&& sink_of) {
  using Predictions = typename PredictionsOf<std::remove_cvref_t<decltype(sink_of(0u))>>::type;
  constexpr bool kStaged = kFetch == ResidualFetch::kStage;
  const uint32_t lane = lane_id();
  const uint32_t unit = (strip.first + lane / kUnitsPerTile * strip.step) * kUnitsPerTile + lane % kUnitsPerTile;
  sync_warp();  // nobody reads the last strip any more
  if (lane < strip.count * kUnitsPerTile && unit < chunk.units)
    scratch.units[lane] = Predictions::prepared(describe_unit<false>(chunk, unit, sizeof(T)));
  sync_warp();
  const auto staged_at = [&](uint32_t i) -> uint32_t* {
    if constexpr (kStaged) {
      return scratch.staged.words[i % 2];
    } else {
      return nullptr;
    }
  };
  const auto ask_for = [&](uint32_t i) {
    if (kFetch != ResidualFetch::kOnDemand && i < strip.count) {
      const LearnedUnit* units = scratch.units + i * kUnitsPerTile;
      const uint32_t count = units_of_tile(chunk, strip.first + i * strip.step);
      if (!kStaged || units->is(LearnedUnit::kPackedTile)) {
        prefetch_tile(chunk, units, count);
      } else {
        stage_units(chunk, units, count, LearnedUnit::kRuns, 0, staged_at(i));
      }
    }
    if constexpr (kStaged) close_copies();
  };
  bool bad = false;
  if constexpr (kStaged) ask_for(0);
#pragma unroll 1
  for (uint32_t i = 0; i < strip.count; ++i) {
    ask_for(i + 1);
    if constexpr (kStaged) {
      wait_for_copies<1>();
      sync_warp();
    }
    const uint32_t tile = strip.first + i * strip.step;
    auto&& sink = sink_of(tile);
    bad =
        feed_tile<T, kStaged>(chunk, tile, scratch.units + i * kUnitsPerTile, scratch.runs, staged_at(i), sink) || bad;
    if constexpr (kStaged) sync_warp();  // the words of this tile make room
  }
  return bad;
}

// Values to memory.
template <typename T, typename P = FixedPoint>
struct StoreRows {
  using Predictions = P;
  T* lane_out;
  uint32_t rows;  // of the tile, less the lane
  T* to = nullptr;
  uint32_t left = 0;

  __device__ __forceinline__ void begin(uint32_t k) {
    to = lane_out + k * kLanes;
    left = rows > k * kLanes ? rows - k * kLanes : 0;
  }
  __device__ __forceinline__ void value(uint32_t j, uint64_t value) {
    if (j * kLanes < left) store_once(to + j * kLanes, static_cast<T>(value));
  }
};

// A warp decodes up to `most` tiles of each chunk. Grid: x covers the tiles of the longest chunk, kWarps · most per
// block; y the chunks. `fault` becomes 1 if values were found that no writer makes.
template <typename T, uint32_t kWarps, uint32_t kMinBlocks, ResidualFetch kFetch, typename P = FixedPoint>
__global__ __launch_bounds__(kWarps* kLanes, kMinBlocks) void decode_learned(ChunkBatch batch, uint32_t most, T* out,
                                                                             uint32_t* fault) {
  __shared__ TileStripScratch<T, kFetch == ResidualFetch::kStage> scratch[kWarps];
  bool bad = false;
#pragma unroll 1
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* descriptor = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    const l3::Chunk learned = l3_chunk(descriptor);
    const uint32_t count = row_count(descriptor);
    const TileStrip strip = TileStrip::of_warp(tiles_of(count), most);
    if (strip.count == 0) continue;
    T* lane_out = out + load(batch.first_rows + chunk) + lane_id();
    const bool wrong = feed_strip<T, kFetch>(learned, strip, scratch[threadIdx.x / kLanes], [&](uint32_t tile) {
      const uint32_t rows = rows_of_tile(count, tile);
      return StoreRows<T, P>{lane_out + uint64_t{tile} * kTileRows, rows > lane_id() ? rows - lane_id() : 0};
    });
    bad = bad || wrong;
  }
  if (bad) *fault = 1;
}

}  // namespace basalt::device
