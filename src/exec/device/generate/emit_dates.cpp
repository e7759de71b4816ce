// Writing functions of dates and moments.
#include "exec/date_parts.h"
#include "exec/device/generate/emit.h"

namespace basalt::device {

using exec::Lane;
using exec::Step;

namespace {

std::string part_text(const Expr& expr, size_t arg) {
  return std::string("exec::DatePart::") +
         exec::kDatePartNames[static_cast<int>(expr.args[arg].literal.integer)].enumerator;
}

std::string date_functor(const Expr& expr) {
  const std::string of_days = expr.args[0].type == Physical::kI32 ? "true" : "false";
  const auto number = [&](size_t arg) { return constant_text(expr.args[arg].literal.integer); };
  const std::string power = "{" + constant_text(exec::moment_power(expr)) + "}";
  switch (expr.op) {
    case ExprOp::kDatePart: return "DatePartOf{" + part_text(expr, 1) + ", " + of_days + "}";
    case ExprOp::kEpoch: return "EpochOf{" + of_days + "}";
    case ExprOp::kDateTrunc: return "Truncated{" + part_text(expr, 1) + ", " + of_days + "}";
    case ExprOp::kDateDiff: return "DateDifference{" + part_text(expr, 2) + ", " + of_days + "}";
    case ExprOp::kAddInterval:
      return "IntervalAdded{" + number(1) + ", " + number(2) + ", " + number(3) + ", " + of_days + "}";
    case ExprOp::kAddDays: return "DaysAdded{}";
    case ExprOp::kDateToMoment: return "DateToMoment{" + constant_text(expr.factor) + "}";
    case ExprOp::kMomentToDate: return "MomentToDate{}";
    case ExprOp::kTruncateMoment: return "MomentTruncated" + power;
    default: return (expr.power_of_ten > 0 ? "MomentRefined" : "MomentRounded") + power;
  }
}

// Whether something infinite becomes NULL.
bool drops_infinite(const Step& step, size_t args) {
  const ExprOp op = step.expr->op;
  if (op != ExprOp::kDatePart && op != ExprOp::kEpoch && op != ExprOp::kDateDiff) return false;
  const bool of_days = step.expr->args[0].type == Physical::kI32;
  const int128_t infinite = of_days ? exec::kInfiniteDate : exec::kInfiniteMoment;
  for (size_t i = 0; i < args; ++i) {
    if (step.args[i].range.low <= -infinite || step.args[i].range.high >= infinite) return true;
  }
  return false;
}

}  // namespace

Emitted RowEmitter::date_function(const Step& step) {
  const size_t args = step.expr->op == ExprOp::kDateDiff || step.expr->op == ExprOp::kAddDays ? 2 : 1;
  std::vector<std::string> texts;
  std::string valid;
  for (size_t i = 0; i < args; ++i) {
    const Emitted arg = value(step.args[i]);
    texts.push_back(in_lane(arg, Lane::kI64));
    valid = i == 0 ? arg.valid : both_valid(valid, arg.valid);
  }
  return call(step, date_functor(*step.expr), texts, valid, step.lane, drops_infinite(step, args));
}

}  // namespace basalt::device
