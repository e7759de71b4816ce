// The words for parts of dates: SQL's, and those of the enumeration for generated kernels.
#pragma once

#include "exec/calendar.h"

namespace basalt::exec {

struct DatePartNames {
  const char* sql;
  const char* enumerator;
};

constexpr DatePartNames kDatePartNames[kDateParts] = {
    {"year", "kYear"},
    {"month", "kMonth"},
    {"day", "kDay"},
    {"decade", "kDecade"},
    {"century", "kCentury"},
    {"millennium", "kMillennium"},
    {"quarter", "kQuarter"},
    {"week", "kWeek"},
    {"isoyear", "kIsoYear"},
    {"yearweek", "kYearWeek"},
    {"dow", "kDayOfWeek"},
    {"isodow", "kIsoDayOfWeek"},
    {"doy", "kDayOfYear"},
    {"hour", "kHour"},
    {"minute", "kMinute"},
    {"second", "kSecond"},
    {"millisecond", "kMillisecond"},
    {"microsecond", "kMicrosecond"},
};
static_assert(static_cast<int>(DatePart::kMicrosecond) + 1 == kDateParts);

constexpr const char* name_of(DatePart part) { return kDatePartNames[static_cast<int>(part)].sql; }

}  // namespace basalt::exec
