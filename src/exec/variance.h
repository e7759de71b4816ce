// Variances from exact sums: rows, the sum of values and that of their squares as fixed_sum.h has them. What both lose
// is cut off far behind the digits of a double, and their difference is formed in 256 bits, so that it does not matter
// how far the values lie from zero.
#pragma once

#include <cmath>
#include <cstdint>

#include "basalt/core/host_device.h"

namespace basalt::exec {

struct SquareSums {
  uint64_t rows = 0;
  int128_t sum = 0;      // a multiple of 2^-fraction
  int128_t squares = 0;  // a multiple of 2^-square_fraction
  int32_t fraction = 0;
  int32_t square_fraction = 0;  // 2 · fraction − 127 to 2 · fraction
};

// An unsigned integer of 256 bits.
struct Unsigned256 {
  uint128_t high = 0;
  uint128_t low = 0;

  BASALT_HD static Unsigned256 product(uint128_t a, uint128_t b) {
    constexpr uint128_t kHalf = ~uint64_t{0};
    const uint128_t low = (a & kHalf) * (b & kHalf);
    const uint128_t left = (a >> 64) * (b & kHalf);
    const uint128_t right = (a & kHalf) * (b >> 64);
    const uint128_t middle = (low >> 64) + (left & kHalf) + (right & kHalf);
    return {(a >> 64) * (b >> 64) + (left >> 64) + (right >> 64) + (middle >> 64), middle << 64 | (low & kHalf)};
  }
  BASALT_HD Unsigned256 shifted(int32_t bits) const {  // 0 to 127
    return bits == 0 ? *this : Unsigned256{high << bits | low >> (128 - bits), low << bits};
  }
  BASALT_HD bool operator<(const Unsigned256& other) const {
    return high != other.high ? high < other.high : low < other.low;
  }
  BASALT_HD Unsigned256 operator-(const Unsigned256& other) const {
    return {high - other.high - (low < other.low ? 1 : 0), low - other.low};
  }
  BASALT_HD double real() const { return std::ldexp(static_cast<double>(high), 128) + static_cast<double>(low); }
};

// The sum of squared distances from the mean, divided by rows − `fewer`.
BASALT_HD double variance(const SquareSums& sums, uint64_t fewer) {
  const uint128_t size = sums.sum < 0 ? -static_cast<uint128_t>(sums.sum) : static_cast<uint128_t>(sums.sum);
  const Unsigned256 squares = Unsigned256::product(sums.rows, static_cast<uint128_t>(sums.squares))
                                  .shifted(2 * sums.fraction - sums.square_fraction);
  const Unsigned256 square = Unsigned256::product(size, size);
  if (squares < square) return 0;
  const double rows = static_cast<double>(sums.rows);
  return std::ldexp((squares - square).real() / rows / (rows - static_cast<double>(fewer)), -2 * sums.fraction);
}

}  // namespace basalt::exec
