// Floating-point arithmetic whose result is the same on every machine and in every compiler: each operation rounds by
// itself (no fused multiply-add), and conversions of 128-bit integers are spelled out. Encoders on the CPU and on the
// GPU fit models with it and must arrive at the same bits.
#pragma once

#include "basalt/core/host_device.h"
#if !defined(__CUDACC_RTC__)
#include <cmath>
#endif

namespace basalt::l3 {

// Keeps the compiler from fusing the operation that made `x` with the one that uses it.
BASALT_HD double rounded(double x) {
#if !defined(__CUDA_ARCH__)
#if defined(__aarch64__)
  asm("" : "+w"(x));
#elif defined(__x86_64__)
  asm("" : "+x"(x));
#endif
#endif
  return x;
}
BASALT_HD double add(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(a, b);
#else
  return rounded(a + b);
#endif
}
BASALT_HD double sub(double a, double b) { return add(a, -b); }
BASALT_HD double mul(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return rounded(a * b);
#endif
}
BASALT_HD double div(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __ddiv_rn(a, b);
#else
  return rounded(a / b);
#endif
}

// Correctly rounded on every machine: IEEE 754 demands it.
BASALT_HD double square_root(double x) {
#if defined(__CUDA_ARCH__)
  return __dsqrt_rn(x);
#else
  return rounded(std::sqrt(x));
#endif
}

// 2^exponent, −1022 ≤ exponent ≤ 1023.
BASALT_HD double power_of_two(int exponent) {
  return __builtin_bit_cast(double, static_cast<uint64_t>(exponent + 1023) << 52);
}

BASALT_HD uint32_t bits_of(uint64_t value) {
#if defined(__CUDA_ARCH__)
  return 64 - static_cast<uint32_t>(__clzll(static_cast<long long>(value)));
#else
  return value == 0 ? 0 : 64 - static_cast<uint32_t>(__builtin_clzll(value));
#endif
}

// The nearest double towards zero.
BASALT_HD double to_double(int128_t value) {
  const bool negative = value < 0;
  auto magnitude = negative ? uint128_t{0} - static_cast<uint128_t>(value) : static_cast<uint128_t>(value);
  const auto high = static_cast<uint64_t>(magnitude >> 64);
  const uint32_t bits = high != 0 ? 64 + bits_of(high) : bits_of(static_cast<uint64_t>(magnitude));
  const uint32_t drop = bits > 53 ? bits - 53 : 0;
  const double result =
      mul(static_cast<double>(static_cast<uint64_t>(magnitude >> drop)), power_of_two(static_cast<int>(drop)));
  return negative ? -result : result;
}

// The nearest integer, halves upwards; limits at ±2^62, which no useful coefficient reaches.
BASALT_HD int64_t to_integer(double value) {
  constexpr double kLimit = 4611686018427387904.0;
  if (!(value < kLimit)) return int64_t{1} << 62;
  if (value < -kLimit) return -(int64_t{1} << 62);
  const double moved = add(value, 0.5);
  const auto cut = static_cast<int64_t>(moved);  // towards zero
  return static_cast<double>(cut) > moved ? cut - 1 : cut;
}

}  // namespace basalt::l3
