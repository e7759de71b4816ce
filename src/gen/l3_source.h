// What the sets of `gen l3` are made from: a source of values, numbers drawn in sequence, and tables of quantiles.
// Needs nothing of the library but exact arithmetic, so that a set can be compiled and compared on other machines
// alone.
#pragma once

#include <memory>
#include <string_view>

#include "gen/exact_math.h"
#include "gen/random.h"

namespace basalt::gen {

class L3Source {
 public:
  virtual ~L3Source() = default;
  // The next `count` values; 32-bit types in the lower half.
  virtual void fill(uint64_t* out, size_t count) = 0;
};

// One function per file of sets; nullptr if the set is not in that file. `rows` is how many will be asked for at most.
std::unique_ptr<L3Source> make_sorted_source(std::string_view set, uint64_t rows);
std::unique_ptr<L3Source> make_event_source(std::string_view set, uint64_t rows);
std::unique_ptr<L3Source> make_curve_source(std::string_view set, uint64_t rows);
std::unique_ptr<L3Source> make_category_source(std::string_view set, uint64_t rows);
std::unique_ptr<L3Source> make_identifier_source(std::string_view set, uint64_t rows);

// A source from a rule that gives one value per call.
template <typename Rule>
class RuleSource final : public L3Source {
 public:
  explicit RuleSource(Rule rule) : rule_(std::move(rule)) {}
  void fill(uint64_t* out, size_t count) override {
    for (size_t i = 0; i < count; ++i) out[i] = rule_.next();
  }

 private:
  Rule rule_;
};
template <typename Rule>
std::unique_ptr<L3Source> source_of(Rule rule) {
  return std::make_unique<RuleSource<Rule>>(std::move(rule));
}

// Random numbers one after the other. Streams up to 999 belong to the Star Schema tables.
class Draws {
 public:
  explicit Draws(uint64_t set) : stream_(1000 + set) {}

  uint64_t bits() { return stream_.bits(counter_++); }
  // Uniform in [low, high].
  uint64_t between(uint64_t low, uint64_t high) {
    return static_cast<uint64_t>(stream_.between(counter_++, static_cast<int64_t>(low), static_cast<int64_t>(high)));
  }
  bool one_in(uint64_t n) { return between(1, n) == 1; }
  // In [2^low, 2^high), every power of two as likely as the others.
  uint64_t between_powers(uint32_t low, uint32_t high) {
    const uint64_t size = uint64_t{1} << between(low, high - 1);
    return between(size, 2 * size - 1);
  }
  // Identifiers leap once in 160 rows: so rarely that one leap makes most of the range of 256 rows. By the upper bits
  // of a random number that is used for something else too.
  static bool leaps(uint64_t random) { return (random >> 48) * 160 >> 16 == 0; }
  // Uniform in (0, 1), multiples of 2^-53 between the ends.
  double unit() { return mul(add(static_cast<double>(bits() >> 12), 0.5), l3::power_of_two(-52)); }
  double normal() { return normal_quantile(unit()); }
  // Uniform in the logarithm.
  double between_logs(double low, double high) {
    return exponential(add(natural_log(low), mul(unit(), natural_log(div(high, low)))));
  }
  // Poisson of a mean so large that it is a rounded normal.
  uint64_t poisson(double mean) {
    return static_cast<uint64_t>(to_integer(add(mean, mul(square_root(mean), normal()))));
  }

 private:
  Stream stream_;
  uint64_t counter_ = 0;
};

// Draws from a distribution by its quantiles, linear in between: a few integer operations where the function itself
// would take tens of nanoseconds. Values have 16 bits of fraction.
class Quantiles {
 public:
  static constexpr uint32_t kFraction = 16;
  // `quantile` of 0 < p < 1, increasing and not negative.
  template <typename Quantile>
  explicit Quantiles(Quantile quantile) {
    for (size_t i = 0; i <= kCells; ++i)
      at_[i] = static_cast<uint64_t>(
          to_integer(mul(quantile(div(static_cast<double>(2 * i + 1), 2 * kCells + 2)), 1 << kFraction)));
  }
  // `uniform` has 64 random bits; increasing in them.
  uint64_t operator()(uint64_t uniform) const {
    const uint64_t cell = uniform >> (64 - kCellBits), within = uniform << kCellBits >> 32;
    return at_[cell] + ((at_[cell + 1] - at_[cell]) * within >> 32);
  }
  // `scale` has 16 bits of fraction too; the product is rounded to an integer.
  uint64_t scaled(uint64_t uniform, uint64_t scale) const {
    return ((*this)(uniform)*scale + (uint64_t{1} << 31)) >> (2 * kFraction);
  }

 private:
  static constexpr uint32_t kCellBits = 10;
  static constexpr size_t kCells = 1 << kCellBits;
  std::array<uint64_t, kCells + 1> at_{};
};

// Mean 1.
inline Quantiles exponential_quantiles() {
  return Quantiles([](double p) { return -natural_log(sub(1, p)); });
}
// Mean 1, `sigma` of the logarithm.
inline Quantiles lognormal_quantiles(double sigma) {
  return Quantiles(
      [sigma](double p) { return exponential(sub(mul(sigma, normal_quantile(p)), mul(mul(sigma, sigma), 0.5))); });
}

// A number with `fraction` bits behind the point.
inline uint64_t fixed_point(double x, uint32_t fraction) {
  return static_cast<uint64_t>(to_integer(mul(x, l3::power_of_two(static_cast<int>(fraction)))));
}

// p of row i if n sorted uniform draws fell one into each n-th of (0, 1).
class SpreadDraws {
 public:
  SpreadDraws(uint64_t set, uint64_t rows) : draws_(set), rows_(static_cast<double>(rows)) {}
  // 25 bits of the draw: with fewer than 2^28 rows the sum is exact, so that p stays below 1.
  double next() {
    const double within = mul(add(static_cast<double>(draws_.bits() >> 40), 0.5), l3::power_of_two(-24));
    return div(add(static_cast<double>(row_++), within), rows_);
  }

 private:
  Draws draws_;
  double rows_;
  uint64_t row_ = 0;
};

}  // namespace basalt::gen
