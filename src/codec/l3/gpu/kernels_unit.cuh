// Units of 256 rows of `l3` on the device. What a warp has to know about a unit is worked out by one lane, so that its
// rows are a few additions each: shared by tile readers, by answers about ranges, and by precompiled kernels.
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
// offset). Wide ones: base + (y >> fraction) + residual.
struct alignas(16) LearnedUnit {
  uint64_t base;
  uint64_t y;           // at the unit's first row
  uint64_t d1, d2, d3;  // its differences from row to row; of runs: d3 is the number of the last one
  uint32_t place;       // first piece of the residuals; of runs: the partition
  uint32_t info;

  static constexpr uint32_t kFraction = 7;  // first bit; the width lies below it
  static constexpr uint32_t kDegree = 13;   // first of two bits
  static constexpr uint32_t kWide = 1u << 15;
  static constexpr uint32_t kRuns = 1u << 16;
  static constexpr uint32_t kPackedTile = 1u << 17;  // its tile lies in one partition
  static constexpr uint32_t kBounded = 1u << 18;     // see kernels_bounded.cuh
  static constexpr uint32_t kDecided = 1u << 19;     // no row is asked whether it passes

  __device__ __forceinline__ uint32_t width() const { return info & 0x7F; }
  __device__ __forceinline__ uint32_t fraction() const { return info >> kFraction & 0x3F; }
  __device__ __forceinline__ uint32_t degree() const { return info >> kDegree & 3; }
  __device__ __forceinline__ bool is(uint32_t flag) const { return (info & flag) != 0; }
};

// Everything about one unit, by one lane. Of runs that is their partition, and with kRunValues the model of their
// values over the number of the run as well.
template <bool kRunValues>
__device__ __forceinline__ LearnedUnit describe_unit(const l3::Chunk& chunk, uint32_t unit, uint32_t value_bytes) {
  const uint32_t starts = load(chunk.starts + unit / l3::kUnitsPerStart);
  const uint32_t partition = l3::partition_in(starts, unit);
  const uint32_t first = unit / kUnitsPerTile * kUnitsPerTile;
  LearnedUnit out{};
  if (first + kUnitsPerTile <= chunk.units && l3::undivided(starts, first)) out.info |= LearnedUnit::kPackedTile;
  l3::Record record = l3::unpack_record(load(chunk.records + partition));
  uint32_t units_before = unit - record.first_unit;
  const bool runs = record.model == l3::Model::kRuns;
  if (runs) {
    out.info |= LearnedUnit::kRuns;
    out.place = partition;
    if constexpr (!kRunValues) return out;
    const l3::RunsHeader header = l3::get_runs(record, chunk.params, value_bytes);
    out.d3 = header.runs - 1;
    record = header.values;
    units_before = 0;
  }
  const l3::Predictor p = l3::get_predictor(record, chunk.params, value_bytes);
  const uint64_t i = uint64_t{units_before} * kUnitRows;
  out.base = p.base;
  out.y = p.c0 + p.c1 * i;
  out.d1 = p.c1;
  if (l3::degree_of(record.model) > 1) {
    const uint64_t two = i == 0 ? 0 : l3::choose_2(i);
    out.y += p.c2 * two + p.c3 * l3::choose_3(i);
    out.d1 += p.c2 * i + p.c3 * two;
    out.d2 = p.c2 + p.c3 * i;
    if (!runs) out.d3 = p.c3;
  }
  if (!runs) out.place = record.place + units_before * record.width;
  out.info |= record.width | p.fraction << LearnedUnit::kFraction | l3::degree_of(record.model) << LearnedUnit::kDegree;
  if (p.wide) out.info |= LearnedUnit::kWide;
  return out;
}

// y of the lane's first row in a unit, and its differences for steps of 32 rows. kDegree: at least the model's, 1 … 3.
template <uint32_t kDegree>
__device__ __forceinline__ l3::Steps steps_of_lane(const LearnedUnit& unit) {
  const uint32_t lane = lane_id_here();
  l3::Steps s{unit.y + unit.d1 * lane, unit.d1 * kLanes, 0, 0};
  // C(lane + 32, n) expanded by Vandermonde: C(32, 2) = 496, C(32, 3) = 4960.
  const uint32_t two = lane * (lane - 1) / 2;
  if constexpr (kDegree > 1) {
    s.y += unit.d2 * two;
    s.d1 += unit.d2 * (lane * kLanes + 496);
    s.d2 = unit.d2 * (kLanes * kLanes);
  }
  if constexpr (kDegree > 2) {
    const uint32_t three = lane * (lane - 1) * (lane - 2) / 6;  // a factor is 0 before one wraps
    s.y += unit.d3 * three;
    s.d1 += unit.d3 * (4960 + 496 * lane + kLanes * two);
    s.d2 += unit.d3 * (2 * 496 * kLanes + kLanes * kLanes * lane);
    s.d3 = unit.d3 * (kLanes * kLanes * kLanes);
  }
  return s;
}

// Units of a tile that the chunk has.
__device__ __forceinline__ uint32_t units_of_tile(const l3::Chunk& chunk, uint32_t tile) {
  const uint32_t left = chunk.units - tile * kUnitsPerTile;
  return left < kUnitsPerTile ? left : kUnitsPerTile;
}

// Writes all units of a tile to shared memory, a lane each, and says how many there are. One copy for all columns and
// value types of a kernel.
__device__ __noinline__ inline uint32_t describe_tile(const uint64_t* descriptor, uint32_t tile, uint32_t value_bytes,
                                                      LearnedUnit* units) {
  const l3::Chunk chunk = l3_chunk(descriptor);
  const uint32_t count = units_of_tile(chunk, tile);
  sync_warp();  // nobody reads the last tile any more
  if (lane_id() < count) units[lane_id()] = describe_unit<true>(chunk, tile * kUnitsPerTile + lane_id(), value_bytes);
  sync_warp();
  return count;
}

// `width` bits, not none, at `bit` of a stream whose words lie `stride` apart. No branch, so that loads of several
// values go together: a word that does not count may lie beyond the stream, and the last one that does is read.
template <typename T>
__device__ __forceinline__ uint64_t residual_bits(const uint32_t* words, uint32_t stride, uint32_t bit,
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

// The lane's eight residuals of unit u of a tile, which has some: of row k the residual of row which(k). A packed tile
// goes unit by unit as well: one copy of the code is what compilation has time for. All words are asked for before the
// first one is used.
template <typename T, typename Which>
__device__ __forceinline__ void read_residuals(const l3::Chunk& chunk, const LearnedUnit& unit, uint32_t u,
                                               uint64_t (&residuals)[kUnitRowsPerLane], Which&& which) {
  const uint32_t width = unit.width();
  const bool packed = unit.is(LearnedUnit::kPackedTile);
  const uint32_t* words = chunk.residuals + uint64_t{unit.place - (packed ? u * width : 0)} * l3::kPieceWords;
  const uint32_t stride = packed ? kLanes : 1;
  const uint32_t bit = (packed ? u : lane_id()) * kUnitRowsPerLane * width;
  if (packed) words += lane_id();
#pragma unroll
  for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
    residuals[k] = residual_bits<T>(words, stride, bit + which(k) * width, width);
  }
}

}  // namespace basalt::device
