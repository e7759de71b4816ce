// Interval arithmetic over statistics, and decide() on top of it.
#include "exec/bounds.h"

#include <algorithm>

#include "basalt/core/error.h"
#include "exec/bounds_parts.h"
#include "exec/expr_kind.h"
#include "exec/scalar.h"
#include "exec/set_places.h"
#include "exec/string_tests.h"

namespace basalt::exec {

Bounds unbounded(Physical type) {
  Bounds out;
  out.low = out.high = Value::of_null(type);
  if (is_integer(type)) {
    const IntegerRange range = range_of(type);
    out.low = Value::of_integer(type, range.low);
    out.high = Value::of_integer(type, range.high);
  }
  return out;
}

namespace {

constexpr int128_t kInt128Max = static_cast<int128_t>((~uint128_t{0}) >> 1);
constexpr int128_t kInt128Min = -kInt128Max - 1;

// Anything of this type, and NULL, without a copy.
const Bounds& anything(Physical type) {
  static const std::vector<Bounds> all = [] {
    std::vector<Bounds> out;
    for (auto i = 0; i <= static_cast<int>(Physical::kBytes); ++i) out.push_back(unbounded(static_cast<Physical>(i)));
    return out;
  }();
  return all[static_cast<size_t>(type)];
}

Ends column_ends(const Expr& expr, const StatisticsList& stats) {
  Ends out = ends_of(anything(expr.type));
  const Statistics* s = expr.column < stats.size() ? stats[expr.column] : nullptr;
  if (s == nullptr) return out;
  out.may_null = s->null_count > 0;
  out.may_value = s->null_count < s->rows;
  if (!s->min.null && s->min.type == expr.type) out.low = &s->min;
  if (is_float(expr.type) && s->has_nan) {
    out.high = nullptr;  // NaN lies above max
  } else if (!s->max.null && s->max.type == expr.type) {
    out.high = &s->max;
  }
  return out;
}

Ends literal_ends(const Expr& expr) {
  const Value* end = expr.literal.null ? nullptr : &expr.literal;
  return {false, expr.literal.null, !expr.literal.null, end, end};
}

Bounds copied(const Ends& ends, Physical type) {
  const Value null = Value::of_null(type);
  return {ends.may_throw, ends.may_null, ends.may_value, ends.low != nullptr ? *ends.low : null,
          ends.high != nullptr ? *ends.high : null};
}

Bounds literal_bounds(const Expr& expr) {
  Bounds out = copied(literal_ends(expr), expr.type);
  // NULL needs no room.
  if (expr.literal.null && is_integer(expr.type)) out.low = out.high = Value::of_integer(expr.type, 0);
  return out;
}

Bounds truth_as_bounds(const Truth& truth) {
  Bounds out;
  out.may_throw = truth.may_throw;
  out.may_null = truth.may_null;
  out.may_value = truth.may_true || truth.may_false;
  out.low = Value::of_integer(Physical::kU8, truth.may_false ? 0 : 1);
  out.high = Value::of_integer(Physical::kU8, truth.may_true ? 1 : 0);
  if (!out.may_value) out.low.integer = 0;
  return out;
}

}  // namespace

Bounds unbounded_over(const Expr& expr, std::span<const Bounds> args) {
  Bounds out = unbounded(expr.type);
  out.may_null = false;
  for (const Bounds& arg : args) {
    out.may_throw |= arg.may_throw;
    out.may_null |= arg.may_null;
    out.may_value &= arg.may_value;
  }
  return out;
}

Bounds unbounded_over(const Expr& expr, const StatisticsList& stats) {
  std::vector<Bounds> args;
  for (const Expr& arg : expr.args) args.push_back(bounds_of(arg, stats));
  return unbounded_over(expr, args);
}

void set_range(Bounds& out, const Expr& expr, int128_t low, int128_t high) {
  const IntegerRange type = range_of(expr.type);
  out.low = Value::of_integer(expr.type, std::clamp(low, type.low, type.high));
  out.high = Value::of_integer(expr.type, std::clamp(high, type.low, type.high));
}

void set_limited(Bounds& out, const Expr& expr, const Corners& corners) {
  const IntegerRange allowed = allowed_range(expr);
  const bool inside = corners.known && corners.low >= allowed.low && corners.high <= allowed.high;
  if (!inside && out.may_value) out.may_throw = true;
  int128_t low = corners.known ? corners.low : allowed.low;
  int128_t high = corners.known ? corners.high : allowed.high;
  if (low < allowed.low || low > allowed.high) low = allowed.low;
  if (high > allowed.high || high < allowed.low) high = allowed.high;
  out.low = Value::of_integer(expr.type, low);
  out.high = Value::of_integer(expr.type, high);
}

namespace {

Bounds arithmetic_bounds(const Expr& expr, const StatisticsList& stats) {
  Bounds out = unbounded(expr.type);
  out.may_null = false;
  std::vector<Bounds> args;
  for (const Expr& arg : expr.args) {
    args.push_back(bounds_of(arg, stats));
    out.may_throw |= args.back().may_throw;
    out.may_null |= args.back().may_null;
    out.may_value &= args.back().may_value;
  }
  if (!is_integer(expr.type)) return out;
  Corners corners;
  int128_t value = 0;
  if (expr.op == ExprOp::kNegate) {
    for (const Value* v : {&args[0].low, &args[0].high}) {
      const bool overflow = __builtin_sub_overflow(int128_t{0}, v->integer, &value);
      corners.take(overflow, value);
    }
  } else {
    for (const Value* a : {&args[0].low, &args[0].high}) {
      for (const Value* b : {&args[1].low, &args[1].high}) {
        const bool overflow = expr.op == ExprOp::kAdd        ? __builtin_add_overflow(a->integer, b->integer, &value)
                              : expr.op == ExprOp::kSubtract ? __builtin_sub_overflow(a->integer, b->integer, &value)
                                                             : __builtin_mul_overflow(a->integer, b->integer, &value);
        corners.take(overflow, value);
      }
    }
  }
  set_limited(out, expr, corners);
  return out;
}

// Only what is known whatever the texts are.
Bounds text_function_bounds(const Expr& expr, const StatisticsList& stats) {
  Bounds out = unbounded_over(expr, stats);
  if (is_integer(expr.type)) {
    out.low = Value::of_integer(expr.type, 0);
    out.high = Value::of_integer(expr.type, INT32_MAX);  // no string is longer
  }
  if (expr.op == ExprOp::kChr && out.may_value) out.may_throw = true;
  return out;
}

Bounds look_up_bounds(const Expr& expr, const StatisticsList& stats) {
  const Bounds number = bounds_of(expr.args[0], stats);
  Bounds out = unbounded_over(expr, {&number, 1});
  set_range(out, expr, least_looked_up(expr), most_looked_up(expr));
  return out;
}

bool is_point(const Ends& a) { return a.low != nullptr && a.high != nullptr && compare(*a.low, *a.high) == 0; }

// Whether a value of `a` may be less than (or, with `or_equal`, equal to) one of `b`.
bool may_be_less(const Ends& a, const Ends& b, bool or_equal) {
  if (a.low == nullptr || b.high == nullptr) return true;
  const int order = compare(*a.low, *b.high);
  return or_equal ? order <= 0 : order < 0;
}

bool may_equal(const Ends& a, const Ends& b) { return may_be_less(a, b, true) && may_be_less(b, a, true); }

bool may_differ(const Ends& a, const Ends& b) { return !(is_point(a) && is_point(b) && compare(*a.low, *b.low) == 0); }

}  // namespace

Ends ends_of(const Bounds& bounds) {
  return {bounds.may_throw, bounds.may_null, bounds.may_value, bounds.low.null ? nullptr : &bounds.low,
          bounds.high.null ? nullptr : &bounds.high};
}

Ends ends_of(const Expr& expr, const StatisticsList& stats, std::optional<Bounds>& room) {
  if (expr.op == ExprOp::kColumn) return column_ends(expr, stats);
  if (expr.op == ExprOp::kLiteral) return literal_ends(expr);
  return ends_of(room.emplace(bounds_of(expr, stats)));
}

Truth compare_truth(ExprOp op, const Ends& a, const Ends& b) {
  Truth out;
  out.may_throw = a.may_throw || b.may_throw;
  if (out.may_throw) return out;
  out.may_null = a.may_null || b.may_null;
  out.may_true = out.may_false = false;
  if (!a.may_value || !b.may_value) return out;
  switch (op) {
    case ExprOp::kEqual:
      out.may_true = may_equal(a, b);
      out.may_false = may_differ(a, b);
      break;
    case ExprOp::kNotEqual:
      out.may_true = may_differ(a, b);
      out.may_false = may_equal(a, b);
      break;
    case ExprOp::kLess:
      out.may_true = may_be_less(a, b, false);
      out.may_false = may_be_less(b, a, true);
      break;
    case ExprOp::kLessEqual:
      out.may_true = may_be_less(a, b, true);
      out.may_false = may_be_less(b, a, false);
      break;
    case ExprOp::kGreater:
      out.may_true = may_be_less(b, a, false);
      out.may_false = may_be_less(a, b, true);
      break;
    default:  // kGreaterEqual
      out.may_true = may_be_less(b, a, true);
      out.may_false = may_be_less(a, b, false);
      break;
  }
  return out;
}

namespace {

// Of a predicate over its first argument: decide(argument, truth) where that raises no error.
template <typename Decide>
Truth truth_over_first(const Expr& expr, const StatisticsList& stats, const Decide& decide) {
  std::optional<Bounds> room;
  const Ends first = ends_of(expr.args[0], stats, room);
  Truth out;
  out.may_throw = first.may_throw;
  if (!out.may_throw) decide(first, out);
  return out;
}

Truth in_truth(const Expr& expr, const StatisticsList& stats) {
  return truth_over_first(expr, stats, [&](const Ends& needle, Truth& out) {
    bool null_in_list = false;
    bool always = false;
    out.may_true = false;
    for (size_t i = 1; i < expr.args.size(); ++i) {
      const Ends item = literal_ends(expr.args[i]);
      null_in_list |= item.may_null;
      const Truth equal = compare_truth(ExprOp::kEqual, needle, item);
      out.may_true |= equal.may_true;
      always |= equal.may_true && !equal.may_false;
    }
    // A miss beside a NULL in the list is NULL and not false.
    out.may_false = needle.may_value && !always && !null_in_list;
    out.may_null = needle.may_null || (null_in_list && needle.may_value && !always);
  });
}

Truth member_truth(const Expr& expr, const StatisticsList& stats) {
  return truth_over_first(expr, stats, [&](const Ends& needle, Truth& out) {
    const SetPlace set = set_place(expr);
    const int128_t least = set.least;
    const int128_t end = least + set.count;
    const bool known = set.count != SetPlace::kAnywhere;
    const bool below = known && needle.high != nullptr && needle.high->integer < least;
    const bool beyond = known && needle.low != nullptr && needle.low->integer >= end;
    out.may_true = needle.may_value && !below && !beyond;
    out.may_false = needle.may_value;
    out.may_null = needle.may_null;
  });
}

Truth comparison_truth(const Expr& expr, const StatisticsList& stats) {
  std::optional<Bounds> left;
  std::optional<Bounds> right;
  const Ends a = ends_of(expr.args[0], stats, left);
  return compare_truth(expr.op, a, ends_of(expr.args[1], stats, right));
}

Truth null_test_truth(const Expr& expr, const StatisticsList& stats) {
  return truth_over_first(expr, stats, [&](const Ends& value, Truth& out) {
    const bool is_null = expr.op == ExprOp::kIsNull;
    out.may_true = is_null ? value.may_null : value.may_value;
    out.may_false = is_null ? value.may_value : value.may_null;
    out.may_null = false;
  });
}

Truth connective_truth(const Expr& expr, const StatisticsList& stats) {
  const bool conjunction = expr.op == ExprOp::kAnd;
  Truth out;
  out.may_true = conjunction;
  out.may_false = !conjunction;
  out.may_null = false;
  for (const Expr& arg : expr.args) {
    const Truth t = truth_of(arg, stats);
    out.may_throw |= t.may_throw;
    out.may_null |= t.may_null;
    if (conjunction) {
      out.may_true &= t.may_true;
      out.may_false |= t.may_false;
    } else {
      out.may_true |= t.may_true;
      out.may_false &= t.may_false;
    }
  }
  return out;
}

}  // namespace

IntegerRange range_of(Physical type) {
  const uint32_t bits = width_of(type) * 8;
  if (!is_signed(type)) return {0, (int128_t{1} << bits) - 1};
  if (bits == 128) return {kInt128Min, kInt128Max};
  return {-(int128_t{1} << (bits - 1)), (int128_t{1} << (bits - 1)) - 1};
}

bool sum_fits(const IntegerRange& range, uint64_t rows, int bits) {
  const int128_t most = (int128_t{1} << bits) / (static_cast<int128_t>(rows) + 1);
  return range.low >= -most && range.high <= most;
}

IntegerRange allowed_range(const Expr& expr) {
  if (expr.limit == 0) return range_of(expr.type);
  return {-expr.limit, expr.limit};
}

bool is_predicate(ExprOp op) {
  switch (kind_of(op)) {
    case ExprKind::kComparison:
    case ExprKind::kDistinct:
    case ExprKind::kIn:
    case ExprKind::kMember:
    case ExprKind::kPattern:
    case ExprKind::kConnective:
    case ExprKind::kNot:
    case ExprKind::kNullTest: return true;
    default: return false;
  }
}

ExprOp mirrored(ExprOp op) {
  switch (op) {
    case ExprOp::kLess: return ExprOp::kGreater;
    case ExprOp::kLessEqual: return ExprOp::kGreaterEqual;
    case ExprOp::kGreater: return ExprOp::kLess;
    case ExprOp::kGreaterEqual: return ExprOp::kLessEqual;
    default: return op;
  }
}

Bounds bounds_of(const Expr& expr, const StatisticsList& stats) {
  switch (kind_of(expr.op)) {
    case ExprKind::kColumn: return copied(column_ends(expr, stats), expr.type);
    case ExprKind::kLiteral: return literal_bounds(expr);
    case ExprKind::kArithmetic:
      if (expr.op == ExprOp::kNegate && is_integer(expr.type) && !is_signed(expr.type)) {
        return number_function_bounds(expr, stats);
      }
      return arithmetic_bounds(expr, stats);
    case ExprKind::kDivision: return division_bounds(expr, stats);
    case ExprKind::kNumberFunction: return number_function_bounds(expr, stats);
    case ExprKind::kMathFunction: return math_function_bounds(expr, stats);
    case ExprKind::kBitOperation: return bit_operation_bounds(expr, stats);
    case ExprKind::kCast: return cast_bounds(expr, stats);
    case ExprKind::kDateFunction: return date_function_bounds(expr, stats);
    case ExprKind::kLookUp: return look_up_bounds(expr, stats);
    case ExprKind::kTextFunction: return text_function_bounds(expr, stats);
    case ExprKind::kCase: return case_bounds(expr, stats);
    case ExprKind::kCoalesce: return coalesce_bounds(expr, stats);
    case ExprKind::kExtreme: return extreme_bounds(expr, stats);
    default: return truth_as_bounds(truth_of(expr, stats));
  }
}

Truth truth_of(const Expr& predicate, const StatisticsList& stats) {
  Truth out;
  switch (kind_of(predicate.op)) {
    case ExprKind::kComparison: return comparison_truth(predicate, stats);
    case ExprKind::kDistinct: return distinct_truth(predicate, stats);
    case ExprKind::kIn: return in_truth(predicate, stats);
    case ExprKind::kMember: return member_truth(predicate, stats);
    case ExprKind::kPattern: {
      const Bounds text = bounds_of(predicate.args[0], stats);
      if (predicate.op == ExprOp::kRegexp) {
        out.may_true = out.may_false = text.may_value;
        out.may_null = text.may_null;
        return out;
      }
      if (predicate.args[1].literal.null || !text.may_value) return {false, false, false, true};
      out = like_truth(LikePattern(predicate.args[1].literal.bytes), text.low, text.high);
      out.may_throw = text.may_throw;
      out.may_null = text.may_null;
      return out;
    }
    case ExprKind::kConnective: return connective_truth(predicate, stats);
    case ExprKind::kNot: {
      out = truth_of(predicate.args[0], stats);
      std::swap(out.may_true, out.may_false);
      return out;
    }
    case ExprKind::kNullTest: return null_test_truth(predicate, stats);
    default: {  // a boolean column, literal or cast: zero is false
      const Bounds arg = bounds_of(predicate, stats);
      out.may_throw = arg.may_throw;
      if (arg.may_throw) return out;
      out.may_null = arg.may_null;
      out.may_false = arg.may_value && arg.low.integer <= 0 && arg.high.integer >= 0;
      out.may_true = arg.may_value && (arg.low.integer != 0 || arg.high.integer != 0);
      return out;
    }
  }
}

}  // namespace basalt::exec

namespace basalt {

Decision decide(const Expr& predicate, const std::vector<const Statistics*>& stats) {
  const exec::Truth truth = exec::truth_of(predicate, stats);
  if (!truth.may_true) return Decision::kNone;
  if (!truth.may_false && !truth.may_null) return Decision::kAll;
  return Decision::kUnknown;
}

}  // namespace basalt
