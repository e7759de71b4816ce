// Trees of any shape up to six levels print and parse back, hold arrays of every pattern or refuse them, and give them
// back; deeper ones end at the format's limit, when they are written and when they are read.
#include "codec/random_trees.h"

#include <gtest/gtest.h>

#include <cstring>

#include "basalt/encoding/tree.h"

namespace basalt {
namespace {

using testing::RandomNode;

void expect_gives_back(const RandomNode& one) {
  const Values& values = one.array.values;
  const auto reader = open_reader(view_of(one.node));
  const uint32_t width = width_of(values.type);
  std::vector<std::byte> fixed(size_t{kTileRows} * width);
  StringRows texts;
  for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) {
    const uint64_t first = uint64_t{tile} * kTileRows;
    const uint32_t rows = rows_in_tile(values.count, tile);
    if (width > 0) {
      reader->decode_tile(tile, static_cast<void*>(fixed.data()));
      const auto* expected = static_cast<const std::byte*>(values.data) + first * width;
      ASSERT_EQ(std::memcmp(fixed.data(), expected, size_t{rows} * width), 0) << "tile " << tile;
      continue;
    }
    texts.clear();
    reader->decode_tile(tile, texts);
    ASSERT_EQ(texts.size(), rows);
    for (uint32_t i = 0; i < rows; ++i) ASSERT_EQ(texts.at(i), values.string(first + i)) << "row " << first + i;
  }
  EXPECT_FALSE(reader->corrupt());
}

TEST(RandomTrees, ToSixLevelsGiveValuesBack) {
  constexpr uint32_t kTrees = 3000;
  std::vector<uint32_t> of_levels(16, 0);
  const uint32_t refused = testing::for_random_trees(1, kTrees, 6, 4000, [&](const RandomNode& one) {
    SCOPED_TRACE(to_string(one.tree) + " of " + to_string(one.array.values.type));
    EXPECT_EQ(parse_tree(to_string(one.tree)), one.tree);
    EXPECT_EQ(tree_of(view_of(one.node)), one.tree);
    ASSERT_NO_THROW(validate_tree(view_of(one.node)));
    ASSERT_NO_THROW(check_values(view_of(one.node)));
    expect_gives_back(one);
    ++of_levels.at(testing::levels_of(one.tree));
  });
  for (const uint32_t levels : {1u, 2u, 3u, 4u, 5u, 6u}) EXPECT_GT(of_levels[levels], kTrees / 40) << levels;
  EXPECT_LT(refused, 4 * kTrees);
}

std::string nested(uint32_t levels) {
  std::string text = "packed";
  for (uint32_t i = 1; i < levels; ++i) text = "delta(" + text + ")";
  return text;
}

TEST(RandomTrees, EndAtEightLevels) {
  const testing::Array array = testing::make_array(Physical::kI64, 3000, testing::Pattern::kSorted, 1);
  Node node = encode_tree(array.values, bind_tree(parse_tree(nested(8)), Physical::kI64));
  EXPECT_NO_THROW(validate_tree(view_of(node)));
  EXPECT_THROW(parse_tree(nested(9)), Error);
  Tree deep{"packed", {}};
  for (int i = 0; i < 8; ++i) deep = Tree{"delta", {deep}};
  EXPECT_THROW(bind_tree(deep, Physical::kI64), Error);
  // What a file may say: a ninth level around what was written.
  Node outer = node;
  outer.children = {std::move(node)};
  try {
    validate_tree(view_of(outer));
    ADD_FAILURE() << "nine levels are read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_NE(std::string(error.what()).find("8 levels"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace basalt
