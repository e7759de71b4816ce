// Functions of single numbers that both backends share: the interpreter calls them in its loops, generated kernels name
// them. Each is a functor that holds its constants, takes its arguments and gives a result and an Outcome. They are
// defined for all arguments, as rows that do not count and values under NULLs reach them, too.
#pragma once

#include "exec/scalar.h"

namespace basalt::exec {

// The mathematics of the platform, which has no header that run-time compiled kernels could include.
#if defined(__CUDACC__)
#define BASALT_MATH(name) ::name
#else
#define BASALT_MATH(name) __builtin_##name
#endif
BASALT_HD double real_floor(double x) { return BASALT_MATH(floor)(x); }
BASALT_HD double real_ceil(double x) { return BASALT_MATH(ceil)(x); }
BASALT_HD double real_trunc(double x) { return BASALT_MATH(trunc)(x); }
BASALT_HD double real_round(double x) { return BASALT_MATH(round)(x); }  // halves away from zero
BASALT_HD double real_even(double x) { return BASALT_MATH(rint)(x); }    // halves to even
BASALT_HD double real_root(double x) { return BASALT_MATH(sqrt)(x); }    // exact to the last bit everywhere
BASALT_HD double real_abs(double x) { return BASALT_MATH(fabs)(x); }
BASALT_HD double real_remainder(double x, double y) { return BASALT_MATH(fmod)(x, y); }
BASALT_HD float real_remainder(float x, float y) { return BASALT_MATH(fmodf)(x, y); }
#undef BASALT_MATH

BASALT_HD bool is_finite(double x) { return x - x == 0; }

// --- division
// -----------------------------------------------------------------------------------------------------------

// Int: an integer lane that holds both arguments and every result. `least` is the least value of the type, whose
// quotient by −1 does not exist.
template <typename Int>
struct IntegerQuotient {
  Int least;
  BASALT_HD Outcome operator()(Int a, Int b, Int& out) const {
    if (b == 0) return Outcome::kNull;
    if (b == -1 && a <= least) return Outcome::kOutOfRange;
    out = a / b;
    return Outcome::kValue;
  }
};
template <typename Int>
struct IntegerRemainder {
  Int least;
  BASALT_HD Outcome operator()(Int a, Int b, Int& out) const {
    if (b == 0) return Outcome::kNull;
    if (b == -1 && a <= least) return Outcome::kOutOfRange;
    out = a % b;
    return Outcome::kValue;
  }
};

struct RealQuotient {
  template <typename Real>
  BASALT_HD Outcome operator()(Real a, Real b, Real& out) const {
    out = a / b;
    return Outcome::kValue;
  }
};
struct RealQuotientOrNull {
  template <typename Real>
  BASALT_HD Outcome operator()(Real a, Real b, Real& out) const {
    out = a / b;
    return b == 0 ? Outcome::kNull : Outcome::kValue;
  }
};
struct RealRemainder {
  template <typename Real>
  BASALT_HD Outcome operator()(Real a, Real b, Real& out) const {
    out = real_remainder(a, b);
    return Outcome::kValue;
  }
};

// --- signs
// --------------------------------------------------------------------------------------------------------------

template <typename Int>
struct IntegerMagnitude {
  Int least;  // of the type, which has no magnitude there
  BASALT_HD Outcome operator()(Int a, Int& out) const {
    if (a < 0 && a <= least) return Outcome::kOutOfRange;
    out = a < 0 ? -a : a;
    return Outcome::kValue;
  }
};
struct RealMagnitude {
  template <typename Real>
  BASALT_HD Outcome operator()(Real a, Real& out) const {
    out = static_cast<Real>(real_abs(a));
    return Outcome::kValue;
  }
};
struct Sign {
  template <typename Number>
  BASALT_HD Outcome operator()(Number a, int32_t& out) const {
    out = static_cast<int32_t>(a > 0) - static_cast<int32_t>(a < 0);
    return Outcome::kValue;
  }
};
// Of an unsigned integer, modulo 2^bits.
template <typename Int>
struct WrappedNegation {
  Int modulus;
  BASALT_HD Outcome operator()(Int a, Int& out) const {
    out = a <= 0 ? 0 : modulus - a;
    return Outcome::kValue;
  }
};

// --- whole numbers
// ------------------------------------------------------------------------------------------------------

// Quotients by `power` > 0.
template <typename Int>
BASALT_HD Int rounded_quotient(Int a, Int power) {
  const Int whole = a / power;
  const Int rest = a % power;
  // Not `2 * rest`, which may leave the type.
  if (rest >= power - rest && rest > 0) return whole + 1;
  if (-rest >= power + rest && rest < 0) return whole - 1;
  return whole;
}
template <typename Int>
struct DecimalRound {
  Int power;
  BASALT_HD Outcome operator()(Int a, Int& out) const {
    out = rounded_quotient(a, power);
    return Outcome::kValue;
  }
};
template <typename Int>
struct DecimalFloor {
  Int power;
  BASALT_HD Outcome operator()(Int a, Int& out) const {
    out = a / power - static_cast<Int>(a % power < 0 ? 1 : 0);
    return Outcome::kValue;
  }
};
template <typename Int>
struct DecimalCeil {
  Int power;
  BASALT_HD Outcome operator()(Int a, Int& out) const {
    out = a / power + static_cast<Int>(a % power > 0 ? 1 : 0);
    return Outcome::kValue;
  }
};
template <typename Int>
struct DecimalTruncate {
  Int power;
  BASALT_HD Outcome operator()(Int a, Int& out) const {
    out = a / power;
    return Outcome::kValue;
  }
};

// Rounds to a number of digits behind the point, `modifier` = 10^digits.
struct RealRoundBehind {
  double modifier;
  template <typename Real>
  BASALT_HD Outcome operator()(Real a, Real& out) const {
    const double rounded = real_round(static_cast<double>(a) * modifier) / modifier;
    out = is_finite(rounded) ? static_cast<Real>(rounded) : a;
    return Outcome::kValue;
  }
};
// The same before the point.
struct RealRoundBefore {
  double modifier;
  template <typename Real>
  BASALT_HD Outcome operator()(Real a, Real& out) const {
    const double rounded = real_round(static_cast<double>(a) / modifier) * modifier;
    out = is_finite(rounded) ? static_cast<Real>(rounded) : static_cast<Real>(0);
    return Outcome::kValue;
  }
};
struct RealFloor {
  template <typename Real>
  BASALT_HD Outcome operator()(Real a, Real& out) const {
    out = static_cast<Real>(real_floor(a));
    return Outcome::kValue;
  }
};
struct RealCeil {
  template <typename Real>
  BASALT_HD Outcome operator()(Real a, Real& out) const {
    out = static_cast<Real>(real_ceil(a));
    return Outcome::kValue;
  }
};
struct RealTruncate {
  template <typename Real>
  BASALT_HD Outcome operator()(Real a, Real& out) const {
    out = static_cast<Real>(real_trunc(a));
    return Outcome::kValue;
  }
};

struct SquareRoot {
  BASALT_HD Outcome operator()(double a, double& out) const {
    if (a < 0) return Outcome::kOutOfRange;
    out = real_root(a);
    return Outcome::kValue;
  }
};

// --- bits
// ---------------------------------------------------------------------------------------------------------------

// Int: a lane that holds all values of the type.
struct BitAnd {
  template <typename Int>
  BASALT_HD Outcome operator()(Int a, Int b, Int& out) const {
    out = a & b;
    return Outcome::kValue;
  }
};
struct BitOr {
  template <typename Int>
  BASALT_HD Outcome operator()(Int a, Int b, Int& out) const {
    out = a | b;
    return Outcome::kValue;
  }
};
struct BitXor {
  template <typename Int>
  BASALT_HD Outcome operator()(Int a, Int b, Int& out) const {
    out = a ^ b;
    return Outcome::kValue;
  }
};
// `bits` of the type, of which `value_bits` are not the sign.
struct ShiftLeft {
  int32_t bits;
  int32_t value_bits;
  template <typename Int>
  BASALT_HD Outcome operator()(Int a, Int by, Int& out) const {
    if (a < 0 || by < 0) return Outcome::kOutOfRange;
    out = 0;
    if (a == 0) return Outcome::kValue;
    if (by >= bits || (a >> (value_bits - static_cast<int32_t>(by))) != 0) return Outcome::kOutOfRange;
    out = a << static_cast<int32_t>(by);
    return Outcome::kValue;
  }
};
struct ShiftRight {
  int32_t bits;
  template <typename Int>
  BASALT_HD Outcome operator()(Int a, Int by, Int& out) const {
    out = by < 0 || by >= bits ? static_cast<Int>(0) : static_cast<Int>(a >> static_cast<int32_t>(by));
    return Outcome::kValue;
  }
};

}  // namespace basalt::exec
