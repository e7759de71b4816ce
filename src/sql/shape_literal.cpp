#include "sql/shape_literal.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "duckdb/common/types/interval.hpp"
#include "duckdb/common/types/string_type.hpp"
#include "duckdb/common/types/timestamp.hpp"

namespace basalt::sql {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;
using Kind = ShapeLiteral::Kind;

namespace {

// So many digits are exact in every way that DuckDB has from a decimal to a double.
constexpr size_t kExactDigits = 15;
// Sums of numbers with so many digits are INTEGER, or DECIMAL of 64 bits.
constexpr size_t kSummedDigits = 9;
// Counts of so many digits are no more than a million years.
constexpr size_t kCountDigits = 6;

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<duckdb::Value> cast_to(duckdb::Value value, const LogicalType& type) {
  if (!value.DefaultTryCastAs(type) || value.IsNull()) return std::nullopt;
  return value;
}

size_t digits_of(const std::string& number) {
  return static_cast<size_t>(std::count_if(number.begin(), number.end(), is_decimal_digit));
}

size_t digits_behind_point(const std::string& number) {
  const size_t point = number.find('.');
  return point == std::string::npos ? 0 : number.size() - point - 1;
}

bool is_shape_number(const ShapeLiteral& literal) {
  return literal.kind == Kind::kInteger || literal.kind == Kind::kDecimal;
}

std::optional<duckdb::Value> number_of(const ShapeLiteral& literal, const LogicalType& type) {
  const size_t fraction = digits_behind_point(literal.text);
  if (literal.kind == Kind::kInteger && type.IsIntegral()) return cast_to(duckdb::Value(literal.text), type);
  if (type.id() == LogicalTypeId::DECIMAL && fraction <= duckdb::DecimalType::GetScale(type)) {
    return cast_to(duckdb::Value(literal.text), type);
  }
  if (type.id() == LogicalTypeId::DOUBLE && digits_of(literal.text) <= kExactDigits) {
    const auto exact = cast_to(duckdb::Value(literal.text), LogicalType::DECIMAL(18, static_cast<uint8_t>(fraction)));
    return exact ? cast_to(*exact, type) : std::nullopt;
  }
  return std::nullopt;
}

// Words like 'infinity' and 'epoch' are left to DuckDB.
bool begins_with_digit(const std::string& text) { return !text.empty() && is_decimal_digit(text.front()); }

// A moment beside dates, which holds exactly only if it is a midnight.
std::optional<duckdb::Value> moment_as_date(const ShapeLiteral& literal) {
  const auto moment = cast_to(duckdb::Value(literal.text), LogicalType::TIMESTAMP);
  const auto date = moment ? cast_to(*moment, LogicalType::DATE) : std::nullopt;
  const auto midnight = date ? cast_to(*date, LogicalType::TIMESTAMP) : std::nullopt;
  return midnight && *midnight == *moment ? date : std::nullopt;
}

// The number times ten to the power of `fraction`, which is at least the number of digits behind its point.
int64_t scaled(const std::string& number, size_t fraction) {
  std::string digits = number + std::string(fraction - digits_behind_point(number), '0');
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  return std::stoll(digits);
}

std::string with_point(int64_t scaled_number, size_t fraction) {
  std::string digits = std::to_string(scaled_number < 0 ? -scaled_number : scaled_number);
  if (digits.size() <= fraction) digits.insert(0, fraction + 1 - digits.size(), '0');
  if (fraction > 0) digits.insert(digits.size() - fraction, ".");
  return (scaled_number < 0 ? "-" : "") + digits;
}

std::optional<duckdb::interval_t> interval_of(int32_t count, std::string unit) {
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (!unit.empty() && unit.back() == 'S') unit.pop_back();
  if (unit == "YEAR") return duckdb::interval_t{count * 12, 0, 0};
  if (unit == "MONTH") return duckdb::interval_t{count, 0, 0};
  if (unit == "DAY") return duckdb::interval_t{0, count, 0};
  return std::nullopt;
}

}  // namespace

std::optional<duckdb::Value> value_of(const ShapeLiteral& literal, const LogicalType& type) {
  const bool is_date = type.id() == LogicalTypeId::DATE;
  const bool is_moment = type.id() == LogicalTypeId::TIMESTAMP;
  try {
    if (is_shape_number(literal)) return number_of(literal, type);
    if (literal.kind == Kind::kText && type.id() == LogicalTypeId::VARCHAR) {
      if (!duckdb::StringType::GetCollation(type).empty()) return std::nullopt;
      return duckdb::Value(literal.text);
    }
    if (!(is_date || is_moment) || !begins_with_digit(literal.text)) return std::nullopt;
    if (literal.kind == Kind::kMoment && is_date) return moment_as_date(literal);
    if (literal.kind != Kind::kDate) return cast_to(duckdb::Value(literal.text), type);
    const auto date = cast_to(duckdb::Value(literal.text), LogicalType::DATE);
    return date ? cast_to(*date, type) : std::nullopt;
  } catch (const std::exception&) {  // strings that are not UTF-8
    return std::nullopt;
  }
}

std::optional<ShapeLiteral> sum_of(const ShapeLiteral& first, const ShapeLiteral& second, bool subtract) {
  if (!is_shape_number(first) || !is_shape_number(second)) return std::nullopt;
  if (digits_of(first.text) > kSummedDigits || digits_of(second.text) > kSummedDigits) return std::nullopt;
  const size_t fraction = std::max(digits_behind_point(first.text), digits_behind_point(second.text));
  const int64_t added = scaled(second.text, fraction);
  const int64_t sum = scaled(first.text, fraction) + (subtract ? -added : added);
  const bool whole = first.kind == Kind::kInteger && second.kind == Kind::kInteger;
  return ShapeLiteral{whole ? Kind::kInteger : Kind::kDecimal, with_point(sum, fraction)};
}

std::optional<ShapeLiteral> moved_by(const ShapeLiteral& moment, const std::string& count, const std::string& unit,
                                     bool subtract) {
  if (moment.kind != Kind::kDate && moment.kind != Kind::kMoment) return std::nullopt;
  if (count.empty() || count.size() > kCountDigits || digits_of(count) != count.size()) return std::nullopt;
  const auto interval = interval_of(std::stoi(count), unit);
  const auto start = value_of(moment, LogicalType::TIMESTAMP);
  if (!interval || !start) return std::nullopt;
  const auto end = duckdb::Interval::Add(duckdb::TimestampValue::Get(*start),
                                         subtract ? duckdb::Interval::Invert(*interval) : *interval);
  return ShapeLiteral{Kind::kMoment, duckdb::Timestamp::ToString(end)};
}

}  // namespace basalt::sql
