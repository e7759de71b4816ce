// DuckDB's sentences for results that have no place in their type.
#include <algorithm>

#include "basalt/core/error.h"
#include "basalt/core/value.h"
#include "exec/evaluate_calls.h"
#include "exec/number_functions.h"

namespace basalt::exec {

namespace {

const char* type_name(Physical type) {
  switch (type) {
    case Physical::kU8: return "UINT8";
    case Physical::kU16: return "UINT16";
    case Physical::kU32: return "UINT32";
    case Physical::kU64: return "UINT64";
    case Physical::kI8: return "INT8";
    case Physical::kI16: return "INT16";
    case Physical::kI32: return "INT32";
    case Physical::kI64: return "INT64";
    case Physical::kI128: return "INT128";
    case Physical::kF64: return "DOUBLE";
    default: return "FLOAT";
  }
}

std::string number(int128_t value) {
  return format_value(Value::of_integer(Physical::kI128, value), {TypeKind::kInt128});
}

[[noreturn]] void out_of_range(const std::string& sentence) { throw Error(ErrorCode::kOutOfRange, sentence); }

[[noreturn]] void throw_arithmetic(const Expr& expr, int128_t a, int128_t b) {
  const bool decimal = expr.limit != 0;
  const std::string type =
      decimal ? (expr.type == Physical::kI128 ? "DECIMAL(38)" : "DECIMAL(18)") : std::string(type_name(expr.type));
  const char* name = expr.op == ExprOp::kAdd        ? "addition"
                     : expr.op == ExprOp::kSubtract ? (decimal ? "subtract" : "subtraction")
                                                    : "multiplication";
  const char* sign = expr.op == ExprOp::kAdd ? " + " : expr.op == ExprOp::kSubtract ? " - " : " * ";
  out_of_range(std::string("Overflow in ") + name + " of " + type + " (" + number(a) + sign + number(b) + ")" +
               (decimal ? ". You might want to add an explicit cast to a bigger decimal." : "!"));
}

std::string decimal_type(const Expr& cast) {
  int digits = 0;
  for (int128_t rest = cast.limit; rest > 0; rest /= 10) ++digits;
  const int32_t scale = std::max(cast.from_scale, 0) + cast.power_of_ten;
  return "DECIMAL(" + std::to_string(digits) + "," + std::to_string(scale) + ")";
}

[[noreturn]] void throw_cast(const Expr& cast, FailedValue a) {
  const Physical from = cast.args[0].type;
  const bool to_decimal = cast.limit != 0;
  if (is_float(from) && to_decimal)
    out_of_range("Could not cast value " + std::to_string(a.real) + " to " + decimal_type(cast));
  if (to_decimal && cast.from_scale < 0)
    out_of_range("Could not cast value " + number(a.integer) + " to " + decimal_type(cast));
  if (to_decimal) {
    const DataType type{TypeKind::kDecimal, 38, static_cast<uint8_t>(cast.from_scale)};
    out_of_range("Casting value \"" + format_value(Value::of_integer(Physical::kI128, a.integer), type) +
                 "\" to type " + decimal_type(cast) + " failed: value is out of range!");
  }
  if (cast.from_scale >= 0) {
    const int128_t whole = rounded_quotient(a.integer, power_of_ten(std::max(-cast.power_of_ten, 0)));
    out_of_range("Failed to cast decimal value " + number(whole) + " to type " + type_name(cast.type));
  }
  const std::string value =
      is_float(from) ? format_value(Value::of_real(from, a.real), {TypeKind::kFloat64}) : number(a.integer);
  out_of_range(std::string("Type ") + type_name(from) + " with value " + value +
               " can't be cast because the value is out of range for the destination type " + type_name(cast.type));
}

[[noreturn]] void throw_shift(const Expr& expr, int128_t a, int128_t by) {
  if (a < 0) out_of_range("Cannot left-shift negative number " + number(a));
  if (by < 0) out_of_range("Cannot left-shift by negative number " + number(by));
  if (by >= static_cast<int128_t>(width_of(expr.type)) * 8) {
    out_of_range("Left-shift value " + number(by) + " is out of range");
  }
  out_of_range("Overflow in left shift (" + number(a) + " << " + number(by) + ")");
}

// Dates become moments first, and not all do.
[[noreturn]] void throw_date_sub(const Expr& expr, int128_t start, int128_t end) {
  if (expr.args[0].type == Physical::kI32) out_of_range("Date and time not in timestamp range");
  Expr subtract = expr;
  subtract.op = ExprOp::kSubtract;
  throw_arithmetic(subtract, end, start);
}

}  // namespace

void throw_failed(const Expr& expr, FailedValue a, FailedValue b, FailedValue c) {
  switch (expr.op) {
    case ExprOp::kNegate: out_of_range("Overflow in negation of numeric value!");
    case ExprOp::kAbs: out_of_range("Overflow on abs(" + number(a.integer) + ")");
    case ExprOp::kIntegerDivide:
    case ExprOp::kModulo: out_of_range("Overflow in division of " + number(a.integer) + " / " + number(b.integer));
    case ExprOp::kCast: throw_cast(expr, a);
    case ExprOp::kShiftLeft: throw_shift(expr, a.integer, b.integer);
    case ExprOp::kSquareRoot: out_of_range("cannot take square root of a negative number");
    case ExprOp::kLn:
    case ExprOp::kLog2:
    case ExprOp::kLog10:
      out_of_range(std::string("cannot take logarithm of ") + (a.real == 0 ? "zero" : "a negative number"));
    case ExprOp::kMakeDate:
      out_of_range("Date out of range: " + number(a.integer) + "-" + number(b.integer) + "-" + number(c.integer));
    case ExprOp::kMomentToTime:
      out_of_range(std::string("Type INT64 with value ") + (a.integer < 0 ? "-infinity" : "infinity") +
                   " can't be cast to the destination type INT64");
    case ExprOp::kChr: out_of_range("Invalid UTF8 Codepoint " + number(a.integer));
    case ExprOp::kLastDay: out_of_range("Date out of range");
    case ExprOp::kDateSub: throw_date_sub(expr, a.integer, b.integer);
    case ExprOp::kAddTime:
    case ExprOp::kDateTrunc:
    case ExprOp::kAddInterval: out_of_range("Date and time not in timestamp range");
    case ExprOp::kAddDays: out_of_range("Date out of range");
    case ExprOp::kDateDiff: {
      Expr subtract = expr;
      subtract.op = ExprOp::kSubtract;
      throw_arithmetic(subtract, b.integer, a.integer);
    }
    case ExprOp::kDateToMoment:
      out_of_range("Type INT32 with value " +
                   format_value(Value::of_integer(Physical::kI32, a.integer), {TypeKind::kDate}) +
                   " can't be cast to the destination type INT64");
    case ExprOp::kRescaleMoment:
      out_of_range(expr.power_of_ten == 3 ? "Could not convert Timestamp(US) to Timestamp(NS)"
                                          : "Could not convert Timestamp to Timestamp(US)");
    default: throw_arithmetic(expr, a.integer, b.integer);
  }
}

}  // namespace basalt::exec
