// Sums of floats in groups: every value becomes an integer of 128 bits, a multiple of 2^-fraction, and integers add up
// to the same number in any order. All finite values lie below 2^top, which statistics or a pass over the rows say;
// `fraction` leaves room for that many rows. A value loses what lies below 2^-fraction, at most 2^(top + rows' bits −
// 126): less than 2^-60 of the largest value for 2^60 rows. NaN and infinities are remembered beside the sum.
#pragma once

#include "basalt/core/host_device.h"
#if !defined(__CUDACC_RTC__)
#include <cmath>
#include <limits>
#endif

namespace basalt::exec {

constexpr uint32_t kSawNan = 1;
constexpr uint32_t kSawInfinity = 2;
constexpr uint32_t kSawMinusInfinity = 4;

// What the sum takes of a value that is not finite; 0: it is finite.
BASALT_HD uint32_t special_of(double value) {
  if (value - value == 0.0) return 0;
  return value != value ? kSawNan : value > 0 ? kSawInfinity : kSawMinusInfinity;
}

// Zero and all subnormals lie below two to this power.
constexpr int32_t kLeastExponent = -1022;

// The smallest e with |value| < 2^e; value is finite.
BASALT_HD int32_t exponent_above(double value) {
  const auto bits = __builtin_bit_cast(uint64_t, value);
  const auto exponent = static_cast<int32_t>(bits >> 52 & 0x7FF);
  if (exponent != 0) return exponent - 1022;
  return kLeastExponent;
}

// Digits behind the point of sums of `rows` values below 2^top.
BASALT_HD int32_t fraction_bits(int32_t top, uint64_t rows) {
  int32_t bits = 1;
  while (rows >> bits != 0 && bits < 63) ++bits;
  return 126 - bits - top;
}

// A finite value below 2^top, cut off behind its last digit.
BASALT_HD int128_t to_fixed(double value, int32_t fraction) {
  const auto bits = __builtin_bit_cast(uint64_t, value);
  const auto exponent = static_cast<int32_t>(bits >> 52 & 0x7FF);
  const uint64_t mantissa = (bits & 0xFFFFFFFFFFFFFull) | (exponent != 0 ? 1ull << 52 : 0);
  const int32_t shift = (exponent != 0 ? exponent : 1) - 1075 + fraction;
  const int128_t size = shift >= 0 ? static_cast<int128_t>(static_cast<uint128_t>(mantissa) << (shift & 127))
                                   : static_cast<int128_t>(shift > -64 ? mantissa >> -shift : 0);
  return bits >> 63 != 0 ? -size : size;
}

// The same of its square, which is below 2^(2 · top).
BASALT_HD int128_t square_to_fixed(double value, int32_t fraction) {
  const auto bits = __builtin_bit_cast(uint64_t, value);
  const auto exponent = static_cast<int32_t>(bits >> 52 & 0x7FF);
  const uint64_t mantissa = (bits & 0xFFFFFFFFFFFFFull) | (exponent != 0 ? 1ull << 52 : 0);
  const int32_t shift = 2 * ((exponent != 0 ? exponent : 1) - 1075) + fraction;
  const uint128_t square = static_cast<uint128_t>(mantissa) * mantissa;
  if (shift >= 0) return static_cast<int128_t>(square << (shift & 127));
  return static_cast<int128_t>(shift > -128 ? square >> -shift : 0);
}

#if !defined(__CUDACC_RTC__)
// The nearest double; halves go to even.
BASALT_HD double from_fixed(int128_t sum, int32_t fraction) {
  const uint128_t size = sum < 0 ? -static_cast<uint128_t>(sum) : static_cast<uint128_t>(sum);
  int32_t width = 0;
  while (width < 128 && size >> width != 0) ++width;
  auto mantissa = static_cast<uint64_t>(size);
  int32_t scale = 0;
  if (width > 53) {
    scale = width - 53;
    mantissa = static_cast<uint64_t>(size >> scale);
    const uint128_t rest = size & ((static_cast<uint128_t>(1) << scale) - 1);
    const uint128_t half = static_cast<uint128_t>(1) << (scale - 1);
    if (rest > half || (rest == half && (mantissa & 1) != 0)) ++mantissa;
  }
  const double value = std::ldexp(static_cast<double>(mantissa), scale - fraction);
  return sum < 0 ? -value : value;
}

BASALT_HD double with_specials(double sum, uint32_t specials) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (specials == 0) return sum;
  if (specials == kSawInfinity) return kInfinity;
  return specials == kSawMinusInfinity ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
}
#endif

}  // namespace basalt::exec
