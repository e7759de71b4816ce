// How a partition gets its model: everything but the loops over rows, which the CPU and the device each write in their
// own way. Both encoders make their decisions here, so they arrive at the same bytes.
#pragma once

#include "codec/l3/fit.h"

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
  // Limits for choosing the values' model and, with it known, the ends': one that takes as much makes the partition's
  // runs no cheaper than its model, or than ends by tile.
  BASALT_HD uint64_t value_limit(const Partition& p, uint32_t value_bytes) const {
    return array_limit(p, p.bytes, kRunsHeaderWords + param_words(Model::kConstant, false, value_bytes), 0);
  }
  BASALT_HD uint64_t end_limit(const Partition& p, uint32_t value_bytes) {
    measure(true, tiles_of(p), value_bytes);
    const uint32_t fixed_words =
        runs_param_words(header(), value_bytes) + param_words(Model::kConstant, false, sizeof(uint32_t));
    return array_limit(p, bytes < p.bytes ? bytes + 1 : p.bytes, fixed_words, value_model.width);
  }
  // With the models known: ends by theirs, if they have one, or by tile, whichever is smaller.
  BASALT_HD void settle(const Partition& p, uint32_t value_bytes) {
    const uint32_t tiles = tiles_of(p);
    measure(true, tiles, value_bytes);
    if (end_model.param_words == 0) return;
    const uint64_t least = bytes;
    measure(false, tiles, value_bytes);
    if (bytes > least) measure(true, tiles, value_bytes);
  }

 private:
  BASALT_HD static uint32_t tiles_of(const Partition& p) { return tiles_touched(p.first_unit, p.first_unit + p.units); }
  // What ModelChoice would have an array of `runs` take with the most bits per run with which the partition takes fewer
  // than `limit` bytes, and the most parameters: with more bits it cannot. Zero where no bits are too many.
  BASALT_HD uint64_t array_limit(const Partition& p, uint64_t limit, uint32_t fixed_words, uint32_t other_bits) const {
    const uint64_t room = limit == 0 ? 0 : (limit - 1) / sizeof(uint32_t);
    const uint64_t fixed = sizeof(uint64_t) / sizeof(uint32_t) + fixed_words;
    if (room < fixed) return 0;
    const uint64_t first_runs = static_cast<uint64_t>(tiles_of(p) - 1) * bit_width(runs - 1);
    const uint64_t taken = first_runs + static_cast<uint64_t>(runs) * other_bits;
    if ((room - fixed) * 32 < taken) return 0;
    const uint64_t most = ((room - fixed) * 32 - taken) / runs;
    if (most >= 64) return kNever;
    const uint64_t residuals = static_cast<uint64_t>(units_of(runs)) * unit_words(static_cast<uint32_t>(most));
    return sizeof(uint64_t) + (kMostParams + residuals) * sizeof(uint32_t) + 1;
  }
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

// What a loop over rows needs to find the residuals under one model: predictions, without base and phase, and the span
// beyond which the model has lost, so that the loop may stop.
struct Trial {
  uint32_t degree;
  Predictor predictor;
  uint64_t most;
};

// Gives a partition its cheapest model of at most `max_degree` that takes fewer than `limit` bytes; equal costs: the
// simpler one. Models are tried one after the other: next() says which, take() is told its residuals. A limit saves
// time and changes nothing else.
class ModelChoice {
 public:
  // `spread`: the least range of residuals, in standard deviations, that is thought possible. 2 is a bound for any
  // numbers; uniform ones have 3.46, and few have less.
  BASALT_HD ModelChoice(Partition& p, uint32_t max_degree, uint32_t value_bytes, double spread, uint64_t limit)
      : p_(p), value_bytes_(value_bytes), max_degree_(max_degree), spread_(spread) {
    p_.bytes = limit;
    const uint64_t span = span_of(p_);
    offer(span == 0 ? Model::kConstant : Model::kFor, bits_of(span), p_.low, {});
    if (span == 0 || bits_of(span) > kMaxModelBits || p_.rows < 3) max_degree_ = 0;
    if (p_.units > kMaxPolyUnits && max_degree_ > 1) max_degree_ = 1;
  }

  // False: nothing is left to try.
  BASALT_HD bool next(Trial& trial) {
    if (left_) {
      left_ = false;
      begin(trial, wide_model());
      return true;
    }
    const uint64_t span = span_of(p_);
    const bool bounded = bits_of(span) <= kMaxSquareBits;
    while (degree_ < max_degree_) {
      ++degree_;
      const auto narrow = static_cast<Model>(static_cast<uint32_t>(Model::kFor) + degree_);
      if (bytes_of(narrow, false, 0, p_.units, value_bytes_) >= p_.bytes) break;
      if (!fitted_) fit_ = fit_polynomials(p_.moments, bounded);
      fitted_ = true;
      if (bounded && bytes_of(narrow, false, least_width(), p_.units, value_bytes_) >= p_.bytes) continue;
      begin(trial, bits_of(span) > kMaxNarrowWidth ? wide_model() : narrow);
      return true;
    }
    degree_ = max_degree_;
    return false;
  }

  BASALT_HD void take(const Residuals& fine) {
    const uint32_t fraction = is_wide(model_) ? coefficients_.shift : 32;
    if (!may_leave() && fine.span() > most_fine_) return;

    // Predictions are rounded down, so residuals up. A phase of the largest fraction makes the least span.
    const auto rounded_up = [fraction](int64_t r) {
      return (r >> fraction) + ((static_cast<uint64_t>(r) & low_bits(fraction)) != 0 ? 1 : 0);
    };
    const int64_t low = rounded_up(fine.low);
    const uint64_t span = static_cast<uint64_t>(rounded_up(fine.high)) - static_cast<uint64_t>(low);
    // Offsets from the base must stay inside 32 bits with sign, whatever the phase; row 0 keeps `low` from being
    // positive.
    constexpr int64_t kMostOffset = 0x7FFFFFFF;
    if (may_leave() && (bits_of(span) > kMaxNarrowWidth || p_.high - p_.first - low + 1 > kMostOffset)) {
      left_ = true;
      return;
    }
    if (fine.span() > most_fine_) return;
    const auto first = static_cast<uint64_t>(p_.first);
    offer(model_, bits_of(span), static_cast<int64_t>(first + static_cast<uint64_t>(low)), coefficients_);
    const uint64_t least = fine.span() >> fraction;
    coefficients_.phased = true;
    coefficients_.c0 = static_cast<uint64_t>(fine.high) & low_bits(fraction);
    const auto top = static_cast<uint64_t>(fine.high >> fraction);
    offer(model_, bits_of(least), static_cast<int64_t>(first + top - least), coefficients_);
  }

 private:
  BASALT_HD Model wide_model() const {
    return static_cast<Model>(static_cast<uint32_t>(Model::kWideLinear) + degree_ - 1);
  }

  BASALT_HD void begin(Trial& trial, Model model) {
    model_ = model;
    // Room above the values for predictions that overshoot: a cubic stays within 16 times the span.
    coefficients_ = quantise(fit_, degree_, is_wide(model), kMaxModelBits - bits_of(span_of(p_)));
    trial.degree = degree_;
    trial.predictor = predictor_of(model, coefficients_);
    const uint32_t fraction = trial.predictor.fraction;
    const uint64_t most = most_span();
    most_fine_ = most >= low_bits(63 - fraction) ? kNever : (most + 1) << fraction;
    trial.most = may_leave() ? kNever : most_fine_;
  }

  // Only values that span 31 bits can leave a narrow model that is cheaper than a frame of reference. Whether they do,
  // and a wide model is tried, must not depend on the limit: these rows are looked at to the last.
  BASALT_HD bool may_leave() const { return !is_wide(model_) && bits_of(span_of(p_)) == kMaxNarrowWidth; }

  // No model of this degree can do with fewer bits if the spread is a bound; predictions are rounded down, which takes
  // at most one unit off.
  BASALT_HD uint32_t least_width() const {
    const double range = sub(mul(spread_, square_root(least_variance(fit_, degree_))), 2);
    return range < 1 ? 0 : bits_of(static_cast<uint64_t>(range));
  }

  BASALT_HD void offer(Model model, uint32_t width, int64_t base, const Coefficients& coefficients) {
    const uint64_t bytes = bytes_of(model, coefficients.phased, width, p_.units, value_bytes_);
    if (bytes >= p_.bytes) return;
    p_.model = model;
    p_.width = width;
    p_.base = base;
    p_.coefficients = coefficients;
    p_.bytes = bytes;
    p_.param_words = l3::param_words(model, coefficients.phased, value_bytes_);
  }

  // The largest span of residuals with which the model would still be taken.
  BASALT_HD uint64_t most_span() const {
    const uint64_t fixed = bytes_of(model_, false, 0, p_.units, value_bytes_);
    if (p_.bytes == kNever) return kNever;
    if (fixed >= p_.bytes) return 0;
    const uint64_t per_bit = static_cast<uint64_t>(p_.units) * unit_words(1) * sizeof(uint32_t);
    const uint64_t bits = (p_.bytes - fixed - 1) / per_bit;
    return low_bits(bits < 64 ? static_cast<uint32_t>(bits) : 64);
  }

  Partition& p_;
  uint32_t value_bytes_;
  uint32_t max_degree_;
  double spread_;
  uint32_t degree_ = 0;
  bool fitted_ = false;
  bool left_ = false;  // a narrow model could not hold the values: the wide one is next
  Fit fit_;
  Model model_ = Model::kFor;  // on trial
  Coefficients coefficients_;
  uint64_t most_fine_ = 0;
};

// Whether finding the runs of a partition that has its model may pay.
BASALT_HD bool may_pay_as_runs(const Partition& p, uint32_t value_bytes) {
  if (span_of(p) == 0) return false;
  // Short runs do not pay but for units that are not full, whose residuals take the room of full ones; and finding
  // that out costs a pass.
  if ((p.runs > p.rows / kLeastRun && p.rows >= kUnitRows) || p.runs > kMaxRuns) return false;
  // Values and ends that are exact lines take no bits at all; the tiles' first runs do.
  const RunsHeader exact{p.runs, {}, {}};
  const uint64_t words = kRunsHeaderWords + param_words(Model::kConstant, false, value_bytes) +
                         runs_words(exact, tiles_touched(p.first_unit, p.first_unit + p.units));
  return sizeof(uint64_t) + words * sizeof(uint32_t) < p.bytes;
}

// Whether the runs are cheaper than the model, and were taken.
BASALT_HD bool take_runs(Partition& p, const RunsChoice& found, uint32_t value_bytes) {
  if (found.bytes >= p.bytes) return false;
  p.model = Model::kRuns;
  p.width = 0;
  p.coefficients = {};
  p.base = 0;
  p.bytes = found.bytes;
  p.param_words = runs_param_words(found.header(), value_bytes);
  return true;
}

}  // namespace basalt::l3
