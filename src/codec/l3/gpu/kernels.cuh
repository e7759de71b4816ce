// Tile reader of `l3`. What a warp has to know about a unit of 256 rows waits in shared memory, and so do the rows:
// whatever a tile's models are, what follows reads one row by one shared load, and generated kernels stay short.
// Comparisons with literals ask the models first (`answer`).
#pragma once

#include "basalt/core/host_device.h"
#include "codec/l3/gpu/kernels_range.cuh"
#include "codec/l3/gpu/kernels_unit.cuh"
#include "codec/l3/layout.h"
#include "core/device/answer.h"
#include "core/device/warp.h"

namespace basalt::device {

// Finds the run of every row of a tile, for one partition of runs: run ends set bits where the next run begins, and a
// row's run is the number of bits up to it.
// Values of up to kMostStaged runs of a tile are worked out once each, those of more by every row.
template <typename T, uint32_t kMostStaged>
class LearnedRuns {
 public:
  struct alignas(16) Scratch {
    uint32_t marks[kLanes];
    T values[kMostStaged];
  };

  // `tile` of the chunk. All lanes come along.
  __device__ __forceinline__ LearnedRuns(const l3::Chunk& chunk, uint32_t partition, uint32_t tile, Scratch& scratch)
      : runs_(chunk.runs(chunk.record(partition), partition, sizeof(T))), scratch_(scratch) {
    const uint32_t here = tile - runs_.first_unit / kUnitsPerTile;
    first_ = runs_.first_run(here);
    uint32_t last = runs_.first_run(here + 1);
    bad = last < first_ || last - first_ > kTileRows;  // at most one run ends at each row
    if (bad) last = first_;
    inner_ = last - first_;
    const uint32_t tile_row = runs_.tile_row(here);
    // The run before must not reach into this tile, which ends by tile cannot show.
    if (first_ > 0 && runs_.header.ends.model != l3::kByTile) {
      bad = bad || runs_.end(first_ - 1, here) > tile_row;
    }
    const uint32_t lane = lane_id();
    sync_warp();  // nobody reads the last tile any more
    scratch.marks[lane] = 0;
    sync_warp();
    // For lane 0: the end before. No run ends before the partition begins.
    uint32_t carried = here == 0 ? runs_.first_unit % kUnitsPerTile * kUnitRows : 0;
#pragma unroll 1
    for (uint32_t j = lane; j - lane < inner_; j += kLanes) {
      const uint32_t end = j < inner_ ? runs_.end(first_ + j, here) - tile_row : kTileRows + j;
      const uint32_t below = shuffle_up(end, 1);
      const uint32_t previous = lane == 0 ? carried : below;
      bad = bad || (j < inner_ && (end - 1 >= kTileRows || end <= previous));
      if (j < inner_ && end < kTileRows) or_shared(&scratch.marks[end / 32], 1u << end % 32);
      carried = shuffle(end, kLanes - 1);
    }
    if (staged()) {
#pragma unroll 1
      for (uint32_t j = lane; j < kMostStaged && j <= inner_; j += kLanes) scratch.values[j] = value(j);
    }
    sync_warp();
    marks_ = scratch.marks[lane];
    before_ = sum_below(population(marks_));
  }

  // Of row 32·k + lane of the tile; all lanes with the same k.
  __device__ __forceinline__ T at(uint32_t k) const { return staged() ? staged_at(k) : value(run_at(k)); }

  // Whether all values are worked out already; staged_at(k) is at(k) then.
  __device__ __forceinline__ bool staged() const { return inner_ < kMostStaged; }
  __device__ __forceinline__ T staged_at(uint32_t k) const { return scratch_.values[run_at(k)]; }

  bool bad;

 private:
  __device__ __forceinline__ uint32_t run_at(uint32_t k) const {
    const uint32_t run =
        shuffle(before_, k) + population(shuffle(marks_, k) & (kWholeWarp >> (kLanes - 1 - lane_id())));
    // More marks than runs: then `bad` is set, and nothing may be read that is not there.
    return run <= inner_ ? run : inner_;
  }
  // Of a run of this tile. Values follow a line at most.
  __device__ __forceinline__ T value(uint32_t j) const {
    const uint32_t run = first_ + j;
    const uint32_t width = runs_.header.values.width;
    return static_cast<T>(l3::finish(runs_.values, runs_.values.c0 + runs_.values.c1 * run,
                                     stream_bits(runs_.words, uint64_t{run} * width, width)));
  }

  l3::Runs runs_;
  Scratch& scratch_;
  uint32_t first_;
  uint32_t inner_;  // runs of the tile but the last
  uint32_t marks_, before_;
};

template <typename T>
class L3 : public OneForm<L3<T>, T> {
 public:
  using Runs = LearnedRuns<T, kLanes>;  // a statement may have many such columns, and a block little shared memory

 private:
  // Shared memory moves words of four bytes.
  using Row = typename SelectType<(sizeof(T) < 4), uint32_t, T>::type;
  struct alignas(16) Scratch {
    Row rows[kTileRows];
    LearnedUnit units[kUnitsPerTile];
    typename Runs::Scratch runs;
  };

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = 1 + l3::kStreams;
  static constexpr uint32_t kScratchBytes = l3::scratch_bytes(sizeof(T));
  static_assert(kScratchBytes == sizeof(Scratch));
  static constexpr bool kPointAccess = true;
  static constexpr bool kRowsInShared = true;  // at(k) is one read of the scratch, k may be a run-time number

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) { descriptor_ = descriptor; }

  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    rows_ = static_cast<Scratch*>(scratch)->rows;
    bad = fill(descriptor_, tile, *static_cast<Scratch*>(scratch)) || bad;
  }

  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    descriptor_ = descriptor;
    seek(tile, scratch);
  }

  __device__ __forceinline__ T at(uint32_t k) const { return static_cast<T>(rows_[k * kLanes + lane_id()]); }

  __device__ __forceinline__ T row(uint32_t i) {
    return static_cast<T>(l3_chunk(descriptor_).value(i, sizeof(T), &bad));
  }

  // Which rows of the tile lie on the arc of the numbers first, first + 1, … first + span, modulo 2^bits. One copy per
  // value type.
  __device__ __noinline__ static TileAnswer answer(const uint64_t* descriptor, uint32_t tile, void* place, T first,
                                                   T span) {
    Scratch& scratch = *static_cast<Scratch*>(place);
    const LearnedAnswer answer = ask_models(descriptor, tile, sizeof(T), scratch.units, first, span);
    if (answer.rebuild == 0) return {answer.mask, answer.how, 0};
    const bool wrong = fill(descriptor, tile, scratch);
    uint32_t mask = 0;
#pragma unroll 4
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const T from = static_cast<T>(static_cast<T>(scratch.rows[k * kLanes + lane_id()]) - first);
      mask |= static_cast<uint32_t>(from <= span) << k;
    }
    return {mask, answer.how, wrong ? 1u : 0u};
  }

  // Gives the lane's rows of a tile, in whole units, to sink(k, value); true if they break a rule. Its units have been
  // described, and `staged` has room, in shared memory.
  template <typename Unit, typename Sink>
  __device__ __forceinline__ static bool walk(const l3::Chunk& chunk, uint32_t tile, const Unit* units,
                                              typename Runs::Scratch& staged, Sink&& sink) {
    const uint32_t count = units_of_tile(chunk, tile);
    bool wrong = false;
#pragma unroll 1
    for (uint32_t u = 0; u < count;) {
      const LearnedUnit unit = units[u];
      if (!unit.is(LearnedUnit::kRuns)) {
        walk_model(chunk, unit, u, sink);
        ++u;
        continue;
      }
      const Runs runs(chunk, unit.place, tile, staged);
      wrong = wrong || runs.bad;
      for (; u < count && units[u].is(LearnedUnit::kRuns) && units[u].place == unit.place; ++u) {
#pragma unroll 2
        for (uint32_t k = u * kUnitRowsPerLane; k < (u + 1) * kUnitRowsPerLane; ++k) sink(k, runs.at(k));
      }
    }
    return wrong;
  }

 private:
  // Writes the tile's rows to the scratch; true if they break a rule. One copy per value type: a statement may have
  // many such columns.
  __device__ __noinline__ static bool fill(const uint64_t* descriptor, uint32_t tile, Scratch& scratch) {
    Row* rows = scratch.rows + lane_id();
    describe_tile(descriptor, tile, sizeof(T), scratch.units);
    const bool wrong = walk(l3_chunk(descriptor), tile, scratch.units, scratch.runs,
                            [&](uint32_t k, T value) { rows[k * kLanes] = static_cast<Row>(value); });
    sync_warp();
    return wrong;
  }

  template <typename Sink>
  __device__ __forceinline__ static void walk_model(const l3::Chunk& chunk, const LearnedUnit& unit, uint32_t u,
                                                    Sink&& sink) {
    uint64_t residuals[kUnitRowsPerLane] = {};
    if (unit.width() > 0) read_residuals<T>(chunk, unit, u, residuals, [](uint32_t k) { return k; });
    l3::Predictor p;
    p.base = unit.base;
    p.fraction = unit.fraction();
    p.wide = unit.is(LearnedUnit::kWide);
    l3::Steps steps = steps_of_lane<3>(unit);
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      sink(u * kUnitRowsPerLane + k, static_cast<T>(l3::finish(p, steps.y, residuals[k])));
      l3::step(steps);
    }
  }

  const uint64_t* descriptor_;
  Row* rows_;
};

}  // namespace basalt::device
