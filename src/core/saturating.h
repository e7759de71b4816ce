// Sums and products of counts in which ~0 means "no limit" and must stay that.
#pragma once

#include <cstdint>

namespace basalt {

constexpr uint64_t add_saturated(uint64_t a, uint64_t b) { return a > ~b ? ~uint64_t{0} : a + b; }
constexpr uint64_t multiply_saturated(uint64_t a, uint64_t b) {
  return b != 0 && a > ~uint64_t{0} / b ? ~uint64_t{0} : a * b;
}

}  // namespace basalt
