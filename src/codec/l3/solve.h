// What a model says of values without their residuals: bounds, and where a line passes a literal. Everything is exact,
// in 128 bits; models whose arithmetic might wrap are left alone, since wrapped values lie outside of any bounds.
#pragma once

#include "codec/l3/layout.h"

namespace basalt::l3 {

// y at row i, before the shift.
BASALT_HD int128_t exact_y(const Predictor& p, uint64_t i) {
  const auto c = [](uint64_t bits) { return static_cast<int128_t>(static_cast<int64_t>(bits)); };
  return c(p.c0) + c(p.c1) * static_cast<int128_t>(i) + c(p.c2) * static_cast<int128_t>(i == 0 ? 0 : choose_2(i)) +
         c(p.c3) * static_cast<int128_t>(choose_3(i));
}

// First i in [low, high) for which `holds`, or high; holds(i) must not turn false again.
template <typename Holds>
BASALT_HD uint64_t first_where(uint64_t low, uint64_t high, Holds&& holds) {
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Predictions of some rows, and values as far as the model alone knows them: prediction … prediction + largest
// residual, plus `base`.
struct Extent {
  bool known = false;
  int128_t base = 0;  // the number that gives values of the type, of all that are equal modulo its bits
  int128_t low = 0;   // of predictions, without base
  int128_t high = 0;
  int128_t largest = 0;  // residual

  BASALT_HD int128_t least_value() const { return base + low; }
  BASALT_HD int128_t most_value() const { return base + high + largest; }
};

// Least and most y over rows first…last. Between the rows where the slope changes its sign y rises or falls; slopes of
// a cubic rise or fall on both sides of the row where the curvature changes its sign.
BASALT_HD void widen_to(int128_t y, int128_t* low, int128_t* high) {
  *low = y < *low ? y : *low;
  *high = y > *high ? y : *high;
}
BASALT_HD void extremes_of_y(const Predictor& p, uint64_t first, uint64_t last, int128_t* low, int128_t* high) {
  *low = *high = exact_y(p, first);
  widen_to(exact_y(p, last), low, high);
  if ((p.c2 | p.c3) == 0) return;
  const auto slope_falls = [&](uint64_t i) { return exact_y(p, i + 1) < exact_y(p, i); };
  const auto bends_down = [&](uint64_t i) {
    return exact_y(p, i + 2) - exact_y(p, i + 1) < exact_y(p, i + 1) - exact_y(p, i);
  };
  const bool down = bends_down(first);
  const uint64_t bend = first_where(first, last, [&](uint64_t i) { return bends_down(i) != down; });
  const uint64_t from[] = {first, bend};
  const uint64_t to[] = {bend, last};
  for (uint32_t half = 0; half < 2; ++half) {
    const bool falls = slope_falls(from[half]);
    const uint64_t turn = first_where(from[half], to[half], [&](uint64_t i) { return slope_falls(i) != falls; });
    widen_to(exact_y(p, turn), low, high);
  }
  widen_to(exact_y(p, bend), low, high);
}

BASALT_HD Extent extent_of(const Predictor& p, uint32_t width, uint32_t value_bytes, bool is_signed, uint64_t first,
                           uint64_t last) {
  Extent e;
  int128_t low_y;
  int128_t high_y;
  extremes_of_y(p, first, last, &low_y, &high_y);
  const int128_t one = 1;
  if (low_y < -(one << 63) || high_y >= one << 63) return e;
  e.low = low_y >> p.fraction;
  e.high = high_y >> p.fraction;
  e.largest = static_cast<int128_t>(low_bits(width));
  if (!p.wide && e.high + e.largest >= one << 31) return e;
  const uint32_t bits = 8 * value_bytes;
  const int128_t least = is_signed ? -(one << (bits - 1)) : 0;
  const int128_t round = one << bits;
  // Of the numbers that are the base modulo 2^bits, the one that puts the lowest prediction among the type's values.
  const auto above = static_cast<uint128_t>(static_cast<int128_t>(p.base) + e.low - least) & low_bits(bits);
  e.base = least + static_cast<int128_t>(above) - e.low;
  e.known = e.most_value() < least + round;
  return e;
}

}  // namespace basalt::l3
