// Division, signs and rounding of numbers, tile by tile.
#include <algorithm>
#include <cmath>
#include <limits>

#include "basalt/core/error.h"
#include "exec/evaluate_calls.h"
#include "exec/number_functions.h"

namespace basalt::exec {

namespace {

// The least value of the type that a lane can hold.
template <typename Int>
Int least_in_lane(Physical type) {
  return static_cast<Int>(std::max<int128_t>(range_of(type).low, std::numeric_limits<Int>::min()));
}

template <typename T, typename Function>
Vector call_numbers(Step& step, TileInput& input, const Function& function) {
  return call_two<T, T>(step, input, step.lane, function);
}

template <typename Int>
Vector divide_integers(Step& step, TileInput& input) {
  const Int least = least_in_lane<Int>(step.expr->type);
  if (step.expr->op == ExprOp::kModulo) return call_numbers<Int>(step, input, IntegerRemainder<Int>{least});
  return call_numbers<Int>(step, input, IntegerQuotient<Int>{least});
}

template <typename Real>
Vector divide_reals(Step& step, TileInput& input) {
  const auto call = [&](const auto& function) { return call_numbers<Real>(step, input, function); };
  if (step.expr->op == ExprOp::kModulo) return call(RealRemainder{});
  if (step.expr->op == ExprOp::kIntegerDivide) return call(RealQuotientOrNull{});
  return call(RealQuotient{});
}

template <typename Int>
Vector run_integer_function(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, step.lane);
  const auto power = static_cast<Int>(power_of_ten(step.expr->power_of_ten));
  const auto call = [&](const auto& function) { return call_rows<Int>(step, input, a.valid, function, a.as<Int>()); };
  switch (step.expr->op) {
    case ExprOp::kAbs: return call(IntegerMagnitude<Int>{least_in_lane<Int>(step.expr->type)});
    case ExprOp::kNegate: return call(WrappedNegation<Int>{static_cast<Int>(range_of(step.expr->type).high + 1)});
    case ExprOp::kRound: return call(DecimalRound<Int>{power});
    case ExprOp::kFloor: return call(DecimalFloor<Int>{power});
    case ExprOp::kCeil: return call(DecimalCeil<Int>{power});
    default: return call(DecimalTruncate<Int>{power});
  }
}

template <typename Real>
Vector run_real_function(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, step.lane);
  const auto call = [&](const auto& function) { return call_rows<Real>(step, input, a.valid, function, a.as<Real>()); };
  const int32_t digits = step.expr->power_of_ten;
  switch (step.expr->op) {
    case ExprOp::kAbs: return call(RealMagnitude{});
    case ExprOp::kFloor: return call(RealFloor{});
    case ExprOp::kCeil: return call(RealCeil{});
    case ExprOp::kTruncate: return call(RealTruncate{});
    default:
      return digits < 0 ? call(RealRoundBefore{rounding_modifier(digits)})
                        : call(RealRoundBehind{rounding_modifier(digits)});
  }
}

// The mathematics of the host, which is that of DuckDB beside it.
template <ExprOp op>
struct HostFunction {
  Outcome operator()(double a, double& out) const {
    constexpr bool kLogarithm = op != ExprOp::kExp;
    if (kLogarithm && a <= 0) return Outcome::kOutOfRange;
    out = op == ExprOp::kExp    ? std::exp(a)
          : op == ExprOp::kLn   ? std::log(a)
          : op == ExprOp::kLog2 ? std::log2(a)
                                : std::log10(a);
    return Outcome::kValue;
  }
};
struct HostPower {
  Outcome operator()(double a, double b, double& out) const {
    out = std::pow(a, b);
    return Outcome::kValue;
  }
};

template <typename Int>
Vector run_bits(Step& step, TileInput& input) {
  const auto call = [&](const auto& function) { return call_numbers<Int>(step, input, function); };
  const int32_t bits = bits_of(step.expr->type);
  switch (step.expr->op) {
    case ExprOp::kBitAnd: return call(BitAnd{});
    case ExprOp::kBitOr: return call(BitOr{});
    case ExprOp::kBitXor: return call(BitXor{});
    case ExprOp::kShiftLeft: return call(ShiftLeft{bits, value_bits_of(step.expr->type)});
    default: return call(ShiftRight{bits});
  }
}

}  // namespace

int32_t bits_of(Physical type) { return static_cast<int32_t>(width_of(type) * 8); }
int32_t value_bits_of(Physical type) { return bits_of(type) - (is_signed(type) ? 1 : 0); }

Vector run_bit_operation(Step& step, TileInput& input) {
  return dispatch_integer_lane(step.lane, [&](auto type) { return run_bits<decltype(type)>(step, input); });
}

Vector run_math_function(Step& step, TileInput& input) {
  const Vector a = in_lane(step.args[0], input, Lane::kF64);
  const auto call = [&](const auto& function) {
    return call_rows<double>(step, input, a.valid, function, a.as<double>());
  };
  switch (step.expr->op) {
    case ExprOp::kSquareRoot: return call(SquareRoot{});
    case ExprOp::kExp: return call(HostFunction<ExprOp::kExp>{});
    case ExprOp::kLn: return call(HostFunction<ExprOp::kLn>{});
    case ExprOp::kLog2: return call(HostFunction<ExprOp::kLog2>{});
    case ExprOp::kLog10: return call(HostFunction<ExprOp::kLog10>{});
    default: break;
  }
  const Vector b = in_lane(step.args[1], input, Lane::kF64);
  const uint8_t* valid = meet(a.valid, b.valid, step.valid, input.rows());
  return call_rows<double>(step, input, valid, HostPower{}, a.as<double>(), b.as<double>());
}

double rounding_modifier(int32_t digits) { return std::pow(10.0, static_cast<double>(std::abs(digits))); }

Vector run_division(Step& step, TileInput& input) {
  if (step.lane == Lane::kF64) return divide_reals<double>(step, input);
  if (step.lane == Lane::kF32) return divide_reals<float>(step, input);
  return dispatch_integer_lane(step.lane, [&](auto type) { return divide_integers<decltype(type)>(step, input); });
}

Vector run_number_function(Step& step, TileInput& input) {
  if (step.lane == Lane::kF64) return run_real_function<double>(step, input);
  if (step.lane == Lane::kF32) return run_real_function<float>(step, input);
  return dispatch_integer_lane(step.lane, [&](auto type) { return run_integer_function<decltype(type)>(step, input); });
}

Vector run_sign(Step& step, TileInput& input) {
  const Lane lane = step.args[0].lane == Lane::kBool ? Lane::kI32 : step.args[0].lane;
  const Vector a = in_lane(step.args[0], input, lane);
  Vector out;
  dispatch_lane(lane, [&](auto type) {
    using In = decltype(type);
    if constexpr (!std::is_same_v<In, std::string_view>) {
      out = call_rows<int32_t>(step, input, a.valid, Sign{}, a.as<In>());
    }
  });
  return out;
}

}  // namespace basalt::exec
