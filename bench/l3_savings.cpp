// What two ideas that `l3` does not have could save at most, with its partitions as they are: fits that minimise the
// range of residuals instead of their squares, and exceptions, so that a few rows do not decide the width. Columns are
// those of `gen l3` and the integers of the files that are named.
//
//   l3_savings_bench [--rows N] [--best] [--passes N] [--json FILE] [FILE.basalt …]
//
// --best: partitions of the best effort; --passes: how often a fit may look at its rows (default: until it is the best)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "basalt/file/reader.h"
#include "codec/l3/partition.h"
#include "core/dispatch.h"
#include "gen/l3.h"

namespace basalt::bench {
namespace {

// Approximates points (x of row i, e[i]) by a polynomial of `degree` with the least range of errors: one point of a
// reference is exchanged per pass over the rows, until no other has a larger error.
class Minimax {
 public:
  Minimax(const std::vector<double>& points, uint32_t degree) : e_(points), size_(degree + 2) {
    const size_t n = e_.size();
    for (uint32_t k = 0; k < size_; ++k) reference_[k] = k * (n - 1) / (size_ - 1);
  }

  // The least range that was met, that of the points themselves included.
  double range(uint32_t passes) {
    const auto [low, high] = std::minmax_element(e_.begin(), e_.end());
    double best = *high - *low;
    if (e_.size() < size_) return best;
    for (uint32_t pass = 0; pass < passes; ++pass) {
      solve();
      size_t least = 0, most = 0;
      for (size_t i = 0; i < e_.size(); ++i) {
        const double error = error_at(i);
        if (error < error_at(least)) least = i;
        if (error > error_at(most)) most = i;
      }
      best = std::min(best, error_at(most) - error_at(least));
      const size_t worst = error_at(most) > -error_at(least) ? most : least;
      if (std::abs(error_at(worst)) <= std::abs(level_) * (1 + 1e-9) + 1e-9) break;
      exchange(worst);
    }
    return best;
  }

 private:
  double x(size_t i) const { return 2.0 * static_cast<double>(i) / static_cast<double>(e_.size() - 1) - 1; }
  double error_at(size_t i) const {
    double value = 0;
    for (uint32_t j = size_ - 1; j-- > 0;) value = value * x(i) + p_[j];
    return e_[i] - value;
  }

  // Σ p_j x^j ± level = e at the points of the reference, by elimination.
  void solve() {
    std::array<std::array<double, 6>, 5> m{};
    for (uint32_t k = 0; k < size_; ++k) {
      double power = 1;
      for (uint32_t j = 0; j + 1 < size_; ++j, power *= x(reference_[k])) m[k][j] = power;
      m[k][size_ - 1] = k % 2 == 0 ? 1 : -1;
      m[k][size_] = e_[reference_[k]];
    }
    for (uint32_t c = 0; c < size_; ++c) {
      uint32_t pivot = c;
      for (uint32_t r = c + 1; r < size_; ++r) pivot = std::abs(m[r][c]) > std::abs(m[pivot][c]) ? r : pivot;
      std::swap(m[c], m[pivot]);
      for (uint32_t r = 0; r < size_; ++r) {
        if (r == c) continue;
        const double factor = m[r][c] / m[c][c];
        for (uint32_t j = c; j <= size_; ++j) m[r][j] -= factor * m[c][j];
      }
    }
    for (uint32_t j = 0; j + 1 < size_; ++j) p_[j] = m[j][size_] / m[j][j];
    level_ = m[size_ - 1][size_] / m[size_ - 1][size_ - 1];
  }

  // Takes a point in so that errors of the reference keep alternating in sign.
  void exchange(size_t point) {
    const bool positive = error_at(point) > 0;
    const auto same = [&](uint32_t k) { return (error_at(reference_[k]) > 0) == positive; };
    const uint32_t last = size_ - 1;
    if (point < reference_[0]) {
      if (!same(0)) std::copy_backward(reference_.begin(), reference_.begin() + last, reference_.begin() + last + 1);
      reference_[0] = point;
    } else if (point > reference_[last]) {
      if (!same(last)) std::copy(reference_.begin() + 1, reference_.begin() + last + 1, reference_.begin());
      reference_[last] = point;
    } else {
      uint32_t k = 0;
      while (k < last && reference_[k + 1] <= point) ++k;
      reference_[same(k) ? k : k + 1] = point;
    }
  }

  const std::vector<double>& e_;
  uint32_t size_;
  std::array<size_t, 5> reference_{};
  std::array<double, 4> p_{};
  double level_ = 0;
};

// Rows of a partition less their least-squares polynomial: what is left to improve.
std::vector<double> left_over(const int64_t* values, const l3::Partition& p, uint32_t degree) {
  const l3::Fit fit = l3::fit_polynomials(p.moments, false);
  const double nn = fit.n * fit.n;
  std::vector<double> out(p.rows);
  for (size_t i = 0; i < out.size(); ++i) {
    const double u = 2 * static_cast<double>(i) - (fit.n - 1);
    double y = fit.a1 * u;
    if (degree > 1) y += fit.a2 * (u * u - (nn - 1) / 3);
    if (degree > 2) y += fit.a3 * u * (u * u - (3 * nn - 7) / 5);
    out[i] = static_cast<double>(values[i] - p.first) - y;
  }
  return out;
}

// Bytes of a partition if every polynomial had the least range of residuals. Rounding of predictions adds one to it,
// unless a phase is stored.
uint64_t with_minimax(const int64_t* values, const l3::Partition& p, uint32_t value_bytes, uint32_t passes) {
  const uint32_t span_bits = l3::bits_of(l3::span_of(p));
  uint64_t bytes = p.bytes;
  if (span_bits == 0 || span_bits > l3::kMaxModelBits || p.rows < 3) return bytes;
  const bool wide = span_bits > l3::kMaxNarrowWidth;
  for (uint32_t degree = 1; degree <= (p.units > l3::kMaxPolyUnits ? 1u : 3u); ++degree) {
    const auto model =
        static_cast<l3::Model>(static_cast<uint32_t>(wide ? l3::Model::kWideLinear : l3::Model::kLinear) + degree - 1);
    if (l3::bytes_of(model, false, 0, p.units, value_bytes) >= bytes) break;
    const std::vector<double> points = left_over(values, p, degree);
    // Ranges are often whole numbers, which rounding must not take one off.
    const auto range = static_cast<uint64_t>(Minimax(points, degree).range(passes) * (1 + 1e-9) + 1e-7);
    bytes = std::min({bytes, l3::bytes_of(model, true, l3::bits_of(range), p.units, value_bytes),
                      l3::bytes_of(model, false, l3::bits_of(range + 1), p.units, value_bytes)});
  }
  return bytes;
}

// An exception takes its row within the tile and its residual; a tile with exceptions, their number.
constexpr uint32_t kRowBits = 10;
constexpr uint32_t kCountBits = 16;

// Bytes of a partition if rows outside of the best window of 2^w residuals were exceptions, with the best w.
uint64_t with_exceptions(const int64_t* values, const l3::Partition& p, uint32_t value_bytes) {
  if (p.model == l3::Model::kRuns || p.width == 0) return p.bytes;
  uint32_t params[l3::kMostParams] = {};
  l3::put_params(p, static_cast<uint64_t>(p.base), sizeof(uint64_t), params);
  const l3::Predictor predictor = l3::get_predictor(l3::record_of(p), params, sizeof(uint64_t));
  std::vector<uint64_t> residuals(p.rows);
  for (size_t i = 0; i < residuals.size(); ++i) {
    residuals[i] =
        (static_cast<uint64_t>(values[i]) - l3::finish(predictor, l3::evaluate(predictor, i), 0)) & low_bits(p.width);
  }
  std::sort(residuals.begin(), residuals.end());
  uint64_t bytes = p.bytes;
  for (uint32_t width = 0; width < p.width; ++width) {
    size_t inside = 0;
    for (size_t first = 0, end = 0; first < residuals.size(); ++first) {
      while (end < residuals.size() && residuals[end] - residuals[first] <= low_bits(width)) ++end;
      inside = std::max(inside, end - first);
    }
    const uint64_t tiles = l3::tiles_touched(p.first_unit, p.first_unit + p.units);
    const uint64_t bits = (p.rows - inside) * (kRowBits + p.width) + tiles * kCountBits;
    const uint64_t narrower = l3::bytes_of(p.model, p.coefficients.phased, width, p.units, value_bytes);
    bytes = std::min(bytes, narrower + (bits + 7) / 8);
  }
  return bytes;
}

struct Saved {
  uint64_t now = 0, minimax = 0, exceptions = 0;
  double share(uint64_t with) const { return now == 0 ? 0 : 1 - static_cast<double>(with) / static_cast<double>(now); }
};

Saved study(const std::vector<int64_t>& values, uint32_t value_bytes, Effort effort, uint32_t passes) {
  Saved saved;
  for (size_t first = 0; first < values.size(); first += kMaxChunkRows) {
    const std::span<const int64_t> chunk(values.data() + first, std::min<size_t>(kMaxChunkRows, values.size() - first));
    // A word per 16 units says where partitions start.
    const uint64_t starts = (l3::units_of(chunk.size()) + l3::kUnitsPerStart - 1) / l3::kUnitsPerStart * 4;
    saved.now += starts;
    saved.minimax += starts;
    saved.exceptions += starts;
    for (const l3::Partition& p : l3::cut(chunk, value_bytes, effort)) {
      const int64_t* rows = chunk.data() + static_cast<size_t>(p.first_unit) * kUnitRows;
      saved.now += p.bytes;
      saved.minimax += with_minimax(rows, p, value_bytes, passes);
      saved.exceptions += with_exceptions(rows, p, value_bytes);
    }
  }
  return saved;
}

// Appended in order and at their distances; nothing for other types.
void append_widened(const Column& column, uint64_t rows, std::vector<int64_t>& to) {
  const Physical type = physical_of(column.type);
  if (!is_integer(type)) return;
  const uint64_t widening = type == Physical::kU64 ? uint64_t{1} << 63 : 0;
  dispatch_typed(type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
      const T* from = column.values.as<T>();
      for (uint64_t i = 0; i < rows; ++i) {
        to.push_back(static_cast<int64_t>(static_cast<uint64_t>(from[i]) - widening));
      }
    }
  });
}

class Savings {
 public:
  Savings(Effort effort, uint32_t passes) : effort_(effort), passes_(passes) {
    std::printf("%-28s %10s %12s %9s %11s\n", "column", "rows", "bytes", "minimax", "exceptions");
  }

  void add(const std::string& name, const std::vector<int64_t>& values, uint32_t value_bytes) {
    if (values.empty()) return;
    const Saved saved = study(values, value_bytes, effort_, passes_);
    std::printf("%-28s %10zu %12llu %7.2f %% %9.2f %%\n", name.c_str(), values.size(),
                static_cast<unsigned long long>(saved.now), 100 * saved.share(saved.minimax),
                100 * saved.share(saved.exceptions));
    std::fflush(stdout);
    char line[256];
    std::snprintf(line, sizeof(line),
                  "  {\"column\": \"%s\", \"rows\": %zu, \"bytes\": %llu, \"with_minimax\": %llu, \"with_exceptions\": "
                  "%llu}",
                  name.c_str(), values.size(), static_cast<unsigned long long>(saved.now),
                  static_cast<unsigned long long>(saved.minimax), static_cast<unsigned long long>(saved.exceptions));
    lines_.emplace_back(line);
    minimax_ += saved.share(saved.minimax);
    exceptions_ += saved.share(saved.exceptions);
  }

  void finish(const std::string& json) const {
    const auto count = static_cast<double>(std::max<size_t>(1, lines_.size()));
    std::printf("%-28s %10s %12s %7.2f %% %9.2f %%\n", "mean", "", "", 100 * minimax_ / count,
                100 * exceptions_ / count);
    if (json.empty()) return;
    std::FILE* file = std::fopen(json.c_str(), "w");
    if (file == nullptr) {
      std::fprintf(stderr, "cannot write %s\n", json.c_str());
      std::exit(1);
    }
    std::fprintf(file, "{\"benchmark\": \"l3_savings\", \"columns\": [\n");
    for (size_t i = 0; i < lines_.size(); ++i) {
      std::fprintf(file, "%s%s\n", lines_[i].c_str(), i + 1 == lines_.size() ? "" : ",");
    }
    std::fprintf(file, "]}\n");
    std::fclose(file);
  }

 private:
  Effort effort_;
  uint32_t passes_;
  std::vector<std::string> lines_;
  double minimax_ = 0, exceptions_ = 0;
};

int run(int argc, char** argv) {
  uint64_t rows = 2'000'000;
  Effort effort = Effort::kBalanced;
  uint32_t passes = 200;
  std::string json;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--rows" && i + 1 < argc) {
      rows = std::stoull(argv[++i]);
    } else if (argument == "--best") {
      effort = Effort::kBest;
    } else if (argument == "--passes" && i + 1 < argc) {
      passes = static_cast<uint32_t>(std::stoul(argv[++i]));
    } else if (argument == "--json" && i + 1 < argc) {
      json = argv[++i];
    } else if (argument.starts_with("--benchmark_out=")) {
      json = argument.substr(argument.find('=') + 1);  // as the other programs of this folder
    } else if (!argument.starts_with("--benchmark_")) {
      files.push_back(argument);
    }
  }
  Savings savings(effort, passes);
  for (const L3Set& set : l3_sets()) {
    const Table table = L3Generator(set, std::min(rows, set.rows)).next(std::min(rows, set.rows));
    std::vector<int64_t> values;
    append_widened(table.columns[0], table.rows, values);
    savings.add(set.name, values, width_of(physical_of(table.columns[0].type)));
  }
  for (const std::string& path : files) {
    const auto file = File::open(path);
    for (uint32_t c = 0; c < file->schema().fields.size(); ++c) {
      const Field& field = file->schema().fields[c];
      std::vector<int64_t> values;
      for (uint32_t chunk = 0; chunk < file->chunks().size() && values.size() < rows; ++chunk) {
        const uint64_t count = std::min<uint64_t>(file->chunks()[chunk].rows, rows - values.size());
        append_widened(file->decode_column(c, chunk), count, values);
      }
      savings.add(field.name, values, values.empty() ? 0 : width_of(physical_of(field.type)));
    }
  }
  savings.finish(json);
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(argc, argv); }
