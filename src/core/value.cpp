// Loading, comparing and printing single values.
#include "basalt/core/value.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "basalt/core/error.h"
#include "core/dispatch.h"

namespace basalt {

Value Value::of_integer(Physical type, int128_t value) {
  Value out;
  out.type = type;
  out.null = false;
  out.integer = value;
  return out;
}

Value Value::of_real(Physical type, double value) {
  Value out;
  out.type = type;
  out.null = false;
  out.real = value;
  return out;
}

Value Value::of_bytes(std::string value) {
  Value out;
  out.type = Physical::kBytes;
  out.null = false;
  out.bytes = std::move(value);
  return out;
}

Value Value::of_null(Physical type) {
  Value out;
  out.type = type;
  return out;
}

Value load_value(Physical type, const void* data) {
  if (type == Physical::kBytes || type == Physical::kNone) {
    throw Error(ErrorCode::kInternal, "load_value takes fixed-width types");
  }
  return dispatch_typed(type, [&](auto tag) {
    using T = decltype(tag);
    T value;
    std::memcpy(&value, data, sizeof(T));
    if constexpr (std::is_floating_point_v<T>) {
      return Value::of_real(type, value);
    } else {
      return Value::of_integer(type, static_cast<int128_t>(value));
    }
  });
}

void store_value(const Value& value, void* data) {
  dispatch_typed(value.type, [&](auto tag) {
    using T = decltype(tag);
    T typed;
    if constexpr (std::is_floating_point_v<T>) {
      typed = static_cast<T>(value.real);
    } else {
      typed = static_cast<T>(value.integer);
    }
    std::memcpy(data, &typed, sizeof(T));
  });
}

int compare(const Value& a, const Value& b) {
  if (a.type == Physical::kBytes) {
    const int order = a.bytes.compare(b.bytes);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (is_float(a.type)) {
    const bool a_nan = std::isnan(a.real);
    const bool b_nan = std::isnan(b.real);
    if (a_nan || b_nan) return static_cast<int>(a_nan) - static_cast<int>(b_nan);
    return a.real < b.real ? -1 : a.real > b.real ? 1 : 0;
  }
  return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
}

namespace {

std::string format_integer(int128_t value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  auto rest = negative ? -static_cast<uint128_t>(value) : static_cast<uint128_t>(value);
  char digits[48];
  size_t at = sizeof(digits);
  while (rest != 0) {
    digits[--at] = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  }
  if (negative) digits[--at] = '-';
  return {digits + at, sizeof(digits) - at};
}

std::string format_decimal(int128_t value, uint32_t scale) {
  std::string text = format_integer(value);
  if (scale == 0) return text;
  const bool negative = text[0] == '-';
  if (negative) text.erase(0, 1);
  if (text.size() <= scale) text.insert(0, scale + 1 - text.size(), '0');
  text.insert(text.size() - scale, ".");
  return negative ? "-" + text : text;
}

std::string padded(int64_t value, int digits) {
  std::string text = std::to_string(value);
  if (text.size() < static_cast<size_t>(digits)) text.insert(0, static_cast<size_t>(digits) - text.size(), '0');
  return text;
}

// Proleptic Gregorian calendar from days since 1970-01-01, by 400-year eras that begin on 1 March.
std::string format_date(int64_t days) {
  const int64_t shifted = days + 719468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const int64_t day_of_era = shifted - era * 146097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2);
}

int64_t units_per_second(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSecond: return 1;
    case TimeUnit::kMilli: return 1000;
    case TimeUnit::kMicro: return 1000000;
    case TimeUnit::kNano: return 1000000000;
  }
  return 1;
}

std::string format_time(int64_t units, TimeUnit unit) {
  const int64_t per_second = units_per_second(unit);
  const int64_t seconds = units / per_second;
  int64_t fraction = units % per_second;
  std::string text = padded(seconds / 3600, 2) + ":" + padded(seconds / 60 % 60, 2) + ":" + padded(seconds % 60, 2);
  if (fraction != 0) {
    std::string digits = std::to_string(per_second + fraction).substr(1);
    while (digits.back() == '0') digits.pop_back();
    text += "." + digits;
  }
  return text;
}

std::string format_timestamp(int64_t units, TimeUnit unit) {
  const int64_t per_day = 86400 * units_per_second(unit);
  const int64_t day = units >= 0 ? units / per_day : -((-(units + 1)) / per_day) - 1;
  return format_date(day) + " " + format_time(units - day * per_day, unit);
}

std::string format_uuid(int128_t stored) {
  const auto number = static_cast<uint128_t>(stored) ^ (static_cast<uint128_t>(1) << 127);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) text += '-';
    text += kHex[static_cast<int>(number >> (124 - 4 * digit)) & 15];
  }
  return text;
}

// SQL's dates and timestamps that lie before or behind all others.
const char* infinity_of(int128_t value, TypeKind kind) {
  const bool is_date = kind == TypeKind::kDate;
  if (!is_date && kind != TypeKind::kTimestamp && kind != TypeKind::kTimestampTz) return nullptr;
  const int128_t last = is_date ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  return value == last ? "infinity" : value == -last ? "-infinity" : nullptr;
}

// As SQL prints them: what is no printable ASCII as \xHH.
std::string format_blob(const std::string& bytes) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 32 && byte < 127 && c != '\\' && c != '\'' && c != '"') {
      text += c;
    } else {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return text;
}

std::string format_real(double value, Physical type) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[64];
  const auto end = type == Physical::kF32 ? std::to_chars(text, text + sizeof(text), static_cast<float>(value)).ptr
                                          : std::to_chars(text, text + sizeof(text), value).ptr;
  std::string out(text, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

}  // namespace

std::string format_value(const Value& value, const DataType& type) {
  if (value.null) return "NULL";
  if (const char* infinite = infinity_of(value.integer, type.kind)) return infinite;
  switch (type.kind) {
    case TypeKind::kBool: return value.integer != 0 ? "true" : "false";
    case TypeKind::kFloat32:
    case TypeKind::kFloat64: return format_real(value.real, value.type);
    case TypeKind::kDecimal: return format_decimal(value.integer, type.scale);
    case TypeKind::kDate: return format_date(static_cast<int64_t>(value.integer));
    case TypeKind::kTime: return format_time(static_cast<int64_t>(value.integer), type.unit);
    case TypeKind::kTimestamp: return format_timestamp(static_cast<int64_t>(value.integer), type.unit);
    case TypeKind::kTimestampTz: return format_timestamp(static_cast<int64_t>(value.integer), type.unit) + "+00";
    case TypeKind::kUuid: return format_uuid(value.integer);
    case TypeKind::kUtf8: return value.bytes;
    case TypeKind::kBinary: return format_blob(value.bytes);
    default: return format_integer(value.integer);
  }
}

}  // namespace basalt
