// Count and sum of floats between two literals as generated kernels do it over galp tiles, run on the CPU lane by lane,
// against the order of additions that exec/aggregate.h promises, bit for bit: decimals of any width and sign, few and
// many exceptions, bit patterns, a last tile that is not full. The CPU's reader is asked, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "codec/galp_values.h"
#include "codec/packed/layout.h"
#include "core/float_key.h"
#include "cuda/device_arrays.h"
#include "exec/random_expr.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/galp/gpu/filter_sum.cuh"
#include "exec/device/aggregate.cuh"
#include "exec/device/filter_sum.cuh"

namespace basalt::test {
namespace {

template <typename Float>
Float combined(std::array<Float, kLanes> lanes) {
  for (uint32_t distance = kLanes / 2; distance > 0; distance /= 2) {
    const std::array<Float, kLanes> before = lanes;
    for (uint32_t lane = 0; lane < kLanes; ++lane) lanes[lane] = before[lane] + before[lane ^ distance];
  }
  return lanes[0];
}

// A tile that is added as it is stored: its sum, and whether its bounds say that all or none of its rows pass.
struct StoredTile {
  double sum;
  bool by_bounds;
};

// nullopt: it is not. What is an exception is found by encoding again.
template <typename Float>
std::optional<StoredTile> stored_tile(const Node& node, const std::vector<Float>& values, uint32_t tile, int64_t first,
                                      int64_t last) {
  using Int = galp::IntOf<Float>;
  const auto scheme = static_cast<uint32_t>(node.streams[galp::kSchemes].data()[tile]);
  if (scheme >= galp::kRd || (tile + 1) * size_t{kTileRows} > values.size()) return std::nullopt;
  const auto scale = galp::Scale<Float>::of(galp::pair_of(scheme));
  const Node& integers = node.children[galp::kIntegers];
  const int64_t low = reinterpret_cast<const Int*>(integers.streams[packed::kReferences].data())[tile];
  const uint32_t width =
      packed::descriptor_width(reinterpret_cast<const uint32_t*>(integers.streams[packed::kDescriptors].data())[tile]);
  const bool is_double = sizeof(Float) == 8;
  const auto most = static_cast<int128_t>(std::min<double>(scale.limit, is_double ? 0x1p52 : 0x1p23));
  if (low < -most || low + static_cast<int128_t>(low_bits(width)) > most) return std::nullopt;
  if (!is_double && width > 23) return std::nullopt;
  const galp::Pair pair = galp::pair_of(scheme);
  const auto digit = static_cast<float>(std::pow(10.0, static_cast<double>(pair.f) - static_cast<double>(pair.e)));
  std::array<float, kLanes> remainders{};
  int128_t sum = 0;
  double others = 0;
  uint32_t exceptions = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const Float value = values[size_t{tile} * kTileRows + k * kLanes + lane];
      const galp::Scaled<Float> scaled = galp::encode(value, scale);
      if (scaled.exception != 0) ++exceptions;
      const int64_t key = float_key(value);
      if (key < first || key > last) continue;
      if (scaled.exception != 0) {
        others += static_cast<double>(value);
      } else {
        sum += static_cast<int128_t>(scaled.d);
        remainders[lane] += std::fma(-static_cast<float>(scaled.d), digit, static_cast<float>(value));
      }
    }
  }
  if (exceptions > galp::kMaxListed) return std::nullopt;
  const int64_t least = float_key(galp::decode<Float>(static_cast<Int>(low), scale));
  const int64_t largest =
      float_key(galp::decode<Float>(static_cast<Int>(low + static_cast<int64_t>(low_bits(width))), scale));
  const bool all = least >= first && largest <= last;
  const bool none = least > last || largest < first || first > last;
  const auto whole = static_cast<double>(static_cast<int64_t>(sum));
  const double decimals = is_double ? whole * static_cast<double>(scale.times) * static_cast<double>(scale.back)
                                    : whole * static_cast<double>(digit) + static_cast<double>(combined(remainders));
  return StoredTile{decimals + others, exceptions == 0 && (all || none)};
}

template <typename Float>
double tile_sum(const std::vector<Float>& values, size_t begin, int64_t first, int64_t last, uint64_t& count) {
  std::array<double, kLanes> lanes{};
  for (size_t row = begin; row < std::min(begin + kTileRows, values.size()); ++row) {
    const int64_t key = float_key(values[row]);
    if (key < first || key > last) continue;
    lanes[row % kLanes] += static_cast<double>(values[row]);
    ++count;
  }
  return combined(lanes);
}

// What the CPU makes of a tile's rows with keys from first to last.
template <typename Float>
std::optional<double> sum_on_cpu(const Node& node, const std::vector<Float>& values, uint32_t tile, int64_t first,
                                 int64_t last) {
  std::array<uint8_t, kTileRows> live{};
  for (size_t i = 0; i < kTileRows && tile * size_t{kTileRows} + i < values.size(); ++i) {
    const int64_t key = float_key(values[tile * size_t{kTileRows} + i]);
    live[i] = key >= first && key <= last ? 1 : 0;
  }
  return open_reader(view_of(node))->filter_sum(tile, live.data());
}

template <typename Float>
using Chunks = std::vector<std::vector<Float>>;

template <typename Float>
Node encoded_decimals(const std::vector<Float>& values) {
  return encoded(values, "galp(packed)", sizeof(Float) == 8 ? Physical::kF64 : Physical::kF32);
}

// What one warp makes of the tiles of several chunks, one after the other.
struct WarpFilterSum {
  std::vector<uint32_t> items;  // of work
  std::vector<double> sums;     // of tiles
  uint64_t count = 0;
  uint64_t bad = 0;
  uint32_t by_bounds = 0;
};

template <typename Float, typename Widths>
WarpFilterSum emulated_filter_sum(const std::vector<Node>& nodes, int64_t first, int64_t last) {
  using T = galp::BitsOf<Float>;
  using Reader = device::GalpFilterSum<T, device::Packed<T, Widths>>;
  constexpr uint32_t kSlotWords = 12;
  using Column = device::FloatFilterSum<1, kSlotWords, Reader>;
  WarpFilterSum out;
  std::vector<uint64_t> slots(kSlotWords * nodes.size(), 0);
  for (uint32_t slot = 0; slot < nodes.size(); ++slot) {
    const std::vector<uint64_t> descriptor = descriptor_of(view_of(nodes[slot]));
    EXPECT_LE(descriptor.size() + 2, kSlotWords);
    slots[kSlotWords * slot] = nodes[slot].count;
    std::copy(descriptor.begin(), descriptor.end(), slots.begin() + kSlotWords * slot + 2);
    for (uint32_t tile = 0; tile < tile_count(nodes[slot].count); ++tile) {
      out.items.push_back(device::make_work(slot, tile, false));
    }
  }
  const auto tiles = static_cast<uint32_t>(out.items.size());
  out.sums.assign(tiles, -1);
  device::Parameters parameters{};
  parameters.work_count = tiles;
  parameters.tile_sums = out.sums.data();
  alignas(16) static unsigned char scratch[Column::kScratchBytes];
  device::TileTally tally;
  EmulatedWarp::run([&] {
    tally.begin();
    Column filter_sum(scratch, first, last);
    for (device::Work work(out.items.data(), tiles); work.more(); work.next()) {
      const device::FloatTileSum tile = filter_sum.of(work, slots.data(), tally, first, last);
      device::store_tile_sum(parameters, 0, work.index(), tile.sum);
      out.count += tile.count;
      out.bad += tile.bad;
    }
  });
  out.by_bounds = tally.of(device::kByBounds);
  return out;
}

template <typename Float, typename Widths>
void expect_filter_sum(const Chunks<Float>& chunks, Float low, Float high, const std::string& place) {
  std::vector<Node> nodes;
  for (const std::vector<Float>& chunk : chunks) nodes.push_back(encoded_decimals(chunk));
  const int64_t first = float_key(low);
  const int64_t last = float_key(high);
  const WarpFilterSum got = emulated_filter_sum<Float, Widths>(nodes, first, last);
  uint64_t expected_count = 0;
  uint32_t by_bounds = 0;
  for (uint32_t i = 0; i < got.items.size(); ++i) {
    const uint32_t tile = device::work_tile(got.items[i]);
    const std::vector<Float>& values = chunks[device::work_slot(got.items[i])];
    double expected = tile_sum(values, size_t{tile} * kTileRows, first, last, expected_count);
    const Node& node = nodes[device::work_slot(got.items[i])];
    const std::optional<StoredTile> stored = stored_tile(node, values, tile, first, last);
    const std::optional<double> on_cpu = sum_on_cpu(node, values, tile, first, last);
    ASSERT_EQ(stored.has_value(), on_cpu.has_value()) << place << ", tile " << i;
    if (stored) {
      ASSERT_EQ(std::isnan(stored->sum), std::isnan(*on_cpu)) << place << ", tile " << i;
      ASSERT_TRUE(std::isnan(stored->sum) || galp::bits_of(stored->sum) == galp::bits_of(*on_cpu))
          << place << ", tile " << i;
      ASSERT_TRUE(std::isnan(expected) || std::isinf(expected) ||
                  std::abs(expected - stored->sum) <= 1e-12 * (1 + std::abs(expected)) * kTileRows)
          << place << ", tile " << i;
      expected = stored->sum;
      by_bounds += stored->by_bounds ? 1 : 0;
    }
    ASSERT_EQ(std::isnan(expected), std::isnan(got.sums[i])) << place << ", tile " << i;
    if (!std::isnan(expected)) {
      ASSERT_EQ(galp::bits_of(expected), galp::bits_of(got.sums[i])) << place << ", tile " << i;
    }
  }
  ASSERT_EQ(got.bad, 0u) << place;
  ASSERT_EQ(got.count, expected_count) << place;
  ASSERT_EQ(got.by_bounds, by_bounds) << place;
}

template <typename Float>
void expect_filter_sum(const Chunks<Float>& chunks, Float low, Float high, const std::string& place) {
  expect_filter_sum<Float, device::AllWidths>(chunks, low, high, place);
  expect_filter_sum<Float, device::Widths<>>(chunks, low, high, place + ", any width");
}

// Ranges with both ends, without rows, with all rows that are no NaN, and with all rows.
template <typename Float>
void expect_ranges(const Chunks<Float>& chunks, Random& random, const std::string& place) {
  const auto some = [&] {
    const std::vector<Float>& chunk = chunks[random() % chunks.size()];
    const Float value = chunk[random() % chunk.size()];
    return std::isnan(value) ? Float{0} : value;
  };
  const Float a = some();
  const Float b = some();
  constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
  expect_filter_sum<Float>(chunks, std::min(a, b), std::max(a, b), place);
  expect_filter_sum<Float>(chunks, std::max(a, b), std::min(a, b), place + ", nothing");
  expect_filter_sum<Float>(chunks, -kInfinity, kInfinity, place + ", numbers");
  expect_filter_sum<Float>(chunks, -kInfinity, std::numeric_limits<Float>::quiet_NaN(), place + ", everything");
}

template <typename Float>
void expect_decimals(Float digit, uint32_t widest) {
  Random random(41);
  for (const uint32_t width : {0u, 4u, 8u, 15u, 19u, 20u, 21u, 22u, 23u, 24u, 29u, 31u, 32u, 33u, 43u, 51u, 52u, 53u}) {
    if (width > widest) continue;
    for (const uint32_t every : {0u, 100u, 25u, 16u, 15u, 9u, 1u}) {  // which rows are no decimals
      for (const int64_t origin : {int64_t{0}, int64_t{-70}, int64_t{100'000}}) {
        std::vector<Float> values;
        for (uint32_t i = 0; i < 3 * kTileRows + 77; ++i) {
          const auto number = origin + static_cast<int64_t>(random() & low_bits(width));
          const auto decimal = static_cast<Float>(number) * digit;
          const auto other = static_cast<Float>(std::sin(static_cast<Float>(i)));
          values.push_back(every != 0 && i % every == every - 1 ? other : decimal);
        }
        if (every == 100) {
          constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
          values[150] = kInfinity;
          values[kTileRows + 5] = std::numeric_limits<Float>::quiet_NaN();
          values[kTileRows + 37] = -Float{0};
          values[2 * kTileRows] = -Float{0};
          values[2 * kTileRows + 9] = -kInfinity;
        }
        expect_ranges<Float>(
            {values}, random,
            std::to_string(width) + " bits, every " + std::to_string(every) + ", from " + std::to_string(origin));
      }
    }
  }
}

TEST(EmulatedFloatFilterSum, Doubles) { expect_decimals<double>(1e-3, 53); }
TEST(EmulatedFloatFilterSum, Floats) { expect_decimals<float>(1e-1f, 24); }

// Integers from -2^23 (-2^52) on, of one bit more than a float has for its fraction.
template <typename Float>
void expect_widest(Float lowest) {
  Random random(42);
  for (const Float from : {lowest, lowest + 1}) {
    std::vector<Float> values;
    for (uint32_t i = 0; i < 2 * kTileRows; ++i) {
      values.push_back(from + static_cast<Float>(random() % static_cast<uint64_t>(-2 * lowest - 1)));
    }
    values[3] = values[kTileRows + 4] = from;
    values[7] = values[kTileRows + 5] = -lowest - 1;
    expect_ranges<Float>({values}, random, "from " + std::to_string(from));
  }
}
TEST(EmulatedFloatFilterSum, WidestIntegers) {
  expect_widest<double>(-4503599627370496.0);
  expect_widest<float>(-8388608.0f);
}

// Numbers so large that their products with a power of ten, and sums of these, are no floats.
TEST(EmulatedFloatFilterSum, ProductsThatAreNotExact) {
  Random random(43);
  const auto scale = galp::Scale<double>::of({10, 8});
  std::vector<double> values;
  for (uint32_t i = 0; i < 2 * kTileRows; ++i) {
    const auto number = static_cast<int64_t>(60'000'000'001 + random() % 60'000);
    values.push_back(galp::decode<double>(number, scale));
  }
  const Node node = encoded_decimals(values);
  ASSERT_EQ(galp::pair_of(static_cast<uint32_t>(node.streams[galp::kSchemes].data()[0])).f, 8u);
  expect_ranges<double>({values}, random, "60,000,000,001");
}

// Every row but one at the top of its width: sums that come as near as can be to the marks, and to 32 bits.
template <typename Float>
void expect_largest(uint32_t widest) {
  for (uint32_t width = 1; width <= widest; ++width) {
    std::vector<Float> values(2 * kTileRows, static_cast<Float>(low_bits(width)));
    values[5] = values[kTileRows + 1023] = 0;
    values[kTileRows + 40] = static_cast<Float>(0.3);
    const auto top = static_cast<Float>(low_bits(width));
    expect_filter_sum<Float>({values}, -1, top, std::to_string(width) + " bits, all");
    expect_filter_sum<Float>({values}, 1, top, std::to_string(width) + " bits, but one");
  }
}
TEST(EmulatedFloatFilterSum, LargestSums) {
  expect_largest<double>(25);
  expect_largest<float>(23);
}

// Tiles of which no integer passes, but exceptions do, a NaN alone among them.
template <typename Float>
void expect_exceptions_only() {
  std::vector<Float> values;
  for (uint32_t i = 0; i < 2 * kTileRows; ++i) {
    values.push_back(i % 77 == 5 ? static_cast<Float>(std::sin(static_cast<Float>(i))) : Float(100 + i % 50));
  }
  values[kTileRows + 9] = std::numeric_limits<Float>::quiet_NaN();
  expect_filter_sum<Float>({values}, -1, 1, "exceptions only");
  expect_filter_sum<Float>({values}, 1000, std::numeric_limits<Float>::quiet_NaN(), "NaN only");
}
TEST(EmulatedFloatFilterSum, ExceptionsOnly) {
  expect_exceptions_only<double>();
  expect_exceptions_only<float>();
}

// Integers of every pair, up to the largest that are added as they are: as the CPU adds them, and as doubles within
// what aggregate.h promises.
template <typename Float>
void expect_every_pair() {
  using Int = galp::IntOf<Float>;
  Random random(45);
  for (uint32_t pair = 0; pair < galp::pairs_of(sizeof(Float) * 8); ++pair) {
    const auto scale = galp::Scale<Float>::of(galp::pair_of(pair));
    const auto largest = static_cast<int64_t>(std::min<double>(scale.limit, sizeof(Float) == 8 ? 0x1p52 : 0x1p23));
    const uint64_t span = low_bits(std::min<uint32_t>(20, std::bit_width(static_cast<uint64_t>(largest) + 1) - 1));
    const int64_t most = largest / 4;  // leaves room for the rest of their width
    std::vector<Int> integers;
    for (uint32_t i = 0; i < kTileRows; ++i) {
      const auto number = static_cast<int64_t>(random() % static_cast<uint64_t>(2 * most + 1)) - most;
      integers.push_back(static_cast<Int>(number >> random() % 12));
    }
    for (uint32_t i = 0; i < kTileRows; ++i) {
      const uint64_t below = i == 7 ? span : i == 8 ? 0 : random() & span;
      integers.push_back(static_cast<Int>(largest - static_cast<int64_t>(below)));
    }
    const std::vector<Float> values = testing::decoded<Float>(pair, integers);
    std::vector<Node> nodes;
    nodes.push_back(testing::any_integers<Float>(pair, integers));
    const int64_t first = float_key(values[3]);
    const int64_t last = kNanKey;
    const WarpFilterSum got = emulated_filter_sum<Float, device::AllWidths>(nodes, first, last);
    ASSERT_EQ(got.bad, 0u);
    for (uint32_t tile = 0; tile < 2; ++tile) {
      const std::optional<double> on_cpu = sum_on_cpu(nodes[0], values, tile, first, last);
      ASSERT_TRUE(on_cpu.has_value()) << "pair " << pair;
      ASSERT_EQ(galp::bits_of(*on_cpu), galp::bits_of(got.sums[tile])) << "pair " << pair << ", tile " << tile;
      uint64_t count = 0;
      double magnitudes = 0;
      for (uint32_t i = 0; i < kTileRows; ++i) {
        const Float value = values[tile * size_t{kTileRows} + i];
        if (float_key(value) >= first) magnitudes += std::abs(static_cast<double>(value));
      }
      ASSERT_NEAR(*on_cpu, tile_sum(values, tile * size_t{kTileRows}, first, last, count),
                  magnitudes * (sizeof(Float) == 8 ? 0x1p-45 : 0x1p-40))
          << "pair " << pair << ", tile " << tile;
    }
  }
}
TEST(EmulatedFloatFilterSum, EveryPair) {
  expect_every_pair<double>();
  expect_every_pair<float>();
}

// Exceptions that no writer makes: an end mark too many, in tiles of either type.
template <typename Float>
void expect_damage() {
  using T = galp::BitsOf<Float>;
  constexpr uint32_t kSlotWords = 12;
  using Column = device::FloatFilterSum<1, kSlotWords, device::GalpFilterSum<T, device::Packed<T, device::Widths<>>>>;
  std::vector<Float> values;
  for (uint32_t i = 0; i < kTileRows; ++i) {
    values.push_back(i % 90 == 11 ? static_cast<Float>(std::sin(static_cast<Float>(i))) : static_cast<Float>(i % 50));
  }
  for (const uint32_t change : {0u, galp::kLastOfLane}) {
    Node node = encoded_decimals(values);
    auto* words = reinterpret_cast<uint32_t*>(node.streams[galp::kExceptions].data());
    const bool has_base = galp::header_width(words[0]) < 8 * sizeof(T);
    words[2 + (has_base ? galp::base_words(8 * sizeof(T)) : 0)] ^= change;
    const std::vector<uint64_t> descriptor = descriptor_of(view_of(node));
    std::vector<uint64_t> slots(kSlotWords, 0);
    slots[0] = values.size();
    std::copy(descriptor.begin(), descriptor.end(), slots.begin() + 2);
    const uint32_t item = device::make_work(0, 0, false);
    alignas(16) static unsigned char scratch[Column::kScratchBytes];
    uint32_t bad = 0;
    device::TileTally tally;
    EmulatedWarp::run([&] {
      tally.begin();
      Column filter_sum(scratch, -kNanKey, kNanKey);
      for (device::Work work(&item, 1); work.more(); work.next()) {
        bad |= filter_sum.of(work, slots.data(), tally, -kNanKey, kNanKey).bad;
      }
    });
    EXPECT_EQ(bad != 0, change != 0) << sizeof(T);
  }
}
TEST(EmulatedFloatFilterSum, DamagedExceptions) {
  expect_damage<double>();
  expect_damage<float>();
}

// More tiles than are described at a time, over two chunks; some have exceptions.
TEST(EmulatedFloatFilterSum, ManyTilesOfTwoChunks) {
  Random random(44);
  Chunks<double> chunks(2);
  for (uint32_t i = 0; i < 70 * kTileRows; ++i) {
    const uint32_t tile = i / kTileRows;
    const bool may = tile % 32 == 0 || tile % 32 == 31 || tile == 41 || tile == 42;
    const double decimal = static_cast<double>(random() % 5000) * 1e-3;
    chunks[tile < 42 ? 0 : 1].push_back(may && i % 90 == 11 ? std::sin(i) : decimal);
  }
  expect_ranges<double>(chunks, random, "70 tiles");
}

}  // namespace
}  // namespace basalt::test
