// Floats as integers in SQL's order: −0.0 equals 0.0, and all NaNs are equal and the greatest. What predicates on
// floats compare where values are not at hand as floats.
#pragma once

#include "basalt/core/host_device.h"
#if !defined(__CUDACC_RTC__)
#include <cstring>
#endif

namespace basalt {

constexpr int64_t kNanKey = 0x7FFFFFFFFFFFFFFF;

BASALT_HD int64_t float_key_of_bits(uint64_t bits) {
  const auto size = static_cast<int64_t>(bits & 0x7FFFFFFFFFFFFFFF);
  if (size > int64_t{0x7FF} << 52) return kNanKey;
  return bits >> 63 != 0 ? -size : size;
}
BASALT_HD int64_t float_key_of_bits(uint32_t bits) {
  const auto size = static_cast<int64_t>(bits & 0x7FFFFFFF);
  if (size > int64_t{0xFF} << 23) return kNanKey;
  return bits >> 31 != 0 ? -size : size;
}

#if !defined(__CUDACC_RTC__)
inline int64_t float_key(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return float_key_of_bits(bits);
}
inline int64_t float_key(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return float_key_of_bits(bits);
}
#endif

}  // namespace basalt
