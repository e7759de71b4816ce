// Statements that stand for what users ask, over columns that need no file: for the check that every generated kernel
// compiles, and for tests of the generator's text.
#pragma once

#include "cuda/query/sample_functions.h"
#include "cuda/query/sample_joins.h"
#include "cuda/query/sample_parts.h"

namespace basalt::samples {

inline Sample q6() {
  Sample sample;
  sample.name = "TPC-H Q6";
  sample.most_instructions = 1900;
  const DataType money{TypeKind::kDecimal, 15, 2, TimeUnit::kMicro};
  add_column(sample, "l_shipdate", {TypeKind::kDate, 0, 0, TimeUnit::kMicro}, {"packed"}, 4, 8036, 10561, {12});
  add_column(sample, "l_discount", money, {"packed"}, 4, 0, 10, {4});
  add_column(sample, "l_quantity", money, {"dict(packed, packed)"}, 9, 100, 5000, {6});
  add_column(sample, "l_extendedprice", money, {"packed"}, 4, 90000, 10494950, {24});
  Pipeline& p = sample.pipeline;
  p.has_filter = true;
  p.filter = call(ExprOp::kAnd, Physical::kU8,
                  {test(ExprOp::kGreaterEqual, column(p, 0), integer(Physical::kI32, 8766)),
                   test(ExprOp::kLess, column(p, 0), integer(Physical::kI32, 9131)),
                   test(ExprOp::kGreaterEqual, column(p, 1), integer(Physical::kI64, 5)),
                   test(ExprOp::kLessEqual, column(p, 1), integer(Physical::kI64, 7)),
                   test(ExprOp::kLess, column(p, 2), integer(Physical::kI64, 2400))});
  Expr price = call(ExprOp::kCast, Physical::kI128, {column(p, 3)});
  Expr discount = call(ExprOp::kCast, Physical::kI128, {column(p, 1)});
  Expr product = call(ExprOp::kMultiply, Physical::kI128, {price, discount});
  p.aggregates.push_back(aggregate(AggregateOp::kSum, product));
  return sample;
}

inline Sample count_below() {
  Sample sample;
  sample.name = "count(*) where c < x";
  sample.most_instructions = 750;
  add_column(sample, "c", {TypeKind::kInt32, 0, 0, TimeUnit::kMicro}, {"packed"}, 4, 0, 60000, {16});
  sample.pipeline.has_filter = true;
  sample.pipeline.filter = test(ExprOp::kLess, column(sample.pipeline, 0), integer(Physical::kI32, 1000));
  sample.pipeline.aggregates.push_back({});
  return sample;
}

// Eight columns of different encodings, with NULLs, OR, IN, IS NULL, arithmetic that may overflow, all aggregates.
inline Sample eight_columns() {
  Sample sample;
  sample.name = "eight columns";
  sample.most_instructions = 5600;
  const TimeUnit us = TimeUnit::kMicro;
  add_column(sample, "a", {TypeKind::kInt64, 0, 0, us}, {"packed"}, 4, 0, 1 << 20, {18, 19, 20});
  add_column(sample, "b", {TypeKind::kInt32, 0, 0, us}, {"delta(packed)", "packed"}, 6, 0, 60'000'000, {3, 4}, true);
  add_column(sample, "c", {TypeKind::kInt64, 0, 0, us}, {"rle(packed, packed)"}, 10, -5, 1'000'000, {9, 10});
  add_column(sample, "d", {TypeKind::kFloat64, 0, 0, us}, {"plain"}, 2, 0, 0, {}, true);
  add_column(sample, "e", {TypeKind::kDecimal, 38, 2, us}, {"packed"}, 4, 0, int128_t{1} << 100, {33});
  add_column(sample, "f", {TypeKind::kInt16, 0, 0, us}, {"constant", "packed"}, 4, -100, 100, {7});
  add_column(sample, "g", {TypeKind::kUInt64, 0, 0, us}, {"dict(packed, plain)"}, 7, 0, (int128_t{1} << 64) - 1, {11});
  add_column(sample, "h", {TypeKind::kFloat32, 0, 0, us}, {"dict(packed, plain)"}, 7, 0, 0, {8});
  Pipeline& p = sample.pipeline;
  p.has_filter = true;
  Expr null_test = call(ExprOp::kIsNotNull, Physical::kU8, {column(p, 3)});
  Expr list = call(ExprOp::kIn, Physical::kU8,
                   {column(p, 5), integer(Physical::kI16, 3), integer(Physical::kI16, 7), integer(Physical::kI16, 9)});
  Expr either = call(ExprOp::kOr, Physical::kU8,
                     {list, test(ExprOp::kGreater, column(p, 3), real(Physical::kF64, 0.5)), null_test});
  p.filter = call(ExprOp::kAnd, Physical::kU8,
                  {test(ExprOp::kGreater, column(p, 0), integer(Physical::kI64, 100)),
                   test(ExprOp::kNotEqual, column(p, 1), integer(Physical::kI32, 7)), either});
  Expr product = call(ExprOp::kMultiply, Physical::kI64, {column(p, 0), column(p, 2)});
  Expr wide = call(ExprOp::kMultiply, Physical::kI128, {column(p, 4), column(p, 4)});
  Expr ratio = call(ExprOp::kCast, Physical::kF64, {column(p, 2)});
  ratio.power_of_ten = 2;
  p.aggregates.push_back({});
  p.aggregates.push_back(aggregate(AggregateOp::kSum, product));
  p.aggregates.push_back(aggregate(AggregateOp::kMin, column(p, 1)));
  p.aggregates.push_back(aggregate(AggregateOp::kAvg, call(ExprOp::kMultiply, Physical::kF64, {column(p, 3), ratio})));
  p.aggregates.push_back(aggregate(AggregateOp::kSum, wide));
  p.aggregates.push_back(aggregate(AggregateOp::kMax, column(p, 6)));
  p.aggregates.push_back(aggregate(AggregateOp::kCount, column(p, 1)));
  p.aggregates.push_back(aggregate(AggregateOp::kSum, column(p, 7)));
  p.aggregates.push_back(aggregate(AggregateOp::kMin, call(ExprOp::kNegate, Physical::kI16, {column(p, 5)})));
  return sample;
}

// Eight packed columns summed: the statement whose cold compilation has a bar.
inline Sample eight_sums() {
  Sample sample;
  sample.name = "eight sums";
  sample.most_instructions = 4700;
  for (uint32_t i = 0; i < 8; ++i) {
    add_column(sample, "column_" + std::to_string(i), {TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, {"packed"}, 4, 0,
               (int128_t{1} << (10 + 3 * i)) - 1, {8 + 3 * i, 9 + 3 * i, 10 + 3 * i});
    sample.pipeline.aggregates.push_back(aggregate(AggregateOp::kSum, column(sample.pipeline, i)));
  }
  return sample;
}

// Eight columns that are all nested, a filter on two of them.
inline Sample eight_nested() {
  Sample sample;
  sample.name = "eight nested columns";
  sample.most_instructions = 6400;
  const std::string runs = "rle(packed, packed)";
  const std::string delta_runs = "rle(packed, delta(packed))";
  const std::string dict_runs = "dict(rle(packed, packed), packed)";
  const std::string run_dict = "rle(dict(packed, packed), packed)";
  const std::string delta = "delta(packed)";
  const std::string delta_rle = "delta(rle(packed, packed))";
  const std::string dict = "dict(packed, packed)";
  uint32_t next = 0;
  for (const std::string& tree : {runs, delta_runs, dict_runs, run_dict, delta, delta_rle, dict, runs}) {
    add_column(sample, "n" + std::to_string(next), {TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, {tree}, 20, 0, 1'000'000,
               {5, 10, 20}, next % 4 == 0);
    sample.pipeline.aggregates.push_back(aggregate(AggregateOp::kSum, column(sample.pipeline, next)));
    ++next;
  }
  Pipeline& p = sample.pipeline;
  p.has_filter = true;
  p.filter = call(ExprOp::kAnd, Physical::kU8,
                  {test(ExprOp::kGreater, column(p, 0), integer(Physical::kI64, 100)),
                   test(ExprOp::kLess, column(p, 6), integer(Physical::kI64, 5000))});
  return sample;
}

// Learned columns: one filtered and summed, one filtered only, of another width.
inline Sample learned_ranges() {
  Sample sample;
  sample.name = "learned ranges";
  sample.most_instructions = 5700;
  const TimeUnit us = TimeUnit::kMicro;
  add_column(sample, "at", {TypeKind::kInt64, 0, 0, us}, {"l3"}, 5, 0, int128_t{1} << 40, {});
  add_column(sample, "id", {TypeKind::kInt32, 0, 0, us}, {"l3"}, 5, 0, 1 << 30, {});
  Pipeline& p = sample.pipeline;
  p.has_filter = true;
  p.filter = call(ExprOp::kAnd, Physical::kU8,
                  {test(ExprOp::kGreaterEqual, column(p, 0), integer(Physical::kI64, 1000)),
                   test(ExprOp::kLess, column(p, 0), integer(Physical::kI64, 900'000)),
                   test(ExprOp::kNotEqual, column(p, 1), integer(Physical::kI32, 77))});
  p.aggregates.push_back({});
  p.aggregates.push_back(aggregate(AggregateOp::kSum, column(p, 0)));
  return sample;
}

// One column, filtered and summed.
inline Sample sum_between(const std::string& tree, TypeKind type, const std::vector<uint32_t>& widths,
                          size_t most_instructions = 0) {
  Sample sample;
  sample.name = "sum(v) where v is between, " + tree;
  sample.most_instructions = most_instructions;
  add_column(sample, "v", {type, 0, 0, TimeUnit::kMicro}, {tree}, 9, 0, 1 << 30, widths);
  Pipeline& p = sample.pipeline;
  p.has_filter = true;
  const Physical physical = physical_of(p.columns[0].type);
  const auto literal = [&](int32_t value) {
    return is_float(physical) ? real(physical, value) : integer(physical, value);
  };
  p.filter = call(
      ExprOp::kAnd, Physical::kU8,
      {test(ExprOp::kGreaterEqual, column(p, 0), literal(1000)), test(ExprOp::kLess, column(p, 0), literal(30'000))});
  p.aggregates.push_back({});
  p.aggregates.push_back(aggregate(AggregateOp::kSum, column(p, 0)));
  return sample;
}

// One column of decimals under a filter.
inline Sample count_decimals(TypeKind type, const std::vector<uint32_t>& widths, bool nullable = false) {
  Sample sample;
  sample.name = std::string("count(*) where v is below, galp(packed) of ") + (type == TypeKind::kFloat64 ? "8" : "4") +
                " bytes" + (nullable ? " with NULLs" : "");
  sample.most_instructions = 3700;
  add_column(sample, "v", {type, 0, 0, TimeUnit::kMicro}, {"galp(packed)"}, 9, 0, 0, widths, nullable);
  Pipeline& p = sample.pipeline;
  p.has_filter = true;
  p.filter = test(ExprOp::kLess, column(p, 0), real(physical_of(p.columns[0].type), 19.25));
  p.aggregates.push_back({});
  return sample;
}

// Floats stored as decimals, and not everywhere: two columns under a filter, all aggregates of one.
inline Sample decimals() {
  Sample sample;
  sample.name = "floats as decimals";
  sample.most_instructions = 5600;
  const TimeUnit us = TimeUnit::kMicro;
  add_column(sample, "price", {TypeKind::kFloat64, 0, 0, us}, {"galp(packed)"}, 9, 0, 0, {14, 15});
  add_column(sample, "heat", {TypeKind::kFloat32, 0, 0, us}, {"galp(packed)", "plain"}, 9, 0, 0, {9, 10});
  Pipeline& p = sample.pipeline;
  p.has_filter = true;
  p.filter = call(ExprOp::kAnd, Physical::kU8,
                  {test(ExprOp::kGreaterEqual, column(p, 0), real(Physical::kF64, 9.5)),
                   test(ExprOp::kLess, column(p, 0), real(Physical::kF64, 19.25)),
                   test(ExprOp::kGreater, column(p, 1), real(Physical::kF32, 21.5))});
  p.aggregates.push_back({});
  p.aggregates.push_back(aggregate(AggregateOp::kSum, column(p, 0)));
  p.aggregates.push_back(aggregate(AggregateOp::kMin, column(p, 0)));
  p.aggregates.push_back(aggregate(AggregateOp::kMax, column(p, 0)));
  p.aggregates.push_back(aggregate(AggregateOp::kAvg, column(p, 1)));
  return sample;
}

// TPC-H Q13's filter beside a date: rows that the date leaves are tested.
inline Sample comments() {
  Sample sample;
  sample.name = "comments";
  sample.most_instructions = 2000;
  const TimeUnit us = TimeUnit::kMicro;
  add_column(sample, "o_orderdate", {TypeKind::kDate, 0, 0, us}, {"packed"}, 4, 8036, 10561, {12});
  add_column(sample, "o_comment", {TypeKind::kUtf8, 0, 0, us}, {"strings(packed, fsst(packed))"}, 16, 0, 0, {6});
  Pipeline& p = sample.pipeline;
  p.has_filter = true;
  Expr like = test(ExprOp::kLike, column(p, 1), text("%special%requests%"));
  p.filter = call(
      ExprOp::kAnd, Physical::kU8,
      {test(ExprOp::kLess, column(p, 0), integer(Physical::kI32, 9131)), call(ExprOp::kNot, Physical::kU8, {like})});
  p.aggregates.push_back({});
  return sample;
}

// Strings of every encoding that is tested on the device, with NULLs, alone and within a condition.
inline Sample tests_of_strings() {
  Sample sample;
  sample.name = "tests of strings";
  sample.most_instructions = 5600;
  const DataType varchar{TypeKind::kUtf8, 0, 0, TimeUnit::kMicro};
  add_column(sample, "a", varchar, {"strings(packed, plain)", "strings(packed, fsst(packed))"}, 16, 0, 0, {6}, true);
  add_column(sample, "b", varchar, {"dict(packed, strings(packed, plain))", "strings(constant, constant)"}, 16, 0, 0,
             {3}, true);
  add_column(sample, "c", varchar, {"strings(packed, tokens(packed, packed, strings(packed, plain)))"}, 24, 0, 0, {9});
  add_column(sample, "d", {TypeKind::kInt32, 0, 0, TimeUnit::kMicro}, {"packed"}, 4, 0, 60000, {16});
  Pipeline& p = sample.pipeline;
  p.has_filter = true;
  Expr either = call(ExprOp::kOr, Physical::kU8,
                     {test(ExprOp::kLess, column(p, 0), text("middle")),
                      call(ExprOp::kIn, Physical::kU8, {column(p, 1), text("RAIL"), text("AIR")}),
                      test(ExprOp::kGreater, column(p, 3), integer(Physical::kI32, 500)),
                      call(ExprOp::kIsNull, Physical::kU8, {column(p, 1)})});
  p.filter = call(
      ExprOp::kAnd, Physical::kU8,
      {test(ExprOp::kEqual, column(p, 1), text("TRUCK")), test(ExprOp::kLike, column(p, 2), text("%green%")), either});
  p.aggregates.push_back({});
  p.aggregates.push_back(aggregate(AggregateOp::kSum, column(p, 3)));
  p.aggregates.push_back(aggregate(AggregateOp::kCount, column(p, 0)));
  return sample;
}

// A column of strings in a dictionary of so many entries, read as codes.
inline void add_codes(Sample& sample, const std::string& name, uint32_t entries, uint32_t width,
                      bool nullable = false) {
  add_column(sample, name, {TypeKind::kUInt32, 0, 0, TimeUnit::kMicro}, {"packed"}, 9, 0, entries - 1, {width},
             nullable);
  const NodeView node = shape_of(bind_tree(parse_tree("dict(packed, strings)"), Physical::kBytes), Physical::kBytes);
  sample.columns.back().values = {node.codec->device_codes(node)};
  sample.columns.back().as_codes = true;
  sample.columns.back().entries = entries;
  sample.pipeline.columns.back().as_codes = true;
}

inline Sample q1() {
  Sample sample;
  sample.name = "TPC-H Q1";
  sample.most_instructions = 3000;
  const DataType money{TypeKind::kDecimal, 15, 2, TimeUnit::kMicro};
  add_codes(sample, "l_returnflag", 3, 2);
  add_codes(sample, "l_linestatus", 2, 1);
  add_column(sample, "l_quantity", money, {"dict(packed, packed)"}, 9, 100, 5000, {6});
  add_column(sample, "l_extendedprice", money, {"packed"}, 4, 90000, 10494950, {24});
  add_column(sample, "l_discount", money, {"packed"}, 4, 0, 10, {4});
  add_column(sample, "l_tax", money, {"packed"}, 4, 0, 8, {4});
  add_column(sample, "l_shipdate", {TypeKind::kDate, 0, 0, TimeUnit::kMicro}, {"packed"}, 4, 8036, 10561, {12});
  Pipeline& p = sample.pipeline;
  p.sink = Sink::kGroups;
  p.has_filter = true;
  p.filter = test(ExprOp::kLessEqual, column(p, 6), integer(Physical::kI32, 10471));
  p.keys = {column(p, 0), column(p, 1)};
  const auto wide = [&](Expr expr) { return call(ExprOp::kCast, Physical::kI128, {std::move(expr)}); };
  Expr price = call(ExprOp::kMultiply, Physical::kI128,
                    {wide(column(p, 3)),
                     wide(call(ExprOp::kSubtract, Physical::kI64, {integer(Physical::kI64, 100), column(p, 4)}))});
  Expr charge = call(ExprOp::kMultiply, Physical::kI128,
                     {price, wide(call(ExprOp::kAdd, Physical::kI64, {integer(Physical::kI64, 100), column(p, 5)}))});
  p.aggregates = {aggregate(AggregateOp::kSum, column(p, 2)), aggregate(AggregateOp::kSum, column(p, 3)),
                  aggregate(AggregateOp::kSum, price),        aggregate(AggregateOp::kSum, charge),
                  aggregate(AggregateOp::kAvg, column(p, 2)), aggregate(AggregateOp::kAvg, column(p, 3)),
                  aggregate(AggregateOp::kAvg, column(p, 4)), {}};
  return sample;
}

// Keys of several kinds with NULLs, every aggregate that groups have: `many` decides the rung.
inline Sample groups_by(const std::string& name, int128_t many, size_t most_instructions) {
  Sample sample;
  sample.name = name;
  sample.most_instructions = most_instructions;
  add_codes(sample, "colour", 5, 3, true);
  add_column(sample, "id", {TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, {"packed"}, 4, -5, many, {20}, true);
  add_column(sample, "price", {TypeKind::kFloat64, 0, 0, TimeUnit::kMicro}, {"galp(packed)"}, 9, 0, 0, {16}, true);
  add_column(sample, "amount", {TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, {"l3", "packed"}, 12, INT64_MIN / 2,
             INT64_MAX / 2, {40});
  sample.columns[2].stats.min = Value::of_real(Physical::kF64, -100);
  sample.columns[2].stats.max = Value::of_real(Physical::kF64, 1e6);
  Pipeline& p = sample.pipeline;
  p.sink = Sink::kGroups;
  p.keys = {column(p, 0), column(p, 1)};
  Aggregate some = aggregate(AggregateOp::kSum, column(p, 3));
  some.filter = test(ExprOp::kGreater, column(p, 1), integer(Physical::kI64, 7));
  p.aggregates = {{},
                  some,
                  aggregate(AggregateOp::kAvg, column(p, 2)),
                  aggregate(AggregateOp::kMin, column(p, 2)),
                  aggregate(AggregateOp::kMax, column(p, 3)),
                  aggregate(AggregateOp::kCount, column(p, 1))};
  return sample;
}

// A sorted key: the rows of a group are neighbours.
inline Sample sorted_groups() {
  Sample sample;
  sample.name = "groups of a sorted key";
  sample.most_instructions = 3000;
  add_column(sample, "id", {TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, {"packed"}, 4, 0, kSampleRows / 4, {8});
  add_column(sample, "amount", {TypeKind::kInt32, 0, 0, TimeUnit::kMicro}, {"packed"}, 4, 0, 65535, {16});
  sample.columns[0].runs = kSampleRows / 4;
  Pipeline& p = sample.pipeline;
  p.sink = Sink::kGroups;
  p.keys = {column(p, 0)};
  p.aggregates = {aggregate(AggregateOp::kSum, column(p, 1))};
  return sample;
}

// Every kind of word that a state can have, of rows that a filter leaves.
inline Sample sorted_groups_of_all() {
  Sample sample = groups_by("every aggregate of a sorted key", int128_t{1} << 40, 8000);
  sample.columns[1].runs = kSampleRows;
  Pipeline& p = sample.pipeline;
  p.keys = {column(p, 1)};
  p.has_filter = true;
  p.filter = test(ExprOp::kGreater, column(p, 3), integer(Physical::kI64, -7));
  p.aggregates.push_back(aggregate(AggregateOp::kFirst, column(p, 3)));
  p.aggregates.push_back(aggregate(AggregateOp::kVarSamp, column(p, 2)));
  return sample;
}

// Keys that take several words, aggregates that keep records, a sum of floats without bounds.
inline Sample wide_groups() {
  Sample sample;
  sample.name = "groups by wide keys";
  sample.most_instructions = 6000;
  const TimeUnit us = TimeUnit::kMicro;
  add_column(sample, "id", {TypeKind::kInt64, 0, 0, us}, {"packed"}, 4, INT64_MIN, INT64_MAX, {40}, true);
  add_column(sample, "ratio", {TypeKind::kFloat64, 0, 0, us}, {"plain"}, 3, 0, 0, {}, true);
  add_column(sample, "balance", {TypeKind::kDecimal, 38, 2, us}, {"plain"}, 3, 0, 0, {}, true);
  sample.columns[2].stats.min = Value::of_null(Physical::kI128);
  sample.columns[2].stats.max = Value::of_null(Physical::kI128);
  Pipeline& p = sample.pipeline;
  p.sink = Sink::kGroups;
  p.keys = {column(p, 0), column(p, 1), column(p, 2)};
  p.aggregates = {{},
                  aggregate(AggregateOp::kMin, column(p, 2)),
                  aggregate(AggregateOp::kMax, column(p, 2)),
                  aggregate(AggregateOp::kFirst, column(p, 2)),
                  aggregate(AggregateOp::kLast, column(p, 1)),
                  aggregate(AggregateOp::kSum, column(p, 1))};
  return sample;
}

// States of groups beside readers that leave little shared memory to them.
inline Sample groups_beside_runs() {
  Sample sample;
  sample.name = "groups beside runs";
  sample.most_instructions = 2800;
  const DataType number{TypeKind::kInt64, 0, 0, TimeUnit::kMicro};
  add_column(sample, "kind", number, {"packed"}, 4, 0, 499, {9});
  for (const char* name : {"a", "b", "c", "d"}) {
    add_column(sample, name, number, {"rle(packed, packed)"}, 12, 0, 1000, {10});
  }
  Pipeline& p = sample.pipeline;
  p.sink = Sink::kGroups;
  p.keys = {column(p, 0)};
  for (uint32_t i = 1; i < p.columns.size(); ++i) p.aggregates.push_back(aggregate(AggregateOp::kSum, column(p, i)));
  return sample;
}

// DISTINCT arguments of one word and of more beside the group's number, variances; `many` as above.
inline Sample distinct_by(const std::string& name, int128_t many, size_t most_instructions) {
  Sample sample = groups_by(name, many, most_instructions);
  Pipeline& p = sample.pipeline;
  p.keys = {column(p, 1)};
  const auto distinct = [&](AggregateOp op, uint32_t index) {
    Aggregate out = aggregate(op, column(p, index));
    out.distinct = true;
    return out;
  };
  Aggregate some = distinct(AggregateOp::kCount, 0);
  some.filter = test(ExprOp::kGreater, column(p, 1), integer(Physical::kI64, 7));
  p.aggregates = {distinct(AggregateOp::kCount, 0),
                  some,
                  distinct(AggregateOp::kSum, 2),
                  distinct(AggregateOp::kAvg, 2),
                  distinct(AggregateOp::kCount, 3),
                  aggregate(AggregateOp::kVarSamp, column(p, 2)),
                  aggregate(AggregateOp::kStddevPop, column(p, 2))};
  return sample;
}

inline Field make_field(const std::string& name, DataType type) {
  Field field;
  field.name = name;
  field.type = type;
  return field;
}

// Rows that leave: columns with NULLs, an expression that may overflow, 128 bits, a predicate.
inline Sample rows() {
  Sample sample;
  sample.name = "rows";
  sample.most_instructions = 4000;
  const TimeUnit us = TimeUnit::kMicro;
  add_column(sample, "day", {TypeKind::kDate, 0, 0, us}, {"packed"}, 4, 8036, 10561, {12});
  add_column(sample, "price", {TypeKind::kInt64, 0, 0, us}, {"packed"}, 4, 0, INT64_MAX, {33}, true);
  add_column(sample, "weight", {TypeKind::kFloat64, 0, 0, us}, {"plain"}, 2, 0, 0, {});
  add_column(sample, "total", {TypeKind::kDecimal, 38, 2, us}, {"packed"}, 4, 0, int128_t{1} << 100, {33});
  Pipeline& p = sample.pipeline;
  p.sink = Sink::kRows;
  p.has_filter = true;
  p.filter = test(ExprOp::kLess, column(p, 0), integer(Physical::kI32, 9131));
  p.rows = {column(p, 0), call(ExprOp::kAdd, Physical::kI64, {column(p, 1), integer(Physical::kI64, 1)}), column(p, 2),
            column(p, 3), test(ExprOp::kLess, column(p, 1), integer(Physical::kI64, 500))};
  for (const PipelineColumn& own : p.columns) p.output.push_back(make_field(own.name, own.type));
  p.output.push_back(make_field("cheap", {TypeKind::kBool, 0, 0, us}));
  return sample;
}

// The first rows of an order by several keys, of which only the numbers are kept.
inline Sample first_rows() {
  Sample sample;
  sample.name = "first rows";
  sample.most_instructions = 4000;
  const TimeUnit us = TimeUnit::kMicro;
  add_column(sample, "at", {TypeKind::kTimestamp, 0, 0, us}, {"packed"}, 4, 1'000'000'000, 1'100'000'000, {27});
  add_column(sample, "heat", {TypeKind::kFloat32, 0, 0, us}, {"plain"}, 2, 0, 0, {}, true);
  add_column(sample, "total", {TypeKind::kDecimal, 38, 2, us}, {"packed"}, 4, 0, int128_t{1} << 100, {33});
  Pipeline& p = sample.pipeline;
  p.sink = Sink::kRows;
  p.rows = {column(p, 0), column(p, 1), column(p, 2)};
  p.order = {{0, true, false}, {1, false, true}, {2, true, false}};
  p.limit = 10;
  return sample;
}

// Strings by their numbers: a choice among two columns and a literal as a key, an extreme, a length.
inline Sample numbers_of_strings() {
  Sample sample;
  sample.name = "numbers of strings";
  sample.most_instructions = 1200;
  const int128_t most = (int128_t{1} << 25) - 1;
  add_column(sample, "engine", {TypeKind::kInt16, 0, 0, TimeUnit::kMicro}, {"packed"}, 4, 0, 90, {7});
  add_column(sample, "referer", {TypeKind::kUInt32}, {"plain"}, 2, 0, most, {}, true);
  add_column(sample, "url", {TypeKind::kUInt32}, {"plain"}, 2, 0, most, {});
  add_column(sample, "url_length", {TypeKind::kInt64}, {"plain"}, 2, 0, INT32_MAX, {});
  for (device::ColumnShapes& shapes : sample.columns) {
    if (!shapes.validity.empty()) shapes.validity = {reader_of("plain", Physical::kU8)};
  }
  Pipeline& p = sample.pipeline;
  p.sink = Sink::kGroups;
  const Expr none = test(ExprOp::kEqual, column(p, 0), integer(Physical::kI16, 0));
  p.keys = {call(ExprOp::kCase, Physical::kU32, {none, column(p, 1), integer(Physical::kU32, 0)}), column(p, 2)};
  p.aggregates = {aggregate(AggregateOp::kMin, column(p, 1)), aggregate(AggregateOp::kAvg, column(p, 3)),
                  aggregate(AggregateOp::kCountStar, {})};
  return sample;
}

inline std::vector<Sample> all() {
  return {q6(),
          q1(),
          groups_by("groups in blocks", 20, 6000),
          groups_by("groups in an array", 5000, 6000),
          groups_by("groups in a hash table", int128_t{1} << 40, 6000),
          wide_groups(),
          sorted_groups(),
          sorted_groups_of_all(),
          groups_beside_runs(),
          distinct_by("distinct values of few groups", 5, 8000),
          distinct_by("distinct values of many groups", int128_t{1} << 40, 8000),
          rows(),
          first_rows(),
          count_below(),
          learned_ranges(),
          sum_between("l3", TypeKind::kInt64, {}, 5400),
          sum_between("packed", TypeKind::kInt32, {16, 20, 24}, 1500),
          sum_between("galp(packed)", TypeKind::kFloat64, {14, 15}, 3800),
          eight_sums(),
          eight_columns(),
          eight_nested(),
          count_decimals(TypeKind::kFloat64, {14, 15, 16}),
          count_decimals(TypeKind::kFloat32, {8}),
          count_decimals(TypeKind::kFloat64, {16}, true),
          decimals(),
          comments(),
          tests_of_strings(),
          number_functions(),
          date_functions(),
          bit_functions(),
          numbers_of_strings(),
          looked_up_joins()};
}

}  // namespace basalt::samples
