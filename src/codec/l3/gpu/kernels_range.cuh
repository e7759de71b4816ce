// Which rows of an l3 tile lie in a range, from what its models say: a unit whose bounds lie on one side is decided
// without a residual, and of the others only rows whose prediction comes within the largest residual of the range's
// ends are read.
//
// Ranges are arcs of the numbers modulo 2^bits of the type: `first` and the `span` numbers behind it. So are the values
// that a model can give. Arcs need no sign, and a model that wraps around the type is decided as exactly as any other.
// Numbers of a narrow type are compared as the upper bits of 64, so that one copy of the code serves all types.
#pragma once

#include "codec/l3/gpu/kernels_unit.cuh"
#include "core/device/answer.h"

namespace basalt::device {

struct Arc {
  uint64_t first;
  uint64_t span;
  uint32_t up;  // 64 less the bits of the type

  // A number as its distance from the arc's first.
  __device__ __forceinline__ uint64_t from(uint64_t number) const { return (number - first) << up; }
  // Of `length` + 1 numbers that begin at this distance: whether all, or none, lie on the arc.
  __device__ __forceinline__ bool holds(uint64_t from, uint64_t length) const {
    return from <= span << up && length << up <= (span << up) - from;
  }
  __device__ __forceinline__ bool misses(uint64_t from, uint64_t length) const {
    return from > span << up && length << up <= ~from;
  }
};

// Where the values of a unit can lie: numbers base + prediction + residual, as long as no part of that wraps.
struct UnitBounds {
  bool known;
  uint64_t first;
  uint64_t length;
};

// A curve leaves the chord between its ends by at most an eighth of the squared number of steps times its largest
// second difference.
__device__ __forceinline__ UnitBounds bounds_of(const LearnedUnit& unit, uint32_t type_bits) {
  constexpr uint32_t kLast = kUnitRows - 1;
  const auto exact = [](uint64_t bits) { return static_cast<int128_t>(static_cast<int64_t>(bits)); };
  const int128_t begin = exact(unit.y);
  int128_t end = exact(unit.d1) * (unit.is(LearnedUnit::kRuns) ? static_cast<uint32_t>(unit.d3) : kLast) + begin;
  int128_t bend = 0;
  if (unit.degree() > 1) {
    constexpr uint32_t kTwo = kLast * (kLast - 1) / 2;
    constexpr uint32_t kThree = kTwo * (kLast - 2) / 3;
    end += exact(unit.d2) * kTwo + exact(unit.d3) * kThree;
    const int128_t bend_last = exact(unit.d2) + exact(unit.d3) * kLast;
    const auto magnitude = [](int128_t value) { return value < 0 ? -value : value; };
    const int128_t most = magnitude(exact(unit.d2));
    bend = (most > magnitude(bend_last) ? most : magnitude(bend_last)) * ((kLast * kLast + 7) / 8);
  }
  const int128_t low = (begin < end ? begin : end) - bend;
  const int128_t high = (begin < end ? end : begin) + bend;
  const int64_t lowest = static_cast<int64_t>(low) >> unit.fraction();
  const int64_t highest = static_cast<int64_t>(high) >> unit.fraction();
  const uint64_t largest = low_bits(unit.width());
  UnitBounds bounds;
  bounds.first = unit.base + static_cast<uint64_t>(lowest);
  bounds.length = static_cast<uint64_t>(highest) - static_cast<uint64_t>(lowest) + largest;
  bounds.known = static_cast<int64_t>(low) == low && static_cast<int64_t>(high) == high && bounds.length >= largest &&
                 bounds.length <= low_bits(type_bits);
  // Offsets of narrow models are cut to 32 bits and extended again.
  if (type_bits > 32 && !unit.is(LearnedUnit::kWide) && highest + static_cast<int64_t>(largest) >= int64_t{1} << 31) {
    bounds.known = false;
  }
  return bounds;
}

// The lane's eight rows of unit u, whose bounds are known, as bits; `reads` grows by the rows whose residuals a lane
// had to read. Predictions of all rows cost less than solving for the row where a line enters or leaves the range, and
// serve curves as well.
__device__ __forceinline__ uint32_t test_unit(const l3::Chunk& chunk, const LearnedUnit& unit, uint32_t u,
                                              const Arc& range, uint32_t& reads) {
  const uint64_t largest = low_bits(unit.width());
  const uint32_t fraction = unit.fraction();
  uint64_t from[kUnitRowsPerLane];
  uint32_t mask = 0;
  uint32_t open = 0;
  uint32_t wanted = 0;  // by any lane
  l3::Steps steps = steps_of_lane<3>(unit);
#pragma unroll
  for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
    from[k] = range.from(unit.base + static_cast<uint64_t>(static_cast<int64_t>(steps.y) >> fraction));
    const bool inside = range.holds(from[k], largest);
    const bool asks = !inside && !range.misses(from[k], largest);
    mask |= static_cast<uint32_t>(inside) << k;
    open |= static_cast<uint32_t>(asks) << k;
    wanted |= static_cast<uint32_t>(any_lane(asks)) << k;
    l3::step(steps);
  }
  if (wanted == 0) return mask;
  reads += population(wanted);
  const uint32_t some = population((wanted & (0u - wanted)) - 1);  // others read what is read anyway
  uint64_t residuals[kUnitRowsPerLane];
  read_residuals<uint64_t>(chunk, unit, u, residuals, [&](uint32_t k) { return wanted >> k & 1 ? k : some; });
#pragma unroll
  for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
    const bool inside = from[k] + (residuals[k] << range.up) <= range.span << range.up;
    mask |= open & static_cast<uint32_t>(inside) << k;
  }
  return mask;
}

// What the models of a tile answer, if `rebuild` does not say that the tile's rows have to be rebuilt: for runs, and
// for models that might wrap. `how` is what it took then, too.
struct LearnedAnswer {
  uint32_t mask;
  uint32_t how;
  uint32_t rebuild;
};

// Up to this share of rows, reading those that a model leaves open is not called decoding; as on the CPU.
constexpr uint32_t kOpenShare = 8;

// Of the rows on the arc first, first + 1, … first + span. `units` has room in shared memory.
__device__ __noinline__ inline LearnedAnswer ask_models(const uint64_t* descriptor, uint32_t tile, uint32_t value_bytes,
                                                        LearnedUnit* units, uint64_t first, uint64_t span) {
  const Arc range{first, span, 64 - 8 * value_bytes};
  const uint32_t count = describe_tile(descriptor, tile, value_bytes, units);
  bool inside = false;
  bool open = false;
  bool runs = false;
  bool known = true;
  if (lane_id() < count) {
    const LearnedUnit unit = units[lane_id()];
    const UnitBounds bounds = bounds_of(unit, 8 * value_bytes);
    const uint64_t from = range.from(bounds.first);
    known = bounds.known;
    inside = known && range.holds(from, bounds.length);
    open = !inside && !(known && range.misses(from, bounds.length));
    runs = unit.is(LearnedUnit::kRuns);
  }
  // Bit u of unit u becomes the eight bits of its rows.
  uint32_t mask = (ballot(inside) * 0x00204081u & 0x01010101u) * 0xFF;
  const uint32_t asked = ballot(open);
  if (asked == 0) return {mask, kByBounds, 0};
  if (any_lane(open && (runs || !known))) return {0, any_lane(open && !runs) ? kByRows : kByModel, 1};
  const l3::Chunk chunk = l3_chunk(descriptor);
  uint32_t reads = 0;
#pragma unroll 1
  for (uint32_t u = 0; u < kUnitsPerTile; ++u) {
    if (asked >> u & 1) mask |= test_unit(chunk, units[u], u, range, reads) << (u * kUnitRowsPerLane);
  }
  return {mask, reads * kOpenShare <= kRowsPerLane ? kByModel : kByRows, 0};
}

}  // namespace basalt::device
