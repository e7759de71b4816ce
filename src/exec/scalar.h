// The arithmetic of single values that both backends share: comparison of floats as SQL orders them, and conversions of
// integers and decimals to floats with exactly DuckDB's roundings. Pure functions, usable in device code.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::exec {

// What a function of single values says beside its result.
enum class Outcome : uint8_t {
  kValue,
  kNull,
  kOutOfRange,  // an error, if the row counts
};

BASALT_HD int128_t power_of_ten(int32_t exponent) {
  int128_t power = 1;
  for (int32_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// NaN equals NaN and is greater than everything else; −0.0 equals 0.0.
template <typename T>
BASALT_HD bool sql_equal(T a, T b) {
  return (a == b) | ((a != a) & (b != b));
}
template <typename T>
BASALT_HD bool sql_less(T a, T b) {
  return (a < b) | ((b != b) & (a == a));
}

// ExprOp::kMember: whether the bit of a value is set.
BASALT_HD bool is_member(int64_t value, int64_t least, int64_t count, int64_t address) {
  const uint64_t place = static_cast<uint64_t>(value) - static_cast<uint64_t>(least);
  if (place >= static_cast<uint64_t>(count)) return false;
  const auto* words = reinterpret_cast<const uint32_t*>(static_cast<uint64_t>(address));
  return (words[place / 32] >> place % 32 & 1) != 0;
}

// ExprOp::kLookUp; `beyond`: of numbers that are not there.
template <typename T>
BASALT_HD T look_up(int64_t number, int64_t least, int64_t count, int64_t address, T beyond) {
  const uint64_t place = static_cast<uint64_t>(number) - static_cast<uint64_t>(least);
  if (place >= static_cast<uint64_t>(count)) return beyond;
  return reinterpret_cast<const T*>(static_cast<uint64_t>(address))[place];
}

// The same of numbers of 32 bits, in what is left of a set for such (set_places.h): half of the instructions.
BASALT_HD bool is_member_32(int32_t value, uint32_t least, uint32_t count, int64_t address) {
  const uint32_t place = static_cast<uint32_t>(value) - least;
  if (place >= count) return false;
  const auto* words = reinterpret_cast<const uint32_t*>(static_cast<uint64_t>(address));
  return (words[place / 32] >> place % 32 & 1) != 0;
}
template <typename T>
BASALT_HD T look_up_32(int32_t number, uint32_t least, uint32_t count, int64_t address, T beyond) {
  const uint32_t place = static_cast<uint32_t>(number) - least;
  if (place >= count) return beyond;
  return reinterpret_cast<const T*>(static_cast<uint64_t>(address))[place];
}

// DuckDB converts a 128-bit integer in two halves, which rounds twice; results must agree with it to the last bit.
template <typename Real>
BASALT_HD Real int128_to_real(int128_t value) {
  const auto lower = static_cast<uint64_t>(value);
  const auto upper = static_cast<int64_t>(value >> 64);
  if (upper == -1) return -static_cast<Real>(~lower) - static_cast<Real>(1);
  return static_cast<Real>(lower) + static_cast<Real>(upper) * static_cast<Real>(18446744073709551616.0);
}

// int128 → float goes through double.
BASALT_HD double int_to_double(int64_t value) { return static_cast<double>(value); }
BASALT_HD double int_to_double(int128_t value) { return int128_to_real<double>(value); }
BASALT_HD float int_to_float(int64_t value) { return static_cast<float>(value); }
BASALT_HD float int_to_float(int128_t value) { return static_cast<float>(int128_to_real<double>(value)); }

// A decimal of `scale` digits behind the point: divided directly where the integer is exact as a float, else whole part
// and fraction apart. `power` is 10^scale as an integer and `divisor` the same as a float. Int: int64_t or int128_t.
template <typename Int>
BASALT_HD double decimal_to_double(Int value, Int power, double divisor) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (value <= kExact && value >= -kExact) return int_to_double(value) / divisor;
  return int_to_double(static_cast<Int>(value / power)) + int_to_double(static_cast<Int>(value % power)) / divisor;
}
template <typename Int>
BASALT_HD float decimal_to_float(Int value, Int power, float divisor) {
  constexpr int64_t kExact = int64_t{1} << 24;
  if (value <= kExact && value >= -kExact) return int_to_float(value) / divisor;
  return int_to_float(static_cast<Int>(value / power)) + int_to_float(static_cast<Int>(value % power)) / divisor;
}

}  // namespace basalt::exec
