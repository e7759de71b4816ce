// Fitting, costs, merging and packing by the published rules.
#include "bench/paper/cut.h"

#include <algorithm>
#include <bit>

#include "core/packed_tile.h"

namespace basalt::paper {

namespace {

constexpr size_t kLeastRows = 256;
constexpr int kRounds = 8;
constexpr int64_t kExact = int64_t{1} << 53;

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
double mean_of(const l3::Moments& m, int64_t first) {
  return static_cast<double>(first) + l3::to_double(m.s0) / static_cast<double>(m.rows);
}

// visit(k, first, predictions): 32 neighbouring rows, k-th of each lane of a tile, from local row `first` on.
template <uint32_t kDegree, typename Visit>
void for_rows(const std::array<double, 4>& theta, uint32_t rows, Visit visit) {
  for (uint32_t number = 0; number < Tile::count(rows); ++number) {
    const Tile tile(rows, number);
    double y[kLanes], d1[kLanes], d2[kLanes], d3 = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const Steps s = Steps::from<kDegree>(theta.data(), tile.first + lane);
      y[lane] = s.y;
      d1[lane] = s.d1;
      d2[lane] = s.d2;
      d3 = s.d3;
    }
    for (uint32_t k = 0; k < tile.per_lane; ++k) {
      int64_t predictions[kLanes];
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        Steps s{y[lane], d1[lane], d2[lane], d3};
        predictions[lane] = s.prediction();
        s.step<kDegree>();
        y[lane] = s.y;
        d1[lane] = s.d1;
        d2[lane] = s.d2;
      }
      visit(tile, k, predictions);
    }
  }
}
template <typename Visit>
void for_rows(uint32_t degree, const std::array<double, 4>& theta, uint32_t rows, Visit visit) {
  if (degree == 1) return for_rows<1>(theta, rows, visit);
  if (degree == 2) return for_rows<2>(theta, rows, visit);
  for_rows<3>(theta, rows, visit);
}

uint64_t most_residual(const int64_t* values, uint32_t rows, uint32_t degree, const std::array<double, 4>& theta) {
  uint64_t most = 0;
  for_rows(degree, theta, rows, [&](const Tile& tile, uint32_t k, const int64_t(&predictions)[kLanes]) {
    const uint32_t first = tile.first + k * kLanes;
    for (uint32_t lane = 0; lane < std::min(kLanes, rows - first); ++lane) {
      most = std::max(most, l3::magnitude(values[first + lane] - predictions[lane]));
    }
  });
  return most;
}

struct Runs {
  std::vector<int64_t> values, lengths;
  RunsHeader header{};

  Runs(const int64_t* rows, size_t count) {
    for (size_t i = 0, start = 0; i < count; ++i) {
      if (i + 1 < count && rows[i] == rows[i + 1]) continue;
      values.push_back(rows[i]);
      lengths.push_back(static_cast<int64_t>(i + 1 - start));
      start = i + 1;
    }
    header.runs = static_cast<uint32_t>(values.size());
    header.value_width = fit(values, header.value_line);
    header.length_width = fit(lengths, header.length_line);
  }

 private:
  // A line in single precision; says how wide residuals are.
  static uint32_t fit(const std::vector<int64_t>& array, float (&line)[2]) {
    const l3::Moments m = moments_of(array.data(), array.size());
    const std::array<double, 4> theta = polynomial(l3::fit_polynomials(m, false), mean_of(m, array[0]), 1);
    line[0] = static_cast<float>(theta[0]);
    line[1] = static_cast<float>(theta[1]);
    uint64_t most = 0;
    for (uint32_t q = 0; q < array.size(); ++q) {
      most = std::max(most, l3::magnitude(array[q] - RunsHeader::predict(line, q)));
    }
    return signed_width(most);
  }
};

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
  static bool offer(Part& p, Kind kind, uint32_t width, uint64_t words) {
    const uint64_t bytes = sizeof(Record) + sizeof(uint64_t) * params_of(kind) + 4 * words;
    if (bytes >= p.bytes) return false;
    p.kind = kind;
    p.width = width;
    p.bytes = bytes;
    p.payload = 4 * words;
    return true;
  }

  // Simplest model first, so that it wins where costs are equal.
  void choose(Part& p) const {
    const int64_t* values = values_.data() + p.first;
    const auto rows = static_cast<uint32_t>(p.rows);
    p.bytes = ~uint64_t{0};
    const auto [low, high] = std::minmax_element(values, values + rows);
    p.base = *low;
    uint32_t runs = 1;
    for (size_t i = 1; i < rows; ++i) runs += values[i] != values[i - 1] ? 1 : 0;
    const bool exact = *low >= -kExact && *high <= kExact;
    if (runs == 1) {
      offer(p, Kind::kConstant, 0, 0);
    } else if (runs < rows / 2 && exact) {
      offer(p, Kind::kRuns, 0, Runs(values, rows).header.words());
    }
    const uint32_t span_bits = l3::bits_of(static_cast<uint64_t>(*high) - static_cast<uint64_t>(*low));
    offer(p, Kind::kFor, span_bits, payload_words(rows, span_bits));
    if (!exact || rows < 4) return;
    const l3::Fit fit = l3::fit_polynomials(p.moments, false);
    const double mean = mean_of(p.moments, values[0]);
    for (uint32_t degree = 1; degree <= 3; ++degree) {
      const std::array<double, 4> theta = polynomial(fit, mean, degree);
      const uint32_t width = signed_width(most_residual(values, rows, degree, theta));
      if (offer(p, static_cast<Kind>(degree), width, payload_words(rows, width))) p.theta = theta;
    }
  }

  std::span<const int64_t> values_;
};

// Writes `width` bits; the words are zero where nothing was written.
void put_bits(uint32_t* words, uint64_t at, uint32_t width, uint64_t value) {
  value &= low_bits(width);
  for (uint32_t done = 0; done < width;) {
    const auto shift = static_cast<uint32_t>((at + done) % 32);
    words[(at + done) / 32] |= static_cast<uint32_t>(value >> done << shift);
    done += 32 - shift;
  }
}

void pack_runs(const Runs& runs, uint32_t* words) {
  const RunsHeader& h = runs.header;
  h.put(words);
  words += kRunsHeaderWords;
  for (uint32_t q = 0; q < h.runs; ++q) {
    put_bits(words, uint64_t{q} * h.value_width, h.value_width,
             static_cast<uint64_t>(runs.values[q] - RunsHeader::predict(h.value_line, q)));
    put_bits(words + h.value_words(), uint64_t{q} * h.length_width, h.length_width,
             static_cast<uint64_t>(runs.lengths[q] - RunsHeader::predict(h.length_line, q)));
  }
}

void pack_rows(const Part& part, const int64_t* values, uint32_t* words) {
  const auto rows = static_cast<uint32_t>(part.rows);
  const auto put = [&](const Tile& tile, uint32_t k, const int64_t(&predictions)[kLanes]) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t row = tile.first + k * kLanes + lane;
      if (row >= rows) return;
      const uint64_t residual = static_cast<uint64_t>(values[row]) - static_cast<uint64_t>(predictions[lane]);
      put_bits(words, tile.bit(lane, part.width) + k * part.width, part.width, residual);
    }
  };
  if (part.kind != Kind::kFor) return for_rows(static_cast<uint32_t>(part.kind), part.theta, rows, put);
  int64_t predictions[kLanes];
  std::fill_n(predictions, kLanes, part.base);
  for (uint32_t number = 0; number < Tile::count(rows); ++number) {
    const Tile tile(rows, number);
    for (uint32_t k = 0; k < tile.per_lane; ++k) put(tile, k, predictions);
  }
}

}  // namespace

std::vector<Part> cut(std::span<const int64_t> values) {
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
  return parts;
}

Size& Size::operator+=(const Size& other) {
  bytes += other.bytes;
  payload += other.payload;
  partitions += other.partitions;
  for (size_t i = 0; i < models.size(); ++i) models[i] += other.models[i];
  return *this;
}

Size size_of(std::span<const Part> parts) {
  Size size;
  for (const Part& part : parts) {
    size.bytes += part.bytes;
    size.payload += part.payload;
    ++size.partitions;
    ++size.models[part.kind == Kind::kRuns ? 0 : static_cast<size_t>(part.kind)];
  }
  return size;
}

Streams pack(std::span<const int64_t> values, std::span<const Part> parts) {
  Streams out;
  for (const Part& part : parts) {
    const int64_t* rows = values.data() + part.first;
    const auto count = static_cast<uint32_t>(part.rows);
    const auto place = static_cast<uint32_t>(out.payload.size());
    out.records.push_back({static_cast<uint32_t>(part.first), place, Record::pack_info(count, part.kind, part.width),
                           static_cast<uint32_t>(out.params.size())});
    if (part.kind == Kind::kConstant || part.kind == Kind::kFor) {
      out.params.push_back(static_cast<uint64_t>(part.base));
    } else {
      for (uint32_t i = 0; i < params_of(part.kind); ++i) out.params.push_back(std::bit_cast<uint64_t>(part.theta[i]));
    }
    if (part.kind == Kind::kRuns) {
      const Runs runs(rows, count);
      out.payload.resize(place + runs.header.words());
      out.most_runs = std::max(out.most_runs, runs.header.runs);
      pack_runs(runs, out.payload.data() + place);
    } else if (part.width > 0) {
      out.payload.resize(place + payload_words(count, part.width));
      pack_rows(part, rows, out.payload.data() + place);
    }
  }
  return out;
}

}  // namespace basalt::paper
