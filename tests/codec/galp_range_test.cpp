// Questions about floats that galp answers with integers, against the values themselves: every pair, every kind of
// float, products that wrap.
#include <gtest/gtest.h>

#include "codec/galp/layout.h"
#include "codec/galp/range.h"
#include "codec/galp_values.h"
#include "codec/packed/layout.h"
#include "codec/reads.h"

namespace basalt {
namespace {

using testing::any_integers;
using testing::decimals;
using testing::decoded;
using testing::encoded;
using testing::special_values;
using testing::view;

template <typename T>
void expect_ranges(Reader& reader, const std::vector<T>& values, std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  std::vector<int128_t> ends = {float_key(T{0}),
                                float_key(-T{0}),
                                float_key(Limits::infinity()),
                                float_key(-Limits::infinity()),
                                float_key(Limits::quiet_NaN()),
                                int128_t{kNanKey} + 1,
                                -(int128_t{1} << 121)};
  for (int i = 0; i < 10; ++i) {
    ends.push_back(float_key(values[random() % values.size()]) + static_cast<int128_t>(random() % 3) - 1);
  }
  for (int round = 0; round < 12; ++round) {
    const int128_t low = ends[random() % ends.size()];
    const int128_t high = round % 4 == 0 ? low : ends[random() % ends.size()];
    for (uint32_t tile = 0; tile < tile_count(values.size()); ++tile) {
      uint8_t out[kTileRows];
      ASSERT_NE(reader.filter_range(tile, low, high, out), Answered::kNot);
      for (uint32_t i = 0; i < rows_in_tile(values.size(), tile); ++i) {
        const int64_t key = float_key(values[size_t{tile} * kTileRows + i]);
        ASSERT_EQ(out[i] != 0, key >= low && key <= high) << "row " << i << " of tile " << tile;
      }
    }
  }
}

template <typename T>
void expect_ranges_of_every_pair() {
  using Int = galp::IntOf<T>;
  std::mt19937_64 random(23);
  for (uint32_t pair = 0; pair < galp::pairs_of(sizeof(T) * 8); ++pair) {
    for (const char* child : {"packed", "plain", "l3"}) {
      // Tiles of small integers, of those near the last that does not wrap, and of any.
      const int64_t most = galp::largest_integer(galp::Scale<T>::of(galp::pair_of(pair)));
      std::vector<Int> integers(3 * kTileRows - 100);
      for (size_t i = 0; i < integers.size(); ++i) {
        const auto small = static_cast<Int>(random() % 2000);
        const uint64_t end =
            random() % 2 == 0 ? static_cast<uint64_t>(most) : uint64_t{0} - static_cast<uint64_t>(most);
        integers[i] = i < 1024   ? static_cast<Int>(std::min<int64_t>(small, most) * (i % 2 == 0 ? 1 : -1))
                      : i < 2048 ? static_cast<Int>(end + (i == 1100 && pair > 5 ? 1 : 0))
                                 : static_cast<Int>(random() >> random() % 60);
      }
      const Node node = any_integers<T>(pair, integers, child);
      ASSERT_NO_THROW(validate_tree(view_of(node)));
      const auto reader = open_reader(view_of(node));
      const std::vector<T> values = decoded<T>(pair, integers);
      testing::expect_reads(view(values), *reader);
      expect_ranges(*reader, values, random);
    }
  }
}

TEST(GalpRanges, EveryPair) {
  expect_ranges_of_every_pair<double>();
  expect_ranges_of_every_pair<float>();
}

// Packed in every width that matters, next to every integer from which a conversion is another one.
template <typename T>
void expect_ranges_of_wide_tiles() {
  std::mt19937_64 random(27);
  const auto tiles = testing::wide_tiles<T>();
  const std::vector<galp::IntOf<T>> integers = testing::integers_of(tiles);
  for (const uint32_t pair : testing::pairs_of_wide_tiles<T>()) {
    const std::vector<T> values = decoded<T>(pair, integers);
    for (const char* child : {"packed", "plain", "delta", "l3"}) {
      SCOPED_TRACE("pair " + std::to_string(pair) + " over " + child);
      const Node node = any_integers<T>(pair, integers, child);
      ASSERT_NO_THROW(validate_tree(view_of(node)));
      const auto reader = open_reader(view_of(node));
      testing::expect_reads(view(values), *reader);
      expect_ranges(*reader, values, random);
      EXPECT_FALSE(reader->corrupt());
      if (std::string_view(child) != "packed") continue;
      const auto* descriptors = node.children[galp::kIntegers].streams[packed::kDescriptors].as<uint32_t>();
      for (size_t tile = 0; tile < tiles.size(); ++tile) {
        EXPECT_EQ(packed::descriptor_width(descriptors[tile]), tiles[tile].width);
      }
    }
  }
}

TEST(GalpRanges, IntegersOfEveryWidthAroundTheLimits) {
  expect_ranges_of_wide_tiles<double>();
  expect_ranges_of_wide_tiles<float>();
}

template <typename T>
void expect_ranges_of_special_values() {
  std::mt19937_64 random(29);
  const std::vector<T> special = special_values<T>();
  for (const uint32_t share : {1u, 3u, 200u}) {
    std::vector<T> values = decimals<T>(3000, 3000, 100, share);
    for (T& value : values) {
      if (random() % share == 0) value = special[random() % special.size()];
    }
    for (const char* tree : {"galp", "galp(delta)", "galp(l3)", "galp(plain)", "galp(rle)"}) {
      const Node node = encoded(view(values), tree);
      const auto reader = open_reader(view_of(node));
      for (int i = 0; i < 5; ++i) expect_ranges(*reader, values, random);
    }
  }
}

TEST(GalpRanges, SpecialValues) {
  expect_ranges_of_special_values<double>();
  expect_ranges_of_special_values<float>();
}

// A range beyond a tile's values needs none of its rows, one inside compares integers.
TEST(GalpRanges, IntegersAnswer) {
  std::vector<double> values(20 * kTileRows);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i / kTileRows * 1000 + i * 7919 % 1000) / 100;
  }
  const Node node = encoded(view(values));
  const auto reader = open_reader(view_of(node));
  uint8_t out[kTileRows];
  uint32_t by_bounds = 0;
  for (uint32_t tile = 0; tile < 20; ++tile) {
    by_bounds += reader->filter_range(tile, float_key(0.0), float_key(55.5), out) == Answered::kByBounds ? 1 : 0;
    ASSERT_TRUE(reader->bounds(tile));
    EXPECT_LE(reader->bounds(tile)->low, float_key(tile * 10.0));
    EXPECT_GE(reader->bounds(tile)->high, float_key(tile * 10.0 + 9.99));
  }
  EXPECT_GE(by_bounds, 18u);
}

}  // namespace
}  // namespace basalt
