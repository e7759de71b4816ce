// Sample statements whose joins are looked up where rows are read.
#pragma once

#include "cuda/query/sample_parts.h"
#include "exec/set_places.h"

namespace basalt::samples {

// Three joins, of which two give a key: columns of runs are asked by the filter and read by the groups.
inline Sample looked_up_joins() {
  Sample sample;
  sample.name = "looked-up joins";
  sample.most_instructions = 5000;
  const DataType number{TypeKind::kInt32, 0, 0, TimeUnit::kMicro};
  add_column(sample, "customer", number, {"rle(packed, delta(packed))"}, 12, 1, 60000, {16});
  add_column(sample, "supplier", number, {"packed"}, 4, 1, 4000, {12});
  add_column(sample, "day", number, {"rle(dict(packed, plain), delta(packed))"}, 15, 19920101, 19980802, {12});
  add_column(sample, "amount", number, {"packed"}, 4, 0, 9'000'000, {24});
  Pipeline& p = sample.pipeline;
  const exec::SetPlace anywhere{0, exec::SetPlace::kAnywhere, 0};
  p.sink = Sink::kGroups;
  p.has_filter = true;
  p.filter =
      test(ExprOp::kAnd, exec::member_of(column(p, 1), 0, anywhere),
           test(ExprOp::kAnd, exec::member_of(column(p, 2), 1, anywhere), exec::member_of(column(p, 0), 2, anywhere)));
  p.keys = {exec::looked_up(column(p, 0), 3, anywhere, Physical::kU32, 0, 7),
            exec::looked_up(column(p, 2), 4, anywhere, Physical::kI16, 1992, 1998)};
  p.aggregates = {aggregate(AggregateOp::kSum, column(p, 3))};
  return sample;
}

}  // namespace basalt::samples
