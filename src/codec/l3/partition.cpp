// The three ways to cut, on the CPU: breakpoints, merging, dynamic programming.
#include "codec/l3/partition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "codec/l3/side_by_side.h"

namespace basalt::l3 {

namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kBreakpointBits = 8;         // a jump of the width that starts a new partition
constexpr uint32_t kFastUnits = kUnitsPerTile;  // `fast` cuts no longer than a tile
constexpr double kLeastShare = 1e-11;           // of Σ z², below which a variance is mostly rounding
constexpr double kUsualSpread = 4.5;            // range of residuals in standard deviations
constexpr double kLeastSpread = 2;              // of any numbers
constexpr double kQuickSpread = 3.4;            // below which `balanced` and `fast` do not hope
constexpr uint32_t kLeastRun = 4;               // average rows of runs worth looking at
constexpr uint32_t kMaxPolyUnits = kMaxPolyRows / kUnitRows;

uint64_t bytes_of(Model model, bool phased, uint32_t width, uint32_t units, uint32_t value_bytes) {
  return sizeof(uint64_t) + param_words(model, phased, value_bytes) * sizeof(uint32_t) +
         static_cast<uint64_t>(units) * unit_words(width) * sizeof(uint32_t);
}

uint64_t span_of(const Partition& p) { return static_cast<uint64_t>(p.high) - static_cast<uint64_t>(p.low); }

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

// Smallest and largest of z·2^fraction − y over the rows, with z = value − first: residuals with their fractions.
struct Residuals {
  int64_t low = 0;
  int64_t high = 0;
  uint64_t span() const { return static_cast<uint64_t>(high) - static_cast<uint64_t>(low); }
};

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
  // `spread`: the least range of residuals, in standard deviations, that is thought possible. 2 is a bound for any
  // numbers; uniform ones have 3.46, and few have less.
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
    Partition u;
    u.first_unit = a.first_unit;
    u.units = a.units + b.units;
    u.rows = a.rows + b.rows;
    u.first = a.first;
    u.low = std::min(a.low, b.low);
    u.high = std::max(a.high, b.high);
    const size_t border = static_cast<size_t>(b.first_unit) * kUnitRows;
    u.runs = a.runs + b.runs - (values_[border - 1] == values_[border] ? 1 : 0);
    u.moments = join(a.moments, b.moments,
                     static_cast<int64_t>(static_cast<uint64_t>(b.first) - static_cast<uint64_t>(a.first)));
    return u;
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
  // bytes; says whether it did. Equal costs: the simpler model.
  bool choose(Partition& p, uint32_t max_degree, uint64_t limit) const {
    choose_simple(p, max_degree, limit);
    if (max_degree > 1 && span_of(p) != 0) choose_runs(p);
    return p.bytes < limit;
  }

  // The same without runs: for the arrays of runs themselves.
  void choose_simple(Partition& p, uint32_t max_degree, uint64_t limit = kNever) const {
    p.bytes = limit;
    const uint64_t span = span_of(p);
    offer(p, span == 0 ? Model::kConstant : Model::kFor, bits_of(span), p.low, {});
    if (span != 0) choose_polynomial(p, max_degree);
  }

 private:
  void choose_polynomial(Partition& p, uint32_t max_degree) const {
    const uint64_t span = span_of(p);
    if (bits_of(span) > kMaxModelBits || p.rows < 3) return;
    if (p.units > kMaxPolyUnits) max_degree = std::min(max_degree, 1u);
    bool fitted = false;
    Fit fit;
    const bool bounded = bits_of(span) <= kMaxSquareBits;
    for (uint32_t degree = 1; degree <= max_degree; ++degree) {
      const auto narrow = static_cast<Model>(static_cast<uint32_t>(Model::kFor) + degree);
      if (bytes_of(narrow, false, 0, p.units, value_bytes_) >= p.bytes) break;
      if (!fitted) fit = fit_polynomials(p.moments, bounded);
      fitted = true;
      if (bounded && bytes_of(narrow, false, least_width(fit, degree), p.units, value_bytes_) >= p.bytes) continue;
      if (bits_of(span) > kMaxNarrowWidth || !try_model(p, narrow, fit)) {
        try_model(p, static_cast<Model>(static_cast<uint32_t>(Model::kWideLinear) + degree - 1), fit);
      }
    }
  }

  void choose_runs(Partition& p) const {
    // Short runs do not pay but for units that are not full, whose residuals take the room of full ones; and finding
    // that out costs a pass.
    if ((p.runs > p.rows / kLeastRun && p.rows >= kUnitRows) || p.runs > kMaxRuns) return;
    // Values and ends that are exact lines take no bits at all; the tiles' first runs do.
    const RunsHeader exact{p.runs, {}, {}};
    const uint64_t words = kRunsHeaderWords + param_words(Model::kConstant, false, value_bytes_) +
                           runs_words(exact, tiles_touched(p.first_unit, p.first_unit + p.units));
    if (sizeof(uint64_t) + words * sizeof(uint32_t) >= p.bytes) return;
    const uint64_t bytes = find_runs(values_, p, value_bytes_).bytes;
    if (bytes >= p.bytes) return;
    p.model = Model::kRuns;
    p.width = 0;
    p.coefficients = {};
    p.base = 0;
    p.bytes = bytes;
  }

  // No model of this degree can do with fewer bits if the spread is a bound; predictions are rounded down, which takes
  // at most one unit off.
  uint32_t least_width(const Fit& fit, uint32_t degree) const {
    const double range = mul(spread_, std::sqrt(least_variance(fit, degree))) - 2;
    return range < 1 ? 0 : bits_of(static_cast<uint64_t>(range));
  }

  void offer(Partition& p, Model model, uint32_t width, int64_t base, const Coefficients& coefficients) const {
    const uint64_t bytes = bytes_of(model, coefficients.phased, width, p.units, value_bytes_);
    if (bytes >= p.bytes) return;
    p.model = model;
    p.width = width;
    p.base = base;
    p.coefficients = coefficients;
    p.bytes = bytes;
  }

  // The largest span of residuals with which the model would still be taken.
  uint64_t most_span(const Partition& p, Model model) const {
    const uint64_t fixed = bytes_of(model, false, 0, p.units, value_bytes_);
    if (p.bytes == kNever) return kNever;
    if (fixed >= p.bytes) return 0;
    const uint64_t per_bit = static_cast<uint64_t>(p.units) * unit_words(1) * sizeof(uint32_t);
    return low_bits(static_cast<uint32_t>(std::min<uint64_t>(64, (p.bytes - fixed - 1) / per_bit)));
  }

  // False if the model cannot hold these values (a narrow one whose offsets leave 32 bits).
  bool try_model(Partition& p, Model model, const Fit& fit) const {
    const uint32_t degree = degree_of(model);
    // Room above the values for predictions that overshoot: a cubic stays within 16 times the span.
    Coefficients coefficients = quantise(fit, degree, is_wide(model), kMaxModelBits - bits_of(span_of(p)));
    const Predictor predictor = predictor_of(model, coefficients);
    const uint32_t fraction = predictor.fraction;
    const int64_t* values = values_.data() + static_cast<uint64_t>(p.first_unit) * kUnitRows;
    const uint64_t most = most_span(p, model);
    const uint64_t most_fine = most >= low_bits(63 - fraction) ? kNever : (most + 1) << fraction;
    const Residuals fine = with_degree(
        degree, [&](auto d) { return residuals_of<decltype(d)::value>(values, p.rows, predictor, most_fine); });
    if (fine.span() > most_fine) return true;

    // Predictions are rounded down, so residuals up. A phase of the largest fraction makes the least span.
    const auto rounded_up = [&](int64_t r) {
      return (r >> fraction) + ((static_cast<uint64_t>(r) & low_bits(fraction)) != 0 ? 1 : 0);
    };
    const int64_t low = rounded_up(fine.low);
    const uint64_t span = static_cast<uint64_t>(rounded_up(fine.high)) - static_cast<uint64_t>(low);
    if (!is_wide(model)) {
      // Offsets from the base must stay inside 32 bits with sign, whatever the phase.
      if (bits_of(span) > kMaxNarrowWidth || p.low - p.first - low - 1 < std::numeric_limits<int32_t>::min() ||
          p.high - p.first - low + 1 > std::numeric_limits<int32_t>::max()) {
        return false;
      }
    }
    const auto first = static_cast<uint64_t>(p.first);
    offer(p, model, bits_of(span), static_cast<int64_t>(first + static_cast<uint64_t>(low)), coefficients);
    const uint64_t least = fine.span() >> fraction;
    coefficients.phased = true;
    coefficients.c0 = static_cast<uint64_t>(fine.high) & low_bits(fraction);
    const auto top = static_cast<uint64_t>(fine.high >> fraction);
    offer(p, model, bits_of(least), static_cast<int64_t>(first + top - least), coefficients);
    return true;
  }

  Predictor predictor_of(Model model, const Coefficients& coefficients) const {
    Partition trial;
    trial.model = model;
    trial.coefficients = coefficients;
    std::array<uint32_t, kMostParams> words{};
    put_params(trial, 0, value_bytes_, words.data());
    return get_predictor(record_of(trial), words.data(), value_bytes_);
  }

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

RunsHeader RunsOf::header() const {
  RunsHeader h{static_cast<uint32_t>(values.size()), record_of(value_model), record_of(end_model)};
  if (by_tile) h.ends = {0, kByTile, kByTileBits, 0, false, 0, 0};
  return h;
}

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
  const uint32_t tiles = tiles_touched(partition.first_unit, partition.first_unit + partition.units);
  const auto measure = [&](bool by_tile) {
    out.by_tile = by_tile;
    const RunsHeader h = out.header();
    out.words = runs_words(h, tiles);
    out.bytes = sizeof(uint64_t) + (runs_param_words(h, value_bytes) + out.words) * sizeof(uint32_t);
    return out.bytes;
  };
  const uint64_t modelled = measure(false);
  if (measure(true) >= modelled) measure(false);
  return out;
}

Record record_of(const Partition& partition) {
  const Coefficients& c = partition.coefficients;
  return {partition.first_unit, partition.model, partition.width, c.shift, c.phased, 0, 0};
}

uint32_t put_params(const Partition& partition, uint64_t base, uint32_t value_bytes, uint32_t* to) {
  const uint32_t* const start = to;
  const auto put = [&](uint64_t value, bool two_words) {
    *to++ = static_cast<uint32_t>(value);
    if (two_words) *to++ = static_cast<uint32_t>(value >> 32);
  };
  const Coefficients& c = partition.coefficients;
  const uint64_t coefficients[] = {c.c1, c.c2, c.c3};
  const bool wide = is_wide(partition.model);
  put(base, value_bytes > 4);
  for (uint32_t d = 0; d < degree_of(partition.model); ++d) put(coefficients[d], wide);
  if (c.phased) put(c.c0, wide);
  return static_cast<uint32_t>(to - start);
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
