// How a partition gets its model: everything but the loops over rows, which the CPU and the device each write in their
// own way. Both encoders make their decisions here, so they arrive at the same bytes.
#pragma once

#include "codec/l3/fit.h"

// Functions that call loops over rows: nvcc compiles them for the device alone.
#if defined(__CUDACC__)
#define BASALT_ROW_LOOPS __device__
#else
#define BASALT_ROW_LOOPS inline
#endif

namespace basalt::l3 {

constexpr uint64_t kNever = ~uint64_t{0};
constexpr double kLeastSpread = 2;              // range of any numbers, in standard deviations
constexpr double kQuickSpread = 3.4;            // below which `balanced` and `fast` do not hope
constexpr uint32_t kLeastRun = 4;               // average rows of runs worth looking at
constexpr uint32_t kBreakpointBits = 8;         // a jump of the width that starts a new partition
constexpr uint32_t kFastUnits = kUnitsPerTile;  // `fast` cuts no longer than a tile
constexpr uint32_t kMaxPolyUnits = kMaxPolyRows / kUnitRows;
constexpr uint32_t kMostParams = 10;  // words, without those of runs
constexpr uint32_t kMostRunsParams = kRunsHeaderWords + 6 + 5;

// A run of whole units with its best model.
struct Partition {
  uint32_t first_unit = 0;
  uint32_t units = 0;
  uint64_t rows = 0;
  int64_t first = 0, low = 0, high = 0;  // first, smallest, largest value
  Moments moments;

  uint32_t runs = 0;  // of equal neighbours

  Model model = Model::kFor;
  uint32_t width = 0;
  uint32_t refused_end = 0;  // a union with the next partition up to this unit was tried and did not pay
  Coefficients coefficients;
  int64_t base = 0;
  uint64_t bytes = 0;  // record, parameters and residuals
  uint32_t param_words = 0;
};

BASALT_HD uint64_t span_of(const Partition& p) { return static_cast<uint64_t>(p.high) - static_cast<uint64_t>(p.low); }

BASALT_HD uint64_t bytes_of(Model model, bool phased, uint32_t width, uint32_t units, uint32_t value_bytes) {
  return sizeof(uint64_t) + param_words(model, phased, value_bytes) * sizeof(uint32_t) +
         static_cast<uint64_t>(units) * unit_words(width) * sizeof(uint32_t);
}
// Of the residuals, or of the runs.
BASALT_HD uint64_t stream_words(const Partition& p) {
  return (p.bytes - sizeof(uint64_t)) / sizeof(uint32_t) - p.param_words;
}

// Union of two neighbours, without a model yet. `continued`: the second begins with the value that ends the first.
BASALT_HD Partition joined(const Partition& a, const Partition& b, bool continued) {
  Partition u;
  u.first_unit = a.first_unit;
  u.units = a.units + b.units;
  u.rows = a.rows + b.rows;
  u.first = a.first;
  u.low = a.low < b.low ? a.low : b.low;
  u.high = a.high > b.high ? a.high : b.high;
  u.runs = a.runs + b.runs - (continued ? 1 : 0);
  u.moments =
      join(a.moments, b.moments, static_cast<int64_t>(static_cast<uint64_t>(b.first) - static_cast<uint64_t>(a.first)));
  return u;
}

// The stored form of a partition's model, as a reader will see it; places are zero.
BASALT_HD Record record_of(const Partition& p) {
  return {p.first_unit, p.model, p.width, p.coefficients.shift, p.coefficients.phased, 0, 0};
}

// Writes at most kMostParams words and says how many.
BASALT_HD uint32_t put_params(const Partition& p, uint64_t base, uint32_t value_bytes, uint32_t* to) {
  const uint32_t* const start = to;
  const auto put = [&](uint64_t value, bool two_words) {
    *to++ = static_cast<uint32_t>(value);
    if (two_words) *to++ = static_cast<uint32_t>(value >> 32);
  };
  const Coefficients& c = p.coefficients;
  const bool wide = is_wide(p.model);
  const uint32_t degree = degree_of(p.model);
  put(base, value_bytes > 4);
  if (degree > 0) put(c.c1, wide);
  if (degree > 1) put(c.c2, wide);
  if (degree > 2) put(c.c3, wide);
  if (c.phased) put(c.c0, wide);
  return static_cast<uint32_t>(to - start);
}

// What get_predictor() will make of the stored coefficients, less base and phase.
BASALT_HD Predictor predictor_of(Model model, const Coefficients& c) {
  Predictor p;
  p.wide = is_wide(model);
  const uint32_t degree = degree_of(model);
  if (p.wide) {
    p.fraction = c.shift;
    p.c1 = c.c1;
    p.c2 = c.c2;
    p.c3 = c.c3;
    return p;
  }
  p.c1 = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(c.c1))) << c.shift;
  if (degree > 1) p.c2 = expand(static_cast<uint32_t>(c.c2));
  if (degree > 2) p.c3 = expand(static_cast<uint32_t>(c.c3));
  return p;
}

// Smallest and largest of z·2^fraction − y over the rows, with z = value − first: residuals with their fractions. Row 0
// has 0.
struct Residuals {
  int64_t low = 0;
  int64_t high = 0;
  BASALT_HD uint64_t span() const { return static_cast<uint64_t>(high) - static_cast<uint64_t>(low); }
};

// How the values and ends of a partition's runs are stored.
struct RunsChoice {
  uint32_t runs = 0;
  Partition value_model, end_model;
  bool by_tile = false;  // ends have no model
  uint64_t words = 0;    // of the bit stream
  uint64_t bytes = 0;    // of the partition

  BASALT_HD RunsHeader header() const {
    RunsHeader h{runs, record_of(value_model), record_of(end_model)};
    if (by_tile) h.ends = {0, kByTile, kByTileBits, 0, false, 0, 0};
    return h;
  }
  // With both models known: ends by their model or by tile, whichever is smaller.
  BASALT_HD void settle(const Partition& p, uint32_t value_bytes) {
    const uint32_t tiles = tiles_touched(p.first_unit, p.first_unit + p.units);
    measure(false, tiles, value_bytes);
    const uint64_t modelled = bytes;
    measure(true, tiles, value_bytes);
    if (bytes >= modelled) measure(false, tiles, value_bytes);
  }

 private:
  BASALT_HD void measure(bool ends_by_tile, uint32_t tiles, uint32_t value_bytes) {
    by_tile = ends_by_tile;
    const RunsHeader h = header();
    words = runs_words(h, tiles);
    bytes = sizeof(uint64_t) + (runs_param_words(h, value_bytes) + words) * sizeof(uint32_t);
  }
};

// Writes at most kMostRunsParams words and says how many. `widening` is added to the base of the values.
BASALT_HD uint32_t put_runs_params(const RunsChoice& runs, uint64_t widening, uint32_t value_bytes, uint32_t* to) {
  put_runs(runs.header(), to);
  uint32_t words = kRunsHeaderWords;
  words +=
      put_params(runs.value_model, static_cast<uint64_t>(runs.value_model.base) + widening, value_bytes, to + words);
  if (!runs.by_tile) {
    words += put_params(runs.end_model, static_cast<uint64_t>(runs.end_model.base), sizeof(uint32_t), to + words);
  }
  return words;
}

// Rows: the loops over rows of one array,
//   Residuals residuals(const Partition&, uint32_t degree, const Predictor&, uint64_t most) const
//     may stop at a row where the span has passed `most`;
//   find_runs(const Partition&) const  gives a RunsChoice;
//   void keep(const Partition&, const RunsChoice&) const  is told when the runs were taken.
template <typename Rows>
class Chooser {
 public:
  // `spread`: the least range of residuals, in standard deviations, that is thought possible. 2 is a bound for any
  // numbers; uniform ones have 3.46, and few have less.
  BASALT_ROW_LOOPS Chooser(const Rows& rows, uint32_t value_bytes, double spread)
      : rows_(rows), value_bytes_(value_bytes), spread_(spread) {}

  // Gives `p` its cheapest model of at most `max_degree` (beyond lines: runs, too) if one takes fewer than `limit`
  // bytes; says whether it did. Equal costs: the simpler model. A limit saves time and changes nothing else.
  BASALT_ROW_LOOPS bool choose(Partition& p, uint32_t max_degree, uint64_t limit) const {
    choose_simple(p, max_degree, limit);
    if (max_degree > 1 && span_of(p) != 0) choose_runs(p);
    return p.bytes < limit;
  }

  // The same without runs: for the arrays of runs themselves.
  BASALT_ROW_LOOPS void choose_simple(Partition& p, uint32_t max_degree, uint64_t limit = kNever) const {
    p.bytes = limit;
    const uint64_t span = span_of(p);
    offer(p, span == 0 ? Model::kConstant : Model::kFor, bits_of(span), p.low, {});
    if (span != 0) choose_polynomial(p, max_degree);
  }

 private:
  BASALT_ROW_LOOPS void choose_polynomial(Partition& p, uint32_t max_degree) const {
    const uint64_t span = span_of(p);
    if (bits_of(span) > kMaxModelBits || p.rows < 3) return;
    if (p.units > kMaxPolyUnits && max_degree > 1) max_degree = 1;
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

  BASALT_ROW_LOOPS void choose_runs(Partition& p) const {
    // Short runs do not pay but for units that are not full, whose residuals take the room of full ones; and finding
    // that out costs a pass.
    if ((p.runs > p.rows / kLeastRun && p.rows >= kUnitRows) || p.runs > kMaxRuns) return;
    // Values and ends that are exact lines take no bits at all; the tiles' first runs do.
    const RunsHeader exact{p.runs, {}, {}};
    const uint64_t words = kRunsHeaderWords + l3::param_words(Model::kConstant, false, value_bytes_) +
                           runs_words(exact, tiles_touched(p.first_unit, p.first_unit + p.units));
    if (sizeof(uint64_t) + words * sizeof(uint32_t) >= p.bytes) return;
    const auto found = rows_.find_runs(p);
    if (found.bytes >= p.bytes) return;
    p.model = Model::kRuns;
    p.width = 0;
    p.coefficients = {};
    p.base = 0;
    p.bytes = found.bytes;
    p.param_words = runs_param_words(found.header(), value_bytes_);
    rows_.keep(p, found);
  }

  // No model of this degree can do with fewer bits if the spread is a bound; predictions are rounded down, which takes
  // at most one unit off.
  BASALT_ROW_LOOPS uint32_t least_width(const Fit& fit, uint32_t degree) const {
    const double range = sub(mul(spread_, square_root(least_variance(fit, degree))), 2);
    return range < 1 ? 0 : bits_of(static_cast<uint64_t>(range));
  }

  BASALT_ROW_LOOPS void offer(Partition& p, Model model, uint32_t width, int64_t base,
                              const Coefficients& coefficients) const {
    const uint64_t bytes = bytes_of(model, coefficients.phased, width, p.units, value_bytes_);
    if (bytes >= p.bytes) return;
    p.model = model;
    p.width = width;
    p.base = base;
    p.coefficients = coefficients;
    p.bytes = bytes;
    p.param_words = l3::param_words(model, coefficients.phased, value_bytes_);
  }

  // The largest span of residuals with which the model would still be taken.
  BASALT_ROW_LOOPS uint64_t most_span(const Partition& p, Model model) const {
    const uint64_t fixed = bytes_of(model, false, 0, p.units, value_bytes_);
    if (p.bytes == kNever) return kNever;
    if (fixed >= p.bytes) return 0;
    const uint64_t per_bit = static_cast<uint64_t>(p.units) * unit_words(1) * sizeof(uint32_t);
    const uint64_t bits = (p.bytes - fixed - 1) / per_bit;
    return low_bits(bits < 64 ? static_cast<uint32_t>(bits) : 64);
  }

  // False if the model cannot hold these values (a narrow one whose offsets leave 32 bits).
  BASALT_ROW_LOOPS bool try_model(Partition& p, Model model, const Fit& fit) const {
    const uint32_t degree = degree_of(model);
    // Room above the values for predictions that overshoot: a cubic stays within 16 times the span.
    Coefficients coefficients = quantise(fit, degree, is_wide(model), kMaxModelBits - bits_of(span_of(p)));
    const Predictor predictor = predictor_of(model, coefficients);
    const uint32_t fraction = predictor.fraction;
    const uint64_t most = most_span(p, model);
    const uint64_t most_fine = most >= low_bits(63 - fraction) ? kNever : (most + 1) << fraction;
    // Only values that span 31 bits can leave a narrow model that is cheaper than a frame of reference. Whether they
    // do, and a wide model is tried, must not depend on the limit: these rows are looked at to the last.
    const bool may_leave = !is_wide(model) && bits_of(span_of(p)) == kMaxNarrowWidth;
    const Residuals fine = rows_.residuals(p, degree, predictor, may_leave ? kNever : most_fine);
    if (!may_leave && fine.span() > most_fine) return true;

    // Predictions are rounded down, so residuals up. A phase of the largest fraction makes the least span.
    const auto rounded_up = [fraction](int64_t r) {
      return (r >> fraction) + ((static_cast<uint64_t>(r) & low_bits(fraction)) != 0 ? 1 : 0);
    };
    const int64_t low = rounded_up(fine.low);
    const uint64_t span = static_cast<uint64_t>(rounded_up(fine.high)) - static_cast<uint64_t>(low);
    // Offsets from the base must stay inside 32 bits with sign, whatever the phase; row 0 keeps `low` from being
    // positive.
    constexpr int64_t kMostOffset = 0x7FFFFFFF;
    if (may_leave && (bits_of(span) > kMaxNarrowWidth || p.high - p.first - low + 1 > kMostOffset)) return false;
    if (fine.span() > most_fine) return true;
    const auto first = static_cast<uint64_t>(p.first);
    offer(p, model, bits_of(span), static_cast<int64_t>(first + static_cast<uint64_t>(low)), coefficients);
    const uint64_t least = fine.span() >> fraction;
    coefficients.phased = true;
    coefficients.c0 = static_cast<uint64_t>(fine.high) & low_bits(fraction);
    const auto top = static_cast<uint64_t>(fine.high >> fraction);
    offer(p, model, bits_of(least), static_cast<int64_t>(first + top - least), coefficients);
    return true;
  }

  const Rows& rows_;
  uint32_t value_bytes_;
  double spread_;
};

}  // namespace basalt::l3
