// Predictions on the CPU: eight rows side by side, each stepping by eight, so that the additions of one row need not
// wait for those of the row before. Spelled as vectors: left to itself, GCC 12 vectorises the stepping of lines
// wrongly.
#pragma once

#include <cstring>

#include "codec/l3/layout.h"

namespace basalt::l3 {

constexpr uint32_t kSideBySide = 8;
template <typename T>
struct EightOf {
  typedef T type __attribute__((vector_size(kSideBySide * sizeof(T))));
};
template <typename T>
using Eight = typename EightOf<T>::type;

template <typename T>
inline Eight<T> load_eight(const T* from) {
  Eight<T> values;
  std::memcpy(&values, from, sizeof(values));
  return values;
}

template <uint32_t kDegree>
struct SideBySide {
  Eight<uint64_t> y, d1, d2;
  uint64_t d3 = 0;

  // Rows first…first + 7 of the partition.
  SideBySide(const Predictor& p, uint64_t first) {
    for (uint32_t s = 0; s < kSideBySide; ++s) {
      const Steps steps = steps_from(p, first + s, kSideBySide);
      y[s] = steps.y, d1[s] = steps.d1, d2[s] = steps.d2, d3 = steps.d3;
    }
  }

  // Moves on by eight rows.
  void advance() {
    y += d1;
    if constexpr (kDegree > 1) d1 += d2;
    if constexpr (kDegree > 2) d2 += d3;
  }
};

}  // namespace basalt::l3
