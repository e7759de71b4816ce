// Fitting, costs and merging by the published rules.
#include "cli/l3_paper.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "codec/l3/fit.h"

namespace basalt::cli {

namespace {

constexpr size_t kLeastRows = 256;
constexpr size_t kMostRows = 8192;
constexpr int kRounds = 8;
constexpr uint64_t kRecordBytes = 16;
constexpr uint64_t kParamBytes = 8;
constexpr uint64_t kRunsHeaderWords = 6;
constexpr int64_t kExact = int64_t{1} << 53;

enum Kind : uint8_t { kConstant, kLine, kParabola, kCubic, kFor };

struct Part {
  size_t first = 0;
  size_t rows = 0;
  l3::Moments moments;
  Kind kind = kFor;
  uint64_t bytes = 0;
  uint64_t payload = 0;
};

uint64_t words_for(uint64_t bits) { return (bits + 31) / 32; }

// Residuals with sign.
uint32_t signed_width(uint64_t most) { return most == 0 ? 0 : l3::bits_of(most) + 1; }

l3::Moments moments_of(const int64_t* values, size_t rows) {
  l3::Moments m;
  m.rows = rows;
  for (size_t i = 0; i < rows; ++i) {
    const auto z = static_cast<int128_t>(values[i]) - values[0];
    const auto row = static_cast<int128_t>(i);
    m.s0 += z;
    m.s1 += row * z;
    m.s2 += row * row * z;
    m.s3 += row * row * row * z;
  }
  return m;
}

// θ0 + θ1·i + θ2·i² + θ3·i³, from the fit over orthogonal polynomials of u = 2i − (n − 1).
std::array<double, 4> polynomial(const l3::Fit& fit, double mean, uint32_t degree) {
  const double a2 = degree > 1 ? fit.a2 : 0;
  const double a3 = degree > 2 ? fit.a3 : 0;
  const double n = fit.n;
  const double u = 1 - n;
  // In powers of u, then u = u0 + 2i.
  const double b0 = mean - a2 * (n * n - 1) / 3;
  const double b1 = fit.a1 - a3 * (3 * n * n - 7) / 5;
  return {b0 + u * (b1 + u * (a2 + u * a3)), 2 * b1 + 4 * a2 * u + 6 * a3 * u * u, 4 * a2 + 12 * a3 * u, 8 * a3};
}

uint64_t most_residual(const int64_t* values, size_t rows, const std::array<double, 4>& t) {
  uint64_t most = 0;
  for (size_t i = 0; i < rows; ++i) {
    const auto x = static_cast<double>(i);
    const auto prediction = static_cast<int64_t>(std::rint(t[0] + x * (t[1] + x * (t[2] + x * t[3]))));
    most = std::max(most, l3::magnitude(values[i] - prediction));
  }
  return most;
}

// Width of the residuals of run values or run lengths, predicted by a line in single precision.
uint32_t run_width(const std::vector<int64_t>& array) {
  const l3::Moments m = moments_of(array.data(), array.size());
  const l3::Fit fit = l3::fit_polynomials(m, false);
  const double mean = static_cast<double>(array[0]) + l3::to_double(m.s0) / fit.n;
  std::array<double, 4> t = polynomial(fit, mean, 1);
  t = {static_cast<double>(static_cast<float>(t[0])), static_cast<double>(static_cast<float>(t[1])), 0, 0};
  return signed_width(most_residual(array.data(), array.size(), t));
}

uint64_t runs_words(const int64_t* values, size_t rows) {
  std::vector<int64_t> of_values;
  std::vector<int64_t> lengths;
  for (size_t i = 0, start = 0; i < rows; ++i) {
    if (i + 1 < rows && values[i] == values[i + 1]) continue;
    of_values.push_back(values[i]);
    lengths.push_back(static_cast<int64_t>(i + 1 - start));
    start = i + 1;
  }
  if (of_values.size() == 1) return 0;
  return kRunsHeaderWords + words_for(of_values.size() * run_width(of_values)) +
         words_for(lengths.size() * run_width(lengths));
}

class Column {
 public:
  explicit Column(std::span<const int64_t> values) : values_(values) {}

  Part part(size_t first, size_t rows) const {
    Part p;
    p.first = first;
    p.rows = rows;
    p.moments = moments_of(values_.data() + first, rows);
    choose(p);
    return p;
  }
  Part joined(const Part& a, const Part& b) const {
    Part p;
    p.first = a.first;
    p.rows = a.rows + b.rows;
    p.moments = l3::join(a.moments, b.moments, values_[b.first] - values_[a.first]);
    choose(p);
    return p;
  }

 private:
  static void offer(Part& p, Kind kind, uint64_t params, uint64_t words) {
    const uint64_t bytes = kRecordBytes + kParamBytes * params + 4 * words;
    if (bytes >= p.bytes) return;
    p.kind = kind;
    p.bytes = bytes;
    p.payload = 4 * words;
  }

  // Simplest model first, so that it wins where costs are equal.
  void choose(Part& p) const {
    const int64_t* values = values_.data() + p.first;
    p.bytes = ~uint64_t{0};
    const auto [low, high] = std::minmax_element(values, values + p.rows);
    uint64_t runs = 1;
    for (size_t i = 1; i < p.rows; ++i) runs += values[i] != values[i - 1] ? 1 : 0;
    const bool exact = *low >= -kExact && *high <= kExact;
    if (runs == 1) {
      offer(p, kConstant, 1, 0);
    } else if (runs < p.rows / 2 && exact) {
      offer(p, kConstant, 0, runs_words(values, p.rows));
    }
    const uint64_t span = static_cast<uint64_t>(*high) - static_cast<uint64_t>(*low);
    offer(p, kFor, 1, words_for(p.rows * l3::bits_of(span)));
    if (!exact || p.rows < 4) return;
    const l3::Fit fit = l3::fit_polynomials(p.moments, false);
    const double mean = static_cast<double>(values[0]) + l3::to_double(p.moments.s0) / fit.n;
    for (uint32_t degree = 1; degree <= 3; ++degree) {
      const uint32_t width = signed_width(most_residual(values, p.rows, polynomial(fit, mean, degree)));
      offer(p, static_cast<Kind>(kConstant + degree), degree + 1, words_for(p.rows * width));
    }
  }

  std::span<const int64_t> values_;
};

}  // namespace

PaperSize& PaperSize::operator+=(const PaperSize& other) {
  bytes += other.bytes;
  payload += other.payload;
  partitions += other.partitions;
  for (size_t i = 0; i < models.size(); ++i) models[i] += other.models[i];
  return *this;
}

PaperSize paper_size(std::span<const int64_t> values) {
  const Column column(values);
  std::vector<Part> parts;
  for (size_t row = 0; row < values.size(); row += kLeastRows) {
    parts.push_back(column.part(row, std::min(kLeastRows, values.size() - row)));
  }
  bool merged = true;
  for (int round = 0; round < kRounds && merged; ++round) {
    merged = false;
    for (size_t phase = 0; phase < 2; ++phase) {
      std::vector<Part> kept(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(std::min(phase, parts.size())));
      size_t j = phase;
      for (; j + 1 < parts.size(); j += 2) {
        const bool fits = parts[j].rows + parts[j + 1].rows <= kMostRows;
        const Part both = fits ? column.joined(parts[j], parts[j + 1]) : Part{};
        if (fits && both.bytes < parts[j].bytes + parts[j + 1].bytes) {
          kept.push_back(both);
          merged = true;
        } else {
          kept.push_back(parts[j]);
          kept.push_back(parts[j + 1]);
        }
      }
      if (j < parts.size()) kept.push_back(parts[j]);
      parts = std::move(kept);
    }
  }
  PaperSize size;
  for (const Part& part : parts) {
    size.bytes += part.bytes;
    size.payload += part.payload;
    ++size.partitions;
    ++size.models[part.kind];
  }
  return size;
}

}  // namespace basalt::cli
