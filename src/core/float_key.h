// Floats as integers in SQL's order: −0.0 equals 0.0, and all NaNs are equal and the greatest. What predicates on
// floats compare where values are not at hand as floats.
#pragma once

#include <cstring>

#include "basalt/core/host_device.h"

namespace basalt {

constexpr int64_t kNanKey = INT64_MAX;

inline int64_t float_key(double value) {
  if (value != value) return kNanKey;
  int64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits < 0 ? -(bits & INT64_MAX) : bits;
}
inline int64_t float_key(float value) {
  if (value != value) return kNanKey;
  int32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits < 0 ? -static_cast<int64_t>(bits & INT32_MAX) : bits;
}

}  // namespace basalt
