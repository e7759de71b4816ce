// Whether the statistics of a chunk tell the truth about its decoded values, and what the chunk adds to the same
// question about its whole column. A claim must be true; that nothing is claimed (a clear flag, no bound, no estimate)
// is always right.
#pragma once

#include <cstdint>
#include <string>

#include "basalt/core/column.h"
#include "basalt/file/reader.h"
#include "file/statistics.h"

namespace basalt::format_v1 {

// How values follow each other, NULLs skipped.
struct OrderFacts {
  uint64_t values = 0;
  uint64_t nulls = 0;
  bool nan = false;
  bool rises = false;
  bool falls = false;
  bool repeats = false;
  bool jumps = false;  // by something else than one more
  // NULL where there is none or it is longer than a bound may be: an order over it is not to be claimed.
  Value first;
  Value last;

  void append(const OrderFacts& next);
};

// What a chunk tells of its column.
struct ChunkFacts {
  OrderFacts order;      // only counts if nobody claims an order
  bool bounded = false;  // some value is neither NULL nor NaN
  bool nan = false;
  bool min_met = false;  // a value equals the bound of the whole column
  bool max_met = false;
};

bool claims_order(const Statistics& stats);
// The rest are checks: they throw Error(kCorrupt) with what is wrong.
void check_order(const Statistics& claims, const OrderFacts& facts);
void check_distinct(const Statistics& claims, const DistinctSketch& sketch, uint64_t values);
// What is wrong with bounds whatever the values are.
void check_bound_form(const Statistics& claims, const DataType& type);
// `claims`: of the whole column. Distinct values are added to the sketch if the chunk or the column says how many there
// are.
ChunkFacts check_chunk(const Column& column, const ColumnChunkInfo& info, const Statistics& claims,
                       DistinctSketch& sketch);

}  // namespace basalt::format_v1
