// The three ways to cut, on the CPU: breakpoints, merging, dynamic programming.
#include "codec/l3/partition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "codec/l3/side_by_side.h"

namespace basalt::l3 {

namespace {

constexpr double kLeastShare = 1e-11;  // of Σ z², below which a variance is mostly rounding
constexpr double kUsualSpread = 4.5;   // range of residuals in standard deviations

// Sums over one unit of 256 rows whose values less their first, or the halves of those, fit in 31 bits with sign: then
// 64-bit sums cannot overflow.
constexpr uint32_t kHalfBits = 30;

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
  const auto both = [](int64_t low, int64_t high) { return static_cast<int128_t>(high) * (1 << kHalfBits) + low; };
  return {rows,
          both(low_sums.s0, high_sums.s0),
          both(low_sums.s1, high_sums.s1),
          both(low_sums.s2, high_sums.s2),
          both(low_sums.s3, high_sums.s3),
          low_squares.total() + (products.total() << (kHalfBits + 1)) + (high_squares.total() << (2 * kHalfBits))};
}

Partition unit_of(const int64_t* values, uint32_t unit, uint32_t rows) {
  Partition p;
  p.first_unit = unit;
  p.units = 1;
  p.rows = rows;
  p.first = values[0];
  int64_t low = values[0];
  int64_t high = values[0];
  uint32_t runs = 1;
  for (uint32_t i = 1; i < rows; ++i) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
    runs += values[i] != values[i - 1] ? 1 : 0;
  }
  p.runs = runs;
  p.low = low;
  p.high = high;
  p.moments.rows = rows;
  const uint32_t span_bits = bits_of(span_of(p));
  if (span_bits > 0 && span_bits <= kHalfBits) p.moments = narrow_moments(values, rows);
  if (span_bits > kHalfBits && span_bits <= kMaxModelBits) p.moments = wide_moments(values, rows);
  return p;
}

// Gives up after the unit in which the span passes `most`.
template <uint32_t kDegree>
Residuals residuals_of(const int64_t* values, uint64_t rows, const Predictor& p, uint64_t most) {
  const SideBySide<kDegree> start(p, 0);
  auto state = start;  // which nobody has the address of, so it stays in registers
  const auto first = static_cast<uint64_t>(values[0]);
  const uint32_t fraction = p.fraction;
  Residuals result;  // row 0 has z = 0 and y = 0
  using Pair = typename VectorOf<int64_t, 2>::type;
  Pair low[kTwos] = {}, high[kTwos] = {};
  const uint64_t whole = rows / kSideBySide * kSideBySide;
  for (uint64_t i = 0; i < whole;) {
    const uint64_t stop = std::min(whole, i + kUnitRows);
    for (; i < stop; i += kSideBySide) {
#pragma GCC unroll 4
      for (uint32_t j = 0; j < kTwos; ++j) {
        const auto z = load_vector<Two>(values + i + 2 * j) - first;
        const auto r = Pair((z << fraction) - state.y[j]);
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

// body(std::integral_constant) with the degree as a constant.
template <typename Body>
auto with_degree(uint32_t degree, Body body) {
  switch (degree) {
    case 1: return body(std::integral_constant<uint32_t, 1>());
    case 2: return body(std::integral_constant<uint32_t, 2>());
    default: return body(std::integral_constant<uint32_t, 3>());
  }
}

class Cutter {
 public:
  Cutter(std::span<const int64_t> values, uint32_t value_bytes, double spread = kLeastSpread)
      : values_(values), value_bytes_(value_bytes), spread_(spread) {}

  std::vector<Partition> units() const {
    std::vector<Partition> parts;
    for (uint64_t row = 0; row < values_.size(); row += kUnitRows) {
      const auto rows = static_cast<uint32_t>(std::min<uint64_t>(kUnitRows, values_.size() - row));
      parts.push_back(unit_of(values_.data() + row, static_cast<uint32_t>(row / kUnitRows), rows));
    }
    return parts;
  }

  // Everything as one partition, without a model yet.
  Partition all(const std::vector<Partition>& parts) const {
    Partition whole = parts.at(0);
    for (size_t i = 1; i < parts.size(); ++i) whole = joined(whole, parts[i]);
    return whole;
  }

  // Union of two neighbours, without a model yet.
  Partition joined(const Partition& a, const Partition& b) const {
    const size_t border = static_cast<size_t>(b.first_unit) * kUnitRows;
    return l3::joined(a, b, values_[border - 1] == values_[border]);
  }

  // What `p` would take if its residuals were spread as evenly as those of most data. Where values rise so evenly that
  // rounding hides the variance, the rows tell.
  uint64_t about(const Partition& p, uint32_t max_degree) const {
    const uint64_t span = span_of(p);
    uint64_t bytes = bytes_of(span == 0 ? Model::kConstant : Model::kFor, false, bits_of(span), p.units, value_bytes_);
    if (span == 0 || p.rows < 3) return bytes;
    const Fit fit = fit_polynomials(p.moments, true);
    if (bits_of(span) > kMaxSquareBits || fit.squares[max_degree] < mul(fit.scale, kLeastShare)) {
      Partition exact = p;
      choose(exact, max_degree, kNever);
      return exact.bytes;
    }
    const bool wide = bits_of(span) > kMaxNarrowWidth;
    for (uint32_t degree = 1; degree <= max_degree; ++degree) {
      const auto lowest = wide ? static_cast<uint32_t>(Model::kWideLinear) : static_cast<uint32_t>(Model::kLinear);
      const auto range = static_cast<uint64_t>(kUsualSpread * std::sqrt(least_variance(fit, degree)));
      const auto model = static_cast<Model>(lowest + degree - 1);
      bytes = std::min(bytes, bytes_of(model, false, bits_of(range), p.units, value_bytes_));
    }
    return bytes;
  }

  // Gives `p` its cheapest model of at most `max_degree` (beyond lines: runs, too) if one takes fewer than `limit`
  // bytes; says whether it did.
  bool choose(Partition& p, uint32_t max_degree, uint64_t limit) const {
    choose_simple(p, max_degree, limit);
    if (max_degree > 1 && may_pay_as_runs(p, value_bytes_)) {
      take_runs(p, find_runs(values_, p, value_bytes_), value_bytes_);
    }
    return p.bytes < limit;
  }

  // The same without runs: for the arrays of runs themselves.
  void choose_simple(Partition& p, uint32_t max_degree, uint64_t limit = kNever) const {
    const int64_t* rows = values_.data() + static_cast<uint64_t>(p.first_unit) * kUnitRows;
    ModelChoice choice(p, max_degree, value_bytes_, spread_, limit);
    Trial trial;
    while (choice.next(trial)) {
      choice.take(with_degree(trial.degree, [&](auto d) {
        return residuals_of<decltype(d)::value>(rows, p.rows, trial.predictor, trial.most);
      }));
    }
  }

 private:
  std::span<const int64_t> values_;
  uint32_t value_bytes_;
  double spread_;
};

// Neighbours merge in pairs, the even ones first, then the odd ones, as long as something is saved.
void merge(const Cutter& cutter, std::vector<Partition>& parts, uint32_t max_degree) {
  bool merged = true;
  while (merged && parts.size() > 1) {
    merged = false;
    for (size_t phase = 0; phase < 2; ++phase) {
      std::vector<Partition> kept;
      kept.reserve(parts.size());
      if (phase == 1) kept.push_back(parts[0]);
      size_t j = phase;
      for (; j + 1 < parts.size(); j += 2) {
        const uint32_t end = parts[j + 1].first_unit + parts[j + 1].units;
        Partition u;
        if (parts[j].refused_end != end) u = cutter.joined(parts[j], parts[j + 1]);
        if (u.units > 0 && cutter.choose(u, max_degree, parts[j].bytes + parts[j + 1].bytes)) {
          kept.push_back(u);
          merged = true;
        } else {
          parts[j].refused_end = end;
          kept.push_back(parts[j]);
          kept.push_back(parts[j + 1]);
        }
      }
      if (j < parts.size()) kept.push_back(parts[j]);
      parts = std::move(kept);
    }
  }
}

std::vector<Partition> cut_fast(const Cutter& cutter) {
  std::vector<Partition> parts;
  uint32_t last_width = 0;
  for (Partition& unit : cutter.units()) {
    cutter.choose(unit, 1, kNever);
    const uint32_t jump = unit.width > last_width ? unit.width - last_width : last_width - unit.width;
    last_width = unit.width;
    if (unit.first_unit % kFastUnits == 0 || jump >= kBreakpointBits) {
      parts.push_back(unit);
    } else {
      parts.back() = cutter.joined(parts.back(), unit);
    }
  }
  for (Partition& part : parts) cutter.choose(part, 1, kNever);
  return parts;
}

// cheapest[e]: bytes of the cheapest cut of units 0..e−1. Every run of at most 32 units is considered; one whose least
// possible cost cannot improve a cut is not fitted.
std::vector<Partition> cut_best(const Cutter& cutter) {
  const std::vector<Partition> units = cutter.units();
  std::vector<uint64_t> cheapest(units.size() + 1, kNever);
  std::vector<Partition> last(units.size() + 1);
  cheapest[0] = 0;
  for (size_t start = 0; start < units.size(); ++start) {
    Partition run = units[start];
    for (size_t end = start + 1; end <= units.size() && end - start <= kMaxPolyUnits; ++end) {
      if (end > start + 1) run = cutter.joined(run, units[end - 1]);
      const uint64_t limit =
          cheapest[end] == kNever ? kNever : cheapest[end] - std::min(cheapest[end], cheapest[start]);
      if (cutter.choose(run, 3, limit)) {
        cheapest[end] = cheapest[start] + run.bytes;
        last[end] = run;
      }
    }
  }
  std::vector<Partition> parts;
  for (size_t end = units.size(); end > 0; end -= last[end].units) parts.push_back(last[end]);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

RunsOf find_runs(std::span<const int64_t> values, const Partition& partition, uint32_t value_bytes) {
  RunsOf out;
  const int64_t* rows = values.data() + static_cast<size_t>(partition.first_unit) * kUnitRows;
  out.values.reserve(partition.runs);
  out.ends.reserve(partition.runs);
  for (size_t i = 0; i < partition.rows; ++i) {
    if (i + 1 < partition.rows && rows[i] == rows[i + 1]) continue;
    out.values.push_back(rows[i]);
    out.ends.push_back(static_cast<int64_t>(i + 1));
  }
  const auto model_of = [](const std::vector<int64_t>& array, uint32_t bytes, uint32_t max_degree) {
    const Cutter cutter(array, bytes);
    Partition all = cutter.all(cutter.units());
    cutter.choose_simple(all, max_degree);
    return all;
  };
  out.value_model = model_of(out.values, value_bytes, 1);
  out.end_model = model_of(out.ends, sizeof(uint32_t), 3);
  out.runs = static_cast<uint32_t>(out.values.size());
  out.settle(partition, value_bytes);
  return out;
}

Partition cut_once(std::span<const int64_t> values, uint32_t value_bytes) {
  const Cutter cutter(values, value_bytes);
  Partition whole = cutter.all(cutter.units());
  cutter.choose(whole, 3, kNever);
  return whole;
}

uint64_t estimate_tile(std::span<const int64_t> values, uint32_t value_bytes, Effort effort) {
  const uint32_t max_degree = effort == Effort::kFast ? 1 : 3;
  const Cutter cutter(values, value_bytes);
  const std::vector<Partition> units = cutter.units();
  uint64_t in_units = 0;
  for (const Partition& unit : units) in_units += cutter.about(unit, max_degree);
  const uint64_t in_one = cutter.about(cutter.all(units), max_degree);
  return effort == Effort::kFast ? in_one : std::min(in_units, in_one);  // fast cuts tiles only where widths jump
}

std::vector<Partition> cut(std::span<const int64_t> values, uint32_t value_bytes, Effort effort) {
  if (values.empty()) return {};
  const Cutter cutter(values, value_bytes, effort == Effort::kBest ? kLeastSpread : kQuickSpread);
  if (effort == Effort::kFast) return cut_fast(cutter);
  std::vector<Partition> parts;
  if (effort == Effort::kBest) {
    parts = cut_best(cutter);
  } else {
    parts = cutter.units();
    for (Partition& part : parts) cutter.choose(part, 3, kNever);
  }
  merge(cutter, parts, 3);
  return parts;
}

}  // namespace basalt::l3
