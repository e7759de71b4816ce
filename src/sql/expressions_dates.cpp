// Parts of dates and timestamps, and arithmetic with them.
#include <map>

#include "duckdb/common/enums/date_part_specifier.hpp"
#include "duckdb/common/types/interval.hpp"
#include "exec/calendar.h"
#include "sql/lowering.h"

namespace basalt::sql {

using duckdb::ExpressionClass;
using duckdb::LogicalType;
using duckdb::LogicalTypeId;
using exec::DatePart;
using Specifier = duckdb::DatePartSpecifier;

namespace {

bool is_date(const LogicalType& type) { return type.id() == LogicalTypeId::DATE; }
bool is_timestamp(const LogicalType& type) { return type.id() == LogicalTypeId::TIMESTAMP; }
bool is_interval(const LogicalType& type) { return type.id() == LogicalTypeId::INTERVAL; }

bool is_time(const LogicalType& type) { return type.id() == LogicalTypeId::TIME; }
bool is_zoned(const LogicalType& type) { return type.id() == LogicalTypeId::TIMESTAMP_TZ; }

[[noreturn]] void refuse_zone(const std::string& what) {
  throw NotLowered(what + " of TIMESTAMP WITH TIME ZONE in another time zone than UTC");
}

std::optional<DatePart> part_of(Specifier specifier) {
  switch (specifier) {
    case Specifier::YEAR: return DatePart::kYear;
    case Specifier::MONTH: return DatePart::kMonth;
    case Specifier::DAY: return DatePart::kDay;
    case Specifier::DECADE: return DatePart::kDecade;
    case Specifier::CENTURY: return DatePart::kCentury;
    case Specifier::MILLENNIUM: return DatePart::kMillennium;
    case Specifier::QUARTER: return DatePart::kQuarter;
    case Specifier::WEEK: return DatePart::kWeek;
    case Specifier::ISOYEAR: return DatePart::kIsoYear;
    case Specifier::YEARWEEK: return DatePart::kYearWeek;
    case Specifier::DOW: return DatePart::kDayOfWeek;
    case Specifier::ISODOW: return DatePart::kIsoDayOfWeek;
    case Specifier::DOY: return DatePart::kDayOfYear;
    case Specifier::HOUR: return DatePart::kHour;
    case Specifier::MINUTE: return DatePart::kMinute;
    case Specifier::SECOND: return DatePart::kSecond;
    case Specifier::MILLISECONDS: return DatePart::kMillisecond;
    case Specifier::MICROSECONDS: return DatePart::kMicrosecond;
    default: return std::nullopt;
  }
}

Specifier specifier_of(const std::string& word, const std::string& function) {
  Specifier specifier = Specifier::INVALID;
  if (!duckdb::TryGetDatePartSpecifier(word, specifier)) throw NotLowered(function + " of the part " + word);
  return specifier;
}

// Days and epochs begin and end where days and seconds do.
DatePart boundary_of(const std::string& word, const std::string& function) {
  const Specifier specifier = specifier_of(word, function);
  if (specifier == Specifier::EPOCH) return DatePart::kSecond;
  const std::optional<DatePart> part = part_of(specifier);
  if (!part) throw NotLowered(function + " of the part " + word);
  const bool is_day = part == DatePart::kDayOfWeek || part == DatePart::kIsoDayOfWeek || part == DatePart::kDayOfYear;
  return is_day ? DatePart::kDay : *part;
}

Expr part_literal(DatePart part) { return number_literal(Physical::kI64, static_cast<int64_t>(part)); }

// What year(), month() and their like are called, in the words of date_part().
std::optional<std::string> named_part(const std::string& function) {
  static constexpr const char* kSame[] = {"year",    "month",  "day",         "decade",      "century", "millennium",
                                          "quarter", "week",   "isoyear",     "yearweek",    "isodow",  "hour",
                                          "minute",  "second", "millisecond", "microsecond", "epoch"};
  for (const char* name : kSame) {
    if (function == name) return function;
  }
  if (function == "dayofmonth") return "day";
  if (function == "weekofyear") return "week";
  if (function == "dayofweek" || function == "weekday") return "dow";
  if (function == "dayofyear") return "doy";
  return std::nullopt;
}

// What a date is made into; NULL if it is finite and more than so many days away from 1970.
Expr null_beyond_days(const Expr& date, int64_t last_day, Expr made) {
  const auto compare = [&](ExprOp op, int64_t day) {
    return make_expr(op, Physical::kU8, {date, number_literal(Physical::kI32, day)});
  };
  Expr finite = make_expr(ExprOp::kAnd, Physical::kU8,
                          {compare(ExprOp::kGreaterEqual, -last_day), compare(ExprOp::kLessEqual, last_day)});
  Expr infinite = make_expr(ExprOp::kIn, Physical::kU8,
                            {date, number_literal(Physical::kI32, exec::kInfiniteDate),
                             number_literal(Physical::kI32, -exec::kInfiniteDate)});
  Expr null = number_literal(Physical::kI64, 0);
  null.literal = Value::of_null(Physical::kI64);
  Expr known = make_expr(ExprOp::kOr, Physical::kU8, {std::move(finite), std::move(infinite)});
  return make_expr(ExprOp::kCase, Physical::kI64, {std::move(known), std::move(made), std::move(null)});
}

Expr unit_change(ExprOp op, Expr moment, int32_t power) {
  Expr result = make_expr(op, Physical::kI64, {std::move(moment)});
  result.power_of_ten = power;
  return result;
}

}  // namespace

void Lowering::require_date(const std::string& function, const duckdb::Expression& expression) const {
  const LogicalType& type = expression.return_type;
  if (is_zoned(type) && !rules_.utc) refuse_zone(function);
  if (!is_date(type) && !is_timestamp(type) && !is_zoned(type)) throw NotLowered(function + " of " + type.ToString());
}

std::optional<Expr> Lowering::date_function(const Function& expression) const {
  const std::string& name = expression.function.name;
  const auto& children = expression.children;
  if (name == "date_trunc" || name == "datetrunc") {
    require_date(name, *children.at(1));
    if (!is_timestamp(expression.return_type) && !is_zoned(expression.return_type))
      throw NotLowered(name + " to " + expression.return_type.ToString());
    const DatePart part = boundary_of(constant_text(*children[0], name), name);
    return make_expr(ExprOp::kDateTrunc, Physical::kI64, {lower(*children[1]), part_literal(part)});
  }
  const bool counts_whole = name == "date_sub" || name == "datesub";
  if (counts_whole || name == "date_diff" || name == "datediff") {
    require_date(name, *children.at(1));
    // The calendar of time zones counts weeks and whole months in its own way.
    if (is_zoned(children[1]->return_type)) throw NotLowered(name + " of " + children[1]->return_type.ToString());
    if (children.at(2)->return_type != children[1]->return_type) throw NotLowered(name + " of different types");
    const DatePart part = boundary_of(constant_text(*children[0], name), name);
    const ExprOp op = counts_whole ? ExprOp::kDateSub : ExprOp::kDateDiff;
    return make_expr(op, Physical::kI64, {lower(*children[1]), lower(*children[2]), part_literal(part)});
  }
  const bool by_word = name == "date_part" || name == "datepart";
  const std::optional<std::string> word =
      by_word ? std::optional<std::string>(constant_text(*children.at(0), name)) : named_part(name);
  if (!word) return std::nullopt;
  const duckdb::Expression& date = *children.at(by_word ? 1 : 0);
  require_date(name, date);
  const Specifier specifier = specifier_of(*word, name);
  if (specifier == Specifier::EPOCH) return make_expr(ExprOp::kEpoch, Physical::kF64, {lower(date)});
  const std::optional<DatePart> part = part_of(specifier);
  if (!part) throw NotLowered(name + " of the part " + *word);
  return make_expr(ExprOp::kDatePart, Physical::kI64, {lower(date), part_literal(*part)});
}

// Functions that make a date or count units since 1970.
std::optional<Expr> Lowering::date_made(const Function& expression) const {
  const std::string& name = expression.function.name;
  const auto& children = expression.children;
  if (name == "last_day") {
    require_date(name, *children.at(0));
    if (is_zoned(children[0]->return_type)) throw NotLowered(name + " of " + children[0]->return_type.ToString());
    return make_expr(ExprOp::kLastDay, Physical::kI32, {lower(*children[0])});
  }
  if (name == "make_date") {
    if (children.size() != 3) throw NotLowered(name + " of " + std::to_string(children.size()) + " arguments");
    std::vector<Expr> args;
    for (const auto& child : children) {
      if (!child->return_type.IsIntegral()) throw NotLowered(name + " of " + child->return_type.ToString());
      Expr narrow = lower(*child);
      if (narrow.type != Physical::kI32) narrow = make_expr(ExprOp::kCast, Physical::kI32, {std::move(narrow)});
      args.push_back(make_expr(ExprOp::kCast, Physical::kI64, {std::move(narrow)}));
    }
    return make_expr(ExprOp::kMakeDate, Physical::kI32, std::move(args));
  }
  if (name != "epoch_ms" && name != "epoch_us") return std::nullopt;
  const LogicalType& type = children.at(0)->return_type;
  if (!is_timestamp(type) && !is_zoned(type)) throw NotLowered(name + " of " + type.ToString());
  const Expr moment = lower(*children[0]);
  Expr is_infinite = make_expr(ExprOp::kIn, Physical::kU8,
                               {moment, number_literal(Physical::kI64, exec::kInfiniteMoment),
                                number_literal(Physical::kI64, -exec::kInfiniteMoment)});
  Expr null = number_literal(Physical::kI64, 0);
  null.literal = Value::of_null(Physical::kI64);
  Expr units = name == "epoch_us" ? moment : unit_change(ExprOp::kTruncateMoment, moment, 3);
  return make_expr(ExprOp::kCase, Physical::kI64, {std::move(is_infinite), std::move(null), std::move(units)});
}

// monthname() and dayname() choose among literals.
std::optional<Expr> Lowering::date_name(const Function& expression) const {
  static constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                            "July",    "August",   "September", "October", "November", "December"};
  static constexpr const char* kDays[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
  const std::string& name = expression.function.name;
  const bool months = name == "monthname";
  if (!months && name != "dayname") return std::nullopt;
  const duckdb::Expression& date = *expression.children.at(0);
  require_date(name, date);
  const DatePart part = months ? DatePart::kMonth : DatePart::kIsoDayOfWeek;
  const Expr number = make_expr(ExprOp::kDatePart, Physical::kI64, {lower(date), part_literal(part)});
  std::vector<Expr> args;
  const auto add = [&](const char* word) {
    const auto place = static_cast<int64_t>(args.size() / 2) + 1;
    args.push_back(make_expr(ExprOp::kEqual, Physical::kU8, {number, number_literal(Physical::kI64, place)}));
    args.push_back(literal(duckdb::Value(word), LogicalType::VARCHAR));
  };
  if (months) {
    for (const char* word : kMonths) add(word);
  } else {
    for (const char* word : kDays) add(word);
  }
  args.push_back(literal(duckdb::Value(LogicalType::VARCHAR), LogicalType::VARCHAR));
  return make_expr(ExprOp::kCase, Physical::kBytes, std::move(args));
}

// Parts and differences of times of the day, which are microseconds since midnight and reach 24:00:00.
std::optional<Expr> Lowering::time_function(const Function& expression) const {
  const std::string& name = expression.function.name;
  const auto& children = expression.children;
  const bool whole = name == "date_sub" || name == "datesub";
  const bool between = whole || name == "date_diff" || name == "datediff";
  const bool by_word = name == "date_part" || name == "datepart";
  const size_t at = between || by_word ? 1 : 0;
  if (children.size() <= at || !is_time(children[at]->return_type)) return std::nullopt;
  const std::optional<std::string> word =
      between || by_word ? std::optional<std::string>(constant_text(*children[0], name)) : named_part(name);
  if (!word) return std::nullopt;
  const Specifier specifier = specifier_of(*word, name);
  const auto number = [](int64_t value) { return number_literal(Physical::kI64, value); };
  const auto make = [](ExprOp op, Expr a, Expr b) {
    return make_expr(op, Physical::kI64, {std::move(a), std::move(b)});
  };
  Expr time = lower(*children[at]);
  if (specifier == Specifier::EPOCH && !between) {
    Expr million = number(0);
    million.type = Physical::kF64;
    million.literal = Value::of_real(Physical::kF64, 1e6);
    return make_expr(ExprOp::kDivide, Physical::kF64,
                     {make_expr(ExprOp::kCast, Physical::kF64, {std::move(time)}), std::move(million)});
  }
  const std::optional<DatePart> part = part_of(specifier);
  if (!part || !exec::is_part_of_time(*part)) throw NotLowered(name + " of the part " + *word + " of TIME");
  const int64_t unit = exec::units_of_time(*part);
  if (between) {
    Expr end = lower(*children.at(2));
    if (whole)
      return make(ExprOp::kIntegerDivide, make(ExprOp::kSubtract, std::move(end), std::move(time)), number(unit));
    return make(ExprOp::kSubtract, make(ExprOp::kIntegerDivide, std::move(end), number(unit)),
                make(ExprOp::kIntegerDivide, std::move(time), number(unit)));
  }
  if (*part != DatePart::kHour) {
    const bool minute = *part == DatePart::kMinute;
    time = make(ExprOp::kModulo, std::move(time), number(minute ? exec::kMicrosPerHour : exec::kMicrosPerMinute));
  }
  return make(ExprOp::kIntegerDivide, std::move(time), number(unit));
}

// Around midnight; the days and months of the interval do not count.
Expr Lowering::add_interval_to_time(const duckdb::Expression& time, const duckdb::Expression& interval,
                                    bool subtract) const {
  if (interval.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) {
    throw NotLowered("an interval that is not constant");
  }
  const duckdb::Value& value = interval.Cast<duckdb::BoundConstantExpression>().value;
  if (value.IsNull()) throw NotLowered("an interval that is NULL");
  const int64_t micros = duckdb::IntervalValue::Get(value).micros % exec::kMicrosPerDay;
  const int64_t shift = exec::kMicrosPerDay + (subtract ? -micros : micros);
  Expr moved = make_expr(ExprOp::kAdd, Physical::kI64, {lower(time), number_literal(Physical::kI64, shift)});
  return make_expr(ExprOp::kModulo, Physical::kI64,
                   {std::move(moved), number_literal(Physical::kI64, exec::kMicrosPerDay)});
}

// Sums and differences in which a date or a timestamp takes part.
std::optional<Expr> Lowering::date_arithmetic(const Function& expression) const {
  const std::string& name = expression.function.name;
  const bool add = name == "+" || name == "add";
  const bool subtract = name == "-" || name == "subtract";
  if ((!add && !subtract) || expression.children.size() != 2) return std::nullopt;
  const duckdb::Expression* left = expression.children[0].get();
  const duckdb::Expression* right = expression.children[1].get();
  const auto is_moment = [&](const LogicalType& type) {
    return is_date(type) || is_timestamp(type) || (is_zoned(type) && rules_.utc);
  };
  if (add && is_moment(right->return_type)) std::swap(left, right);
  if (add && is_interval(left->return_type) && is_time(right->return_type)) std::swap(left, right);
  if (is_time(left->return_type) && is_interval(right->return_type)) {
    return add_interval_to_time(*left, *right, subtract);
  }
  if (!is_moment(left->return_type)) return std::nullopt;
  if (is_interval(right->return_type)) return add_interval(*left, *right, subtract);
  if (!is_date(left->return_type)) throw NotLowered(name + " on " + right->return_type.ToString());
  const auto widened = [&](const duckdb::Expression& value) {
    return make_expr(ExprOp::kCast, Physical::kI64, {lower(value)});
  };
  if (subtract && is_date(right->return_type)) {
    return make_expr(ExprOp::kSubtract, Physical::kI64, {widened(*left), widened(*right)});
  }
  if (add && is_time(right->return_type)) {
    return make_expr(ExprOp::kAddTime, Physical::kI64, {lower(*left), lower(*right)});
  }
  if (right->return_type.id() != LogicalTypeId::INTEGER)
    throw NotLowered(name + " on " + right->return_type.ToString());
  Expr days = widened(*right);
  if (subtract) days = make_expr(ExprOp::kNegate, Physical::kI64, {std::move(days)});
  return make_expr(ExprOp::kAddDays, Physical::kI32, {lower(*left), std::move(days)});
}

namespace {

// An interval that a row has `count` of.
struct CountedInterval {
  duckdb::interval_t unit;
  const duckdb::Expression* count = nullptr;
  bool has_fractions = false;  // the count is a double, of which microseconds are the last digits
};

std::optional<duckdb::interval_t> constant_interval(const duckdb::Expression& expression) {
  if (expression.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) return std::nullopt;
  const duckdb::Value& value = expression.Cast<duckdb::BoundConstantExpression>().value;
  if (value.IsNull()) throw NotLowered("an interval that is NULL");
  return duckdb::IntervalValue::Get(value);
}

// to_days(x) and its like, which INTERVAL (x) DAY is too, and x * INTERVAL '1 day'.
std::optional<CountedInterval> counted_interval(const duckdb::Expression& expression) {
  if (expression.GetExpressionClass() != ExpressionClass::BOUND_FUNCTION) return std::nullopt;
  const auto& function = expression.Cast<duckdb::BoundFunctionExpression>();
  const std::string& name = function.function.name;
  if ((name == "*" || name == "multiply") && function.children.size() == 2) {
    const bool first = is_interval(function.children[0]->return_type);
    const duckdb::Expression& count = *function.children[first ? 1 : 0];
    const auto unit = constant_interval(*function.children[first ? 0 : 1]);
    if (!unit || count.return_type.id() != LogicalTypeId::BIGINT) return std::nullopt;
    return CountedInterval{*unit, &count};
  }
  static const std::map<std::string, duckdb::interval_t> kUnits = {
      {"to_years", {12, 0, 0}},
      {"to_quarters", {3, 0, 0}},
      {"to_months", {1, 0, 0}},
      {"to_weeks", {0, 7, 0}},
      {"to_days", {0, 1, 0}},
      {"to_hours", {0, 0, exec::kMicrosPerHour}},
      {"to_minutes", {0, 0, exec::kMicrosPerMinute}},
      {"to_seconds", {0, 0, exec::kMicrosPerSecond}},
      {"to_milliseconds", {0, 0, 1000}},
      {"to_microseconds", {0, 0, 1}},
  };
  const auto unit = kUnits.find(name);
  if (unit == kUnits.end() || function.children.size() != 1) return std::nullopt;
  const duckdb::Expression& count = *function.children[0];
  return CountedInterval{unit->second, &count, count.return_type.id() == LogicalTypeId::DOUBLE};
}

}  // namespace

Expr Lowering::add_interval(const duckdb::Expression& date, const duckdb::Expression& interval, bool subtract) const {
  CountedInterval added;
  if (const auto constant = constant_interval(interval)) {
    added.unit = *constant;
  } else if (const auto counted = counted_interval(interval)) {
    added = *counted;
  } else {
    throw NotLowered("the interval " + interval.ToString());
  }
  std::optional<Expr> count;
  if (added.count != nullptr) {
    count = lower(*added.count);
    if (added.has_fractions) {
      Expr micros_of_one = number_literal(Physical::kF64, 0);
      micros_of_one.literal = Value::of_real(Physical::kF64, static_cast<double>(added.unit.micros));
      count = make_expr(ExprOp::kMultiply, Physical::kF64, {*std::move(count), std::move(micros_of_one)});
      added.unit.micros = 1;
    }
    if (count->type != Physical::kI64) count = make_expr(ExprOp::kCast, Physical::kI64, {*std::move(count)});
  }
  const auto with = [&](Expr moment, const duckdb::interval_t& unit) {
    std::vector<Expr> args{std::move(moment)};
    for (const int64_t part : {int64_t{unit.months}, int64_t{unit.days}, unit.micros}) {
      if (part == std::numeric_limits<int64_t>::min()) throw NotLowered("an interval that long");
      args.push_back(number_literal(Physical::kI64, subtract ? -part : part));
    }
    if (count) args.push_back(*count);
    return make_expr(ExprOp::kAddInterval, Physical::kI64, std::move(args));
  };
  Expr moment = lower(date);
  // From TIMESTAMP WITH TIME ZONE, DuckDB takes microseconds first.
  const bool micros_first = subtract && is_zoned(date.return_type) && added.unit.months != 0 && added.unit.micros != 0;
  if (!micros_first) return with(std::move(moment), added.unit);
  return with(with(std::move(moment), {0, 0, added.unit.micros}), {added.unit.months, added.unit.days, 0});
}

// Between dates and timestamps of all units, by way of microseconds; nothing if the cast is another.
std::optional<Expr> Lowering::date_cast(const duckdb::BoundCastExpression& expression) const {
  LogicalTypeId from = expression.child->return_type.id();
  LogicalTypeId to = expression.return_type.id();
  for (LogicalTypeId* type : {&from, &to}) {
    if (*type != LogicalTypeId::TIMESTAMP_TZ) continue;
    if (!rules_.utc) refuse_zone("a cast");
    *type = LogicalTypeId::TIMESTAMP;
  }
  // TRY_CAST gives NULL only for dates that are beyond all moments; where CAST of a moment fails, it does so, too.
  if (from == LogicalTypeId::TIMESTAMP && to == LogicalTypeId::TIME) {
    return make_expr(ExprOp::kMomentToTime, Physical::kI64, {lower(*expression.child)});
  }
  // Digits behind the second, less those of microseconds.
  const auto finer = [](LogicalTypeId type) -> std::optional<int32_t> {
    switch (type) {
      case LogicalTypeId::TIMESTAMP_SEC: return -6;
      case LogicalTypeId::TIMESTAMP_MS: return -3;
      case LogicalTypeId::TIMESTAMP:
      case LogicalTypeId::DATE: return 0;
      case LogicalTypeId::TIMESTAMP_NS: return 3;
      default: return std::nullopt;
    }
  };
  const std::optional<int32_t> before = finer(from);
  const std::optional<int32_t> after = finer(to);
  if (!before || !after) return std::nullopt;
  const bool through_micros = from == LogicalTypeId::DATE || to == LogicalTypeId::DATE || *before == 0 || *after == 0;
  if (!through_micros) return std::nullopt;
  Expr moment = lower(*expression.child);
  if (from == LogicalTypeId::DATE) {
    const bool nanos = to == LogicalTypeId::TIMESTAMP_NS;
    const Expr date = moment;
    moment = make_expr(ExprOp::kDateToMoment, Physical::kI64, {std::move(moment)});
    moment.factor = exec::kMicrosPerDay * (nanos ? 1000 : 1);
    const int64_t last_day = (exec::kInfiniteMoment - 1) / moment.factor;
    if (!nanos && *after != 0) moment = unit_change(ExprOp::kRescaleMoment, std::move(moment), *after);
    return expression.try_cast ? null_beyond_days(date, last_day, std::move(moment)) : moment;
  }
  if (*before < 0) moment = unit_change(ExprOp::kRescaleMoment, std::move(moment), -*before);
  if (*before > 0) moment = unit_change(ExprOp::kTruncateMoment, std::move(moment), *before);
  if (to == LogicalTypeId::DATE) return make_expr(ExprOp::kMomentToDate, Physical::kI32, {std::move(moment)});
  return *after == 0 ? moment : unit_change(ExprOp::kRescaleMoment, std::move(moment), *after);
}

}  // namespace basalt::sql
