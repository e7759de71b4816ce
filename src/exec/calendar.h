// Days, moments and the parts of both, as functors like those of number_functions.h. A date counts days, a moment
// microseconds since 1970; the largest number of each and its negative are infinite. Years are those of the Gregorian
// calendar in all times, with a year 0.
#pragma once

#include "exec/number_functions.h"

namespace basalt::exec {

constexpr int64_t kMicrosPerSecond = 1000000;
constexpr int64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
constexpr int64_t kMicrosPerHour = 60 * kMicrosPerMinute;
constexpr int64_t kMicrosPerDay = 24 * kMicrosPerHour;
constexpr int64_t kInfiniteDate = 2147483647;
constexpr int64_t kInfiniteMoment = 9223372036854775807;

enum class DatePart : uint8_t {
  kYear,
  kMonth,
  kDay,
  kDecade,
  kCentury,
  kMillennium,
  kQuarter,
  kWeek,  // of ISO 8601
  kIsoYear,
  kYearWeek,
  kDayOfWeek,  // Sunday is 0
  kIsoDayOfWeek,
  kDayOfYear,
  kHour,
  kMinute,
  kSecond,
  kMillisecond,  // of the minute, as are microseconds
  kMicrosecond,
};
constexpr int kDateParts = 18;

BASALT_HD bool is_infinite_date(int64_t days) { return days >= kInfiniteDate || days <= -kInfiniteDate; }
BASALT_HD bool is_infinite_moment(int64_t micros) { return micros >= kInfiniteMoment || micros <= -kInfiniteMoment; }

// Towards minus infinity; `by` > 0.
BASALT_HD int64_t floor_quotient(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

struct Civil {
  int64_t year;
  int32_t month;
  int32_t day;
};

// By eras of 400 years, which all have the same number of days; years begin in March.
BASALT_HD Civil civil_from_days(int64_t days) {
  const int64_t shifted = days + 719468;
  const int64_t era = floor_quotient(shifted, 146097);
  const auto day_of_era = static_cast<int32_t>(shifted - era * 146097);
  const int32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int32_t march_month = (5 * day_of_year + 2) / 153;
  const int32_t month = march_month < 10 ? march_month + 3 : march_month - 9;
  const int32_t day = day_of_year - (153 * march_month + 2) / 5 + 1;
  return {era * 400 + year_of_era + (month <= 2 ? 1 : 0), month, day};
}
BASALT_HD int64_t days_from_civil(int64_t year, int32_t month, int32_t day) {
  const int64_t march_year = month <= 2 ? year - 1 : year;
  const int64_t era = floor_quotient(march_year, 400);
  const auto year_of_era = static_cast<int32_t>(march_year - era * 400);
  const int32_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}
BASALT_HD bool is_leap_year(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }
BASALT_HD int32_t days_in_month(int64_t year, int32_t month) {
  if (month == 2) return is_leap_year(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Monday is 0.
BASALT_HD int32_t weekday(int64_t days) { return static_cast<int32_t>((days + 3) - 7 * floor_quotient(days + 3, 7)); }

// The year that the Thursday of the week lies in is the week's.
BASALT_HD int64_t iso_year(int64_t days) { return civil_from_days(days - weekday(days) + 3).year; }
BASALT_HD int32_t iso_week(int64_t days) {
  const int64_t thursday = days - weekday(days) + 3;
  return static_cast<int32_t>((thursday - days_from_civil(civil_from_days(thursday).year, 1, 1)) / 7) + 1;
}

// Of a finite day. Ages before the year 1 count down from −1.
BASALT_HD int64_t part_of_date(DatePart part, int64_t days) {
  const Civil civil = civil_from_days(days);
  const int64_t year = civil.year;
  switch (part) {
    case DatePart::kYear: return year;
    case DatePart::kMonth: return civil.month;
    case DatePart::kDay: return civil.day;
    case DatePart::kDecade: return year / 10;
    case DatePart::kCentury: return year > 0 ? (year - 1) / 100 + 1 : year / 100 - 1;
    case DatePart::kMillennium: return year > 0 ? (year - 1) / 1000 + 1 : year / 1000 - 1;
    case DatePart::kQuarter: return (civil.month - 1) / 3 + 1;
    case DatePart::kWeek: return iso_week(days);
    case DatePart::kIsoYear: return iso_year(days);
    case DatePart::kYearWeek: {
      const int64_t of_year = iso_year(days);
      return of_year * 100 + (of_year > 0 ? iso_week(days) : -iso_week(days));
    }
    case DatePart::kDayOfWeek: return (weekday(days) + 1) % 7;
    case DatePart::kIsoDayOfWeek: return weekday(days) + 1;
    case DatePart::kDayOfYear: return days - days_from_civil(year, 1, 1) + 1;
    default: return 0;
  }
}

// Of the microseconds since midnight.
BASALT_HD int64_t part_of_time(DatePart part, int64_t micros) {
  switch (part) {
    case DatePart::kHour: return micros / kMicrosPerHour;
    case DatePart::kMinute: return micros % kMicrosPerHour / kMicrosPerMinute;
    case DatePart::kSecond: return micros % kMicrosPerMinute / kMicrosPerSecond;
    case DatePart::kMillisecond: return micros % kMicrosPerMinute / 1000;
    default: return micros % kMicrosPerMinute;
  }
}

BASALT_HD bool is_part_of_time(DatePart part) { return part >= DatePart::kHour; }

// A date (of_days) or moment apart: its day and the microseconds since midnight; false if it is infinite.
BASALT_HD bool split_moment(int64_t value, bool of_days, int64_t& days, int64_t& micros) {
  if (of_days ? is_infinite_date(value) : is_infinite_moment(value)) return false;
  days = of_days ? value : floor_quotient(value, kMicrosPerDay);
  micros = of_days ? 0 : value % kMicrosPerDay;
  if (micros < 0) micros += kMicrosPerDay;
  return true;
}

// A finite moment; there is none beyond 64 bits.
BASALT_HD Outcome make_moment(int128_t micros, int64_t& out) {
  if (micros >= kInfiniteMoment || micros <= -static_cast<int128_t>(kInfiniteMoment)) return Outcome::kOutOfRange;
  out = static_cast<int64_t>(micros);
  return Outcome::kValue;
}
BASALT_HD Outcome make_moment(int64_t days, int64_t micros, int64_t& out) {
  return make_moment(static_cast<int128_t>(days) * kMicrosPerDay + micros, out);
}

struct DatePartOf {
  DatePart part;
  bool of_days;
  template <typename Int>
  BASALT_HD_LONG Outcome operator()(int64_t value, Int& out) const {
    int64_t days = 0;
    int64_t micros = 0;
    if (!split_moment(value, of_days, days, micros)) return Outcome::kNull;
    out = static_cast<Int>(is_part_of_time(part) ? part_of_time(part, micros) : part_of_date(part, days));
    return Outcome::kValue;
  }
};

// Seconds since 1970.
struct EpochOf {
  bool of_days;
  BASALT_HD_LONG Outcome operator()(int64_t value, double& out) const {
    if (of_days ? is_infinite_date(value) : is_infinite_moment(value)) return Outcome::kNull;
    out = of_days ? static_cast<double>(value * 86400) : static_cast<double>(value) / 1000000.0;
    return Outcome::kValue;
  }
};

// --- beginnings and distances
// -------------------------------------------------------------------------------------------

// The first day of the part that the day lies in.
BASALT_HD int64_t truncated_day(DatePart part, int64_t days) {
  const Civil civil = civil_from_days(days);
  switch (part) {
    case DatePart::kYear: return days_from_civil(civil.year, 1, 1);
    case DatePart::kMonth: return days_from_civil(civil.year, civil.month, 1);
    case DatePart::kDecade: return days_from_civil(civil.year / 10 * 10, 1, 1);
    case DatePart::kCentury: return days_from_civil(civil.year / 100 * 100, 1, 1);
    case DatePart::kMillennium: return days_from_civil(civil.year / 1000 * 1000, 1, 1);
    case DatePart::kQuarter: return days_from_civil(civil.year, (civil.month - 1) / 3 * 3 + 1, 1);
    case DatePart::kWeek:
    case DatePart::kYearWeek: return days - weekday(days);
    case DatePart::kIsoYear: return days - weekday(days) - 7 * (iso_week(days) - 1);
    default: return days;
  }
}
BASALT_HD int64_t units_of_time(DatePart part) {
  switch (part) {
    case DatePart::kHour: return kMicrosPerHour;
    case DatePart::kMinute: return kMicrosPerMinute;
    case DatePart::kSecond: return kMicrosPerSecond;
    case DatePart::kMillisecond: return 1000;
    case DatePart::kMicrosecond: return 1;
    default: return kMicrosPerDay;
  }
}

// The moment at which the part that a date or moment lies in begins.
struct Truncated {
  DatePart part;
  bool of_days;
  BASALT_HD_LONG Outcome operator()(int64_t value, int64_t& out) const {
    int64_t days = 0;
    int64_t micros = 0;
    if (!split_moment(value, of_days, days, micros)) {
      out = value < 0 ? -kInfiniteMoment : kInfiniteMoment;
      return Outcome::kValue;
    }
    const int64_t units = units_of_time(part);
    if (is_part_of_time(part)) return make_moment(days, micros / units * units, out);
    return make_moment(truncated_day(part, days), 0, out);
  }
};

// What counts up when a boundary between parts is crossed.
BASALT_HD int64_t ordinal_of_day(DatePart part, int64_t days) {
  const Civil civil = civil_from_days(days);
  const int64_t months = civil.year * 12 + civil.month - 1;
  switch (part) {
    case DatePart::kYear: return civil.year;
    case DatePart::kMonth: return months;
    case DatePart::kDecade: return civil.year / 10;
    case DatePart::kCentury: return civil.year / 100;
    case DatePart::kMillennium: return civil.year / 1000;
    case DatePart::kQuarter: return months / 3;
    case DatePart::kIsoYear: return iso_year(days);
    default: return days;
  }
}

// How many boundaries between parts lie between two dates or two moments; weeks have their length alone.
struct DateDifference {
  DatePart part;
  bool of_days;
  BASALT_HD_LONG Outcome operator()(int64_t start, int64_t end, int64_t& out) const {
    int64_t first = 0;
    int64_t last = 0;
    int64_t first_time = 0;
    int64_t last_time = 0;
    if (!split_moment(start, of_days, first, first_time)) return Outcome::kNull;
    if (!split_moment(end, of_days, last, last_time)) return Outcome::kNull;
    if (is_part_of_time(part)) {
      const int64_t units = units_of_time(part);
      // These go through the microseconds of each date.
      int64_t moment = 0;
      if (of_days && part >= DatePart::kMillisecond &&
          (make_moment(first, 0, moment) != Outcome::kValue || make_moment(last, 0, moment) != Outcome::kValue)) {
        return Outcome::kOutOfRange;
      }
      const int64_t per_day = kMicrosPerDay / units;
      const int128_t whole = static_cast<int128_t>(last - first) * per_day + last_time / units - first_time / units;
      out = static_cast<int64_t>(whole);
      return out == whole ? Outcome::kValue : Outcome::kOutOfRange;
    }
    const bool weeks = part == DatePart::kWeek || part == DatePart::kYearWeek;
    out = weeks ? (last - first) / 7 : ordinal_of_day(part, last) - ordinal_of_day(part, first);
    return Outcome::kValue;
  }
};

// Whole months from one moment to a later one. The last day of a month completes it.
BASALT_HD int64_t months_between(int64_t first, int64_t first_time, int64_t last, int64_t last_time) {
  const Civil begin = civil_from_days(first);
  const Civil end = civil_from_days(last);
  const int32_t end_days = days_in_month(end.year, end.month);
  const int32_t begin_day = end.day == end_days && begin.day > end_days ? end_days : begin.day;
  const bool incomplete = end.day < begin_day || (end.day == begin_day && last_time < first_time);
  return (end.year - begin.year) * 12 + end.month - begin.month - (incomplete ? 1 : 0);
}
// Months that a part of a date has; 0: it has a length in microseconds.
BASALT_HD int64_t months_of(DatePart part) {
  switch (part) {
    case DatePart::kMonth: return 1;
    case DatePart::kQuarter: return 3;
    case DatePart::kYear:
    case DatePart::kIsoYear: return 12;
    case DatePart::kDecade: return 120;
    case DatePart::kCentury: return 1200;
    case DatePart::kMillennium: return 12000;
    default: return 0;
  }
}

// How many whole parts lie between two dates or two moments, by way of microseconds.
struct DateSubtraction {
  DatePart part;
  bool of_days;
  BASALT_HD_LONG Outcome operator()(int64_t start, int64_t end, int64_t& out) const {
    int64_t days[2] = {0, 0};
    int64_t times[2] = {0, 0};
    int64_t moments[2] = {0, 0};
    if (!split_moment(start, of_days, days[0], times[0])) return Outcome::kNull;
    if (!split_moment(end, of_days, days[1], times[1])) return Outcome::kNull;
    for (int i = 0; i < 2; ++i) {
      if (make_moment(days[i], times[i], moments[i]) != Outcome::kValue) return Outcome::kOutOfRange;
    }
    const int64_t months = months_of(part);
    if (months > 0) {
      const int first = moments[0] <= moments[1] ? 0 : 1;
      const int64_t whole = months_between(days[first], times[first], days[1 - first], times[1 - first]);
      out = (first == 0 ? whole : -whole) / months;
      return Outcome::kValue;
    }
    const int128_t micros = static_cast<int128_t>(moments[1]) - moments[0];
    const bool weeks = part == DatePart::kWeek || part == DatePart::kYearWeek;
    out = static_cast<int64_t>(micros);
    if (out != micros) return Outcome::kOutOfRange;
    out /= weeks ? 7 * kMicrosPerDay : units_of_time(part);
    return Outcome::kValue;
  }
};

// --- sums
// ---------------------------------------------------------------------------------------------------------------

// The same day of another month, or its last.
BASALT_HD int64_t add_months(int64_t days, int64_t months) {
  const Civil civil = civil_from_days(days);
  const int64_t moved = civil.year * 12 + civil.month - 1 + months;
  const int64_t year = floor_quotient(moved, 12);
  const auto month = static_cast<int32_t>(moved - year * 12) + 1;
  const int32_t longest = days_in_month(year, month);
  return days_from_civil(year, month, civil.day < longest ? civil.day : longest);
}

// A date or moment and an interval give a moment.
struct IntervalAdded {
  int64_t months;
  int64_t days;
  int64_t micros;
  bool of_days;
  BASALT_HD_LONG Outcome operator()(int64_t value, int64_t& out) const {
    int64_t day = 0;
    int64_t time = 0;
    if (!split_moment(value, of_days, day, time)) {
      out = value < 0 ? -kInfiniteMoment : kInfiniteMoment;
      return Outcome::kValue;
    }
    if (months != 0) day = add_months(day, months);
    return make_moment((static_cast<int128_t>(day) + days) * kMicrosPerDay + time + micros, out);
  }
};

// The same, as often as a row says. Its months and days have 32 bits, its microseconds 64.
struct IntervalsAdded {
  int64_t months;
  int64_t days;
  int64_t micros;
  bool of_days;
  BASALT_HD_LONG Outcome operator()(int64_t value, int64_t count, int64_t& out) const {
    const int128_t parts[3] = {static_cast<int128_t>(months) * count, static_cast<int128_t>(days) * count,
                               static_cast<int128_t>(micros) * count};
    for (int i = 0; i < 3; ++i) {
      const int128_t limit = static_cast<int128_t>(1) << (i < 2 ? 31 : 63);
      if (parts[i] >= limit || parts[i] < -limit) return Outcome::kOutOfRange;
    }
    return IntervalAdded{static_cast<int64_t>(parts[0]), static_cast<int64_t>(parts[1]), static_cast<int64_t>(parts[2]),
                         of_days}(value, out);
  }
};

struct DaysAdded {
  template <typename Int>
  BASALT_HD Outcome operator()(int64_t date, int64_t days, Int& out) const {
    if (is_infinite_date(date)) {
      out = static_cast<Int>(date);
      return Outcome::kValue;
    }
    if (days > 2 * kInfiniteDate || days < -2 * kInfiniteDate || is_infinite_date(date + days)) {
      return Outcome::kOutOfRange;
    }
    out = static_cast<Int>(date + days);
    return Outcome::kValue;
  }
};

// A date and the microseconds since its midnight give a moment.
struct TimeAdded {
  BASALT_HD Outcome operator()(int64_t date, int64_t micros, int64_t& out) const {
    if (is_infinite_date(date)) {
      out = date < 0 ? -kInfiniteMoment : kInfiniteMoment;
      return Outcome::kValue;
    }
    return make_moment(date, micros, out);
  }
};

struct LastDayOf {
  bool of_days;
  template <typename Int>
  BASALT_HD_LONG Outcome operator()(int64_t value, Int& out) const {
    int64_t days = 0;
    int64_t micros = 0;
    if (!split_moment(value, of_days, days, micros)) return Outcome::kNull;
    const Civil civil = civil_from_days(days);
    const int64_t last = days + days_in_month(civil.year, civil.month) - civil.day;
    if (is_infinite_date(last)) return Outcome::kOutOfRange;
    out = static_cast<Int>(last);
    return Outcome::kValue;
  }
};

struct DateMade {
  template <typename Int>
  BASALT_HD_LONG Outcome operator()(int64_t year, int64_t month, int64_t day, Int& out) const {
    constexpr int64_t kMostYears = 6000000;  // more than dates have
    if (year > kMostYears || year < -kMostYears || month < 1 || month > 12 || day < 1) return Outcome::kOutOfRange;
    const auto short_month = static_cast<int32_t>(month);
    if (day > days_in_month(year, short_month)) return Outcome::kOutOfRange;
    const int64_t days = days_from_civil(year, short_month, static_cast<int32_t>(day));
    if (is_infinite_date(days)) return Outcome::kOutOfRange;
    out = static_cast<Int>(days);
    return Outcome::kValue;
  }
};

// --- units
// --------------------------------------------------------------------------------------------------------------

// A date as a moment of any unit, `per_day` of which a day has.
struct DateToMoment {
  int64_t per_day;
  BASALT_HD Outcome operator()(int64_t days, int64_t& out) const {
    if (is_infinite_date(days)) {
      out = days < 0 ? -kInfiniteMoment : kInfiniteMoment;
      return Outcome::kValue;
    }
    return make_moment(static_cast<int128_t>(days) * per_day, out);
  }
};
struct MomentToDate {
  template <typename Int>
  BASALT_HD Outcome operator()(int64_t micros, Int& out) const {
    const bool infinite = is_infinite_moment(micros);
    out = static_cast<Int>(!infinite    ? floor_quotient(micros, kMicrosPerDay)
                           : micros < 0 ? -kInfiniteDate
                                        : kInfiniteDate);
    return Outcome::kValue;
  }
};

struct MomentToTime {
  BASALT_HD Outcome operator()(int64_t moment, int64_t& out) const {
    int64_t days = 0;
    return split_moment(moment, false, days, out) ? Outcome::kValue : Outcome::kOutOfRange;
  }
};

// Moments in a finer unit.
struct MomentRefined {
  int64_t factor;
  BASALT_HD Outcome operator()(int64_t value, int64_t& out) const {
    out = value;
    if (is_infinite_moment(value)) return Outcome::kValue;
    return make_moment(static_cast<int128_t>(value) * factor, out);
  }
};
// In a coarser one.
struct MomentRounded {
  int64_t power;
  BASALT_HD Outcome operator()(int64_t value, int64_t& out) const {
    out = is_infinite_moment(value) ? value : rounded_quotient(value, power);
    return Outcome::kValue;
  }
};
struct MomentTruncated {
  int64_t power;
  BASALT_HD Outcome operator()(int64_t value, int64_t& out) const {
    out = is_infinite_moment(value) ? value : value / power;
    return Outcome::kValue;
  }
};

}  // namespace basalt::exec
