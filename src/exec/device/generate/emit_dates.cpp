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
    case ExprOp::kDateSub: return "DateSubtraction{" + part_text(expr, 2) + ", " + of_days + "}";
    case ExprOp::kLastDay: return "LastDayOf{" + of_days + "}";
    case ExprOp::kMakeDate: return "DateMade{}";
    case ExprOp::kAddTime: return "TimeAdded{}";
    case ExprOp::kMomentToTime: return "MomentToTime{}";
    case ExprOp::kAddInterval:
      return std::string(expr.args.size() == 4 ? "IntervalAdded{" : "IntervalsAdded{") + number(1) + ", " + number(2) +
             ", " + number(3) + ", " + of_days + "}";
    case ExprOp::kAddDays: return "DaysAdded{}";
    case ExprOp::kDateToMoment: return "DateToMoment{" + constant_text(expr.factor) + "}";
    case ExprOp::kMomentToDate: return "MomentToDate{}";
    case ExprOp::kTruncateMoment: return "MomentTruncated" + power;
    default: return (expr.power_of_ten > 0 ? "MomentRefined" : "MomentRounded") + power;
  }
}

// Arguments that differ from row to row; the others are literals.
std::vector<size_t> args_of_rows(const Expr& expr) {
  switch (expr.op) {
    case ExprOp::kMakeDate: return {0, 1, 2};
    case ExprOp::kDateDiff:
    case ExprOp::kDateSub:
    case ExprOp::kAddTime:
    case ExprOp::kAddDays: return {0, 1};
    case ExprOp::kAddInterval:
      if (expr.args.size() > 4) return {0, 4};
      [[fallthrough]];
    default: return {0};
  }
}

// Whether something infinite becomes NULL.
bool drops_infinite(const Step& step, const std::vector<size_t>& args) {
  const ExprOp op = step.expr->op;
  if (op != ExprOp::kDatePart && op != ExprOp::kEpoch && op != ExprOp::kDateDiff && op != ExprOp::kDateSub &&
      op != ExprOp::kLastDay) {
    return false;
  }
  const bool of_days = step.expr->args[0].type == Physical::kI32;
  const int128_t infinite = of_days ? exec::kInfiniteDate : exec::kInfiniteMoment;
  for (const size_t i : args) {
    if (step.args[i].range.low <= -infinite || step.args[i].range.high >= infinite) return true;
  }
  return false;
}

}  // namespace

Emitted RowEmitter::date_function(const Step& step) {
  const std::vector<size_t> args = args_of_rows(*step.expr);
  std::vector<std::string> texts;
  std::string valid;
  for (const size_t i : args) {
    const Emitted arg = value(step.args[i]);
    texts.push_back(in_lane(arg, Lane::kI64));
    valid = i == 0 ? arg.valid : both_valid(valid, arg.valid);
  }
  return call(step, date_functor(*step.expr), texts, valid, step.lane, drops_infinite(step, args));
}

}  // namespace basalt::device
