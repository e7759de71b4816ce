// The inner loops of the interpreter: plain loops over arrays that the compiler vectorises. Integer arithmetic wraps,
// as the caller has proven that it cannot leave the lane, or checks every row in 128 bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "basalt/core/host_device.h"
#include "exec/scalar.h"

namespace basalt::exec {

template <typename T>
struct UnsignedOf {
  using type = std::make_unsigned_t<T>;
};
template <>
struct UnsignedOf<int128_t> {
  using type = uint128_t;
};

struct AddOp {
  template <typename T>
  static T apply(T a, T b) {
    return a + b;
  }
  static bool checked(int128_t a, int128_t b, int128_t* out) { return __builtin_add_overflow(a, b, out); }
};
struct SubtractOp {
  template <typename T>
  static T apply(T a, T b) {
    return a - b;
  }
  static bool checked(int128_t a, int128_t b, int128_t* out) { return __builtin_sub_overflow(a, b, out); }
};
struct MultiplyOp {
  template <typename T>
  static T apply(T a, T b) {
    return a * b;
  }
  static bool checked(int128_t a, int128_t b, int128_t* out) { return __builtin_mul_overflow(a, b, out); }
};

// Out at least as wide as In. A result twice as wide as its arguments cannot overflow, and signed code lets the
// compiler use widening multiplications.
template <typename Op, typename Out, typename In>
void arithmetic_loop(const In* __restrict a, const In* __restrict b, Out* __restrict out, uint32_t rows) {
  if constexpr (std::is_floating_point_v<Out> || sizeof(Out) > sizeof(In)) {
    for (uint32_t i = 0; i < rows; ++i) out[i] = Op::apply(static_cast<Out>(a[i]), static_cast<Out>(b[i]));
  } else {
    using U = typename UnsignedOf<Out>::type;
    for (uint32_t i = 0; i < rows; ++i) {
      out[i] = static_cast<Out>(Op::apply(static_cast<U>(a[i]), static_cast<U>(b[i])));
    }
  }
}

// Returns the first row that is active and leaves [low, high], or `rows`.
template <typename Op>
uint32_t checked_loop(const int128_t* a, const int128_t* b, int128_t* out, uint32_t rows, int128_t low, int128_t high,
                      const uint8_t* live, const uint8_t* valid) {
  for (uint32_t i = 0; i < rows; ++i) {
    const bool bad = Op::checked(a[i], b[i], &out[i]) || out[i] < low || out[i] > high;
    if (bad && (live == nullptr || live[i]) && (valid == nullptr || valid[i])) return i;
  }
  return rows;
}

struct EqualOp {
  template <typename T>
  static bool apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return sql_equal(a, b);
    return a == b;
  }
};
struct NotEqualOp {
  template <typename T>
  static bool apply(T a, T b) {
    return !EqualOp::apply(a, b);
  }
};
struct LessOp {
  template <typename T>
  static bool apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return sql_less(a, b);
    return a < b;
  }
};
struct LessEqualOp {
  template <typename T>
  static bool apply(T a, T b) {
    return !LessOp::apply(b, a);
  }
};
struct GreaterOp {
  template <typename T>
  static bool apply(T a, T b) {
    return LessOp::apply(b, a);
  }
};
struct GreaterEqualOp {
  template <typename T>
  static bool apply(T a, T b) {
    return !LessOp::apply(a, b);
  }
};

// NaN is the largest value; −0.0 is below 0.0 here, so that the result does not depend on the order of rows.
template <typename T>
bool real_less(T a, T b) {
  return sql_less(a, b) || (a == 0 && b == 0 && std::signbit(a) && !std::signbit(b));
}

template <typename Op, typename T>
void compare_loop(const T* __restrict a, const T* __restrict b, uint8_t* __restrict out, uint32_t rows) {
  for (uint32_t i = 0; i < rows; ++i) out[i] = Op::apply(a[i], b[i]) ? 1 : 0;
}
template <typename Op, typename T>
void compare_literal_loop(const T* __restrict a, T literal, uint8_t* __restrict out, uint32_t rows) {
  for (uint32_t i = 0; i < rows; ++i) out[i] = Op::apply(a[i], literal) ? 1 : 0;
}

template <typename Body>
decltype(auto) dispatch_comparison(ExprOp op, Body&& body) {
  switch (op) {
    case ExprOp::kEqual: return body(EqualOp{});
    case ExprOp::kNotEqual: return body(NotEqualOp{});
    case ExprOp::kLess: return body(LessOp{});
    case ExprOp::kLessEqual: return body(LessEqualOp{});
    case ExprOp::kGreater: return body(GreaterOp{});
    default: return body(GreaterEqualOp{});
  }
}

template <typename Out, typename In>
void convert_loop(const In* __restrict in, Out* __restrict out, uint32_t rows) {
  for (uint32_t i = 0; i < rows; ++i) out[i] = static_cast<Out>(in[i]);
}

// a &= b, for masks.
inline void mask_and(uint8_t* __restrict a, const uint8_t* __restrict b, uint32_t rows) {
  for (uint32_t i = 0; i < rows; ++i) a[i] &= b[i];
}

inline uint32_t count_mask(const uint8_t* mask, uint32_t rows) {
  uint32_t count = 0;
  uint32_t i = 0;
  // Eight bytes of 0 or 1 at a time: up to 255 words add up without carry between bytes.
  for (; i + 64 <= rows; i += 64) {
    uint64_t sum = 0;
    for (uint32_t j = 0; j < 64; j += 8) {
      uint64_t word;
      std::memcpy(&word, mask + i + j, 8);
      sum += word;
    }
    count += static_cast<uint32_t>((sum * 0x0101010101010101u) >> 56);
  }
  for (; i < rows; ++i) count += mask[i];
  return count;
}

}  // namespace basalt::exec
