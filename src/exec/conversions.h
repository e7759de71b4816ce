// Conversions between numbers that can fail, as functors like those of number_functions.h.
#pragma once

#include "exec/number_functions.h"

namespace basalt::exec {

// An integer times `factor`; arguments within [least, most] stay within the limits of the result.
template <typename Int>
struct ScaledUp {
  Int factor;
  Int least;
  Int most;
  BASALT_HD Outcome operator()(Int a, Int& out) const {
    if (a < least || a > most) return Outcome::kOutOfRange;
    out = a * factor;
    return Outcome::kValue;
  }
};

// An integer divided by `power`, rounded; the result must lie within [least, most].
template <typename Int>
struct ScaledDown {
  Int power;
  Int least;
  Int most;
  BASALT_HD Outcome operator()(Int a, Int& out) const {
    out = rounded_quotient(a, power);
    return out < least || out > most ? Outcome::kOutOfRange : Outcome::kValue;
  }
};

// A whole number of less than 2^127. In two halves: not every compiler knows the conversion.
BASALT_HD int128_t whole_to_int128(double whole) {
  constexpr double kHalf = 18446744073709551616.0;  // 2^64
  const double size = real_abs(whole);
  const double upper = real_floor(size / kHalf);
  const auto bits = static_cast<uint128_t>(static_cast<uint64_t>(upper)) << 64 |
                    static_cast<uint128_t>(static_cast<uint64_t>(size - upper * kHalf));
  return whole < 0 ? -static_cast<int128_t>(bits) : static_cast<int128_t>(bits);
}

// To an integer of type `Type`. What is less than one above the largest passes and is then rounded up beyond it: DuckDB
// lets it wrap around.
template <typename Type>
struct RealToInteger {
  template <typename Real, typename Int>
  BASALT_HD Outcome operator()(Real a, Int& out) const {
    constexpr bool kSigned = static_cast<Type>(-1) < static_cast<Type>(0);
    constexpr int kBits = static_cast<int>(sizeof(Type)) * 8;
    // 2^(kBits − 1) or 2^kBits
    constexpr double kEnd = static_cast<double>(uint64_t{1} << (kBits - 2)) * (kSigned ? 2.0 : 4.0);
    const auto value = static_cast<double>(a);
    if (!(value >= (kSigned ? -kEnd : 0.0) && value < kEnd)) return Outcome::kOutOfRange;
    const double whole = real_even(value);
    const auto typed =
        kSigned ? static_cast<Type>(static_cast<int64_t>(whole)) : static_cast<Type>(static_cast<uint64_t>(whole));
    out = static_cast<Int>(typed);
    return Outcome::kValue;
  }
};
template <>
struct RealToInteger<int128_t> {
  template <typename Real>
  BASALT_HD Outcome operator()(Real a, int128_t& out) const {
    constexpr double kEnd = 170141183460469231731687303715884105728.0;  // 2^127
    const double whole = real_even(static_cast<double>(a));
    if (!(whole > -kEnd && whole < kEnd)) return Outcome::kOutOfRange;
    out = whole_to_int128(whole);
    return Outcome::kValue;
  }
};

// To a decimal: times `multiplier` = 10^scale, rounded, and less than `end` = 10^digits. Floats of 32 bits are rounded
// to such once more on the way, as DuckDB does it.
struct RealToDecimal {
  double multiplier;
  double end;
  template <typename Real, typename Int>
  BASALT_HD Outcome operator()(Real a, Int& out) const {
    const double rounded = real_round(static_cast<double>(a) * multiplier);
    if (!(rounded > -end && rounded < end)) return Outcome::kOutOfRange;
    out = static_cast<Int>(whole_to_int128(static_cast<double>(static_cast<Real>(rounded))));
    return Outcome::kValue;
  }
};

struct DoubleToFloat {
  BASALT_HD Outcome operator()(double a, float& out) const {
    out = static_cast<float>(a);
    return is_finite(a) && !is_finite(static_cast<double>(out)) ? Outcome::kOutOfRange : Outcome::kValue;
  }
};

}  // namespace basalt::exec
