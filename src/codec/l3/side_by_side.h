// Predictions on the CPU: eight rows side by side, each stepping by eight, so that the additions of one row need not
// wait for those of the row before. Spelled as vectors: left to itself, GCC 12 vectorises the stepping of lines
// wrongly.
#pragma once

#include <cstring>

#include "codec/l3/layout.h"

namespace basalt::l3 {

constexpr uint32_t kSideBySide = 8;
template <typename T, uint32_t kCount>
struct VectorOf {
  typedef T type __attribute__((vector_size(kCount * sizeof(T))));
};
template <typename T>
using Four = typename VectorOf<T, 4>::type;
using Two = typename VectorOf<uint64_t, 2>::type;  // what the machine adds at once
constexpr uint32_t kTwos = kSideBySide / 2;

template <typename Vector>
inline Vector load_vector(const void* from) {
  Vector values;
  std::memcpy(&values, from, sizeof(values));
  return values;
}

// The lower or the upper halves of four numbers.
inline Four<uint32_t> lower_halves(Two a, Two b) {
  return __builtin_shufflevector(Four<uint32_t>(a), Four<uint32_t>(b), 0, 2, 4, 6);
}
inline Four<uint32_t> upper_halves(Two a, Two b) {
  return __builtin_shufflevector(Four<uint32_t>(a), Four<uint32_t>(b), 1, 3, 5, 7);
}

template <uint32_t kDegree>
struct SideBySide {
  Two y[kTwos], d1[kTwos], d2[kTwos];
  uint64_t d3 = 0;

  // Rows first…first + 7 of the partition; `extra` is added to every y.
  SideBySide(const Predictor& p, uint64_t first, uint64_t extra = 0) {
    if constexpr (kDegree <= 1) {
      const uint64_t at = evaluate(p, first) + extra;
      for (uint32_t j = 0; j < kTwos; ++j) {
        y[j] = Two{at + p.c1 * (2 * j), at + p.c1 * (2 * j + 1)};
        d1[j] = Two{p.c1 * kSideBySide, p.c1 * kSideBySide};
      }
    } else {
      // Differences from row to row, and what they make of differences over eight rows: (1 + D)^8 − 1 = 8·D + 28·D² +
      // 56·D³ + …, squared 64·D² + 448·D³ + …
      uint64_t value = evaluate(p, first) + extra;
      uint64_t rise = p.c1 + p.c2 * first + p.c3 * choose_2(first);
      uint64_t bend = p.c2 + p.c3 * first;
      uint64_t by_eight = 8 * rise + 28 * bend + 56 * p.c3;
      uint64_t by_eight_rises = 8 * bend + 28 * p.c3;
      uint64_t bend_by_eight = 64 * bend + 448 * p.c3;
      d3 = 512 * p.c3;
      for (uint32_t s = 0; s < kSideBySide; ++s) {
        y[s / 2][s % 2] = value;
        d1[s / 2][s % 2] = by_eight;
        d2[s / 2][s % 2] = bend_by_eight;
        value += rise;
        rise += bend;
        bend += p.c3;
        by_eight += by_eight_rises;
        by_eight_rises += 8 * p.c3;
        bend_by_eight += 64 * p.c3;
      }
    }
  }

  // Moves on by eight rows.
  [[gnu::always_inline]] void advance() {
#pragma GCC unroll 4
    for (uint32_t j = 0; j < kTwos; ++j) {
      y[j] += d1[j];
      if constexpr (kDegree > 1) d1[j] += d2[j];
      if constexpr (kDegree > 2) d2[j] += d3;
    }
  }
};

}  // namespace basalt::l3
