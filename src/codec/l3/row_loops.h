// The loops behind row_table.h, included once per instruction set inside a namespace of its own. No include guard on
// purpose; no includes here, the includer brings them before it switches the target.

namespace {

UnitScan scan(const int64_t* values, uint32_t rows) {
  int64_t low = values[0];
  int64_t high = values[0];
  uint32_t runs = 1;
  for (uint32_t i = 1; i < rows; ++i) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
    runs += values[i] != values[i - 1] ? 1 : 0;
  }
  return {low, high, runs};
}

struct HalfMoments {
  int64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
};

void add_row(HalfMoments& m, int32_t z, int32_t i) {
  m.s0 += z;
  m.s1 += static_cast<int64_t>(z) * i;
  m.s2 += static_cast<int64_t>(z) * (i * i);
  m.s3 += static_cast<int64_t>(z) * (i * i * i);
}

// Σ a·b, kept in two halves.
struct ProductSum {
  uint64_t low = 0;
  int64_t high = 0;
  void add(int32_t a, int32_t b) {
    const int64_t product = static_cast<int64_t>(a) * b;
    low += static_cast<uint32_t>(product);
    high += product >> 32;
  }
  uint128_t total() const { return (static_cast<uint128_t>(static_cast<int128_t>(high)) << 32) + low; }
};

Moments narrow_moments(const int64_t* values, uint32_t rows) {
  HalfMoments sums;
  ProductSum squares;
  for (uint32_t i = 0; i < rows; ++i) {
    const auto z = static_cast<int32_t>(values[i] - values[0]);
    add_row(sums, z, static_cast<int32_t>(i));
    squares.add(z, z);
  }
  return {rows, sums.s0, sums.s1, sums.s2, sums.s3, squares.total()};
}

int128_t join_halves(int64_t low, int64_t high) { return static_cast<int128_t>(high) * (1 << kHalfBits) + low; }

// Values of up to 61 bits with sign, as high · 2^30 + low.
Moments wide_moments(const int64_t* values, uint32_t rows) {
  HalfMoments low_sums, high_sums;
  ProductSum low_squares, products, high_squares;
  for (uint32_t i = 0; i < rows; ++i) {
    const int64_t z = values[i] - values[0];
    const auto low = static_cast<int32_t>(z & ((1 << kHalfBits) - 1));
    const auto high = static_cast<int32_t>(z >> kHalfBits);
    add_row(low_sums, low, static_cast<int32_t>(i));
    add_row(high_sums, high, static_cast<int32_t>(i));
    low_squares.add(low, low);
    products.add(low, high);
    high_squares.add(high, high);
  }
  return {rows,
          join_halves(low_sums.s0, high_sums.s0),
          join_halves(low_sums.s1, high_sums.s1),
          join_halves(low_sums.s2, high_sums.s2),
          join_halves(low_sums.s3, high_sums.s3),
          low_squares.total() + (products.total() << (kHalfBits + 1)) + (high_squares.total() << (2 * kHalfBits))};
}

// Gives up after the unit in which the span passes `most`.
template <uint32_t kDegree>
Residuals residuals_of(const int64_t* values, uint64_t rows, const Predictor& p, uint64_t most) {
  const auto first = static_cast<uint64_t>(values[0]);
  const uint32_t fraction = p.fraction;
  const SideBySide<kDegree> start(p, 0, first << fraction);
  auto state = start;  // which nobody has the address of, so it stays in registers
  Residuals result;    // row 0 has z = 0 and y = 0
  using Pair = typename VectorOf<int64_t, 2>::type;
  Pair low[kTwos] = {}, high[kTwos] = {};
  const uint64_t whole = rows / kSideBySide * kSideBySide;
  for (uint64_t i = 0; i < whole;) {
    const uint64_t stop = std::min(whole, i + kUnitRows);
    for (; i < stop; i += kSideBySide) {
#pragma GCC unroll 4
      for (uint32_t j = 0; j < kTwos; ++j) {
        const auto r = Pair((load_vector<Two>(values + i + 2 * j) << fraction) - state.y[j]);
        low[j] = r < low[j] ? r : low[j];
        high[j] = r > high[j] ? r : high[j];
      }
      state.advance();
    }
    for (uint32_t s = 0; s < kSideBySide; ++s) {
      result.low = std::min<int64_t>(result.low, low[s / 2][s % 2]);
      result.high = std::max<int64_t>(result.high, high[s / 2][s % 2]);
    }
    if (result.span() > most) return result;
  }
  for (uint64_t i = whole; i < rows; ++i) {
    const auto r = static_cast<int64_t>(((static_cast<uint64_t>(values[i]) - first) << fraction) - evaluate(p, i));
    result.low = std::min(result.low, r);
    result.high = std::max(result.high, r);
  }
  return result;
}

}  // namespace

extern const RowTable kTable;
const RowTable kTable = {scan, narrow_moments, wide_moments, {residuals_of<1>, residuals_of<2>, residuals_of<3>}};
