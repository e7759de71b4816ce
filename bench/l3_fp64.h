// Our layout with FP64 predictions, to measure what fixed point saves. The streams are those of fixed point, so both
// move the same bytes; FP64 has fewer bits and rebuilds some rows differently, which is why its rows are held against
// FP64 worked out row by row. A format that predicted so would have to store residuals of these predictions.
#pragma once

#include "codec/l3/exact.h"
#include "codec/l3/gpu/tile_strip.cuh"

namespace basalt::bench {

// The whole part of a number below 2^31 comes by conversion, or by adding 1.5 · 2^52, which leaves it in the lower
// bits.
template <bool kByAddition>
struct Fp64 {
  // A unit's numbers become FP64 once, as if they had been stored so.
  __device__ __forceinline__ static device::LearnedUnit prepared(device::LearnedUnit unit) {
    if (unit.is(device::LearnedUnit::kRuns)) return unit;
    const double scale = l3::power_of_two(-static_cast<int>(unit.fraction()));
    for (uint64_t* number : {&unit.y, &unit.d1, &unit.d2, &unit.d3}) {
      const double value = l3::mul(static_cast<double>(static_cast<int64_t>(*number)), scale);
      *number = static_cast<uint64_t>(__double_as_longlong(value));
    }
    return unit;
  }

  template <uint32_t kDegree>
  struct Lane {
    double y, d1, d2 = 0, d3 = 0;

    __device__ __forceinline__ explicit Lane(const device::LearnedUnit& unit) : Lane(unit, device::lane_id_here()) {}
    __device__ __forceinline__ Lane(const device::LearnedUnit& unit, uint32_t lane) {
      using l3::add, l3::mul;
      const auto from = [](uint64_t bits) { return __longlong_as_double(static_cast<long long>(bits)); };
      const double one = from(unit.d1);
      y = add(from(unit.y), mul(one, static_cast<double>(lane)));
      d1 = mul(one, 32);
      if constexpr (kDegree > 1) {
        const double two = from(unit.d2);
        const double three = from(unit.d3);
        const uint32_t pairs = lane * (lane - 1) / 2;
        const uint32_t triples = lane * (lane - 1) * (lane - 2) / 6;
        y = add(y, add(mul(two, static_cast<double>(pairs)), mul(three, static_cast<double>(triples))));
        d1 = add(d1, add(mul(two, static_cast<double>(lane * kLanes + 496)),
                         mul(three, static_cast<double>(4960 + 496 * lane + kLanes * pairs))));
        d2 = add(mul(two, 1024), mul(three, static_cast<double>(2 * 496 * kLanes + kLanes * kLanes * lane)));
        d3 = mul(three, 32768);
      }
    }
    __device__ __forceinline__ uint32_t narrow() const {
      if constexpr (kByAddition) return static_cast<uint32_t>(__double2loint(__dadd_rd(y, 6755399441055744.0)));
      return static_cast<uint32_t>(__double2int_rd(y));
    }
    __device__ __forceinline__ uint64_t wide(uint32_t) const { return static_cast<uint64_t>(__double2ll_rd(y)); }
    __device__ __forceinline__ void step() {
      y = l3::add(y, d1);
      if constexpr (kDegree > 1) {
        d1 = l3::add(d1, d2);
        d2 = l3::add(d2, d3);
      }
    }
  };
};

// Any one row, stepped to.
template <typename T>
struct SteppedInFp64 {
  __device__ T operator()(const uint64_t* descriptor, uint32_t, uint32_t row) const {
    using device::LearnedUnit;
    const l3::Chunk chunk = device::l3_chunk(descriptor);
    const bool packed = chunk.is_packed(row / kUnitRows);
    const uint32_t rows = packed ? kTileRows : kUnitRows;
    const LearnedUnit unit =
        Fp64<false>::prepared(device::describe_unit<false>(chunk, row / rows * rows / kUnitRows, sizeof(T)));
    if (unit.is(LearnedUnit::kRuns)) return device::L3<T>::value(descriptor, row);
    const uint32_t local = row % rows;
    typename Fp64<false>::Lane<3> at(unit, local % kLanes);
    for (uint32_t k = 0; k < local / kLanes; ++k) at.step();
    const uint32_t* words = chunk.residuals + uint64_t{unit.place} * l3::kPieceWords;
    const uint64_t residual = packed ? packed_row(words, unit.width(), local) : unit_row(words, unit.width(), local);
    if (unit.is(LearnedUnit::kWide)) return static_cast<T>(unit.base + at.wide(0) + residual);
    const auto offset = static_cast<int32_t>(at.narrow() + static_cast<uint32_t>(residual));
    return static_cast<T>(unit.base + static_cast<uint64_t>(static_cast<int64_t>(offset)));
  }
};

}  // namespace basalt::bench
