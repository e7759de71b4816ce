// Tiles as runs of equal values: which readers have them, and how they become rows.
#include <gtest/gtest.h>

#include "basalt/encoding/tree.h"
#include "codec/arrays.h"
#include "codec/expand_runs.h"
#include "codec/reads.h"

namespace basalt {
namespace {

// Runs of any length from one row to the whole tile, in tiles of any length; nothing is written behind the last eight
// rows.
template <typename T>
void expect_expanded() {
  std::mt19937_64 random(8);
  for (const uint32_t longest : {1u, 2u, 3u, 8u, 15u, 16u, 17u, 100u, 2000u}) {
    for (const uint32_t rows : {1u, 2u, 7u, 8u, 9u, 255u, 1000u, 1016u, 1017u, 1023u, 1024u}) {
      std::vector<T> values;
      std::vector<uint32_t> ends;
      std::vector<T> expected;
      while (expected.size() < rows) {
        values.push_back(static_cast<T>(random() % 100));
        const uint64_t length = std::min<uint64_t>(rows - expected.size(), 1 + random() % longest);
        expected.insert(expected.end(), length, values.back());
        ends.push_back(static_cast<uint32_t>(expected.size()));
      }
      constexpr T kUntouched = 101;
      const uint32_t room = (rows + 7) / 8 * 8;
      std::vector<T> out(room + 8, kUntouched);
      expand_runs(values.data(), ends.data(), static_cast<uint32_t>(ends.size()), rows, out.data());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.begin())) << rows << " rows, up to " << longest;
      EXPECT_EQ(std::count(out.begin() + room, out.end(), kUntouched), 8) << rows << " rows, up to " << longest;
    }
  }
}

TEST(Runs, BecomeRows) {
  expect_expanded<uint8_t>();
  expect_expanded<uint16_t>();
  expect_expanded<uint32_t>();
  expect_expanded<uint64_t>();
  expect_expanded<uint128_t>();
  expect_expanded<double>();
}

// Runs of a tile that lie in two tiles of runs, runs that fill tiles, and a last tile that is not full.
TEST(Runs, RleHasThemInEveryTile) {
  std::vector<int64_t> values;
  for (int64_t run = 0; run < 2500; ++run) values.insert(values.end(), run == 1100 ? 5000 : 1 + run % 3, run);
  Values view;
  view.type = Physical::kI64;
  view.count = values.size();
  view.data = values.data();
  const Node node = encode_tree(view, bind_tree(parse_tree("rle(packed, delta)"), view.type));
  const auto reader = open_reader(view_of(node));
  for (uint32_t tile = 0; tile < tile_count(view.count); ++tile) {
    const int64_t* expected = values.data() + tile * kTileRows;
    const uint32_t rows = rows_in_tile(view.count, tile);
    uint32_t runs = 1;
    for (uint32_t i = 1; i < rows; ++i) runs += expected[i] != expected[i - 1] ? 1 : 0;
    EXPECT_EQ(testing::expect_runs(*reader, tile, rows, reinterpret_cast<const std::byte*>(expected)), runs) << tile;
  }
  EXPECT_FALSE(reader->corrupt());
}

// What galp turns into floats once per run instead of once per row.
TEST(Runs, ConstantTilesAreOneRun) {
  const auto array = testing::make_array(Physical::kI64, 3 * kTileRows, testing::Pattern::kConstant, 1);
  for (const char* tree : {"packed", "l3", "rle"}) {
    const Node node = encode_tree(array.values, bind_tree(parse_tree(tree), array.values.type));
    const auto reader = open_reader(view_of(node));
    for (uint32_t tile = 0; tile < 3; ++tile) {
      EXPECT_EQ(testing::expect_runs(*reader, tile, kTileRows, array.data.data()), 1u) << tree;
    }
  }
}

TEST(Runs, DictionariesHaveCodesInEveryTile) {
  const auto array = testing::make_array(Physical::kI64, 2500, testing::Pattern::kFewDistinct, 1);
  const Node node = encode_tree(array.values, bind_tree(parse_tree("dict"), array.values.type));
  const auto reader = open_reader(view_of(node));
  uint32_t codes[kTileRows];
  for (uint32_t tile = 0; tile < 3; ++tile) EXPECT_EQ(reader->decode_codes(tile, codes).count, 7u);
}

// Codes that are runs are looked up run by run, and one that has no entry is reported.
TEST(Runs, DictionariesHaveThoseOfTheirCodes) {
  std::vector<int64_t> numbers;
  for (int64_t run = 0; run < 60; ++run) numbers.insert(numbers.end(), 50, run * run % 7 * 1000 + run % 2);
  Values values;
  values.type = Physical::kI64;
  values.count = numbers.size();
  values.data = numbers.data();
  Node node = encode_tree(values, bind_tree(parse_tree("dict(rle(plain, packed), plain)"), Physical::kI64));
  auto reader = open_reader(view_of(node));
  for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) {
    const auto* expected = values.as<std::byte>() + size_t{tile} * kTileRows * sizeof(int64_t);
    const uint32_t runs = testing::expect_runs(*reader, tile, rows_in_tile(values.count, tile), expected);
    EXPECT_GT(runs, 0u);
    EXPECT_LT(runs, 23u);
  }
  testing::expect_reads(values, *reader);

  node.children[0].children[0].streams[0].as<uint32_t>()[30] = 4000000000u;  // of the second tile
  reader = open_reader(view_of(node));
  std::vector<int64_t> tile(kTileRows);
  reader->decode_tile(0, tile.data());
  EXPECT_FALSE(reader->corrupt());
  reader->decode_tile(1, tile.data());
  EXPECT_TRUE(reader->corrupt());
}

}  // namespace
}  // namespace basalt
