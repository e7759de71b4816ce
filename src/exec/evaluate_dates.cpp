// Parts of dates and moments, and arithmetic with them, tile by tile.
#include "exec/calendar.h"
#include "exec/evaluate_calls.h"

namespace basalt::exec {

namespace {

int64_t literal_of(const Step& step, size_t arg) { return static_cast<int64_t>(step.expr->args[arg].literal.integer); }
DatePart part_in(const Step& step, size_t arg) { return static_cast<DatePart>(literal_of(step, arg)); }

// Functions that take one number of 64 bits and give integers in the step's lane.
template <typename Function>
Vector call_in_lane(Step& step, TileInput& input, const Function& function) {
  const Vector a = in_lane(step.args[0], input, Lane::kI64);
  if (step.lane == Lane::kI32) return call_rows<int32_t>(step, input, a.valid, function, a.as<int64_t>());
  return call_rows<int64_t>(step, input, a.valid, function, a.as<int64_t>());
}
template <typename Function>
Vector call_wide(Step& step, TileInput& input, const Function& function) {
  const Vector a = in_lane(step.args[0], input, Lane::kI64);
  return call_rows<int64_t>(step, input, a.valid, function, a.as<int64_t>());
}

// Of two dates, moments or counts of days.
template <typename Out, typename Function>
Vector call_moments(Step& step, TileInput& input, const Function& function) {
  return call_two<Out, int64_t>(step, input, Lane::kI64, function);
}

Vector run_add_interval(Step& step, TileInput& input, bool of_days) {
  const int64_t months = literal_of(step, 1);
  const int64_t days = literal_of(step, 2);
  const int64_t micros = literal_of(step, 3);
  if (step.args.size() == 4) return call_wide(step, input, IntervalAdded{months, days, micros, of_days});
  const Vector moments = in_lane(step.args[0], input, Lane::kI64);
  const Vector counts = in_lane(step.args[4], input, Lane::kI64);
  const uint8_t* valid = meet(moments.valid, counts.valid, step.valid, input.rows());
  return call_rows<int64_t>(step, input, valid, IntervalsAdded{months, days, micros, of_days}, moments.as<int64_t>(),
                            counts.as<int64_t>());
}

Vector run_make_date(Step& step, TileInput& input) {
  const Vector year = in_lane(step.args[0], input, Lane::kI64);
  const Vector month = in_lane(step.args[1], input, Lane::kI64);
  const Vector day = in_lane(step.args[2], input, Lane::kI64);
  const uint8_t* valid = meet(year.valid, month.valid, step.valid, input.rows());
  valid = meet(valid, day.valid, step.valid, input.rows());
  return call_rows<int32_t>(step, input, valid, DateMade{}, year.as<int64_t>(), month.as<int64_t>(), day.as<int64_t>());
}

}  // namespace

Vector run_date_function(Step& step, TileInput& input) {
  const Expr& expr = *step.expr;
  const bool of_days = expr.args[0].type == Physical::kI32;
  switch (expr.op) {
    case ExprOp::kDatePart: return call_in_lane(step, input, DatePartOf{part_in(step, 1), of_days});
    case ExprOp::kDateTrunc: return call_wide(step, input, Truncated{part_in(step, 1), of_days});
    case ExprOp::kDateDiff: return call_moments<int64_t>(step, input, DateDifference{part_in(step, 2), of_days});
    case ExprOp::kDateSub: return call_moments<int64_t>(step, input, DateSubtraction{part_in(step, 2), of_days});
    case ExprOp::kAddInterval: return run_add_interval(step, input, of_days);
    case ExprOp::kAddDays: return call_moments<int32_t>(step, input, DaysAdded{});
    case ExprOp::kAddTime: return call_moments<int64_t>(step, input, TimeAdded{});
    case ExprOp::kMakeDate: return run_make_date(step, input);
    case ExprOp::kLastDay: return call_in_lane(step, input, LastDayOf{of_days});
    case ExprOp::kMomentToTime: return call_wide(step, input, MomentToTime{});
    case ExprOp::kDateToMoment: return call_wide(step, input, DateToMoment{expr.factor});
    case ExprOp::kMomentToDate: return call_in_lane(step, input, MomentToDate{});
    case ExprOp::kTruncateMoment: return call_wide(step, input, MomentTruncated{moment_power(expr)});
    case ExprOp::kRescaleMoment:
      if (expr.power_of_ten > 0) return call_wide(step, input, MomentRefined{moment_power(expr)});
      return call_wide(step, input, MomentRounded{moment_power(expr)});
    default: break;
  }
  const Vector a = in_lane(step.args[0], input, Lane::kI64);
  return call_rows<double>(step, input, a.valid, EpochOf{of_days}, a.as<int64_t>());
}

int64_t moment_power(const Expr& expr) {
  return static_cast<int64_t>(power_of_ten(expr.power_of_ten < 0 ? -expr.power_of_ten : expr.power_of_ten));
}

}  // namespace basalt::exec
