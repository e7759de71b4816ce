// Writing calls of the functions of single values that both backends share.
#include "exec/device/generate/emit.h"
#include "exec/expr_kind.h"
#include "exec/scalar.h"

namespace basalt::device {

using exec::Lane;
using exec::Step;

namespace {

// Whether a cast keeps every value, so that it needs no function.
bool only_widens(const Expr& cast) {
  const Physical from = cast.args[0].type;
  if (is_float(cast.type)) return cast.type == Physical::kF64 || from != Physical::kF64;
  if (is_float(from) || cast.power_of_ten != 0 || cast.factor != 1 || cast.limit != 0) return false;
  return exec::range_of(from).low >= exec::range_of(cast.type).low &&
         exec::range_of(from).high <= exec::range_of(cast.type).high;
}

}  // namespace

void add_headers(const Expr& expr, std::set<std::string>& headers) {
  switch (exec::kind_of(expr.op)) {
    case exec::ExprKind::kCast:
      if (!only_widens(expr)) headers.insert("exec/conversions.h");
      break;
    case exec::ExprKind::kDateFunction: headers.insert("exec/calendar.h"); break;
    case exec::ExprKind::kArithmetic:
      if (expr.op != ExprOp::kNegate || !is_integer(expr.type) || is_signed(expr.type)) break;
      [[fallthrough]];
    case exec::ExprKind::kDivision:
    case exec::ExprKind::kMathFunction:
    case exec::ExprKind::kBitOperation:
    case exec::ExprKind::kNumberFunction: headers.insert("exec/number_functions.h"); break;
    default: break;
  }
  for (const Expr& arg : expr.args) add_headers(arg, headers);
}

Emitted RowEmitter::call(const Step& step, const std::string& functor, const std::vector<std::string>& args,
                         const std::string& valid, Lane lane, bool may_null) {
  const std::string result = "t" + std::to_string(next_++);
  line(std::string(lane_type(lane)) + " " + result + " = 0;");
  std::string text = "exec::" + functor + "(";
  for (const std::string& arg : args) text += arg + ", ";
  text += result + ")";
  const bool raises = step.may_throw && !step.null_if_out_of_range;
  if (!raises && !may_null) {
    line(text + ";");
    return {result, valid, lane};
  }
  const std::string outcome = temporary("exec::Outcome", text);
  if (raises) {
    line("if (" + live_ + (valid.empty() ? "" : " && " + valid) + " && " + outcome +
         " == exec::Outcome::kOutOfRange) overflow = 1;");
  }
  if (!may_null) return {result, valid, lane};
  const std::string known = outcome + " == exec::Outcome::kValue";
  return {result, temporary("bool", valid.empty() ? known : valid + " && " + known), lane};
}

namespace {

// A functor over integers with one constant of their lane.
std::string with_constant(const std::string& functor, Lane lane, int128_t constant) {
  const std::string type = lane_type(lane);
  return functor + "<" + type + ">{static_cast<" + type + ">(" + constant_text(constant) + ")}";
}

// The least value of the type that a lane can hold.
int128_t least_in_lane(Physical type, Lane lane) {
  const Physical of_lane = lane == Lane::kI32 ? Physical::kI32 : lane == Lane::kI64 ? Physical::kI64 : Physical::kI128;
  return std::max(exec::range_of(type).low, exec::range_of(of_lane).low);
}

std::string integer_functor(const Expr& expr, Lane lane) {
  const int128_t power = exec::power_of_ten(expr.power_of_ten);
  switch (expr.op) {
    case ExprOp::kIntegerDivide: return with_constant("IntegerQuotient", lane, least_in_lane(expr.type, lane));
    case ExprOp::kModulo: return with_constant("IntegerRemainder", lane, least_in_lane(expr.type, lane));
    case ExprOp::kAbs: return with_constant("IntegerMagnitude", lane, least_in_lane(expr.type, lane));
    case ExprOp::kNegate: return with_constant("WrappedNegation", lane, exec::range_of(expr.type).high + 1);
    case ExprOp::kRound: return with_constant("DecimalRound", lane, power);
    case ExprOp::kFloor: return with_constant("DecimalFloor", lane, power);
    case ExprOp::kCeil: return with_constant("DecimalCeil", lane, power);
    default: return with_constant("DecimalTruncate", lane, power);
  }
}

std::string real_functor(const Expr& expr) {
  const std::string modifier = "{" + real_text(exec::rounding_modifier(expr.power_of_ten)) + "}";
  switch (expr.op) {
    case ExprOp::kDivide: return "RealQuotient{}";
    case ExprOp::kIntegerDivide: return "RealQuotientOrNull{}";
    case ExprOp::kModulo: return "RealRemainder{}";
    case ExprOp::kAbs: return "RealMagnitude{}";
    case ExprOp::kFloor: return "RealFloor{}";
    case ExprOp::kCeil: return "RealCeil{}";
    case ExprOp::kTruncate: return "RealTruncate{}";
    default: return (expr.power_of_ten < 0 ? "RealRoundBefore" : "RealRoundBehind") + modifier;
  }
}

}  // namespace

Emitted RowEmitter::division(const Step& step) {
  const Emitted a = value(step.args[0]);
  const Emitted b = value(step.args[1]);
  const std::string valid = both_valid(a.valid, b.valid);
  const bool real = is_real(step.lane);
  const std::string functor = real ? real_functor(*step.expr) : integer_functor(*step.expr, step.lane);
  const exec::IntegerRange& divisor = step.args[1].range;
  const bool may_null = real ? step.expr->op == ExprOp::kIntegerDivide : divisor.low <= 0 && divisor.high >= 0;
  return call(step, functor, {in_lane(a, step.lane), in_lane(b, step.lane)}, valid, step.lane, may_null);
}

Emitted RowEmitter::number_function(const Step& step) {
  const Emitted a = value(step.args[0]);
  if (step.expr->op == ExprOp::kSign) {
    const std::string arg = a.lane == Lane::kBool ? in_lane(a, Lane::kI32) : a.value;
    return call(step, "Sign{}", {arg}, a.valid, step.lane, false);
  }
  const std::string functor = is_real(step.lane) ? real_functor(*step.expr) : integer_functor(*step.expr, step.lane);
  return call(step, functor, {in_lane(a, step.lane)}, a.valid, step.lane, false);
}

Emitted RowEmitter::square_root(const Step& step) {
  const Emitted a = value(step.args[0]);
  return call(step, "SquareRoot{}", {a.value}, a.valid, step.lane, false);
}

Emitted RowEmitter::bit_operation(const Step& step) {
  const Emitted a = value(step.args[0]);
  const Emitted b = value(step.args[1]);
  const std::string bits = std::to_string(exec::bits_of(step.expr->type));
  std::string functor;
  switch (step.expr->op) {
    case ExprOp::kBitAnd: functor = "BitAnd{}"; break;
    case ExprOp::kBitOr: functor = "BitOr{}"; break;
    case ExprOp::kBitXor: functor = "BitXor{}"; break;
    case ExprOp::kShiftLeft:
      functor = "ShiftLeft{" + bits + ", " + std::to_string(exec::value_bits_of(step.expr->type)) + "}";
      break;
    default: functor = "ShiftRight{" + bits + "}"; break;
  }
  return call(step, functor, {in_lane(a, step.lane), in_lane(b, step.lane)}, both_valid(a.valid, b.valid), step.lane,
              false);
}

}  // namespace basalt::device
