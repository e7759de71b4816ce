// Bounds of functions of dates and moments.
#include "exec/bounds_parts.h"
#include "exec/calendar.h"
#include "exec/evaluate.h"

namespace basalt::exec {

namespace {

DatePart part_in(const Expr& expr, size_t arg) { return static_cast<DatePart>(expr.args[arg].literal.integer); }
bool of_days(const Expr& expr) { return expr.args[0].type == Physical::kI32; }

bool may_be_infinite(const Bounds& b, bool days) {
  const int128_t infinite = days ? kInfiniteDate : kInfiniteMoment;
  return b.low.integer <= -infinite || b.high.integer >= infinite;
}

// The values that a part can have whatever the date is; {0, −1}: no such range.
IntegerRange range_of_part(DatePart part) {
  switch (part) {
    case DatePart::kMonth: return {1, 12};
    case DatePart::kDay: return {1, 31};
    case DatePart::kQuarter: return {1, 4};
    case DatePart::kWeek: return {1, 53};
    case DatePart::kDayOfWeek: return {0, 6};
    case DatePart::kIsoDayOfWeek: return {1, 7};
    case DatePart::kDayOfYear: return {1, 366};
    case DatePart::kHour: return {0, 23};
    case DatePart::kMinute:
    case DatePart::kSecond: return {0, 59};
    case DatePart::kMillisecond: return {0, 59999};
    case DatePart::kMicrosecond: return {0, 59999999};
    default: return {0, -1};
  }
}

void set_part(Bounds& out, const Expr& expr, const Bounds& arg) {
  const bool days = of_days(expr);
  const DatePart part = part_in(expr, 1);
  const bool infinite = may_be_infinite(arg, days);
  out.may_null |= infinite;
  const IntegerRange fixed = range_of_part(part);
  if (fixed.low <= fixed.high) return set_range(out, expr, fixed.low, fixed.high);
  if (infinite || part == DatePart::kYearWeek) return set_range(out, expr, -600000000, 600000000);
  int64_t low = 0;  // years and ages do not decrease
  int64_t high = 0;
  DatePartOf{part, days}(static_cast<int64_t>(arg.low.integer), low);
  DatePartOf{part, days}(static_cast<int64_t>(arg.high.integer), high);
  set_range(out, expr, low, high);
}

// Of a function that does not decrease by more than `slack` and keeps what is infinite.
template <typename Function>
void set_monotone_time(Bounds& out, const Expr& expr, const Bounds& arg, const Function& function, int128_t slack = 0) {
  const IntegerRange type = range_of(expr.type);
  int64_t low = 0;
  int64_t high = 0;
  const Outcome at_low = function(static_cast<int64_t>(arg.low.integer), low);
  const Outcome at_high = function(static_cast<int64_t>(arg.high.integer), high);
  const bool finite = !may_be_infinite(arg, expr.args[0].type == Physical::kI32);
  const int128_t least = low - slack;
  const int128_t most = high + slack;
  if (finite && at_low == Outcome::kValue && at_high == Outcome::kValue && least > type.low && most < type.high) {
    set_range(out, expr, least, most);
    return;
  }
  if (out.may_value) out.may_throw = true;
}

// Of a difference that does not decrease with the end, or increase with the start, by more than `slack`.
template <typename Difference>
void set_difference(Bounds& out, const Expr& expr, const Bounds& a, const Bounds& b, const Difference& difference,
                    int64_t slack = 0) {
  const bool days = of_days(expr);
  if (may_be_infinite(a, days) || may_be_infinite(b, days)) {
    out.may_null = true;
    if (out.may_value) out.may_throw = true;
    return;
  }
  int64_t low = 0;
  int64_t high = 0;
  const Outcome at_low = difference(static_cast<int64_t>(a.high.integer), static_cast<int64_t>(b.low.integer), low);
  const Outcome at_high = difference(static_cast<int64_t>(a.low.integer), static_cast<int64_t>(b.high.integer), high);
  if (at_low == Outcome::kValue && at_high == Outcome::kValue) return set_range(out, expr, low - slack, high + slack);
  if (out.may_value) out.may_throw = true;
}

// Each part of an interval grows or shrinks with the count, so that the extremes are those of the ends.
void set_intervals_added(Bounds& out, const Expr& expr, const Bounds& moment, const Bounds& count,
                         const IntervalsAdded& added) {
  const bool any_value = may_be_infinite(moment, added.of_days) || count.low.integer < range_of(Physical::kI64).low ||
                         count.high.integer > range_of(Physical::kI64).high;
  const bool grows = added.months >= 0 && added.days >= 0 && added.micros >= 0;
  const bool shrinks = added.months <= 0 && added.days <= 0 && added.micros <= 0;
  if (!any_value && (grows || shrinks)) {
    const auto of = [](const Value& value) { return static_cast<int64_t>(value.integer); };
    int64_t low = 0;
    int64_t high = 0;
    const Outcome at_low = added(of(moment.low), of(grows ? count.low : count.high), low);
    const Outcome at_high = added(of(moment.high), of(grows ? count.high : count.low), high);
    const IntegerRange type = range_of(expr.type);
    const int128_t least = static_cast<int128_t>(low) - kMicrosPerDay;
    const int128_t most = static_cast<int128_t>(high) + kMicrosPerDay;
    if (at_low == Outcome::kValue && at_high == Outcome::kValue && least > type.low && most < type.high) {
      return set_range(out, expr, least, most);
    }
  }
  if (out.may_value) out.may_throw = true;
}

void set_time_added(Bounds& out, const Expr& expr, const Bounds& a, const Bounds& b) {
  int64_t low = 0;
  int64_t high = 0;
  const auto of = [](const Value& value) { return static_cast<int64_t>(value.integer); };
  const bool finite = !may_be_infinite(a, true) && TimeAdded{}(of(a.low), of(b.low), low) == Outcome::kValue &&
                      TimeAdded{}(of(a.high), of(b.high), high) == Outcome::kValue;
  if (finite) return set_range(out, expr, low, high);
  if (out.may_value) out.may_throw = true;
}

void set_days_added(Bounds& out, const Expr& expr, const Bounds& a, const Bounds& b) {
  const int128_t low = a.low.integer + b.low.integer;
  const int128_t high = a.high.integer + b.high.integer;
  if (may_be_infinite(a, true) || low <= -kInfiniteDate || high >= kInfiniteDate) {
    if (out.may_value) out.may_throw = true;
    return;
  }
  set_range(out, expr, low, high);
}

}  // namespace

Bounds date_function_bounds(const Expr& expr, const StatisticsList& stats) {
  Bounds out = unbounded(expr.type);
  std::vector<Bounds> args;
  out.may_null = false;
  for (const Expr& arg : expr.args) {
    args.push_back(bounds_of(arg, stats));
    out.may_throw |= args.back().may_throw;
    out.may_null |= args.back().may_null;
    out.may_value &= args.back().may_value;
  }
  const auto number = [&](size_t arg) { return static_cast<int64_t>(expr.args[arg].literal.integer); };
  switch (expr.op) {
    case ExprOp::kDatePart: set_part(out, expr, args[0]); break;
    case ExprOp::kEpoch: out.may_null |= may_be_infinite(args[0], of_days(expr)); break;
    case ExprOp::kDateTrunc: set_monotone_time(out, expr, args[0], Truncated{part_in(expr, 1), of_days(expr)}); break;
    case ExprOp::kDateDiff:
      set_difference(out, expr, args[0], args[1], DateDifference{part_in(expr, 2), of_days(expr)});
      break;
    case ExprOp::kDateSub:
      set_difference(out, expr, args[0], args[1], DateSubtraction{part_in(expr, 2), of_days(expr)}, 1);
      break;
    case ExprOp::kAddTime: set_time_added(out, expr, args[0], args[1]); break;
    case ExprOp::kMakeDate:
      if (out.may_value) out.may_throw = true;
      break;
    case ExprOp::kLastDay: {
      out.may_null |= may_be_infinite(args[0], of_days(expr));
      int64_t low = 0;
      int64_t high = 0;
      const LastDayOf last{of_days(expr)};
      if (last(static_cast<int64_t>(args[0].low.integer), low) == Outcome::kValue &&
          last(static_cast<int64_t>(args[0].high.integer), high) == Outcome::kValue) {
        set_range(out, expr, low, high);
      } else if (out.may_value) {
        out.may_throw = true;
      }
      break;
    }
    case ExprOp::kMomentToTime:
      if (out.may_value && may_be_infinite(args[0], false)) out.may_throw = true;
      set_range(out, expr, 0, kMicrosPerDay - 1);
      break;
    case ExprOp::kAddInterval:  // days that a month does not have become its last
      if (args.size() > 4) {
        set_intervals_added(out, expr, args[0], args[4], {number(1), number(2), number(3), of_days(expr)});
        break;
      }
      set_monotone_time(out, expr, args[0], IntervalAdded{number(1), number(2), number(3), of_days(expr)},
                        kMicrosPerDay);
      break;
    case ExprOp::kAddDays: set_days_added(out, expr, args[0], args[1]); break;
    case ExprOp::kDateToMoment: set_monotone_time(out, expr, args[0], DateToMoment{expr.factor}); break;
    case ExprOp::kMomentToDate: {
      int64_t low = 0;
      int64_t high = 0;
      MomentToDate{}(static_cast<int64_t>(args[0].low.integer), low);
      MomentToDate{}(static_cast<int64_t>(args[0].high.integer), high);
      set_range(out, expr, low, high);
      break;
    }
    case ExprOp::kRescaleMoment:
      if (expr.power_of_ten > 0) {
        set_monotone_time(out, expr, args[0], MomentRefined{moment_power(expr)});
        break;
      }
      [[fallthrough]];
    default:  // towards zero, or by a half of the unit away from it
      if (!may_be_infinite(args[0], false)) {
        set_range(out, expr, std::min<int128_t>(args[0].low.integer, 0), std::max<int128_t>(args[0].high.integer, 0));
      }
      break;
  }
  return out;
}

}  // namespace basalt::exec
