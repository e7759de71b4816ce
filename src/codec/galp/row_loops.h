// The loops behind row_table.h, included once per instruction set inside a namespace of its own. Nothing aliases and
// nothing branches, so the compiler makes vectors of them. No include guard on purpose; no standard includes here, the
// includer brings them before it switches the target and says with BASALT_GALP_VECTOR_BYTES how long that target's
// registers are.

namespace {

template <typename E>
struct VectorOf {
  typedef E type __attribute__((vector_size(BASALT_GALP_VECTOR_BYTES), aligned(sizeof(E)), may_alias));
};
template <typename E>
using Vector = typename VectorOf<E>::type;

// A row's exception is decided as encode() does, by comparisons, which vectors of these machines have.
template <typename T>
uint32_t scale_rows(const T* __restrict values, uint32_t rows, const Scale<T>& scale, T* __restrict d,
                    BitsOf<T>* __restrict held) {
  using Int = IntOf<T>;
  using Bits = BitsOf<T>;
  const Scale<T> factors = scale;
  const auto limit = static_cast<Int>(bits_of(factors.limit));
  Bits count = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    const T number = nearest_integer(values[i], factors);
    const auto size = static_cast<Int>(bits_of(number) & ~Arithmetic<T>::kSign);  // of NaN more than any limit
    const Bits within_limit = size <= limit ? ~Bits{0} : Bits{0};
    const Bits comes_back = bits_of(decode_exact(number, factors)) == bits_of(values[i]) ? ~Bits{0} : Bits{0};
    const Bits holds = within_limit & comes_back;
    d[i] = float_of(static_cast<Bits>(bits_of(number) | ~holds));
    held[i] = holds;
    count -= holds;
  }
  return rows - static_cast<uint32_t>(count);
}

// Floats have their least and largest as vectors on every machine, integers of 64 bits have not. Two of each side by
// side: one alone waits for its own last comparison.
template <typename T>
void widen(const T* d, uint32_t rows, FloatRange<T>& range) {
  using Floats = Vector<T>;
  constexpr uint32_t kAtOnce = BASALT_GALP_VECTOR_BYTES / sizeof(T);
  static_assert(kLanes % (2 * kAtOnce) == 0);
  Floats low[2] = {Floats{} + range.low, Floats{} + range.low};
  Floats high[2] = {Floats{} + range.high, Floats{} + range.high};
  for (uint32_t i = 0; i < rows; i += 2 * kAtOnce) {
#pragma GCC unroll 2
    for (uint32_t k = 0; k < 2; ++k) {
      const auto numbers = *reinterpret_cast<const Floats*>(d + i + k * kAtOnce);
      low[k] = numbers < low[k] ? numbers : low[k];  // NaN is not below
      high[k] = numbers > high[k] ? numbers : high[k];
    }
  }
  for (uint32_t k = 0; k < 2; ++k) {
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      range.low = low[k][i] < range.low ? low[k][i] : range.low;
      range.high = high[k][i] > range.high ? high[k][i] : range.high;
    }
  }
}

template <typename T>
void widen_exceptions(const T* __restrict values, const BitsOf<T>* __restrict held, uint32_t rows,
                      BitsRange<T>& range) {
  using Bits = BitsOf<T>;
  Bits low = range.low;
  Bits high = range.high;
  for (uint32_t i = 0; i < rows; ++i) {
    low = std::min(low, static_cast<Bits>(bits_of(values[i]) | held[i]));
    high = std::max(high, static_cast<Bits>(bits_of(values[i]) & ~held[i]));
  }
  range = {low, high};
}

template <typename T>
BitsOf<T> span_of_bits(const T* values, uint32_t rows) {
  using Int = IntOf<T>;
  Int low = std::numeric_limits<Int>::max();
  Int high = std::numeric_limits<Int>::min();
  for (uint32_t i = 0; i < rows; ++i) {
    const auto number = static_cast<Int>(bits_of(values[i]));
    low = std::min(low, number);
    high = std::max(high, number);
  }
  return static_cast<BitsOf<T>>(high) - static_cast<BitsOf<T>>(low);
}

template <typename T>
void to_integers(const T* __restrict d, uint32_t rows, IntOf<T>* __restrict out) {
  for (uint32_t i = 0; i < rows; ++i) out[i] = static_cast<IntOf<T>>(d[i]);
}

template <typename T>
uint32_t split(const T* __restrict values, uint32_t rows, const Dictionary& dictionary, T* __restrict parts,
               BitsOf<T>* __restrict held) {
  using Bits = BitsOf<T>;
  const uint32_t right_bits = Arithmetic<T>::kBits - dictionary.left_bits;
  const auto right = static_cast<Bits>(low_bits(right_bits));
  // Entries that the dictionary has not are like no upper part.
  Bits entries[kMaxEntries];
  for (uint32_t i = 0; i < kMaxEntries; ++i) entries[i] = i < dictionary.size ? dictionary.entries[i] : ~Bits{0};
  Bits count = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    const Bits bits = bits_of(values[i]);
    const Bits left = bits >> right_bits;
    Bits index = 0;
    Bits found = 0;
#pragma GCC unroll 8
    for (uint32_t entry = 0; entry < kMaxEntries; ++entry) {
      const Bits is_it = left == entries[entry] ? ~Bits{0} : Bits{0};
      index |= is_it & Bits{entry};
      found |= is_it;
    }
    parts[i] = float_of(static_cast<Bits>(index << right_bits | (bits & right)));
    held[i] = found;
    count -= found;
  }
  return rows - static_cast<uint32_t>(count);
}

template <typename T>
void decode_rows(const IntOf<T>* __restrict numbers, uint32_t rows, const Scale<T>& scale, T* __restrict out) {
  const Scale<T> factors = scale;
  for (uint32_t i = 0; i < rows; ++i) out[i] = decode(numbers[i], factors);
}
template <typename T>
void decode_small(const IntOf<T>* __restrict numbers, uint32_t rows, const Scale<T>& scale, T* __restrict out) {
  const Scale<T> factors = scale;
  for (uint32_t i = 0; i < rows; ++i) out[i] = decode_exact(small_float(numbers[i]), factors);
}
template <typename T>
bool decode_if_small(const IntOf<T>* __restrict numbers, uint32_t rows, const Scale<T>& scale, uint32_t bits,
                     T* __restrict out) {
  using Bits = BitsOf<T>;
  const Scale<T> factors = scale;
  const Bits half = Bits{1} << bits;
  Bits any = 0;
  for (uint32_t i = 0; i < rows; ++i) {
    any |= static_cast<Bits>(numbers[i]) + half;
    out[i] = decode_exact(small_float(numbers[i]), factors);
  }
  return any >> bits < 2;
}

template <typename Int>
bool within(const Int* numbers, uint32_t rows, Int most) {
  Int low = std::numeric_limits<Int>::max();
  Int high = std::numeric_limits<Int>::min();
  for (uint32_t i = 0; i < rows; ++i) {
    low = std::min(low, numbers[i]);
    high = std::max(high, numbers[i]);
  }
  return low >= -most && high <= most;
}

template <typename T>
BitsOf<T> join_parts(const IntOf<T>* __restrict numbers, uint32_t rows, const BitsOf<T>* __restrict differences,
                     uint32_t right_bits, T* __restrict out) {
  using Bits = BitsOf<T>;
  Bits all = 0;
#pragma GCC unroll 8
  for (uint32_t i = 0; i < rows; ++i) {
    const auto number = static_cast<Bits>(numbers[i]);
    all |= number;
    out[i] = float_of(static_cast<Bits>(number + differences[number >> right_bits & (kMaxEntries - 1)]));
  }
  return all >> right_bits;
}

template <typename T>
constexpr RowTable<T> kTableOf = {scale_rows<T>,      widen<T>,         widen_exceptions<T>, span_of_bits<T>,
                                  to_integers<T>,     split<T>,         decode_rows<T>,      decode_small<T>,
                                  decode_if_small<T>, within<IntOf<T>>, join_parts<T>};

}  // namespace

const RowTables kTables = {kTableOf<double>, kTableOf<float>};
