// Damaged streams: validation or the corrupt flag, never a crash, an endless loop or a read out of bounds. Runs under
// the sanitizers too; every stream byte of small arrays is changed, one at a time.
#include <gtest/gtest.h>

#include "basalt/codec/codec.h"
#include "basalt/codec/string_test.h"
#include "basalt/core/error.h"
#include "basalt/encoding/tree.h"
#include "codec/arrays.h"

namespace basalt {
namespace {

using testing::make_array;
using testing::Pattern;

void read_everything(const NodeView& view) {
  const auto reader = open_reader(view);
  std::vector<uint32_t> rows;
  for (uint64_t i = 0; i < view.count; i += 97) rows.push_back(static_cast<uint32_t>(i));
  if (view.type == Physical::kBytes) {
    StringRows out;
    for (uint32_t tile = 0; tile < tile_count(view.count); ++tile) reader->decode_tile(tile, out);
    EXPECT_EQ(out.size(), view.count);
    StringRows some;
    reader->gather(rows, some);
    const auto automaton = make_automaton(StringTest::like("%1_%")).automaton;
    uint8_t hits[kTileRows];
    for (uint32_t tile = 0; tile < tile_count(view.count); ++tile) reader->filter_strings(tile, automaton, hits);
  } else {
    Buffer out(static_cast<size_t>(kTileRows) * width_of(view.type));
    uint8_t hits[kTileRows];
    for (uint32_t tile = 0; tile < tile_count(view.count); ++tile) {
      reader->decode_tile(tile, out.data());
      reader->bounds(tile);
      reader->filter_range(tile, -5, 1000, hits);
      uint32_t places[kTileRows];
      const uint32_t runs = reader->decode_runs(tile, out.data(), places);
      EXPECT_TRUE(runs == 0 || places[runs - 1] == rows_in_tile(view.count, tile)) << tile;
      reader->decode_codes(tile, places);
      reader->filter_sum(tile, nullptr);
    }
    Buffer some(rows.size() * width_of(view.type));
    reader->gather(rows, some.data());
  }
}

void try_read(const Node& node) {
  const NodeView view = view_of(node);
  try {
    validate_tree(view);
  } catch (const Error&) {
    return;
  }
  read_everything(view);
}

// Streams, exactly sized so that sanitizers see any byte read beyond them.
void damage_streams(Node& root, Node& node) {
  for (Buffer& stream : node.streams) {
    for (size_t i = 0; i<stream.size(); i += stream.size()> 400 ? 37 : 1) {
      const std::byte before = stream.data()[i];
      for (const int flip : {0x01, 0x80, 0xFF}) {
        stream.data()[i] = before ^ static_cast<std::byte>(flip);
        try_read(root);
      }
      stream.data()[i] = before;
    }
    const size_t size = stream.size();
    for (const size_t cut : {size_t{0}, size / 2, size > 0 ? size - 1 : 0}) {
      stream.resize(cut);
      try_read(root);
      stream.resize(size);
    }
  }
  const uint64_t count = node.count;
  for (const uint64_t wrong :
       {uint64_t{0}, uint64_t{1}, count - 1, count + 1, count + 1024, uint64_t{1} << 40, ~uint64_t{0}}) {
    node.count = wrong;
    try_read(root);
  }
  node.count = count;
  for (Node& child : node.children) damage_streams(root, child);
}

class Damage : public ::testing::TestWithParam<const char*> {};

TEST_P(Damage, NeverCrashes) {
  const Tree text = parse_tree(GetParam());
  for (const Physical type : {Physical::kU8, Physical::kI32, Physical::kI64, Physical::kI128, Physical::kF32,
                              Physical::kF64, Physical::kBytes}) {
    if (!get_codec(text.codec).accepts(type, false)) continue;
    Tree tree;
    try {
      tree = bind_tree(text, type);
    } catch (const Error&) {
      continue;
    }
    for (const Pattern pattern : {Pattern::kRuns, Pattern::kNarrow}) {
      const auto array = make_array(type, 1500, pattern, 4);
      Node node;
      try {
        node = encode_tree(array.values, tree);
      } catch (const Error&) {
        continue;
      }
      damage_streams(node, node);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Trees, Damage,
    ::testing::Values("plain", "packed", "l3", "delta", "rle", "rle(dict, delta)", "rle(l3, l3)", "dict",
                      "dict(rle, packed)", "strings", "strings(rle, plain)", "delta(rle)", "galp", "galp(plain)",
                      "galp(rle)", "galp(dict)", "galp(l3)", "rle(galp(l3), delta(l3))", "strings(packed, fsst)",
                      "strings(plain, fsst(plain))", "dict(packed, strings(packed, fsst))", "strings(packed, tokens)",
                      "strings(plain, tokens(plain, plain, strings(plain, plain)))", "numbered", "numbered(plain)",
                      "ans", "dict(ans, packed)", "rle(ans, delta)", "stride(rle(packed, delta))", "stride(plain)",
                      "grouped(plain)", "dict(grouped(dict), plain)", "sum(plain, rle)", "map(plain, l3)",
                      "map(packed, plain)", "product(plain, plain)", "column_u32(plain)", "sum(plain, place(plain))"));

TEST(Damage, CodeBeyondTheDictionaryIsReported) {
  const auto array = make_array(Physical::kI64, 2000, Pattern::kFewDistinct, 4);
  Node node = encode_tree(array.values, bind_tree(parse_tree("dict(plain, plain)"), Physical::kI64));
  node.children[0].streams[0].as<uint32_t>()[1500] = 4000000000u;
  validate_tree(view_of(node));
  const auto reader = open_reader(view_of(node));
  int64_t decoded[kTileRows];
  reader->decode_tile(0, decoded);
  EXPECT_FALSE(reader->corrupt());
  reader->decode_tile(1, decoded);
  EXPECT_TRUE(reader->corrupt());
}

TEST(Damage, RunsThatOverflowATileAreReported) {
  const auto array = make_array(Physical::kI64, 2000, Pattern::kRuns, 4);
  Node node = encode_tree(array.values, bind_tree(parse_tree("rle(plain, plain)"), Physical::kI64));
  node.children[1].streams[0].as<uint32_t>()[3] = 0;
  validate_tree(view_of(node));
  const auto reader = open_reader(view_of(node));
  int64_t decoded[kTileRows];
  reader->decode_tile(0, decoded);
  EXPECT_TRUE(reader->corrupt());
}

// The first entry's run covers rows 0…1499, then runs of 10: tiles 1 and 2 begin inside runs.
Node long_and_short_runs(Physical type) {
  auto array = make_array(type, 3000, Pattern::kZero, 4);
  for (uint64_t i = 0; i < 3000; ++i)
    array.data[i * width_of(type)] = static_cast<std::byte>(i < 1500 ? 1 : i / 10 % 7);
  return encode_tree(array.values, bind_tree(parse_tree("rle(plain, plain)"), type));
}

// Reads every tile alone: a lie in a tile's entry must show in that tile.
bool is_refused(const Node& node, uint32_t tile) {
  try {
    validate_tree(view_of(node));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    return true;
  }
  const auto reader = open_reader(view_of(node));
  Buffer decoded(size_t{kTileRows} * width_of(node.type));
  reader->decode_tile(tile, decoded.data());
  return reader->corrupt();
}

TEST(Damage, TileEntriesThatNameAnotherRunAreReported) {
  const Node intact = long_and_short_runs(Physical::kI64);
  for (uint32_t tile = 0; tile < 3; ++tile) {
    ASSERT_FALSE(is_refused(intact, tile));
    for (const int run : {-2, -1, 0, 1, 2, 40}) {
      for (const int consumed : {-1024, -1, 0, 1, 5, 1024}) {
        if (run == 0 && consumed == 0) continue;
        Node node = long_and_short_runs(Physical::kI64);
        auto* entry = node.streams[0].as<uint32_t>() + 2 * tile;
        entry[0] += static_cast<uint32_t>(run);
        entry[1] += static_cast<uint32_t>(consumed);
        EXPECT_TRUE(is_refused(node, tile)) << "tile " << tile << ", run " << run << ", consumed " << consumed;
        // As a run that begins with the tile.
        entry[1] = 0;
        if (entry[0] != intact.streams[0].as<uint32_t>()[2 * tile]) {
          EXPECT_TRUE(is_refused(node, tile)) << "tile " << tile << ", run " << run;
        }
      }
    }
  }
}

TEST(Damage, RunsThatDoNotEndWithTheArrayAreReported) {
  for (const int change : {-1, 1, 1000}) {
    Node node = long_and_short_runs(Physical::kI32);
    Buffer& ends = node.children[1].streams[0];
    ends.as<uint32_t>()[ends.size() / sizeof(uint32_t) - 1] += static_cast<uint32_t>(change);
    EXPECT_TRUE(is_refused(node, 2)) << change;
  }
}

// Why the array's values break a rule; nothing if they do not.
std::string broken_rule(const Node& node) {
  validate_tree(view_of(node));
  try {
    check_values(view_of(node));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    return error.what();
  }
}

Node encoded(const std::vector<int32_t>& numbers, const char* tree) {
  Values values;
  values.type = Physical::kI32;
  values.count = numbers.size();
  values.data = numbers.data();
  return encode_tree(values, bind_tree(parse_tree(tree), values.type));
}

TEST(BrokenRules, PackedValuesDoNotWrapAround) {
  std::vector<int32_t> numbers(3000, INT32_MAX - 1);
  numbers[2500] = INT32_MAX;
  Node node = encoded(numbers, "packed");
  EXPECT_EQ(broken_rule(node), "");
  node.streams[0].as<int32_t>()[2] = INT32_MAX;  // the third tile's reference: what was the greatest value wraps
  EXPECT_NE(broken_rule(node).find("smaller than its reference"), std::string::npos);
  for (int32_t& number : numbers) number = INT32_MIN;
  numbers[7] = INT32_MAX;  // all bits of the type
  EXPECT_EQ(broken_rule(encoded(numbers, "packed")), "");
}

TEST(BrokenRules, CodesHaveEntriesAndFlagsAreFlags) {
  std::vector<int32_t> numbers(3000, 5);
  numbers[1] = 6;
  Node dict = encoded(numbers, "dict(packed, plain)");
  EXPECT_EQ(broken_rule(dict), "");
  dict.children[0].streams[0].as<uint32_t>()[1] = 2;
  EXPECT_NE(broken_rule(dict).find("code 2 of 2 entries"), std::string::npos);

  const std::vector<uint8_t> bits(numbers.size() / 8 + 1, 0x55);
  Values values;
  values.type = Physical::kI32;
  values.count = numbers.size();
  values.data = numbers.data();
  values.validity = bits.data();
  Node nullable = encode_tree(values, bind_tree(parse_tree("validity(plain, plain)"), values.type));
  EXPECT_EQ(broken_rule(nullable), "");
  nullable.children[0].streams[0].as<uint8_t>()[9] = 3;
  EXPECT_NE(broken_rule(nullable).find("neither 0 nor 1"), std::string::npos);
}

// A reader's memory is known before it is opened.
TEST(HeldBytes, AreThoseOfEntriesAndIds) {
  std::vector<int32_t> numbers(3000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i % 100);
  EXPECT_EQ(held_bytes(view_of(encoded(numbers, "packed"))), 0u);
  EXPECT_EQ(held_bytes(view_of(encoded(numbers, "dict(packed, plain)"))), 400u);
  EXPECT_EQ(held_bytes(view_of(encoded(numbers, "rle(dict(packed, plain), packed)"))), 400u);
  const testing::Array texts = testing::make_texts(std::vector<std::string>(2000, "three words here"));
  const Node tokens = encode_tree(texts.values, bind_tree(parse_tree("strings(packed, tokens)"), Physical::kBytes));
  EXPECT_GE(held_bytes(view_of(tokens)), kTileRows * sizeof(uint32_t));
}

}  // namespace
}  // namespace basalt
