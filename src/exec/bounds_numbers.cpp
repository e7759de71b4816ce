// Bounds of division, signs and rounding.
#include <algorithm>
#include <array>

#include "exec/bounds_parts.h"
#include "exec/number_functions.h"

namespace basalt::exec {

namespace {

// As far from zero as 128 bits allow.
int128_t magnitude(int128_t value) {
  if (value >= 0) return value;
  return value == range_of(Physical::kI128).low ? range_of(Physical::kI128).high : -value;
}
int128_t largest_magnitude(const Bounds& b) { return std::max(magnitude(b.low.integer), magnitude(b.high.integer)); }

// Of a function that does not decrease.
template <typename Function>
void set_monotone(Bounds& out, const Expr& expr, const Bounds& arg, const Function& function) {
  int128_t low = 0;
  int128_t high = 0;
  function(arg.low.integer, low);
  function(arg.high.integer, high);
  set_range(out, expr, low, high);
}

// The quotient of most divisors is nearer to zero than the dividend; that of one known divisor is known.
void set_quotient(Bounds& out, const Expr& expr, const Bounds& a, const Bounds& b) {
  if (b.low.integer > 0) {
    const int128_t least = a.low.integer < 0 ? a.low.integer / b.low.integer : a.low.integer / b.high.integer;
    const int128_t most = a.high.integer < 0 ? a.high.integer / b.high.integer : a.high.integer / b.low.integer;
    set_range(out, expr, least, most);
    return;
  }
  const int128_t most = largest_magnitude(a);
  set_range(out, expr, -most, most);
}

void set_remainder(Bounds& out, const Expr& expr, const Bounds& a, const Bounds& b) {
  const int128_t most = std::min(largest_magnitude(a), std::max<int128_t>(largest_magnitude(b), 1) - 1);
  set_range(out, expr, a.low.integer < 0 ? -most : 0, a.high.integer > 0 ? most : 0);
}

}  // namespace

Bounds division_bounds(const Expr& expr, const StatisticsList& stats) {
  const Bounds a = bounds_of(expr.args[0], stats);
  const Bounds b = bounds_of(expr.args[1], stats);
  Bounds out = unbounded_over(expr, std::array{a, b});
  if (!is_integer(expr.type)) {
    if (expr.op == ExprOp::kIntegerDivide) out.may_null = true;
    return out;
  }
  const auto holds = [](const Bounds& bounds, int128_t value) {
    return bounds.low.integer <= value && bounds.high.integer >= value;
  };
  if (holds(b, 0)) out.may_null = true;
  if (out.may_value && holds(b, -1) && holds(a, range_of(expr.type).low)) out.may_throw = true;
  if (expr.op == ExprOp::kModulo) {
    set_remainder(out, expr, a, b);
  } else {
    set_quotient(out, expr, a, b);
  }
  return out;
}

Bounds number_function_bounds(const Expr& expr, const StatisticsList& stats) {
  const Bounds arg = bounds_of(expr.args[0], stats);
  Bounds out = unbounded(expr.type);
  out.may_throw = arg.may_throw;
  out.may_null = arg.may_null;
  out.may_value = arg.may_value;
  if (!is_integer(expr.type)) return out;
  if (expr.op == ExprOp::kSign) {
    const bool known = is_integer(expr.args[0].type);
    set_range(out, expr, known && arg.low.integer >= 0 ? 0 : -1, known && arg.high.integer <= 0 ? 0 : 1);
    return out;
  }
  const int128_t power = power_of_ten(expr.power_of_ten);
  switch (expr.op) {
    case ExprOp::kRound: set_monotone(out, expr, arg, DecimalRound<int128_t>{power}); break;
    case ExprOp::kFloor: set_monotone(out, expr, arg, DecimalFloor<int128_t>{power}); break;
    case ExprOp::kCeil: set_monotone(out, expr, arg, DecimalCeil<int128_t>{power}); break;
    case ExprOp::kTruncate: set_monotone(out, expr, arg, DecimalTruncate<int128_t>{power}); break;
    case ExprOp::kNegate:  // of unsigned integers: wraps around
      if (arg.high.integer == 0) set_range(out, expr, 0, 0);
      break;
    default:  // kAbs
      if (out.may_value && arg.low.integer < 0 && arg.low.integer == range_of(expr.type).low) out.may_throw = true;
      set_range(out, expr, 0, largest_magnitude(arg));
      break;
  }
  return out;
}

Bounds math_function_bounds(const Expr& expr, const StatisticsList& stats) {
  Bounds out = unbounded_over(expr, stats);
  if (out.may_value && expr.op != ExprOp::kExp && expr.op != ExprOp::kPower) out.may_throw = true;
  return out;
}

Bounds bit_operation_bounds(const Expr& expr, const StatisticsList& stats) {
  const Bounds a = bounds_of(expr.args[0], stats);
  const Bounds b = bounds_of(expr.args[1], stats);
  Bounds out = unbounded_over(expr, std::array{a, b});
  if (expr.op == ExprOp::kShiftLeft) {
    if (out.may_value) out.may_throw = true;
    set_range(out, expr, 0, range_of(expr.type).high);
  }
  if (expr.op == ExprOp::kShiftRight && a.low.integer >= 0) set_range(out, expr, 0, a.high.integer);
  if (expr.op == ExprOp::kBitAnd && (a.low.integer >= 0 || b.low.integer >= 0)) {
    const int128_t most = a.low.integer < 0   ? b.high.integer
                          : b.low.integer < 0 ? a.high.integer
                                              : std::min(a.high.integer, b.high.integer);
    set_range(out, expr, 0, most);
  }
  return out;
}

}  // namespace basalt::exec
