// The three ways to cut, on the CPU: breakpoints, merging, dynamic programming.
#include "codec/l3/partition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "codec/l3/row_table.h"

namespace basalt::l3 {

namespace {

constexpr double kLeastShare = 1e-11;  // of Σ z², below which a variance is mostly rounding
constexpr double kUsualSpread = 4.5;   // range of residuals in standard deviations

Partition unit_of(const int64_t* values, uint32_t unit, uint32_t rows) {
  Partition p;
  p.first_unit = unit;
  p.units = 1;
  p.rows = rows;
  p.first = values[0];
  const RowTable& loops = row_table();
  const UnitScan scan = loops.scan(values, rows);
  p.runs = scan.runs;
  p.low = scan.low;
  p.high = scan.high;
  p.moments.rows = rows;
  const uint32_t span_bits = bits_of(span_of(p));
  if (span_bits > 0 && span_bits <= kHalfBits) p.moments = loops.narrow_moments(values, rows);
  if (span_bits > kHalfBits && span_bits <= kMaxModelBits) p.moments = loops.wide_moments(values, rows);
  return p;
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
      choice.take(row_table().residuals[trial.degree - 1](rows, p.rows, trial.predictor, trial.most));
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
  const auto take_ends = [&](size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      if (i + 1 < partition.rows && rows[i] == rows[i + 1]) continue;
      out.values.push_back(rows[i]);
      out.ends.push_back(static_cast<int64_t>(i + 1));
    }
  };
  // Inside of long runs, many rows are passed at once.
  constexpr size_t kAtOnce = 16;
  size_t at = 0;
  for (; at + kAtOnce < partition.rows; at += kAtOnce) {
    int64_t differ = 0;
    for (size_t i = at; i < at + kAtOnce; ++i) differ |= rows[i] ^ rows[i + 1];
    if (differ != 0) take_ends(at, at + kAtOnce);
  }
  take_ends(at, partition.rows);
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
