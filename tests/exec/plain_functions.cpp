#include "exec/plain_functions.h"

#include <cmath>

#include "basalt/core/error.h"
#include "exec/bounds.h"
#include "exec/plain_dates.h"
#include "exec/plain_texts.h"
#include "exec/scalar.h"

namespace basalt::test {

namespace {

Value in_type(const Expr& expr, int128_t value) {
  const exec::IntegerRange range = exec::range_of(expr.type);
  if (value < range.low || value > range.high) throw Error(ErrorCode::kOutOfRange, "out of range");
  return Value::of_integer(expr.type, value);
}

Value real(const Expr& expr, double value) {
  return Value::of_real(expr.type, expr.type == Physical::kF32 ? static_cast<float>(value) : value);
}

Value division(const Expr& expr, const Value& a, const Value& b) {
  if (is_float(expr.type)) {
    if (expr.op == ExprOp::kModulo) return real(expr, std::fmod(a.real, b.real));
    if (expr.op == ExprOp::kIntegerDivide && b.real == 0) return Value::of_null(expr.type);
    if (expr.type == Physical::kF32) return real(expr, static_cast<float>(a.real) / static_cast<float>(b.real));
    return real(expr, a.real / b.real);
  }
  if (b.integer == 0) return Value::of_null(expr.type);
  if (b.integer == -1 && a.integer == exec::range_of(expr.type).low) {
    throw Error(ErrorCode::kOutOfRange, "Overflow in division");
  }
  return Value::of_integer(expr.type, expr.op == ExprOp::kModulo ? a.integer % b.integer : a.integer / b.integer);
}

Value round_decimal(const Expr& expr, int128_t a) {
  const int128_t power = exec::power_of_ten(expr.power_of_ten);
  const int128_t whole = a / power;
  const bool rest = whole * power != a;
  switch (expr.op) {
    case ExprOp::kFloor: return Value::of_integer(expr.type, rest && a < 0 ? whole - 1 : whole);
    case ExprOp::kCeil: return Value::of_integer(expr.type, rest && a > 0 ? whole + 1 : whole);
    case ExprOp::kTruncate: return Value::of_integer(expr.type, whole);
    default: return Value::of_integer(expr.type, (a < 0 ? a - power / 2 : a + power / 2) / power);
  }
}

Value round_real(const Expr& expr, double a) {
  switch (expr.op) {
    case ExprOp::kFloor: return real(expr, std::floor(a));
    case ExprOp::kCeil: return real(expr, std::ceil(a));
    case ExprOp::kTruncate: return real(expr, std::trunc(a));
    default: break;
  }
  const double power = std::pow(10.0, std::abs(expr.power_of_ten));
  const double result = expr.power_of_ten < 0 ? std::round(a / power) * power : std::round(a * power) / power;
  if (std::isfinite(result)) return real(expr, result);
  return real(expr, expr.power_of_ten < 0 ? 0 : a);
}

Value within(const Expr& cast, int128_t value) {
  const exec::IntegerRange allowed = exec::allowed_range(cast);
  if (value < allowed.low || value > allowed.high) throw Error(ErrorCode::kOutOfRange, "out of range");
  return Value::of_integer(cast.type, value);
}

Value integer_to_real(const Expr& expr, const Value& a) {
  const int128_t power = exec::power_of_ten(expr.power_of_ten);
  const auto divisor = exec::int128_to_real<double>(power);
  const bool single = expr.type == Physical::kF32;
  const auto narrow = static_cast<int64_t>(a.integer);
  const auto narrow_power = static_cast<int64_t>(power);
  if (a.type == Physical::kU64) {
    const auto whole = static_cast<uint64_t>(a.integer);
    return Value::of_real(expr.type,
                          single ? static_cast<double>(static_cast<float>(whole)) : static_cast<double>(whole));
  }
  const bool wide = a.type == Physical::kI128;
  if (expr.power_of_ten == 0) {
    if (single) return Value::of_real(expr.type, wide ? exec::int_to_float(a.integer) : exec::int_to_float(narrow));
    return Value::of_real(expr.type, wide ? exec::int_to_double(a.integer) : exec::int_to_double(narrow));
  }
  if (single) {
    const auto by = static_cast<float>(divisor);
    return Value::of_real(expr.type, wide ? exec::decimal_to_float(a.integer, power, by)
                                          : exec::decimal_to_float(narrow, narrow_power, by));
  }
  return Value::of_real(expr.type, wide ? exec::decimal_to_double(a.integer, power, divisor)
                                        : exec::decimal_to_double(narrow, narrow_power, divisor));
}

Value real_to_integer(const Expr& expr, const Value& a) {
  if (expr.limit != 0) {
    const double scaled = std::round(a.real * static_cast<double>(exec::power_of_ten(expr.power_of_ten)));
    const auto end = exec::int128_to_real<double>(expr.limit + 1);
    if (!(std::fabs(scaled) < end)) throw Error(ErrorCode::kOutOfRange, "no such decimal");
    const double kept = a.type == Physical::kF32 ? static_cast<float>(scaled) : scaled;
    return Value::of_integer(expr.type, static_cast<int128_t>(kept));
  }
  const exec::IntegerRange range = exec::range_of(expr.type);
  const double end = std::ldexp(1.0, static_cast<int>(width_of(expr.type)) * 8 - (is_signed(expr.type) ? 1 : 0));
  const bool inside =
      expr.type == Physical::kI128 ? std::fabs(a.real) < end : a.real >= static_cast<double>(range.low) && a.real < end;
  if (!inside) throw Error(ErrorCode::kOutOfRange, "no such integer");
  const auto whole = static_cast<int128_t>(std::nearbyint(a.real));
  return Value::of_integer(expr.type, whole > range.high ? range.low : whole);
}

Value cast(const Expr& expr, const Value& a) {
  if (is_float(expr.type)) {
    if (is_integer(a.type)) return integer_to_real(expr, a);
    const Value out = real(expr, a.real);
    if (std::isinf(out.real) && std::isfinite(a.real)) throw Error(ErrorCode::kOutOfRange, "no such float");
    return out;
  }
  if (is_float(a.type)) return real_to_integer(expr, a);
  if (expr.power_of_ten < 0) {
    const int128_t power = exec::power_of_ten(-expr.power_of_ten);
    const int128_t half = power / 2;
    int128_t moved = 0;
    const bool overflow = __builtin_add_overflow(a.integer, a.integer < 0 ? -half : half, &moved);
    if (!overflow) return within(expr, moved / power);
    const int128_t whole = a.integer / power;
    const int128_t rest = a.integer % power;
    return within(expr, rest >= half ? whole + 1 : rest <= -half ? whole - 1 : whole);
  }
  int128_t value = 0;
  const bool overflow = __builtin_mul_overflow(a.integer, exec::power_of_ten(expr.power_of_ten) * expr.factor, &value);
  if (overflow) throw Error(ErrorCode::kOutOfRange, "overflow");
  return within(expr, value);
}

// Bit by bit, of two's complement.
Value bits(const Expr& expr, const Value& a, const Value& b) {
  const int width = static_cast<int>(width_of(expr.type)) * 8;
  const int128_t low = exec::range_of(expr.type).low;
  if (expr.op == ExprOp::kShiftRight) {
    if (b.integer < 0 || b.integer >= width) return Value::of_integer(expr.type, 0);
    int128_t out = a.integer;
    for (int128_t i = 0; i < b.integer; ++i) out = out / 2 - (out % 2 < 0 ? 1 : 0);
    return Value::of_integer(expr.type, out);
  }
  if (expr.op == ExprOp::kShiftLeft) {
    if (a.integer < 0 || b.integer < 0) throw Error(ErrorCode::kOutOfRange, "negative");
    int128_t out = a.integer;
    for (int128_t i = 0; i < b.integer && out != 0; ++i) {
      if (out > exec::range_of(expr.type).high / 2) throw Error(ErrorCode::kOutOfRange, "too far");
      out *= 2;
    }
    return Value::of_integer(expr.type, out);
  }
  int128_t out = 0;
  for (int bit = 0; bit < width; ++bit) {
    const bool x = (a.integer >> bit & 1) != 0;
    const bool y = (b.integer >> bit & 1) != 0;
    const bool set = expr.op == ExprOp::kBitAnd ? x && y : expr.op == ExprOp::kBitOr ? x || y : x != y;
    if (!set) continue;
    out += bit + 1 == width && low < 0 ? low : int128_t{1} << bit;  // the sign counts down
  }
  return Value::of_integer(expr.type, out);
}

Value mathematics(const Expr& expr, const std::vector<Value>& args) {
  const double a = args[0].real;
  if (expr.op == ExprOp::kPower) return real(expr, std::pow(a, args[1].real));
  if (expr.op == ExprOp::kExp) return real(expr, std::exp(a));
  if (a < 0 || (a == 0 && expr.op != ExprOp::kSquareRoot)) throw Error(ErrorCode::kOutOfRange, "no such number");
  if (expr.op == ExprOp::kSquareRoot) return real(expr, std::sqrt(a));
  if (expr.op == ExprOp::kLn) return real(expr, std::log(a));
  return real(expr, expr.op == ExprOp::kLog2 ? std::log2(a) : std::log10(a));
}

// Skips NULLs; the first of equal values stays.
Value extreme(const Expr& expr, const std::vector<Value>& args) {
  Value best = Value::of_null(expr.type);
  for (const Value& arg : args) {
    if (arg.null) continue;
    const int order = best.null ? 0 : compare(arg, best);
    if (best.null || (expr.op == ExprOp::kGreatest ? order > 0 : order < 0)) best = arg;
  }
  return best;
}

}  // namespace

std::optional<Value> plain_function(const Expr& expr, const std::vector<Value>& args) {
  if (expr.op == ExprOp::kGreatest || expr.op == ExprOp::kLeast) return extreme(expr, args);
  for (const Value& arg : args) {
    if (arg.null) return Value::of_null(expr.type);
  }
  switch (expr.op) {
    case ExprOp::kCast: return cast(expr, args[0]);
    case ExprOp::kTryCast: try { return cast(expr, args[0]);
      } catch (const Error&) {
        return Value::of_null(expr.type);
      }
    case ExprOp::kDivide:
    case ExprOp::kIntegerDivide:
    case ExprOp::kModulo: return division(expr, args[0], args[1]);
    case ExprOp::kAbs:
      if (is_float(expr.type)) return real(expr, std::fabs(args[0].real));
      return in_type(expr, args[0].integer < 0 ? -args[0].integer : args[0].integer);
    case ExprOp::kSign: {
      const double value = is_float(args[0].type) ? args[0].real : args[0].integer < 0 ? -1 : args[0].integer > 0;
      return Value::of_integer(expr.type, value > 0 ? 1 : value < 0 ? -1 : 0);
    }
    case ExprOp::kRound:
    case ExprOp::kFloor:
    case ExprOp::kCeil:
    case ExprOp::kTruncate:
      return is_float(expr.type) ? round_real(expr, args[0].real) : round_decimal(expr, args[0].integer);
    case ExprOp::kBitAnd:
    case ExprOp::kBitOr:
    case ExprOp::kBitXor:
    case ExprOp::kShiftLeft:
    case ExprOp::kShiftRight: return bits(expr, args[0], args[1]);
    case ExprOp::kSquareRoot:
    case ExprOp::kExp:
    case ExprOp::kLn:
    case ExprOp::kLog2:
    case ExprOp::kLog10:
    case ExprOp::kPower: return mathematics(expr, args);
    default: break;
  }
  if (args.empty()) return std::nullopt;
  if (std::optional<Value> of_text = plain_text_function(expr, args)) return of_text;
  return plain_date_function(expr, args);
}

}  // namespace basalt::test
