// One instruction set's loops over the rows of a tile, of the encoder and of the reader; row_loops.cpp chooses between
// them.
#pragma once

#include "codec/galp/scale.h"

namespace basalt::galp {

// The least and the largest of integers that are still floats; low > high: of none.
template <typename T>
struct FloatRange {
  T low = float_of(Arithmetic<T>::kInfinity);
  T high = -float_of(Arithmetic<T>::kInfinity);

  BitsOf<T> span() const {
    using Bits = BitsOf<T>;
    if (low > high) return 0;
    return static_cast<Bits>(static_cast<IntOf<T>>(high)) - static_cast<Bits>(static_cast<IntOf<T>>(low));
  }
};

// The least and the largest of some bits, as unsigned numbers.
template <typename T>
struct BitsRange {
  BitsOf<T> low = ~BitsOf<T>{0};
  BitsOf<T> high = 0;

  // Without the lower bits.
  BitsOf<T> span(uint32_t lower_bits) const { return low > high ? 0 : (high >> lower_bits) - (low >> lower_bits); }
};

// Integers of at most 2^51 (double) or 2^24 (float) as floats: on x86-64 without the conversion of 64-bit integers,
// which has no vector form before AVX-512.
inline double small_float(int64_t d) {
#if defined(__x86_64__)
  constexpr double kShift = 6755399441055744.0;  // 1.5 · 2^52
  constexpr uint64_t kShiftBits = 0x4338000000000000;
  return float_of(static_cast<uint64_t>(d) + kShiftBits) - kShift;
#else
  return static_cast<double>(d);
#endif
}
inline float small_float(int32_t d) { return static_cast<float>(d); }
constexpr int64_t small_limit(double) { return int64_t{1} << 51; }
constexpr int64_t small_limit(float) { return int64_t{1} << 24; }

template <typename T>
struct RowTable {
  using Int = IntOf<T>;
  using Bits = BitsOf<T>;

  // Integers as floats, NaN at exceptions, and which rows come back: all bits set, or none. Returns how many do not.
  uint32_t (*scale)(const T* values, uint32_t rows, const Scale<T>& scale, T* d, Bits* held);
  // Adds all integers that are not NaN. Rows: a multiple of 32.
  void (*widen)(const T* d, uint32_t rows, FloatRange<T>& range);
  // Adds the bits of exceptions.
  void (*widen_exceptions)(const T* values, const Bits* held, uint32_t rows, BitsRange<T>& range);
  // The span of bit patterns as signed numbers, as RAW stores them.
  Bits (*span_of_bits)(const T* values, uint32_t rows);
  void (*to_integers)(const T* d, uint32_t rows, Int* out);
  // RD: the bits of the integers, and which rows come back.
  uint32_t (*split)(const T* values, uint32_t rows, const Dictionary& dictionary, T* parts, Bits* held);

  // Values of integers.
  void (*decode)(const Int* numbers, uint32_t rows, const Scale<T>& scale, T* out);
  // The same for integers for which decode_exact() and small_float() are.
  void (*decode_small)(const Int* numbers, uint32_t rows, const Scale<T>& scale, T* out);
  // The same, and returns whether all integers lie in −2^bits … 2^bits − 1; other values are wrong.
  bool (*decode_if_small)(const Int* numbers, uint32_t rows, const Scale<T>& scale, uint32_t bits, T* out);
  // Whether all lie in −most…most.
  bool (*within)(const Int* numbers, uint32_t rows, Int most);
  // RD: `differences` between an entry and its index, both in their place. Returns all indices, or-ed.
  Bits (*join_parts)(const Int* numbers, uint32_t rows, const Bits* differences, uint32_t right_bits, T* out);
};

// Of this machine.
template <typename T>
const RowTable<T>& row_table();

struct RowTables {
  RowTable<double> of_double;
  RowTable<float> of_float;
};
namespace rows_baseline {
extern const RowTables kTables;
}
#if defined(__x86_64__)
namespace rows_avx2 {
extern const RowTables kTables;
}
namespace rows_avx512 {
extern const RowTables kTables;
}
#endif

}  // namespace basalt::galp
