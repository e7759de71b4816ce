// Floats as integers in SQL's order: −0.0 equals 0.0, and all NaNs are equal and the greatest. What predicates on
// floats compare where values are not at hand as floats.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt {

constexpr int64_t kNanKey = 0x7FFFFFFFFFFFFFFF;

template <typename T>
struct FloatOfBits {
  using type = float;
};
template <>
struct FloatOfBits<uint64_t> {
  using type = double;
};

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

// Values with keys from first to last, asked by comparisons of floats, which take fewer instructions than a key does.
// T: the bits of a float or a double.
template <typename T>
class FloatKeyRange {
 public:
  using Float = typename FloatOfBits<T>::type;

  FloatKeyRange() = default;
  BASALT_HD FloatKeyRange(int64_t first, int64_t last)
      : low_(first > kInfinity    ? __builtin_bit_cast(Float, kNan)
             : first < -kInfinity ? -value_of(kInfinity)
                                  : value_of(first)),
        high_(last < -kInfinity  ? __builtin_bit_cast(Float, kNan)
              : last > kInfinity ? value_of(kInfinity)
                                 : value_of(last)),
        has_nan_(last >= kNanKey ? 1 : 0) {}
  BASALT_HD bool holds(Float value) const {
    return ((value >= low_) & (value <= high_)) | ((value != value) & (has_nan_ != 0));  // no branches
  }

 private:
  static constexpr int64_t kInfinity = sizeof(T) == 8 ? int64_t{0x7FF} << 52 : int64_t{0xFF} << 23;
  static constexpr T kNan = static_cast<T>(kInfinity + 1);
  static constexpr T kSign = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  BASALT_HD static Float value_of(int64_t key) {
    return __builtin_bit_cast(Float, key < 0 ? static_cast<T>(static_cast<T>(-key) | kSign) : static_cast<T>(key));
  }

  Float low_ = 0;
  Float high_ = 0;
  uint32_t has_nan_ = 0;
};

BASALT_HD int64_t float_key(double value) { return float_key_of_bits(__builtin_bit_cast(uint64_t, value)); }
BASALT_HD int64_t float_key(float value) { return float_key_of_bits(__builtin_bit_cast(uint32_t, value)); }

}  // namespace basalt
