#include "exec/plain_dates.h"

#include <chrono>

#include "basalt/core/error.h"
#include "exec/calendar.h"

namespace basalt::test {

namespace {

using exec::DatePart;
using std::chrono::day;
using std::chrono::days;
using std::chrono::month;
using std::chrono::months;
using std::chrono::sys_days;
using std::chrono::year;
using std::chrono::year_month_day;

constexpr int64_t kDay = 86400000000;

struct Moment {
  sys_days date;
  int64_t time = 0;  // microseconds
  year_month_day civil() const { return year_month_day(date); }
  int64_t number() const { return date.time_since_epoch().count() * kDay + time; }
};

bool is_infinite(const Value& value) {
  const int128_t infinite = value.type == Physical::kI32 ? int128_t{INT32_MAX} : int128_t{INT64_MAX};
  return value.integer == infinite || value.integer == -infinite;
}

Moment moment_of(const Value& value) {
  const auto number = static_cast<int64_t>(value.integer);
  if (value.type == Physical::kI32) return {sys_days(days(number)), 0};
  const auto whole = std::chrono::floor<days>(std::chrono::microseconds(number));
  return {sys_days(whole), number - whole.count() * kDay};
}

// The first Monday of a year of ISO 8601 is that of the week with January 4.
sys_days first_monday(year of) {
  const sys_days fourth = sys_days(of / 1 / 4);
  return fourth - (std::chrono::weekday(fourth) - std::chrono::Monday);
}
year iso_year(sys_days date) {
  year of = year_month_day(date).year() + std::chrono::years(1);
  while (first_monday(of) > date) --of;
  return of;
}

int64_t part(DatePart of, const Moment& moment) {
  const year_month_day civil = moment.civil();
  const auto y = static_cast<int>(civil.year());
  const auto m = static_cast<unsigned>(civil.month());
  const auto week = (moment.date - first_monday(iso_year(moment.date))).count() / 7 + 1;
  switch (of) {
    case DatePart::kYear: return y;
    case DatePart::kMonth: return m;
    case DatePart::kDay: return static_cast<unsigned>(civil.day());
    case DatePart::kDecade: return y / 10;
    case DatePart::kCentury: return y > 0 ? (y + 99) / 100 : y / 100 - 1;
    case DatePart::kMillennium: return y > 0 ? (y + 999) / 1000 : y / 1000 - 1;
    case DatePart::kQuarter: return (m + 2) / 3;
    case DatePart::kWeek: return week;
    case DatePart::kIsoYear: return static_cast<int>(iso_year(moment.date));
    case DatePart::kYearWeek: {
      const auto of_year = static_cast<int>(iso_year(moment.date));
      return of_year * 100 + (of_year > 0 ? week : -week);
    }
    case DatePart::kDayOfWeek: return std::chrono::weekday(moment.date).c_encoding();
    case DatePart::kIsoDayOfWeek: return std::chrono::weekday(moment.date).iso_encoding();
    case DatePart::kDayOfYear: return (moment.date - sys_days(civil.year() / 1 / 1)).count() + 1;
    case DatePart::kHour: return moment.time / 3600000000;
    case DatePart::kMinute: return moment.time / 60000000 % 60;
    case DatePart::kSecond: return moment.time / 1000000 % 60;
    case DatePart::kMillisecond: return moment.time % 60000000 / 1000;
    case DatePart::kMicrosecond: return moment.time % 60000000;
  }
  return 0;
}

int64_t units(DatePart of) {
  switch (of) {
    case DatePart::kHour: return 3600000000;
    case DatePart::kMinute: return 60000000;
    case DatePart::kSecond: return 1000000;
    case DatePart::kMillisecond: return 1000;
    case DatePart::kMicrosecond: return 1;
    default: return 0;
  }
}

int64_t truncated(DatePart of, const Moment& moment) {
  const year_month_day civil = moment.civil();
  const auto y = static_cast<int>(civil.year());
  if (const int64_t unit = units(of); unit != 0) return moment.number() - moment.time % unit;
  sys_days begin = moment.date;
  const auto january = [](int of_year) { return sys_days(year(of_year) / 1 / 1); };
  switch (of) {
    case DatePart::kYear: begin = january(y); break;
    case DatePart::kMonth: begin = sys_days(civil.year() / civil.month() / 1); break;
    case DatePart::kDecade: begin = january(y / 10 * 10); break;
    case DatePart::kCentury: begin = january(y / 100 * 100); break;
    case DatePart::kMillennium: begin = january(y / 1000 * 1000); break;
    case DatePart::kQuarter:
      begin = sys_days(civil.year() / month((static_cast<unsigned>(civil.month()) - 1) / 3 * 3 + 1) / 1);
      break;
    case DatePart::kWeek:
    case DatePart::kYearWeek: begin -= std::chrono::weekday(begin) - std::chrono::Monday; break;
    case DatePart::kIsoYear: begin = first_monday(iso_year(begin)); break;
    default: break;
  }
  return Moment{begin, 0}.number();
}

int64_t difference(DatePart of, const Moment& a, const Moment& b) {
  const auto ordinal = [&](const Moment& m) -> int64_t {
    const auto y = static_cast<int>(m.civil().year());
    const int64_t month_number = y * 12 + static_cast<int>(static_cast<unsigned>(m.civil().month())) - 1;
    switch (of) {
      case DatePart::kYear: return y;
      case DatePart::kMonth: return month_number;
      case DatePart::kQuarter: return month_number / 3;
      case DatePart::kDecade: return y / 10;
      case DatePart::kCentury: return y / 100;
      case DatePart::kMillennium: return y / 1000;
      case DatePart::kIsoYear: return static_cast<int>(iso_year(m.date));
      default: return m.date.time_since_epoch().count();
    }
  };
  if (const int64_t unit = units(of); unit != 0) {
    const auto floor = [&](const Moment& m) { return (m.number() - m.time % unit) / unit; };
    return floor(b) - floor(a);
  }
  if (of == DatePart::kWeek || of == DatePart::kYearWeek) return (b.date - a.date).count() / 7;
  return ordinal(b) - ordinal(a);
}

int64_t with_interval(const Moment& moment, const std::vector<Value>& args) {
  const int64_t times = args.size() > 4 ? static_cast<int64_t>(args[4].integer) : 1;
  const auto part = [&](size_t arg) { return times * static_cast<int64_t>(args[arg].integer); };
  year_month_day moved = moment.civil() + months(static_cast<int>(part(1)));
  if (!moved.ok()) moved = moved.year() / moved.month() / std::chrono::last;
  return sys_days(moved).time_since_epoch().count() * kDay + part(2) * kDay + moment.time + part(3);
}

}  // namespace

std::optional<Value> plain_date_function(const Expr& expr, const std::vector<Value>& args) {
  const auto integer = [&](int128_t value) { return Value::of_integer(expr.type, value); };
  const auto part_at = [&](size_t i) { return static_cast<DatePart>(args[i].integer); };
  const bool infinite = is_infinite(args[0]);
  const int128_t endless = args[0].integer < 0 ? -int128_t{INT64_MAX} : int128_t{INT64_MAX};
  switch (expr.op) {
    case ExprOp::kDatePart: return infinite ? Value::of_null(expr.type) : integer(part(part_at(1), moment_of(args[0])));
    case ExprOp::kEpoch:
      if (infinite) return Value::of_null(expr.type);
      return Value::of_real(expr.type, static_cast<double>(moment_of(args[0]).number()) / 1e6);
    case ExprOp::kDateTrunc: return integer(infinite ? endless : truncated(part_at(1), moment_of(args[0])));
    case ExprOp::kDateDiff:
      if (infinite || is_infinite(args[1])) return Value::of_null(expr.type);
      return integer(difference(part_at(2), moment_of(args[0]), moment_of(args[1])));
    case ExprOp::kAddInterval: return integer(infinite ? endless : with_interval(moment_of(args[0]), args));
    case ExprOp::kAddDays: {
      const int128_t sum = args[0].integer + args[1].integer;
      if (!infinite && (sum >= INT32_MAX || sum <= -INT32_MAX)) throw Error(ErrorCode::kOutOfRange, "no such date");
      return integer(infinite ? args[0].integer : sum);
    }
    case ExprOp::kDateToMoment: return integer(infinite ? endless : args[0].integer * expr.factor);
    case ExprOp::kMomentToDate: {
      if (infinite) return integer(args[0].integer < 0 ? -INT32_MAX : INT32_MAX);
      return integer(moment_of(args[0]).date.time_since_epoch().count());
    }
    default: return std::nullopt;
  }
}

}  // namespace basalt::test
