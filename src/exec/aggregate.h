// Partial state of aggregates: what each backend leaves per chunk or batch, how two states merge, and how the last one
// becomes a value. Both backends end here, so that roundings and overflow are decided in one place.
//
// Order of float sums, which makes results independent of threads, pruning and device. Only live rows count: rows that
// pass the filter and whose argument is not NULL.
//   tile:  lane l (0..31) starts at 0.0 and adds its rows 32·k + l for k = 0..31 in order, live rows only. The lanes
//   are
//          then combined as a butterfly: lane l becomes lane l + lane (l ^ 16), then ^ 8, ^ 4, ^ 2, ^ 1; lane 0 is the
//          sum.
//   chunk: starts at 0.0 and adds its tiles' sums in tile order.
//   total: starts at 0.0 and adds the chunks' sums in chunk order, file after file.
// Statements that ask for nothing but sums, averages and counts of one column of floats, under at most ranges of it
// (filter_sum.h), add a whole tile of decimals as it is stored, if all chunks are galp(packed) and the tile has at
// most 64 exceptions and integers small enough to be floats themselves (sums_apart() in codec/galp/scale.h):
//   tile:  the integers of live rows are added exactly. Of doubles, the sum is decoded as one of them would be: a
//          double, times 10^f, times 10^-e. Of floats of four bytes it is made a double and multiplied by the float
//          next to 10^(f-e); what each value has more than its integer times that float (remainder() in scale.h) is
//          added as floats of four bytes, by lanes that are combined as above, and then to the sum. Exceptions that are
//          live are added one after the other, starting at 0.0, and then to the sum.
// Additions are plain doubles, round to nearest; float arguments are widened to double first. Dead rows, tiles and
// chunks may be added as 0.0: no sum that starts at 0.0 ever becomes −0.0, so this changes nothing. The relative error
// is at most (66 + tiles + chunks) · 2^−53 of the sum of magnitudes, and for remainders 2^−40 of it.
//
// min and max of floats: NaN is the largest value; of −0.0 and 0.0, min gives −0.0 and max gives 0.0.
#pragma once

#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// A sum of 128-bit integers that cannot overflow: value = high · 2^128 + low.
struct WideSum {
  uint128_t low = 0;
  int64_t high = 0;

  void add(int128_t value) {
    const uint128_t before = low;
    low += static_cast<uint128_t>(value);
    high += (low < before ? 1 : 0) + (value < 0 ? -1 : 0);
  }
  void add(const WideSum& other) {
    const uint128_t before = low;
    low += other.low;
    high += other.high + (low < before ? 1 : 0);
  }
  bool fits() const { return high == (static_cast<int128_t>(low) < 0 ? -1 : 0); }
};

struct AggregateState {
  uint64_t count = 0;   // rows that took part: all live rows for count(*), those with an argument otherwise
  WideSum sum;          // kSum, kAvg over integers
  double real_sum = 0;  // kSum, kAvg over floats
  Value extreme;        // kMin, kMax: NULL until a row was seen
};

// Whether `candidate` replaces `current` as the minimum or maximum.
bool is_better(AggregateOp op, const Value& candidate, const Value& current);

// The float behind the key that kernels order floats by (order_key() in device/aggregate.cuh).
double real_of_order_key(int64_t key);

// `from` covers rows behind those of `into`.
void merge(const Aggregate& aggregate, AggregateState& into, const AggregateState& from);

// count: kI64; sum of integers: kI128, Error(kOutOfRange) if it leaves 128 bits; sum of floats and avg: kF64; min and
// max: the argument's type. No row: NULL, but 0 for counts.
Value finish(const Aggregate& aggregate, const AggregateState& state);

}  // namespace basalt::exec
