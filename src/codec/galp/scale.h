// The arithmetic of galp, the same bits on every machine and in device code: two multiplications, each rounded by
// itself, then rounding to the nearest integer, halves to even. Decoding is one multiplication of integers (modulo
// 2^bits), one conversion and one multiplication of floats.
//
// The product d · 10^f is exact as an integer, and the conversion rounds it once; a float product of d and 10^f, which
// are both exact as floats, rounds the same number once. So the two agree wherever d is exact and d · 10^f does not
// wrap, and loops that know this use floats only, which vectorise everywhere.
#pragma once

#include "codec/galp/layout.h"

namespace basalt::galp {

template <typename T>
struct Arithmetic;

template <>
struct Arithmetic<double> {
  using Int = int64_t;
  using Bits = uint64_t;
  static constexpr uint32_t kBits = 64;
  static constexpr double kWhole = 4503599627370496.0;  // 2^52: from here on every float is an integer
  static constexpr int64_t kExact = int64_t{1} << 53;   // integers up to here are floats
  static constexpr uint64_t kSign = uint64_t{1} << 63;
  static constexpr uint64_t kInfinity = 0x7FFull << 52;

  BASALT_HD static double power(uint32_t k) {
    static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                         1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    return kPowers[k];
  }
  BASALT_HD static double inverse(uint32_t k) {
    static constexpr double kInverses[] = {1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8, 1e-9,
                                           1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18};
    return kInverses[k];
  }
  // The largest float d for which d · 10^k stays below 2^63.
  BASALT_HD static double limit(uint32_t k) {
    static constexpr double kLimits[] = {9223372036854774784.0,
                                         922337203685477504.0,
                                         92233720368547744.0,
                                         9223372036854774.0,
                                         922337203685477.0,
                                         92233720368547.0,
                                         9223372036854.0,
                                         922337203685.0,
                                         92233720368.0,
                                         9223372036.0,
                                         922337203.0,
                                         92233720.0,
                                         9223372.0,
                                         922337.0,
                                         92233.0,
                                         9223.0,
                                         922.0,
                                         92.0,
                                         9.0};
    return kLimits[k];
  }
};

template <>
struct Arithmetic<float> {
  using Int = int32_t;
  using Bits = uint32_t;
  static constexpr uint32_t kBits = 32;
  static constexpr float kWhole = 8388608.0f;  // 2^23
  static constexpr int32_t kExact = 1 << 24;
  static constexpr uint32_t kSign = 1u << 31;
  static constexpr uint32_t kInfinity = 0xFFu << 23;

  BASALT_HD static float power(uint32_t k) {
    static constexpr float kPowers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
    return kPowers[k];
  }
  BASALT_HD static float inverse(uint32_t k) {
    static constexpr float kInverses[] = {1e0f, 1e-1f, 1e-2f, 1e-3f, 1e-4f, 1e-5f, 1e-6f, 1e-7f, 1e-8f, 1e-9f, 1e-10f};
    return kInverses[k];
  }
  BASALT_HD static float limit(uint32_t k) {
    static constexpr float kLimits[] = {2147483520.0f, 214748352.0f, 21474836.0f, 2147483.0f, 214748.0f,
                                        21474.0f,      2147.0f,      214.0f,      21.0f,      2.0f};
    return kLimits[k];
  }
};

template <typename T>
using IntOf = typename Arithmetic<T>::Int;
template <typename T>
using BitsOf = typename Arithmetic<T>::Bits;

BASALT_HD double multiply(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
BASALT_HD float multiply(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
BASALT_HD double sum(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}
BASALT_HD float sum(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

// The compiler's own cast, which all of them have: kernels compiled at run time have no standard library.
BASALT_HD uint64_t bits_of(double value) { return __builtin_bit_cast(uint64_t, value); }
BASALT_HD uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }
BASALT_HD double float_of(uint64_t bits) { return __builtin_bit_cast(double, bits); }
BASALT_HD float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// A pair's factors.
template <typename T>
struct Scale {
  T up;                   // 10^e
  T down;                 // 10^-f
  T times;                // 10^f
  T back;                 // 10^-e
  T limit;                // of |d|
  BitsOf<T> whole_times;  // 10^f

  BASALT_HD static Scale of(Pair pair) {
    using A = Arithmetic<T>;
    const T times = A::power(pair.f);
    return {A::power(pair.e),   A::inverse(pair.f), times,
            A::inverse(pair.e), A::limit(pair.f),   static_cast<BitsOf<T>>(times)};
  }
};

// The value of an integer.
template <typename T>
BASALT_HD T decode(IntOf<T> d, const Scale<T>& scale) {
  const auto product = static_cast<IntOf<T>>(static_cast<BitsOf<T>>(d) * scale.whole_times);
  return multiply(static_cast<T>(product), scale.back);
}
// The same where |d| ≤ kExact and |d| ≤ limit.
template <typename T>
BASALT_HD T decode_exact(T d, const Scale<T>& scale) {
  return multiply(multiply(d, scale.times), scale.back);
}

// Whether a tile whose integers are low … low + range is summed apart from its exceptions (exec/aggregate.h): integers
// and what spans them are floats, and products do not wrap, so that integers decode in order. 1024 integers of doubles
// fit 64 bits then.
template <typename T>
BASALT_HD bool sums_apart(int64_t low, uint64_t range, const Scale<T>& scale) {
  constexpr auto kWhole = static_cast<int64_t>(Arithmetic<T>::kWhole);
  const auto limit = static_cast<int64_t>(scale.limit);
  const int64_t largest = limit < kWhole ? limit : kWhole;
  return low >= -largest && low <= largest && range <= static_cast<uint64_t>(largest - low) &&
         (sizeof(T) == 8 || range < static_cast<uint64_t>(kWhole));
}
// What a sum of such integers stands for, of doubles: the value of one integer, where it is of one.
BASALT_HD double value_of_sum(int64_t sum, double times, double back) {
  return multiply(multiply(static_cast<double>(sum), times), back);
}
// The values of floats are decimals that were rounded: what one has more than its integer times digit_of(). The
// difference has few digits, so that it is rounded once; the product is exact as a double.
BASALT_HD float digit_of(Pair pair) { return Arithmetic<float>::inverse(pair.e - pair.f); }
BASALT_HD float remainder(float d, float value, float digit) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(-d, digit, value);
#else
  return static_cast<float>(static_cast<double>(value) - static_cast<double>(d) * static_cast<double>(digit));
#endif
}
// What integers of floats and their remainders add up to.
BASALT_HD double value_of_sums(int64_t sum_of_integers, float remainders, float digit) {
  return sum(multiply(static_cast<double>(sum_of_integers), static_cast<double>(digit)),
             static_cast<double>(remainders));
}

// The nearest integer, halves to even; exact everywhere. Where there is no instruction for it (SSE2), a float below
// kWhole gets rid of its fraction by adding kWhole, and one above has none. Floats without sign are ordered as their
// bits are, so the comparison is the sign of a difference, for which SSE2 has vectors.
BASALT_HD double nearest(double t) {
#if defined(__CUDA_ARCH__)
  return rint(t);
#elif defined(__aarch64__)
  return __builtin_nearbyint(t);
#else
  using A = Arithmetic<double>;
  const uint64_t size = bits_of(t) & ~A::kSign;
  const double rounded = sum(sum(float_of(size), A::kWhole), -A::kWhole);
  const uint64_t has_fraction = uint64_t{0} - ((size - bits_of(A::kWhole)) >> 63);
  return float_of((bits_of(rounded) & has_fraction) | (size & ~has_fraction) | (bits_of(t) & A::kSign));
#endif
}
BASALT_HD float nearest(float t) {
#if defined(__CUDA_ARCH__)
  return rintf(t);
#elif defined(__aarch64__)
  return __builtin_nearbyintf(t);
#else
  using A = Arithmetic<float>;
  const uint32_t size = bits_of(t) & ~A::kSign;
  const float rounded = sum(sum(float_of(size), A::kWhole), -A::kWhole);
  const uint32_t has_fraction = 0u - ((size - bits_of(A::kWhole)) >> 31);
  return float_of((bits_of(rounded) & has_fraction) | (size & ~has_fraction) | (bits_of(t) & A::kSign));
#endif
}

// The integer for a value, still as a float, whether or not it brings the value back.
template <typename T>
BASALT_HD T nearest_integer(T value, const Scale<T>& scale) {
  return sum(nearest(multiply(multiply(value, scale.up), scale.down)), T{0});  // integers have no -0
}

// A value's integer, still as a float, and whether it is an exception (0 or 1; the integer is 0 then). Products beyond
// the limit wrap when they are decoded and never come back right, so this is the test of decode() without integers.
// Comparisons are signs of differences again: no branches, and NaN lies beyond every limit.
template <typename T>
struct Scaled {
  T d;
  BitsOf<T> exception;
};
template <typename T>
BASALT_HD Scaled<T> encode(T value, const Scale<T>& scale) {
  using A = Arithmetic<T>;
  using Bits = BitsOf<T>;
  constexpr uint32_t kTop = A::kBits - 1;
  const T d = nearest_integer(value, scale);
  const Bits beyond = (bits_of(scale.limit) - (bits_of(d) & ~A::kSign)) >> kTop;
  const Bits x = bits_of(decode_exact(d, scale)) ^ bits_of(value);
  const Bits differs = (x | (Bits{0} - x)) >> kTop;
  const Bits exception = beyond | differs;
  return {float_of(static_cast<Bits>(bits_of(d) & (exception - 1))), exception};
}

}  // namespace basalt::galp
