// Fitting: exact integer moments of a run of rows, least-squares polynomials from them, and the fixed-point
// coefficients that are stored. Moments are integers, so adding them up in any order gives the same model.
#pragma once

#include "codec/l3/exact.h"
#include "codec/l3/layout.h"

namespace basalt::l3 {

// Of rows with local index i and value z, both relative to the run's first row. Runs whose values span more than 2^58
// are not modelled; `squares` is modulo 2^128 and right for spans up to 2^49.
struct Moments {
  uint64_t rows = 0;
  int128_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;  // Σ i^m·z; s2 and s3 only up to kMaxPolyRows rows
  uint128_t squares = 0;                    // Σ z²
};
constexpr uint32_t kMaxModelBits = 58;
constexpr uint32_t kMaxSquareBits = 49;

// The moments of a run followed by another whose first value lies `step` above the first run's.
BASALT_HD Moments join(const Moments& a, const Moments& b, int64_t step) {
  Moments m;
  m.rows = a.rows + b.rows;
  const auto n = static_cast<int128_t>(b.rows);
  const auto o = static_cast<int128_t>(a.rows);
  const int128_t d = step;
  // b's values rise by d, its rows by o.
  const auto p1 = static_cast<int128_t>(b.rows * (b.rows - 1) / 2);
  const int128_t s0 = b.s0 + d * n;
  const int128_t s1 = b.s1 + d * p1;
  m.s0 = a.s0 + s0;
  m.s1 = a.s1 + s1 + o * s0;
  if (m.rows <= kMaxPolyRows) {
    const int128_t s2 = b.s2 + d * static_cast<int128_t>(b.rows * (b.rows - 1) * (2 * b.rows - 1) / 6);
    const int128_t s3 = b.s3 + d * (p1 * p1);
    m.s2 = a.s2 + s2 + 2 * o * s1 + o * o * s0;
    m.s3 = a.s3 + s3 + 3 * o * s2 + 3 * o * o * s1 + o * o * o * s0;
  }
  const auto rise = static_cast<uint128_t>(d);
  m.squares = a.squares + b.squares + 2 * rise * static_cast<uint128_t>(b.s0) + rise * rise * static_cast<uint128_t>(n);
  return m;
}

// The least-squares fit in the centred variable u = 2i − (n − 1), over orthogonal polynomials: coefficients of u,
// u² − …, u³ − …, each found without the others.
struct Fit {
  double n;
  double a1 = 0, a2 = 0, a3 = 0;
  double squares[4];  // Σ of squared residuals at degree 0..3, within a few units of rounding of `scale`
  double scale;       // Σ z²
};

BASALT_HD Fit fit_polynomials(const Moments& m, bool with_squares) {
  Fit f;
  const auto n = static_cast<int128_t>(m.rows);
  f.n = static_cast<double>(m.rows);
  const int128_t t1 = 2 * m.s1 - (n - 1) * m.s0;
  const double nn = mul(f.n, f.n);
  const double u2 = div(mul(f.n, sub(nn, 1)), 3);  // Σ u²
  f.a1 = m.rows < 2 ? 0 : div(to_double(t1), u2);
  double n2 = 0, d2 = 1, n3 = 0, d3 = 1;
  if (m.rows > 3 && m.rows <= kMaxPolyRows) {
    const int128_t t2 = 4 * m.s2 - 4 * (n - 1) * m.s1 + (n - 1) * (n - 1) * m.s0;
    const int128_t t3 =
        8 * m.s3 - 12 * (n - 1) * m.s2 + 6 * (n - 1) * (n - 1) * m.s1 - (n - 1) * (n - 1) * (n - 1) * m.s0;
    n2 = div(to_double(3 * t2 - (n * n - 1) * m.s0), 3);
    d2 = div(mul(mul(mul(f.n, sub(nn, 1)), sub(nn, 4)), 16), 180);
    n3 = div(to_double(5 * t3 - (3 * n * n - 7) * t1), 5);
    d3 = div(mul(mul(mul(mul(f.n, sub(nn, 1)), sub(nn, 4)), sub(nn, 9)), 64), 2800);
    f.a2 = div(n2, d2);
    f.a3 = div(n3, d3);
  }
  if (with_squares) {
    f.scale = to_double(static_cast<int128_t>(m.squares));
    const double s0 = to_double(m.s0);
    f.squares[0] = sub(f.scale, div(mul(s0, s0), f.n));
    f.squares[1] = sub(f.squares[0], mul(mul(f.a1, f.a1), u2));
    f.squares[2] = sub(f.squares[1], mul(f.a2, n2));
    f.squares[3] = sub(f.squares[2], mul(f.a3, n3));
  }
  return f;
}

// No residuals of this fit, before rounding of predictions, can have a smaller range: the range of any numbers is at
// least twice their standard deviation. Zero if rounding leaves nothing to say.
BASALT_HD double least_variance(const Fit& fit, uint32_t degree) {
  const double safe = sub(fit.squares[degree], mul(fit.scale, 1e-14));
  return safe > 0 ? div(safe, fit.n) : 0.0;
}

// The words of a model's coefficients, and the shift for its record.
struct Coefficients {
  uint64_t c1 = 0, c2 = 0, c3 = 0;
  uint32_t shift = 0;
  bool phased = false;
  uint64_t c0 = 0;
};

BASALT_HD uint64_t magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// Rounds to `bits` bits with sign; *exponent is how far the mantissa was shifted.
BASALT_HD int64_t to_mantissa(int64_t value, uint32_t bits, uint32_t* exponent) {
  // Rounding never takes a bit off, so nothing below this shift fits.
  const uint32_t value_bits = bits_of(magnitude(value));
  uint32_t e = value_bits < bits ? 0 : value_bits - bits + 1;
  int64_t mantissa = e == 0 ? value : (value + (int64_t{1} << (e - 1))) >> e;
  while (bits_of(magnitude(mantissa)) >= bits) {
    ++e;
    mantissa = (value + (int64_t{1} << (e - 1))) >> e;
  }
  *exponent = e;
  return mantissa;
}

// A small coefficient's word; one too large for it becomes zero, and the model will lose by its residuals.
BASALT_HD uint32_t to_small(int64_t value) {
  uint32_t exponent;
  const int64_t mantissa = to_mantissa(value, 27, &exponent);
  return exponent > 31 ? 0 : static_cast<uint32_t>(mantissa) << 5 | exponent;
}

// Fixed-point coefficients of the fit at `degree`. Narrow models do not look at `wide_fraction`. What rounding takes
// from a higher coefficient is given back through the lower ones, as far as they can imitate it over n rows.
BASALT_HD Coefficients quantise(const Fit& fit, uint32_t degree, bool wide, uint32_t wide_fraction) {
  const double u0 = sub(1, fit.n);
  const double a3 = degree > 2 ? fit.a3 : 0;
  const double a2 = degree > 1 ? fit.a2 : 0;
  const double nn = mul(fit.n, fit.n);
  const double k3 = div(sub(mul(3, nn), 7), 5);
  const double cubic = sub(add(add(mul(6, mul(u0, u0)), mul(12, u0)), 8), mul(2, k3));
  double c1 = add(add(mul(2, fit.a1), mul(a2, add(mul(4, u0), 4))), mul(a3, cubic));
  double c2 = add(mul(8, a2), mul(a3, add(mul(24, u0), 48)));
  const double c3 = mul(48, a3);
  const uint32_t fraction = wide ? wide_fraction : 32;
  const double up = power_of_two(static_cast<int>(fraction));
  const double down = power_of_two(-static_cast<int>(fraction));

  Coefficients out;
  if (degree > 2) {
    int64_t fixed = to_integer(mul(c3, up));
    out.c3 = static_cast<uint64_t>(fixed);
    if (!wide) {
      out.c3 = to_small(fixed);
      fixed = static_cast<int64_t>(expand(static_cast<uint32_t>(out.c3)));
    }
    // i³ imitated over 0..n by 1.5·n·i² − 0.5625·n²·i, up to a constant: n³/32 at most remains.
    const double lost = div(sub(c3, mul(static_cast<double>(fixed), down)), 6);
    c2 = add(c2, mul(lost, mul(3, fit.n)));
    c1 = add(c1, mul(lost, sub(mul(1.5, fit.n), mul(0.5625, nn))));
  }
  if (degree > 1) {
    int64_t fixed = to_integer(mul(c2, up));
    out.c2 = static_cast<uint64_t>(fixed);
    if (!wide) {
      out.c2 = to_small(fixed);
      fixed = static_cast<int64_t>(expand(static_cast<uint32_t>(out.c2)));
    }
    const double lost = div(sub(c2, mul(static_cast<double>(fixed), down)), 2);
    c1 = add(c1, mul(lost, sub(fit.n, 1)));
  }
  const int64_t fixed = to_integer(mul(c1, up));
  out.c1 = static_cast<uint64_t>(fixed);
  out.shift = fraction;
  if (!wide) {
    const int64_t mantissa = to_mantissa(fixed, 32, &out.shift);
    out.c1 = static_cast<uint32_t>(mantissa);
  }
  return out;
}

}  // namespace basalt::l3
