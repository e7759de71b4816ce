// Bounds of casts between numbers.
#include <utility>

#include "exec/bounds_parts.h"
#include "exec/conversions.h"
#include "exec/evaluate.h"

namespace basalt::exec {

namespace {

constexpr int128_t kExactInDouble = int128_t{1} << 53;

// A decimal or integer as a float: division is monotone as long as the integer is exact.
Value bound_as_real(const Expr& expr, const Value& bound) {
  const int128_t value = bound.integer;
  if (value > kExactInDouble || value < -kExactInDouble) return Value::of_null(expr.type);
  const double divisor = int128_to_real<double>(power_of_ten(expr.power_of_ten));
  if (expr.type == Physical::kF64) return Value::of_real(expr.type, static_cast<double>(value) / divisor);
  if (value > (1 << 24) || value < -(1 << 24)) return Value::of_null(expr.type);
  return Value::of_real(expr.type, static_cast<float>(value) / static_cast<float>(divisor));
}

Corners scaled(const Expr& expr, const Bounds& arg) {
  Corners corners;
  for (const Value* v : {&arg.low, &arg.high}) {
    int128_t value = 0;
    bool overflow = false;
    if (expr.power_of_ten < 0) {
      value = rounded_quotient(v->integer, power_of_ten(-expr.power_of_ten));
    } else {
      overflow = __builtin_mul_overflow(v->integer, power_of_ten(expr.power_of_ten) * expr.factor, &value);
    }
    corners.take(overflow, value);
  }
  return corners;
}

// The interval of integers that reals become, where both ends are known and become some; false where they may not.
bool set_from_real(Bounds& out, const Expr& expr, const Bounds& arg) {
  const IntegerRange allowed = allowed_range(expr);
  out.low = Value::of_integer(expr.type, allowed.low);
  out.high = Value::of_integer(expr.type, allowed.high);
  if (arg.low.null || arg.high.null) return false;
  int128_t low = 0;
  int128_t high = 0;
  for (const auto& [real, integer] : {std::pair{&arg.low, &low}, std::pair{&arg.high, &high}}) {
    const bool single = real->type == Physical::kF32 && expr.limit != 0;
    const Outcome outcome = expr.limit == 0 ? RealToInteger<int128_t>{}(real->real, *integer)
                            : single        ? real_to_decimal(expr)(static_cast<float>(real->real), *integer)
                                            : real_to_decimal(expr)(real->real, *integer);
    // The largest integer may be one that has wrapped around.
    if (outcome != Outcome::kValue || *integer < allowed.low || *integer >= allowed.high) return false;
  }
  out.low.integer = low;
  out.high.integer = high;
  return true;
}

Bounds strict_cast_bounds(const Expr& expr, const StatisticsList& stats) {
  const Expr& from = expr.args[0];
  const Bounds arg = bounds_of(from, stats);
  Bounds out = arg;
  if (is_integer(from.type) && is_integer(expr.type)) {
    set_limited(out, expr, scaled(expr, arg));
    return out;
  }
  if (is_float(from.type) && is_integer(expr.type)) {
    out.may_throw |= !set_from_real(out, expr, arg) && arg.may_value;
    return out;
  }
  if (from.type == Physical::kF64 && expr.type == Physical::kF32) out.may_throw |= arg.may_value;
  out.low = out.high = Value::of_null(expr.type);
  if (is_integer(from.type) && is_float(expr.type)) {
    out.low = bound_as_real(expr, arg.low);
    out.high = bound_as_real(expr, arg.high);
  } else if (from.type == Physical::kF32 && expr.type == Physical::kF64) {
    if (!arg.low.null) out.low = Value::of_real(expr.type, arg.low.real);
    if (!arg.high.null) out.high = Value::of_real(expr.type, arg.high.real);
  }
  return out;
}

}  // namespace

Bounds cast_bounds(const Expr& expr, const StatisticsList& stats) {
  Bounds out = strict_cast_bounds(expr, stats);
  if (expr.op != ExprOp::kTryCast) return out;
  // What the argument throws goes on; what the cast itself would throw is NULL.
  const bool of_argument = bounds_of(expr.args[0], stats).may_throw;
  out.may_null |= out.may_throw;
  out.may_throw = of_argument;
  return out;
}

}  // namespace basalt::exec
