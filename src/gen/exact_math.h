// exp, log, sin and the normal quantile from +, −, ×, ÷ and square roots, each rounded by itself: unlike the functions
// of <cmath>, they give the same bits on every machine, so generated data does too. Good to about 1e-15, relative.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "codec/l3/exact.h"

namespace basalt::gen {

using l3::add;
using l3::div;
using l3::mul;
using l3::sub;
using l3::to_integer;

// IEEE 754 rounds square roots correctly: they need no version of our own.
inline double square_root(double x) { return l3::rounded(std::sqrt(x)); }

// c[0] + c[1]·x + c[2]·x² + …
template <size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  double sum = c[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = add(mul(sum, x), c[i]);
  return sum;
}

constexpr double kLn2High = 6.93147180369123816490e-01;  // 33 bits: multiples below 2^20 are exact
constexpr double kLn2Low = 1.90821492927058770002e-10;

// x positive and not denormal.
inline double natural_log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFu) | (uint64_t{1023} << 52));
  if (m > 1.4142135623730951) {
    m = mul(m, 0.5);
    ++exponent;
  }
  // log m = 2·artanh(s), |s| ≤ 0.172.
  static constexpr std::array<double, 11> kOdd = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                                                  1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  const double s = div(sub(m, 1), add(m, 1));
  const double log_m = mul(mul(2, s), polynomial(kOdd, mul(s, s)));
  return add(mul(exponent, kLn2High), add(mul(exponent, kLn2Low), log_m));
}

// |x| ≤ 700.
inline double exponential(double x) {
  const int64_t k = to_integer(mul(x, 1.4426950408889634));
  const auto whole = static_cast<double>(k);
  const double r = sub(sub(x, mul(whole, kLn2High)), mul(whole, kLn2Low));  // |r| ≤ 0.347
  static constexpr std::array<double, 14> kFactorials = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  return mul(polynomial(kFactorials, r), l3::power_of_two(static_cast<int>(k)));
}

// |x| < 2^19: the reduction is exact up to there.
inline double sine(double x) {
  const int64_t quarter = to_integer(mul(x, 0.63661977236758134));
  const auto whole = static_cast<double>(quarter);
  const double r = sub(sub(x, mul(whole, 1.57079632673412561417e+00)), mul(whole, 6.07710050650619224932e-11));
  static constexpr std::array<double, 8> kSine = {
      1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000};
  static constexpr std::array<double, 9> kCosine = {1.0,
                                                    -1.0 / 2,
                                                    1.0 / 24,
                                                    -1.0 / 720,
                                                    1.0 / 40320,
                                                    -1.0 / 3628800,
                                                    1.0 / 479001600,
                                                    -1.0 / 87178291200,
                                                    1.0 / 20922789888000};
  const double square = mul(r, r);
  const double value = (quarter & 1) != 0 ? polynomial(kCosine, square) : mul(r, polynomial(kSine, square));
  return (quarter & 2) != 0 ? -value : value;
}

// The standard normal quantile of 0 < p < 1 by Wichura's rational functions (algorithm AS 241).
inline double normal_quantile(double p) {
  static constexpr std::array<double, 8> kA = {
      3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
      4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr std::array<double, 8> kB = {1.0,
                                               4.2313330701600911252e+1,
                                               6.8718700749205790830e+2,
                                               5.3941960214247511077e+3,
                                               2.1213794301586595867e+4,
                                               3.9307895800092710610e+4,
                                               2.8729085735721942674e+4,
                                               5.2264952788528545610e+3};
  static constexpr std::array<double, 8> kC = {
      1.42343711074968357734e0, 4.63033784615654529590e0,  5.76949722146069140550e0,  3.64784832476320460504e0,
      1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr std::array<double, 8> kD = {1.0,
                                               2.05319162663775882187e0,
                                               1.67638483018380384940e0,
                                               6.89767334985100004550e-1,
                                               1.48103976427480074590e-1,
                                               1.51986665636164571966e-2,
                                               5.47593808499534494600e-4,
                                               1.05075007164441684324e-9};
  static constexpr std::array<double, 8> kE = {
      6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,  2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr std::array<double, 8> kF = {1.0,
                                               5.99832206555887937690e-1,
                                               1.36929880922735805310e-1,
                                               1.48753612908506148525e-2,
                                               7.86869131145613259100e-4,
                                               1.84631831751005468180e-5,
                                               1.42151175831644588870e-7,
                                               2.04426310338993978564e-15};
  const double q = sub(p, 0.5);
  if (q >= -0.425 && q <= 0.425) {
    const double r = sub(0.180625, mul(q, q));
    return div(mul(q, polynomial(kA, r)), polynomial(kB, r));
  }
  const double tail = square_root(-natural_log(q < 0 ? p : sub(1, p)));
  const double near = sub(tail, 1.6), far = sub(tail, 5);
  const double z =
      tail <= 5 ? div(polynomial(kC, near), polynomial(kD, near)) : div(polynomial(kE, far), polynomial(kF, far));
  return q < 0 ? -z : z;
}

}  // namespace basalt::gen
