// Tile reader of `l3`, and what all kernels that read l3 tiles share. What a warp has to know about a unit of 256 rows
// is worked out by one lane and waits in shared memory, so that its rows are a few additions each. The reader's rows
// pass through shared memory: whatever a tile's models are, what follows reads one row by one shared load, and
// generated kernels stay short.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/l3/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

__device__ __forceinline__ l3::Chunk l3_chunk(const uint64_t* descriptor) {
  return l3::Chunk::of(stream<uint32_t>(descriptor, 1 + l3::kStarts), stream<uint64_t>(descriptor, 1 + l3::kRecords),
                       stream<uint32_t>(descriptor, 1 + l3::kParams), stream<uint32_t>(descriptor, 1 + l3::kResiduals),
                       row_count(descriptor));
}

// A unit of 256 rows, ready to be read. Narrow models: value = base + (upper half of y + residual, as a signed 32-bit
// offset); where offsets are small, the base has swallowed the whole part of the unit's first prediction. Wide ones:
// base + (y >> fraction) + residual.
struct alignas(16) LearnedUnit {
  uint64_t base;
  uint64_t y;           // at the unit's first row
  uint64_t d1, d2, d3;  // its differences from row to row
  uint32_t place;       // first piece of the residuals; of runs: the partition
  uint32_t info;

  static constexpr uint32_t kFraction = 7;  // first bit; the width lies below it
  static constexpr uint32_t kDegree = 13;   // first of two bits
  static constexpr uint32_t kWide = 1u << 15;
  static constexpr uint32_t kRuns = 1u << 16;
  static constexpr uint32_t kPackedTile = 1u << 17;  // its tile lies in one partition
  static constexpr uint32_t kSmall = 1u << 18;       // 32 offsets of its tile can be added up in 32 bits

  __device__ __forceinline__ uint32_t width() const { return info & 0x7F; }
  __device__ __forceinline__ uint32_t fraction() const { return info >> kFraction & 0x3F; }
  __device__ __forceinline__ uint32_t degree() const { return info >> kDegree & 3; }
  __device__ __forceinline__ bool is(uint32_t flag) const { return (info & flag) != 0; }
};

BASALT_HD bool magnitude_below(uint64_t value, uint32_t bits) {
  return (value + (uint64_t{1} << bits)) >> (bits + 1) == 0;
}

// Everything about one unit, by one lane.
template <typename T>
__device__ __forceinline__ LearnedUnit describe_unit(const l3::Chunk& chunk, uint32_t unit) {
  const uint32_t starts = load(chunk.starts + unit / l3::kUnitsPerStart);
  const uint32_t partition = l3::partition_in(starts, unit);
  const uint32_t first = unit / kUnitsPerTile * kUnitsPerTile;
  LearnedUnit out{};
  if (first + kUnitsPerTile <= chunk.units && l3::undivided(starts, first)) out.info |= LearnedUnit::kPackedTile;
  const l3::Record record = l3::unpack_record(load(chunk.records + partition));
  if (record.model == l3::Model::kRuns) {
    out.place = partition;
    out.info |= LearnedUnit::kRuns;
    return out;
  }
  const l3::Predictor p = l3::get_predictor(record, chunk.params, sizeof(T));
  const uint32_t units_before = unit - record.first_unit;
  const uint64_t i = uint64_t{units_before} * kUnitRows;
  out.base = p.base;
  out.y = l3::evaluate(p, i);
  out.d1 = p.c1 + p.c2 * i + p.c3 * (i == 0 ? 0 : l3::choose_2(i));
  out.d2 = p.c2 + p.c3 * i;
  out.d3 = p.c3;
  out.place = record.place + units_before * record.width;
  out.info |= record.width | p.fraction << LearnedUnit::kFraction | l3::degree_of(record.model) << LearnedUnit::kDegree;
  if (p.wide) {
    out.info |= LearnedUnit::kWide;
  } else if (record.width <= 24 && magnitude_below(out.y, 62) && magnitude_below(out.d1, 45) &&
             magnitude_below(out.d2, 36) && magnitude_below(out.d3, 27)) {
    // Offsets inside the tile: 2^23 from each of the first two differences, less from the third, 2^24 from residuals.
    out.info |= LearnedUnit::kSmall;
    out.base += static_cast<uint64_t>(static_cast<int64_t>(out.y) >> 32);
    out.y &= 0xFFFFFFFF;
  }
  return out;
}

// y of the lane's first row in a unit, and its differences for steps of 32 rows. kCurve: beyond a line.
template <bool kCurve>
__device__ __forceinline__ l3::Steps steps_of_lane(const LearnedUnit& unit) {
  const uint32_t lane = lane_id_here();
  l3::Steps s{unit.y + unit.d1 * lane, unit.d1 * kLanes, 0, 0};
  if constexpr (kCurve) {
    // C(lane + 32, n) expanded by Vandermonde: C(32, 2) = 496, C(32, 3) = 4960.
    const uint32_t two = lane * (lane - 1) / 2;
    const uint32_t three = lane * (lane - 1) * (lane - 2) / 6;  // a factor is 0 before one wraps
    s.y += unit.d2 * two + unit.d3 * three;
    s.d1 += unit.d2 * (lane * kLanes + 496) + unit.d3 * (4960 + 496 * lane + kLanes * two);
    s.d2 = unit.d2 * (kLanes * kLanes) + unit.d3 * (2 * 496 * kLanes + kLanes * kLanes * lane);
    s.d3 = unit.d3 * (kLanes * kLanes * kLanes);
  }
  return s;
}

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
    if (inner_ < kMostStaged) {
#pragma unroll 1
      for (uint32_t j = lane; j < kMostStaged && j <= inner_; j += kLanes) scratch.values[j] = value(j);
    }
    sync_warp();
    marks_ = scratch.marks[lane];
    before_ = sum_below(population(marks_));
  }

  // Of row 32·k + lane of the tile; all lanes with the same k.
  __device__ __forceinline__ T at(uint32_t k) const {
    const uint32_t run =
        shuffle(before_, k) + population(shuffle(marks_, k) & (kWholeWarp >> (kLanes - 1 - lane_id())));
    // More marks than runs: then `bad` is set, and nothing may be read that is not there.
    const uint32_t known = run <= inner_ ? run : inner_;
    return inner_ < kMostStaged ? scratch_.values[known] : value(known);
  }

  bool bad;

 private:
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
  // Shared memory moves words of four bytes.
  using Row = typename SelectType<(sizeof(T) < 4), uint32_t, T>::type;
  using Runs = LearnedRuns<T, 32>;  // a statement may have many such columns, and a block little shared memory
  struct alignas(16) Scratch {
    Row rows[kTileRows];
    LearnedUnit units[kUnitsPerTile];
    typename Runs::Scratch runs;
  };

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = 1 + l3::kStreams;
  static constexpr uint32_t kScratchBytes = sizeof(Scratch);
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

 private:
  // Writes the tile's rows to the scratch; true if they break a rule. One copy per value type: a statement may have
  // many such columns.
  __device__ __noinline__ static bool fill(const uint64_t* descriptor, uint32_t tile, Scratch& scratch) {
    const l3::Chunk chunk = l3_chunk(descriptor);
    const uint32_t first_unit = tile * kUnitsPerTile;
    const uint32_t lane = lane_id();
    const uint32_t units = chunk.units - first_unit < kUnitsPerTile ? chunk.units - first_unit : kUnitsPerTile;
    sync_warp();  // nobody reads the last tile any more
    if (lane < units) scratch.units[lane] = describe_unit<T>(chunk, first_unit + lane);
    sync_warp();
    bool wrong = false;
#pragma unroll 1
    for (uint32_t u = 0; u < units;) {
      const LearnedUnit unit = scratch.units[u];
      if (!unit.is(LearnedUnit::kRuns)) {
        put_model(chunk, unit, u, scratch.rows + u * kUnitRows + lane);
        ++u;
        continue;
      }
      const Runs runs(chunk, unit.place, tile, scratch.runs);
      wrong = wrong || runs.bad;
      for (; u < units && scratch.units[u].is(LearnedUnit::kRuns) && scratch.units[u].place == unit.place; ++u) {
#pragma unroll 2
        for (uint32_t k = u * kUnitRowsPerLane; k < (u + 1) * kUnitRowsPerLane; ++k) {
          scratch.rows[k * kLanes + lane] = static_cast<Row>(runs.at(k));
        }
      }
    }
    sync_warp();
    return wrong;
  }

  // The lane's eight rows of a modelled unit. A packed tile goes unit by unit as well: one copy of the code is what
  // compilation has time for. All words are asked for before the first one is used.
  __device__ __forceinline__ static void put_model(const l3::Chunk& chunk, const LearnedUnit& unit, uint32_t u,
                                                   Row* rows) {
    const uint32_t width = unit.width();
    const bool packed = unit.is(LearnedUnit::kPackedTile);
    const uint32_t* words = chunk.residuals + uint64_t{unit.place - (packed ? u * width : 0)} * l3::kPieceWords;
    const uint32_t stride = packed ? kLanes : 1;
    const uint32_t bit = (packed ? u : lane_id()) * kUnitRowsPerLane * width;
    if (packed) words += lane_id();
    uint64_t residuals[kUnitRowsPerLane] = {};
    if (width > 0) {
#pragma unroll
      for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) residuals[k] = bits_at(words, stride, bit + k * width, width);
    }
    l3::Predictor p;
    p.base = unit.base;
    p.fraction = unit.fraction();
    p.wide = unit.is(LearnedUnit::kWide);
    l3::Steps steps = steps_of_lane<true>(unit);
#pragma unroll
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      rows[k * kLanes] = static_cast<Row>(static_cast<T>(l3::finish(p, steps.y, residuals[k])));
      l3::step(steps);
    }
  }

  // `width` bits, not none, at `bit` of a stream whose words lie `stride` apart. No branch, so that loads of several
  // values go together: a word that does not count may lie beyond the stream, and the last one that does is read.
  __device__ __forceinline__ static uint64_t bits_at(const uint32_t* words, uint32_t stride, uint32_t bit,
                                                     uint32_t width) {
    const uint32_t* at = words + (bit >> 5) * stride;
    const uint32_t shift = bit & 31;
    const uint32_t beyond = (shift + width + 31) / 32;
    const uint32_t word_0 = load(at);
    const uint32_t word_1 = load(at + (beyond > 1 ? stride : 0));
    const uint32_t low = funnel_right(word_0, word_1, shift);
    if constexpr (sizeof(T) <= 4) return low & static_cast<uint32_t>(low_bits(width));
    const uint32_t word_2 = load(at + (beyond > 2 ? 2 : beyond - 1) * stride);
    const uint32_t high = funnel_right(word_1, word_2, shift);
    return (static_cast<uint64_t>(high) << 32 | low) & low_bits(width);
  }

  const uint64_t* descriptor_;
  Row* rows_;
};

}  // namespace basalt::device
