// Sample statements whose kernels call functions of numbers, dates and bits.
#pragma once

#include "cuda/query/sample_parts.h"

namespace basalt::samples {

inline Expr part(const Expr& date, int64_t part) {
  return call(ExprOp::kDatePart, Physical::kI64, {date, integer(Physical::kI64, part)});
}
inline Expr rounded(ExprOp op, Expr value, int32_t power) {
  const Physical type = value.type;
  Expr expr = call(op, type, {std::move(value)});
  expr.power_of_ten = power;
  return expr;
}
inline Expr cast(ExprOp op, Physical type, Expr value, int32_t power = 0, int128_t limit = 0) {
  Expr expr = call(op, type, {std::move(value)});
  expr.power_of_ten = power;
  expr.limit = limit;
  return expr;
}

// One column of each kind for statements over functions of single values.
inline Sample function_columns(const std::string& name) {
  Sample sample;
  sample.name = name;
  const TimeUnit us = TimeUnit::kMicro;
  const int128_t far = int128_t{1} << 62;
  add_column(sample, "small", {TypeKind::kInt32, 0, 0, us}, {"packed"}, 4, -128, 1000, {11}, true);
  add_column(sample, "large", {TypeKind::kInt64, 0, 0, us}, {"packed"}, 4, -far, far, {40});
  add_column(sample, "price", {TypeKind::kDecimal, 15, 2, us}, {"packed"}, 4, 0, 10494950, {24});
  add_column(sample, "ratio", {TypeKind::kFloat64, 0, 0, us}, {"plain"}, 3, 0, 0, {});
  add_column(sample, "heat", {TypeKind::kFloat32, 0, 0, us}, {"plain"}, 3, 0, 0, {});
  add_column(sample, "day", {TypeKind::kDate, 0, 0, us}, {"packed"}, 4, 8036, 10561, {12});
  add_column(sample, "moment", {TypeKind::kTimestamp, 0, 0, us}, {"packed"}, 4, -far * 2 + 1, far * 2 - 1, {50}, true);
  add_column(sample, "count", {TypeKind::kUInt8, 0, 0, us}, {"packed"}, 4, 0, 255, {8});
  return sample;
}

// Choices, division, rounding and casts of numbers.
inline Sample number_functions() {
  Sample sample = function_columns("functions of numbers");
  sample.most_instructions = 16000;
  Pipeline& p = sample.pipeline;
  const Expr small = column(p, 0);
  const Expr large = column(p, 1);
  const Expr price = column(p, 2);
  const Expr ratio = column(p, 3);
  const Expr heat = column(p, 4);
  const Expr positive = test(ExprOp::kGreater, large, integer(Physical::kI64, 0));
  const Expr more = call(ExprOp::kAdd, Physical::kI64, {large, large});
  p.has_filter = true;
  p.filter = call(ExprOp::kOr, Physical::kU8,
                  {test(ExprOp::kDistinct, small, integer(Physical::kI32, 7)),
                   test(ExprOp::kNotDistinct, ratio, real(Physical::kF64, 0.5)),
                   test(ExprOp::kGreater, call(ExprOp::kCase, Physical::kI64, {positive, more, large}), large)});
  const auto sum = [&](Expr value) { p.aggregates.push_back(aggregate(AggregateOp::kSum, std::move(value))); };
  sum(call(ExprOp::kIntegerDivide, Physical::kI32, {small, integer(Physical::kI32, 3)}));
  sum(call(ExprOp::kModulo, Physical::kI64, {large, price}));
  sum(call(ExprOp::kDivide, Physical::kF64, {ratio, ratio}));
  sum(call(ExprOp::kModulo, Physical::kF32, {heat, heat}));
  sum(call(ExprOp::kAbs, Physical::kI64, {large}));
  sum(call(ExprOp::kSign, Physical::kI8, {heat}));
  sum(call(ExprOp::kNegate, Physical::kU8, {column(p, 7)}));
  sum(rounded(ExprOp::kRound, price, 2));
  sum(rounded(ExprOp::kCeil, price, 1));
  sum(rounded(ExprOp::kRound, ratio, 2));
  sum(rounded(ExprOp::kRound, heat, -1));
  sum(rounded(ExprOp::kFloor, ratio, 0));
  sum(call(ExprOp::kGreatest, Physical::kI64, {large, price}));
  sum(call(ExprOp::kLeast, Physical::kI32, {small, integer(Physical::kI32, 9)}));
  sum(call(ExprOp::kCoalesce, Physical::kI32, {small, integer(Physical::kI32, -1)}));
  sum(cast(ExprOp::kCast, Physical::kI8, small));
  sum(cast(ExprOp::kTryCast, Physical::kI16, large));
  sum(cast(ExprOp::kCast, Physical::kI32, ratio));
  sum(cast(ExprOp::kTryCast, Physical::kI128, heat));
  sum(cast(ExprOp::kCast, Physical::kI64, ratio, 2, 999999999999));
  sum(cast(ExprOp::kCast, Physical::kI32, price, -2));
  sum(cast(ExprOp::kCast, Physical::kF32, ratio));
  sum(cast(ExprOp::kCast, Physical::kF32, price, 2));
  return sample;
}

inline Sample date_functions() {
  Sample sample = function_columns("functions of dates");
  sample.most_instructions = 23000;
  Pipeline& p = sample.pipeline;
  const Expr day = column(p, 5);
  const Expr moment = column(p, 6);
  const auto number = [](int64_t value) { return integer(Physical::kI64, value); };
  const auto max = [&](Expr value) { p.aggregates.push_back(aggregate(AggregateOp::kMax, std::move(value))); };
  p.has_filter = true;
  p.filter = test(ExprOp::kEqual, part(day, 0), number(1995));
  for (const int64_t one : {1, 3, 7, 9, 12}) max(part(moment, one));
  max(part(moment, 14));
  max(call(ExprOp::kEpoch, Physical::kF64, {moment}));
  max(call(ExprOp::kDateTrunc, Physical::kI64, {day, number(1)}));
  max(call(ExprOp::kDateTrunc, Physical::kI64, {moment, number(13)}));
  max(call(ExprOp::kDateDiff, Physical::kI64, {moment, moment, number(6)}));
  max(call(ExprOp::kAddInterval, Physical::kI64, {day, number(1), number(-3), number(500)}));
  max(call(ExprOp::kAddDays, Physical::kI32, {day, number(30)}));
  Expr midnight = call(ExprOp::kDateToMoment, Physical::kI64, {day});
  midnight.factor = 86400000000;
  max(midnight);
  max(call(ExprOp::kMomentToDate, Physical::kI32, {moment}));
  Expr coarser = call(ExprOp::kRescaleMoment, Physical::kI64, {moment});
  coarser.power_of_ten = -3;
  max(coarser);
  return sample;
}

// Bits, roots, whole parts between dates and dates that are made.
inline Sample bit_functions() {
  Sample sample = function_columns("functions of bits and calendars");
  sample.most_instructions = 23000;
  Pipeline& p = sample.pipeline;
  const Expr small = column(p, 0);
  const Expr large = column(p, 1);
  const Expr day = column(p, 5);
  const Expr moment = column(p, 6);
  const auto number = [](int64_t value) { return integer(Physical::kI64, value); };
  const auto max = [&](Expr value) { p.aggregates.push_back(aggregate(AggregateOp::kMax, std::move(value))); };
  p.has_filter = true;
  p.filter = test(ExprOp::kLess, call(ExprOp::kBitAnd, Physical::kI32, {small, integer(Physical::kI32, 7)}),
                  integer(Physical::kI32, 5));
  max(call(ExprOp::kBitOr, Physical::kI64, {large, large}));
  max(call(ExprOp::kBitXor, Physical::kU8, {column(p, 7), integer(Physical::kU8, 255)}));
  max(call(ExprOp::kShiftLeft, Physical::kI32, {small, integer(Physical::kI32, 3)}));
  max(call(ExprOp::kShiftRight, Physical::kI64, {large, number(5)}));
  max(call(ExprOp::kSquareRoot, Physical::kF64, {column(p, 3)}));
  max(call(ExprOp::kDateSub, Physical::kI64, {moment, moment, number(1)}));
  max(call(ExprOp::kLastDay, Physical::kI32, {day}));
  max(call(ExprOp::kMakeDate, Physical::kI32, {large, number(2), number(3)}));
  max(call(ExprOp::kMomentToTime, Physical::kI64, {moment}));
  max(call(ExprOp::kAddInterval, Physical::kI64,
           {moment, number(0), number(1), number(0), cast(ExprOp::kCast, Physical::kI64, small)}));
  max(call(ExprOp::kAddTime, Physical::kI64, {day, call(ExprOp::kMomentToTime, Physical::kI64, {moment})}));
  return sample;
}

}  // namespace basalt::samples
