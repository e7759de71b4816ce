// Sampling, choosing and counting as ALP does.
#include "bench/columns/alp_size.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <vector>

#include "codec/galp/choose.h"

namespace basalt::bench {

namespace {

using Arithmetic = galp::Arithmetic<double>;
using galp::Pair;

constexpr size_t kVector = 1024;
constexpr size_t kGroupVectors = 100;
constexpr size_t kSampledEvery = 12;
constexpr size_t kSamples = 32;
constexpr size_t kMostPairs = 5;
constexpr size_t kPatience = 2;
constexpr uint64_t kExceptionBits = 64 + 16;
constexpr uint64_t kRdFromBits = 48;
constexpr uint64_t kVectorBytes = 3 + 8 + 2;
constexpr size_t kRdEntries = 8;

struct Count {
  uint64_t exceptions = 0;
  uint64_t held = 0;
  int64_t low = INT64_MAX;
  int64_t high = INT64_MIN;

  uint64_t width() const {
    return held == 0 ? 0
                     : static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(high) - static_cast<uint64_t>(low)));
  }
  uint64_t bits() const { return (held + exceptions) * width() + exceptions * kExceptionBits; }
};

Count count(std::span<const double> values, Pair pair) {
  constexpr double kMagic = 6755399441055744.0;
  const auto scale = galp::Scale<double>::of(pair);
  Count out;
  for (const double value : values) {
    const double t = value * scale.up * scale.down;
    bool good = std::isfinite(t) && std::abs(t) <= Arithmetic::limit(0) && !(t == 0 && std::signbit(t));
    if (good) {
      const auto d = static_cast<int64_t>((t + kMagic) - kMagic);
      good = galp::bits_of(galp::decode(d, scale)) == galp::bits_of(value);
      if (good) {
        out.low = std::min(out.low, d);
        out.high = std::max(out.high, d);
      }
    }
    good ? ++out.held : ++out.exceptions;
  }
  return out;
}

std::vector<double> sample(std::span<const double> vector) {
  std::vector<double> out;
  const size_t step = (vector.size() + kSamples - 1) / kSamples;
  for (size_t i = 0; i < vector.size(); i += step) out.push_back(vector[i]);
  return out;
}

uint64_t rd_bytes(std::span<const double> group, std::span<const double> samples) {
  struct Cut {
    uint32_t left_bits = 0;
    std::vector<uint64_t> entries;
    uint64_t dict_bits = 0;
  };
  Cut best;
  double best_bits = 1e300;
  for (uint32_t left_bits = 1; left_bits <= 16; ++left_bits) {
    std::map<uint64_t, uint64_t> histogram;
    for (const double value : samples) ++histogram[galp::bits_of(value) >> (64 - left_bits)];
    std::vector<std::pair<uint64_t, uint64_t>> frequent;
    for (const auto& [left, times] : histogram) frequent.emplace_back(times, left);
    std::stable_sort(frequent.begin(), frequent.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    frequent.resize(std::min(frequent.size(), kRdEntries));
    Cut cut{left_bits, {}, 0};
    uint64_t held = 0;
    for (const auto& [times, left] : frequent) {
      held += times;
      cut.entries.push_back(left);
    }
    cut.dict_bits = std::max<uint64_t>(1, static_cast<uint64_t>(std::bit_width(cut.entries.size() - 1)));
    const auto all = static_cast<double>(samples.size());
    const double bits =
        64 - left_bits + static_cast<double>(cut.dict_bits) + static_cast<double>(samples.size() - held) * 32 / all;
    if (bits < best_bits) {
      best_bits = bits;
      best = cut;
    }
  }
  uint64_t bytes = 18;
  for (size_t first = 0; first < group.size(); first += kVector) {
    const auto vector = group.subspan(first, std::min(kVector, group.size() - first));
    uint64_t exceptions = 0;
    for (const double value : vector) {
      const uint64_t left = galp::bits_of(value) >> (64 - best.left_bits);
      exceptions += std::find(best.entries.begin(), best.entries.end(), left) == best.entries.end() ? 1 : 0;
    }
    bytes += 128 * (64 - best.left_bits + best.dict_bits) + exceptions * 4 + 2;
  }
  return bytes;
}

uint64_t group_bytes(std::span<const double> group) {
  const auto vector_at = [&](size_t first) { return group.subspan(first, std::min(kVector, group.size() - first)); };
  std::map<uint32_t, uint32_t> wins;
  std::vector<double> all_samples;
  uint64_t least = ~uint64_t{0};
  for (size_t first = 0; first < group.size(); first += kVector * kSampledEvery) {
    const std::vector<double> samples = sample(vector_at(first));
    all_samples.insert(all_samples.end(), samples.begin(), samples.end());
    uint64_t best = ~uint64_t{0};
    uint32_t winner = 0;
    for (Pair pair = galp::first_pair(64); galp::is_pair(pair); pair = galp::next_pair(pair, 64)) {
      const Count now = count(samples, pair);
      if (now.held < 2 || now.bits() >= best) continue;
      best = now.bits();
      winner = galp::pair_number(pair);
    }
    if (best == ~uint64_t{0}) continue;
    ++wins[winner];
    least = std::min(least, best);
  }
  if (least >= kRdFromBits * kSamples) return rd_bytes(group, all_samples);

  std::vector<std::pair<uint32_t, uint32_t>> pairs;  // frequency and number
  for (const auto& [number, times] : wins) pairs.emplace_back(times, number);
  std::sort(pairs.rbegin(), pairs.rend());
  pairs.resize(std::min(pairs.size(), kMostPairs));
  uint64_t bytes = 0;
  for (size_t first = 0; first < group.size(); first += kVector) {
    const auto vector = vector_at(first);
    uint32_t taken = pairs[0].second;
    if (pairs.size() > 1) {
      const std::vector<double> samples = sample(vector);
      uint64_t best = ~uint64_t{0};
      size_t worse = 0;
      for (const auto& pair : pairs) {
        const uint64_t bits = count(samples, galp::pair_of(pair.second)).bits();
        if (bits < best) {
          best = bits;
          taken = pair.second;
          worse = 0;
        } else if (++worse == kPatience) {
          break;
        }
      }
    }
    const Count whole = count(vector, galp::pair_of(taken));
    bytes += 128 * whole.width() + whole.exceptions * kExceptionBits / 8 + kVectorBytes;
  }
  return bytes;
}

}  // namespace

uint64_t alp_bytes(std::span<const double> values) {
  uint64_t bytes = 0;
  for (size_t first = 0; first < values.size(); first += kVector * kGroupVectors) {
    bytes += group_bytes(values.subspan(first, std::min(kVector * kGroupVectors, values.size() - first)));
  }
  return bytes;
}

}  // namespace basalt::bench
