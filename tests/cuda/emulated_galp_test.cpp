// The tile reader of galp on the CPU lane by lane, bit for bit against the values that were encoded: every scheme, both
// types, integers of many readers, any number of exceptions.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "codec/galp/exceptions.h"
#include "codec/galp_values.h"
#include "cuda/query/sample_pipelines.h"
#include "exec/tables.h"
//
#include "cuda/emulated_reads.h"
//
#include "codec/constant/gpu/kernels.cuh"
#include "codec/delta/gpu/kernels.cuh"
#include "codec/dict/gpu/kernels.cuh"
#include "codec/galp/gpu/kernels.cuh"
#include "codec/l3/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"
#include "codec/rle/gpu/kernels.cuh"
//
#include "cuda/edge_widths.h"

namespace basalt::test {
namespace {

using device::Delta;
using device::Dict;
using device::Galp;
using device::L3;
using device::Packed;
using device::Plain;
using device::Rle;
using device::Widths;

template <typename T>
using BitsOf = galp::BitsOf<T>;
using Some = Widths<0, 7, 8, 12, 16, 33>;

template <typename T>
std::vector<BitsOf<T>> bits_of(const std::vector<T>& values) {
  std::vector<BitsOf<T>> bits;
  for (const T value : values) bits.push_back(std::bit_cast<BitsOf<T>>(value));
  return bits;
}

template <typename T, typename Integers>
void expect_values(const std::vector<T>& values, const std::string& tree, const std::string& place) {
  const Node node = testing::encoded(testing::view(values), tree);
  validate_tree(view_of(node));
  expect_reads<Galp<BitsOf<T>, Integers>>(view_of(node), bits_of(values), tree + ", " + place);
}

// Decimals of a few digits, in pieces with a step between, so that runs, deltas and dictionaries have something to do.
template <typename T>
std::vector<T> stepped(size_t rows, int64_t range, uint64_t seed) {
  std::vector<T> values = testing::decimals<T>(rows, range, 100, seed);
  for (size_t i = 1; i < rows; ++i) {
    if (i / 700 % 2 == 1 && i % 5 != 0) values[i] = values[i - 1];
  }
  return values;
}

template <typename T, typename Integers>
void check_children(const std::string& child) {
  const std::vector<T> special = testing::special_values<T>();
  std::mt19937_64 random(31);
  for (const size_t rows : {size_t{1}, size_t{1023}, size_t{1024}, size_t{4500}}) {
    for (const int64_t range : {int64_t{0}, int64_t{60}, int64_t{30'000}, int64_t{4'000'000}}) {
      for (const uint32_t share : {0u, 500u, 30u}) {
        std::vector<T> values = stepped<T>(rows, range, rows + share);
        for (T& value : values) {
          if (share != 0 && random() % share == 0) value = special[random() % special.size()];
        }
        expect_values<T, Integers>(values, "galp(" + child + ")",
                                   std::to_string(rows) + " rows, range " + std::to_string(range) + ", 1 of " +
                                       std::to_string(share) + " special");
      }
    }
  }
}

TEST(EmulatedGalp, IntegersOfAnyReader) {
  check_children<double, Packed<uint64_t>>("packed");
  check_children<double, Packed<uint64_t, Some>>("packed");
  check_children<double, Packed<uint64_t, EdgeWidths>>("packed");
  check_children<double, Plain<uint64_t>>("plain");
  check_children<double, L3<uint64_t>>("l3");
  check_children<double, Delta<uint64_t, Packed<uint64_t>>>("delta(packed)");
  check_children<double, Rle<uint64_t, Packed<uint64_t>, Packed<uint32_t>>>("rle(packed, packed)");
  check_children<double, Dict<uint64_t, Packed<uint32_t>, Packed<uint64_t>>>("dict(packed, packed)");
  check_children<float, Packed<uint32_t>>("packed");
  check_children<float, Packed<uint32_t, Some>>("packed");
  check_children<float, L3<uint32_t>>("l3");
  check_children<float, Delta<uint32_t, Packed<uint32_t, Some>>>("delta(packed)");
  check_children<float, Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>>("rle(packed, packed)");
  check_children<float, Dict<uint32_t, Packed<uint32_t>, Plain<uint32_t>>>("dict(packed, plain)");
}

// Exactly so many in every tile, in random rows; values of any width, and of none.
template <typename T>
void check_counts() {
  std::mt19937_64 random(37);
  const std::vector<T> special = testing::special_values<T>();
  for (const uint32_t count : {0u, 1u, 3u, 31u, 63u, 64u, 65u, 300u}) {
    for (const bool alike : {false, true}) {
      constexpr size_t kRows = 3 * kTileRows;
      std::vector<T> values = testing::decimals<T>(kRows, 4000, 100, count);
      for (size_t tile = 0; tile < 3; ++tile) {
        std::vector<uint32_t> rows(kTileRows);
        for (uint32_t i = 0; i < kTileRows; ++i) rows[i] = i;
        std::shuffle(rows.begin(), rows.end(), random);
        // −0.0, infinities and NaNs are exceptions of every pair.
        for (uint32_t i = 0; i < count; ++i) values[tile * kTileRows + rows[i]] = special[alike ? 1 : 1 + random() % 7];
      }
      const Node node = testing::encoded(testing::view(values), "galp(packed)");
      // The encoder may make more, where fewer bits pay for them.
      for (const uint32_t found : galp::exception_counts(view_of(node))) EXPECT_GE(found, count <= 65 ? count : 0);
      const std::string place = std::to_string(count) + " exceptions";
      expect_values<T, Packed<BitsOf<T>>>(values, "galp(packed)", place);
      expect_values<T, Packed<BitsOf<T>, EdgeWidths>>(values, "galp(packed)", place);
    }
  }
}

TEST(EmulatedGalp, AnyNumberOfExceptions) {
  check_counts<double>();
  check_counts<float>();
}

// Built by hand, so that nothing but exceptions may be in a tile: all of one lane, all of a row, all rows.
template <typename T>
void check_positions() {
  std::mt19937_64 random(41);
  const T filler = galp::decode<T>(12345, galp::Scale<T>::of({5, 2}));
  std::vector<uint32_t> order(kTileRows);
  for (uint32_t row = 0; row < kTileRows; ++row) order[row] = row;
  constexpr uint32_t kCounts[] = {1, 3, 31, 32, 33, 63, 64, 65, 500, kTileRows};
  for (size_t round = 0; round < 60; ++round) {
    // By lanes, by rows, at random.
    if (round % 3 == 0) std::ranges::sort(order, {}, [](uint32_t row) { return std::pair(row % kLanes, row); });
    if (round % 3 == 1) std::ranges::sort(order, std::greater<>());
    if (round % 3 == 2) std::ranges::shuffle(order, random);
    galp::LaneRows rows;
    rows.count = kCounts[round % std::size(kCounts)];
    for (uint32_t i = 0; i < rows.count; ++i) rows.rows[order[i] % kLanes] |= 1u << order[i] / kLanes;
    std::vector<BitsOf<T>> values(kTileRows, std::bit_cast<BitsOf<T>>(filler));
    const uint32_t shift = random() % (sizeof(T) * 8);
    for (uint32_t row = 0; row < kTileRows; ++row) {
      if ((rows.rows[row % kLanes] >> row / kLanes & 1) != 0) values[row] = static_cast<BitsOf<T>>(random()) >> shift;
    }
    const Node node = testing::patched<T>({5, 2}, std::vector<galp::IntOf<T>>(kTileRows, 12345), {rows}, values);
    validate_tree(view_of(node));
    expect_reads<Galp<BitsOf<T>, Packed<BitsOf<T>>>>(view_of(node), values, "round " + std::to_string(round));
  }
}

TEST(EmulatedGalp, ExceptionsInAnyRows) {
  check_positions<double>();
  check_positions<float>();
}

// Packed in every width that matters, next to every integer from which a conversion is another one.
template <typename T>
void check_wide_tiles() {
  const std::vector<galp::IntOf<T>> integers = testing::integers_of(testing::wide_tiles<T>());
  for (const uint32_t pair : testing::pairs_of_wide_tiles<T>()) {
    const Node node = testing::any_integers<T>(pair, integers);
    const std::vector<BitsOf<T>> values = bits_of(testing::decoded<T>(pair, integers));
    const std::string place = "pair " + std::to_string(pair);
    expect_reads<Galp<BitsOf<T>, Packed<BitsOf<T>>>>(view_of(node), values, place);
    expect_reads<Galp<BitsOf<T>, Packed<BitsOf<T>, EdgeWidths>>>(view_of(node), values, place);
    expect_reads<Galp<BitsOf<T>, Packed<BitsOf<T>, device::WidthsUpTo<13>>>>(view_of(node), values, place);
  }
}

TEST(EmulatedGalp, IntegersOfEveryWidthAroundTheLimits) {
  check_wide_tiles<double>();
  check_wide_tiles<float>();
}

// Patterns with few upper parts become RD, noise becomes RAW.
template <typename T>
void check_patterns() {
  std::mt19937_64 random(43);
  std::vector<T> values;
  for (size_t i = 0; i < 300 * kTileRows - 77; ++i) {
    // Most tiles are decimals: a test of thousands of tiles needs other pieces of them only here and there.
    const size_t tile = i / kTileRows;
    if (tile % 40 < 36) {
      values.push_back(static_cast<T>(static_cast<double>(random() % 100) / 10));
    } else if (tile % 40 < 38) {
      const auto fraction = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53);
      values.push_back(random() % 50 == 0 ? -fraction : T{1} + fraction);
    } else {
      values.push_back(std::bit_cast<T>(static_cast<BitsOf<T>>(random())));
    }
  }
  const Node node = testing::encoded(testing::view(values), "galp(packed)");
  uint32_t rd = 0;
  uint32_t raw = 0;
  const NodeView node_view = view_of(node);
  for (const std::byte scheme : node_view.streams[galp::kSchemes]) {
    rd += std::to_integer<uint32_t>(scheme) == galp::kRd ? 1 : 0;
    raw += std::to_integer<uint32_t>(scheme) == galp::kRaw ? 1 : 0;
  }
  EXPECT_GT(rd, 0u);
  EXPECT_GT(raw, 0u);
  expect_values<T, Packed<BitsOf<T>, Some>>(values, "galp(packed)", "patterns");
}

TEST(EmulatedGalp, BitPatterns) {
  check_patterns<double>();
  check_patterns<float>();
}

// More words of exceptions than 16 bits can point at.
TEST(EmulatedGalp, LongStarts) {
  std::vector<double> values = testing::decimals<double>(400 * kTileRows + 5, 5000, 100, 3);
  std::mt19937_64 random(47);
  for (double& value : values) {
    if (random() % 8 == 0) value = std::bit_cast<double>(random() | galp::Arithmetic<double>::kInfinity);
  }
  const Node node = testing::encoded(testing::view(values), "galp(packed)");
  ASSERT_GT(node.streams[galp::kExceptions].size() / sizeof(uint32_t), size_t{galp::kMaxShortStarts});
  expect_values<double, Packed<uint64_t>>(values, "galp(packed)", "long starts");
}

TEST(EmulatedGalp, TheHostKnowsItsScratch) {
  const auto scratch = [](const char* tree, Physical type) { return samples::reader_of(tree, type).scratch_bytes; };
  EXPECT_EQ(scratch("galp(packed)", Physical::kF64), (Galp<uint64_t, Packed<uint64_t>>::kScratchBytes));
  EXPECT_EQ(scratch("galp(delta(packed))", Physical::kF64),
            (Galp<uint64_t, Delta<uint64_t, Packed<uint64_t>>>::kScratchBytes));
  EXPECT_EQ(scratch("galp(l3)", Physical::kF32), (Galp<uint32_t, L3<uint32_t>>::kScratchBytes));
}

// Galp below runs, which stage its rows.
TEST(EmulatedGalp, AsAChild) {
  std::vector<double> values = stepped<double>(4500, 500, 9);
  values[17] = -0.0;
  values[4000] = std::bit_cast<double>(~uint64_t{0});
  const auto check = [&]<typename Reader>(Reader, const std::string& tree) {
    expect_reads<Reader>(view_of(testing::encoded(testing::view(values), tree)), bits_of(values), tree);
  };
  using Decimals = Galp<uint64_t, Packed<uint64_t>>;
  check(Rle<uint64_t, Decimals, Packed<uint32_t>>{}, "rle(galp(packed), packed)");
  check(Rle<uint64_t, Decimals, Delta<uint32_t, Packed<uint32_t>>>{}, "rle(galp(packed), delta(packed))");
  check(Rle<uint64_t, Galp<uint64_t, L3<uint64_t>>, Delta<uint32_t, L3<uint32_t>>>{}, "rle(galp(l3), delta(l3))");
}

// What validate() cannot see, and what a reader must survive if nobody called it: flips in blocks and dictionaries.
TEST(EmulatedGalp, DamageIsReportedOrHarmless) {
  std::mt19937_64 random(53);
  using Reader = Galp<uint64_t, Packed<uint64_t>>;
  uint32_t reported = 0;
  for (int round = 0; round < 400; ++round) {
    const std::vector<double> values = testing::decimals_with_exceptions(round, random);
    Node node = testing::encoded(testing::view(values), "galp(packed)");
    Buffer& stream = node.streams[static_cast<size_t>(round) % 3 == 0 ? galp::kExceptionStarts : galp::kExceptions];
    ASSERT_FALSE(stream.empty());
    const size_t most = static_cast<size_t>(round) % 3 == 1 ? std::min<size_t>(stream.size(), 24) : stream.size();
    stream.data()[random() % most] ^= static_cast<std::byte>(1u << random() % 8);
    const NodeView view = view_of(node);
    bool valid = true;
    try {
      validate_tree(view);
    } catch (const Error&) {
      valid = false;
    }
    std::vector<uint64_t> out(values.size());
    uint32_t bad = 0;
    const std::vector<uint64_t> descriptor = descriptor_of(view);
    EmulatedWarp::run([&] { device::decode_array<Reader>(descriptor.data(), out.data(), &bad); });
    if (valid) {
      EXPECT_EQ(bad, 0u) << round;
    }
    reported += bad;
  }
  EXPECT_GT(reported, 20u);
}

TEST(EmulatedGalp, IndicesBeyondTheDictionaryAreReported) {
  std::vector<double> values;
  std::mt19937_64 random(59);
  for (size_t i = 0; i < 2 * kTileRows - 3; ++i) {
    const double fraction = static_cast<double>(random() >> 12) * 0x1p-52;
    values.push_back(random() % 2 == 0 ? -1 - fraction : 1 + fraction);
  }
  Node node = testing::encoded(testing::view(values), "galp(packed)");
  ASSERT_EQ(std::to_integer<uint32_t>(view_of(node).streams[galp::kSchemes][0]), galp::kRd);
  auto* dictionary = reinterpret_cast<galp::Dictionary*>(node.streams[galp::kDictionaries].data());
  ASSERT_EQ(dictionary->size, 2);
  dictionary->size = 1;
  std::vector<uint64_t> out(values.size());
  uint32_t bad = 0;
  const std::vector<uint64_t> descriptor = descriptor_of(view_of(node));
  EmulatedWarp::run(
      [&] { device::decode_array<Galp<uint64_t, Packed<uint64_t>>>(descriptor.data(), out.data(), &bad); });
  EXPECT_EQ(bad, 1u);
}

}  // namespace
}  // namespace basalt::test
