// The search for related columns. Every pair is looked at with a measure that takes a few operations per row, sums of
// two with few rows first; what passes it is estimated as any column is.
#include "encoding/related_columns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "basalt/encoding/chooser.h"
#include "codec/dict/distinct.h"
#include "codec/integer_types.h"
#include "codec/map/layout.h"
#include "codec/trees.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

// Pairs grow with the square of the columns.
constexpr size_t kMostColumns = 64;
constexpr uint64_t kMostTexts = 256;
// Of a column's estimated bytes, what a tree may take to be tried on all rows.
constexpr double kWorthTrying = 0.9;
constexpr double kLeastBytes = 4096;
constexpr size_t kMostTried = 3;  // of a column
// Of factors that may be functions, in a table: every pair of columns may give some, for each of the others.
constexpr size_t kMostFactorFunctions = 1024;
// A function is known by rows that have the same source: so many at least.
constexpr uint64_t kLeastRepeats = 128;
// Of a column's rows, those that are in one run with the row before: fewer are no runs to count in.
constexpr double kLeastInRuns = 0.125;
// Pairs grow with the square, and sums of two with the cube: these rows tell which are worth all of the sample.
constexpr size_t kFewRows = 256;
// Of all rows, those that are a multiple of what may be a factor; of random numbers it is one of so many.
constexpr double kLeastMultiples = 0.9;

using Numbers = std::vector<int64_t>;

struct Candidate {
  size_t column = 0;
  double bytes = 0;
  double saved = 0;
  Tree tree;
  std::vector<size_t> sources;

  bool reads(size_t source) const { return std::find(sources.begin(), sources.end(), source) != sources.end(); }
};

Values values_of(const Numbers& numbers) {
  Values values;
  values.type = Physical::kI64;
  values.count = numbers.size();
  values.data = numbers.data();
  return values;
}

// Differences wrap around, as those of the format do.
int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t plus(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
uint64_t size_of(int64_t number) { return number < 0 ? ~static_cast<uint64_t>(number) : static_cast<uint64_t>(number); }

// Bits of a row, about: of its distance from the middle one of its tile.
double bits_of(const Numbers& numbers) {
  double bits = 0;
  Numbers tile;
  for (size_t first = 0; first < numbers.size(); first += kTileRows) {
    const size_t rows = std::min<size_t>(kTileRows, numbers.size() - first);
    tile.assign(numbers.begin() + static_cast<ptrdiff_t>(first),
                numbers.begin() + static_cast<ptrdiff_t>(first + rows));
    const auto middle = tile.begin() + static_cast<ptrdiff_t>(rows / 2);
    std::nth_element(tile.begin(), middle, tile.end());
    for (const int64_t number : tile) bits += 64 - std::countl_zero(size_of(minus(number, *middle)));
  }
  return numbers.empty() ? 0 : bits / static_cast<double>(numbers.size());
}

// Rows spread evenly.
Numbers few_of(const Numbers& numbers) {
  const size_t step = std::max<size_t>(1, numbers.size() / kFewRows);
  Numbers few;
  for (size_t i = 0; i < numbers.size(); i += step) few.push_back(numbers[i]);
  return few;
}

Numbers differences_of(Numbers numbers, const Numbers& source) {
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = minus(numbers[i], source[i]);
  return numbers;
}

double share_in_runs(const Numbers& numbers) {
  size_t in_runs = 0;
  for (size_t i = 1; i < numbers.size(); ++i) in_runs += numbers[i] == numbers[i - 1] ? 1 : 0;
  return static_cast<double>(in_runs) / static_cast<double>(numbers.size());
}

// What rows lie above their places in the source's runs. Tiles of a sample are no neighbours: the run that a tile
// begins in is taken to begin where that changes nothing for its first row.
Numbers above_places(const Numbers& numbers, const Numbers& source) {
  Numbers above(numbers.size());
  int64_t place = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i % kTileRows != 0) {
      place = source[i] == source[i - 1] ? plus(place, 1) : 0;
    } else {
      const size_t end = std::min(numbers.size(), i + kTileRows);
      size_t next = i + 1;
      while (next < end && source[next] == source[i]) ++next;
      const int64_t first = next < end ? numbers[next] : i == 0 ? 0 : above[i - 1];
      place = minus(numbers[i], first);
    }
    above[i] = minus(numbers[i], place);
  }
  return above;
}

// A column of the sample as numbers.
struct Subject {
  std::string name;
  Numbers numbers;
  Numbers few;  // of them
  Physical type = Physical::kI64;
  bool is_source = false;
  bool has_runs = false;
  double bits = 0;
  double bytes = 0;  // estimated, encoded by itself
  int64_t least = 0;
  uint64_t span = 0;  // from the least to the largest
};

std::optional<Numbers> numbers_of(const Values& values) {
  Numbers numbers;
  numbers.reserve(values.count);
  if (values.type == Physical::kBytes) {
    const auto distinct = distinct_strings(values, kMostTexts);
    if (!distinct) return std::nullopt;
    numbers.assign(distinct->codes.begin(), distinct->codes.end());
    return numbers;
  }
  if (!fits_word(values.type)) return std::nullopt;
  dispatch_typed(values.type, [&](auto tag) {
    using T = decltype(tag);
    for (uint64_t i = 0; i < values.count; ++i) numbers.push_back(static_cast<int64_t>(values.as<T>()[i]));
  });
  return numbers;
}

class RelatedSearch {
 public:
  RelatedSearch(const std::vector<RelatedSample>& columns, const RelatedScope& scope) : scope_(scope) {
    for (const RelatedSample& column : columns) {
      Subject& subject = subjects_.emplace_back();
      subject.name = column.name;
      subject.type = column.values.type;
      if (considered_ == kMostColumns) continue;
      std::optional<Numbers> numbers = numbers_of(column.values);
      if (!numbers || numbers->empty()) continue;
      ++considered_;
      subject.numbers = std::move(*numbers);
      subject.is_source = column.values.type != Physical::kBytes;
      subject.few = few_of(subject.numbers);
      subject.has_runs = share_in_runs(subject.numbers) >= kLeastInRuns;
      subject.bits = bits_of(subject.numbers);
      subject.bytes = estimated(column.values);
      const auto [least, most] = std::minmax_element(subject.numbers.begin(), subject.numbers.end());
      subject.least = *least;
      subject.span = static_cast<uint64_t>(minus(*most, *least));
    }
  }

  std::vector<std::vector<Tree>> find() {
    for (size_t i = 0; i < subjects_.size(); ++i) {
      if (subjects_[i].bytes >= kLeastBytes) look_at(i);
    }
    return accepted();
  }

 private:
  // Of the whole column. Rows of `values` stand for as many of it as all rows of the sample do.
  double estimated(const Values& values) const {
    return estimate_bytes({values, scope_.total_rows, kTileRows}, scope_.effort, scope_.purpose);
  }
  double estimated(const Numbers& numbers) const { return estimated(values_of(numbers)); }

  bool may_help(size_t column, size_t source) const {
    return source != column && subjects_[source].is_source && !subjects_[source].numbers.empty();
  }

  void look_at(size_t column) {
    found_.clear();
    least_bits_ = subjects_[column].bits;
    for (size_t source = 0; source < subjects_.size(); ++source) {
      if (!may_help(column, source)) continue;
      if (subjects_[column].type != Physical::kBytes) {
        look_at_difference(column, source);
        look_at_place(column, source);
        look_at_product(column, source);
      }
      look_at_function(column, source);
    }
    if (subjects_[column].type != Physical::kBytes) look_at_sums(column);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.bytes < b.bytes; });
    if (found_.size() > kMostTried) found_.resize(kMostTried);
    candidates_.insert(candidates_.end(), found_.begin(), found_.end());
  }

  void propose(size_t column, double bytes, Tree tree) {
    const Subject& subject = subjects_[column];
    if (bytes > subject.bytes * kWorthTrying) return;
    if (subject.type == Physical::kBytes) tree = dictionary_tree(std::move(tree), subject.type);
    std::vector<size_t> sources = sources_of(tree);
    found_.push_back({column, bytes, subject.bytes - bytes, std::move(tree), std::move(sources)});
  }

  Tree named(size_t source) const { return column_named(subjects_[source].name); }

  void look_at_difference(size_t column, size_t source) {
    const Subject& subject = subjects_[column];
    const Numbers residual = differences_of(subject.numbers, subjects_[source].numbers);
    const double bits = bits_of(residual);
    if (bits > subject.bits * kWorthTrying) return;
    least_bits_ = std::min(least_bits_, bits);
    propose(column, estimated(residual), difference_tree(named(source)));
  }

  void look_at_place(size_t column, size_t source) {
    const Subject& subject = subjects_[column];
    if (!subjects_[source].has_runs) return;
    const Numbers residual = above_places(subject.numbers, subjects_[source].numbers);
    if (bits_of(residual) > subject.bits * kWorthTrying) return;
    propose(column, estimated(residual), difference_tree(place_tree(named(source))));
  }

  // Sums of two have to be nearer than any one of the columns.
  void look_at_sums(size_t column) {
    const Subject& subject = subjects_[column];
    for (size_t one = 0; one < subjects_.size(); ++one) {
      if (!may_be_added(column, one)) continue;
      const Numbers few = differences_of(subject.few, subjects_[one].few);
      for (size_t other = one + 1; other < subjects_.size(); ++other) {
        if (!may_be_added(column, other)) continue;
        if (bits_of(differences_of(few, subjects_[other].few)) > least_bits_ * kWorthTrying) continue;
        const Numbers residual =
            differences_of(differences_of(subject.numbers, subjects_[one].numbers), subjects_[other].numbers);
        if (bits_of(residual) > least_bits_ * kWorthTrying) continue;
        propose(column, estimated(residual), difference_tree(sum_tree(named(one), named(other))));
      }
    }
  }
  bool may_be_added(size_t column, size_t source) const {
    return may_help(column, source) && subjects_[source].span > 0;
  }

  // What rows differ by from the row before that has the same source; where there is none, nothing is known.
  struct Repeats {
    Numbers differences;
    uint64_t equal = 0;
  };
  Repeats repeats_of(const Numbers& numbers, const Numbers& source) const {
    Repeats out;
    std::unordered_map<int64_t, int64_t> last;
    last.reserve(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto [known, is_new] = last.try_emplace(source[i], numbers[i]);
      if (is_new) continue;
      out.differences.push_back(minus(numbers[i], known->second));
      out.equal += numbers[i] == known->second ? 1 : 0;
      known->second = numbers[i];
    }
    return out;
  }

  // Bytes of a function's entries and of what rows differ from it; nullopt where the source is none for it.
  std::optional<double> function_bytes(const Numbers& numbers, double bits, bool shares, size_t source) const {
    const Subject& from = subjects_[source];
    if (from.span >= map::kMostEntries) return std::nullopt;
    const Repeats repeats = repeats_of(numbers, from.numbers);
    if (repeats.differences.size() < kLeastRepeats) return std::nullopt;
    const double misses = 1 - static_cast<double>(repeats.equal) / static_cast<double>(repeats.differences.size());
    const double entries =
        static_cast<double>(from.span + 1) * std::ceil(bits) / 8 * (shares && !scope_.one_chunk ? kEntriesShare : 1);
    if (misses > kWorthTrying) return std::nullopt;
    return entries + (misses == 0 ? 0 : estimated(repeats.differences));
  }

  void look_at_function(size_t column, size_t source) {
    const Subject& subject = subjects_[column];
    const std::optional<double> bytes =
        function_bytes(subject.numbers, subject.bits + 1, subject.type != Physical::kBytes, source);
    if (bytes) propose(column, *bytes, difference_tree(function_tree(named(source))));
  }

  void look_at_product(size_t column, size_t source) {
    const Subject& subject = subjects_[column];
    const std::optional<Numbers> factors = factors_of(subject.numbers, subjects_[source].numbers);
    if (!factors) return;
    const double bits = bits_of(*factors) + 1;
    if (bits <= subject.bits * kWorthTrying) {
      propose(column, estimated(*factors), difference_tree(product_tree(packed_tree(), named(source))));
    }
    for (size_t other = 0; other < subjects_.size() && factors_left_ > 0; ++other) {
      if (other == source || !may_help(column, other)) continue;
      --factors_left_;
      const std::optional<double> bytes = function_bytes(*factors, bits, true, other);
      if (bytes) propose(column, *bytes, difference_tree(product_tree(function_tree(named(other)), named(source))));
    }
  }

  // By what each row is a multiple of the source, divided by what all of the source is a multiple of. Rows that are
  // none repeat the factor before.
  static std::optional<Numbers> factors_of(const Numbers& numbers, const Numbers& source) {
    uint64_t unit = 0;
    for (const int64_t number : source) {
      const auto bits = static_cast<uint64_t>(number);
      unit = std::gcd(unit, number < 0 ? 0 - bits : bits);
    }
    if (unit == 0 || unit > INT64_MAX) return std::nullopt;
    Numbers factors(numbers.size());
    uint64_t multiples = 0;
    uint64_t of_several = 0;  // where that tells something
    int64_t last = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const int64_t divisor = source[i] / static_cast<int64_t>(unit);
      const bool tells = divisor > 1 || divisor < -1;
      const bool holds = tells ? numbers[i] % divisor == 0 : divisor == 1;
      of_several += tells ? 1 : 0;
      multiples += holds ? 1 : 0;
      if (holds) last = numbers[i] / divisor;
      factors[i] = last;
    }
    const auto rows = static_cast<double>(numbers.size());
    if (static_cast<double>(multiples) < rows * kLeastMultiples || of_several * 2 < numbers.size()) return std::nullopt;
    return factors;
  }

  // What others save by reading a column and cannot save without it: they lose that if others encode it.
  double needed(size_t column) const {
    std::vector<double> best(subjects_.size(), 0);
    std::vector<double> without(subjects_.size(), 0);
    for (const Candidate& candidate : candidates_) {
      if (candidate.column == column) continue;
      best[candidate.column] = std::max(best[candidate.column], candidate.saved);
      if (candidate.reads(column)) continue;
      without[candidate.column] = std::max(without[candidate.column], candidate.saved);
    }
    return std::accumulate(best.begin(), best.end(), 0.0) - std::accumulate(without.begin(), without.end(), 0.0);
  }

  // The most bytes first, less what others lose; a source is encoded by itself.
  std::vector<std::vector<Tree>> accepted() {
    std::vector<double> loss(subjects_.size(), 0);
    for (const Candidate& candidate : candidates_) loss[candidate.column] = needed(candidate.column);
    const auto gain = [&](const Candidate& candidate) { return candidate.saved - loss[candidate.column]; };
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [&](const Candidate& a, const Candidate& b) { return gain(a) > gain(b); });
    std::vector<std::vector<Tree>> out(subjects_.size());
    std::vector<bool> is_source(subjects_.size(), false);
    for (const Candidate& candidate : candidates_) {
      const auto all = [&](const auto& holds) {
        return std::all_of(candidate.sources.begin(), candidate.sources.end(), holds);
      };
      const bool sources_free = all([&](size_t source) { return out[source].empty(); });
      if (is_source[candidate.column] || !sources_free) continue;
      // A second try keeps no further column from being encoded by others.
      if (!out[candidate.column].empty() && !all([&](size_t source) { return is_source[source]; })) continue;
      for (const size_t source : candidate.sources) is_source[source] = true;
      out[candidate.column].push_back(candidate.tree);
    }
    return out;
  }

  std::vector<size_t> sources_of(const Tree& tree) const {
    std::vector<size_t> sources;
    for (const std::string& name : columns_of(tree)) {
      for (size_t i = 0; i < subjects_.size(); ++i) {
        if (subjects_[i].name == name) sources.push_back(i);
      }
    }
    return sources;
  }

  RelatedScope scope_;
  size_t factors_left_ = kMostFactorFunctions;
  size_t considered_ = 0;
  double least_bits_ = 0;  // of a column, by itself or beside another
  std::vector<Subject> subjects_;
  std::vector<Candidate> found_;  // of one column
  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<std::vector<Tree>> find_related_columns(const std::vector<RelatedSample>& columns,
                                                    const RelatedScope& scope) {
  return RelatedSearch(columns, scope).find();
}

}  // namespace basalt
