// Every codec, alone and nested, gives back exactly the values it took: whole, by tile, by row, for every type.
#include <gtest/gtest.h>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"
#include "basalt/encoding/chooser.h"
#include "basalt/encoding/tree.h"
#include "codec/arrays.h"
#include "codec/reads.h"

namespace basalt {
namespace {

using testing::Array;
using testing::kAllPatterns;
using testing::make_array;
using testing::Pattern;

const Physical kFixedTypes[] = {Physical::kU8,   Physical::kU16, Physical::kU32, Physical::kU64,
                                Physical::kI8,   Physical::kI16, Physical::kI32, Physical::kI64,
                                Physical::kI128, Physical::kF32, Physical::kF64};
const uint64_t kCounts[] = {0, 1, 31, 1023, 1024, 1025, 5000};

void expect_strings(const Values& values, Reader& reader) {
  StringRows all;
  for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) reader.decode_tile(tile, all);
  ASSERT_EQ(all.size(), values.count);
  for (uint64_t i = 0; i < values.count; ++i) ASSERT_EQ(all.at(i), values.string(i)) << "row " << i;
  std::mt19937_64 random(5);
  std::vector<uint32_t> rows;
  for (int i = 0; i < 200 && values.count > 0; ++i) rows.push_back(static_cast<uint32_t>(random() % values.count));
  StringRows gathered;
  reader.gather(rows, gathered);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(gathered.at(i), values.string(rows[i]));
}

// References near the largest value: a tile's width leaves room for values that wrap around.
TEST(Packed, RangesAtTheEndOfTheType) {
  for (const Physical type : {Physical::kI8, Physical::kU8, Physical::kI32, Physical::kU64, Physical::kI128}) {
    const uint32_t width = width_of(type);
    Array array = make_array(type, 3000, Pattern::kZero, 1);
    const uint128_t most = ~uint128_t{0} >> (128 - 8 * width + (is_signed(type) ? 1 : 0));
    for (uint64_t i = 0; i < 3000; ++i) {
      const uint128_t value = most - i % 5;
      std::memcpy(array.data.data() + i * width, &value, width);
    }
    const Node node = encode_tree(array.values, {"packed", {}});
    testing::expect_reads(array.values, *open_reader(view_of(node)));
  }
}

void expect_round_trip(const Values& values, const Tree& tree) {
  SCOPED_TRACE(to_string(tree) + " of " + to_string(values.type) + " × " + std::to_string(values.count));
  const Node node = encode_tree(values, tree);
  const NodeView view = view_of(node);
  ASSERT_NO_THROW(validate_tree(view));
  EXPECT_EQ(tree_of(view), tree);
  const auto reader = open_reader(view);
  if (values.type == Physical::kBytes) {
    expect_strings(values, *reader);
  } else {
    testing::expect_reads(values, *reader);
  }
  EXPECT_FALSE(reader->corrupt());
}

class RoundTrip : public ::testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, EveryTypeAndPattern) {
  const Tree text = parse_tree(GetParam());
  const Codec& codec = get_codec(text.codec);
  std::vector<Physical> types(std::begin(kFixedTypes), std::end(kFixedTypes));
  types.push_back(Physical::kBytes);
  int held = 0;
  for (const Physical type : types) {
    if (!codec.accepts(type, false)) continue;
    Tree tree;
    try {
      tree = bind_tree(text, type);
    } catch (const Error&) {
      continue;  // a child that does not fit this type
    }
    for (const Pattern pattern : kAllPatterns) {
      for (const uint64_t count : kCounts) {
        const Array array = make_array(type, count, pattern, count + 1);
        try {
          encode_tree(array.values, tree);
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::kUnsupported);
          continue;
        }
        expect_round_trip(array.values, tree);
        ++held;
      }
    }
  }
  EXPECT_GT(held, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Trees, RoundTrip,
    ::testing::Values("plain", "constant", "packed", "l3", "delta", "delta(l3)", "rle(l3, l3)", "dict(l3, l3)",
                      "delta(delta(packed))", "delta(rle)", "rle", "rle(plain, delta)", "rle(dict, packed)",
                      "rle(delta, rle)", "dict", "dict(rle, plain)", "dict(delta, packed)", "dict(plain)", "strings",
                      "strings(constant, constant)", "strings(rle, plain)", "dict(packed, strings(packed, plain))",
                      "strings(packed, fsst)", "strings(rle, fsst(delta))", "dict(packed, strings(packed, fsst))",
                      "galp", "galp(delta)", "galp(l3)", "galp(dict)", "galp(rle)", "rle(galp, packed)",
                      "rle(galp(delta), packed)", "strings(packed, tokens)", "strings(rle, tokens(rle, plain))",
                      "numbered", "dict(packed, strings(packed, tokens))", "numbered(delta)", "ans",
                      "dict(ans, packed)", "rle(ans, packed)", "delta(ans)", "galp(ans)", "strings(ans, plain)",
                      "strings(packed, tokens(ans, ans))", "stride", "stride(rle(delta, delta))", "rle(stride, stride)",
                      "delta(stride(ans))", "grouped", "grouped(dict)", "delta(dict(grouped(dict), plain))",
                      "dict(grouped(rle), packed)", "sum", "sum(delta(packed), rle(packed, packed))",
                      "sum(ans, map(column_i32, packed))", "map", "map(column_u64(delta(packed)), plain)", "product",
                      "product(packed, column_u8)", "sum(packed, product(map(packed, packed), column_i64(rle)))",
                      "column_i8", "column_i16", "column_i32", "column_i64", "column_u8", "column_u16", "column_u32",
                      "column_u64", "dict(map(column_i16, packed), packed)", "place",
                      "sum(packed, place(column_i16(rle)))"));

TEST(RoundTrip, PackedAtEveryWidth) {
  for (const Physical type : {Physical::kU8, Physical::kI16, Physical::kU32, Physical::kI64, Physical::kI128}) {
    const uint32_t bits = std::min(64u, width_of(type) * 8);
    for (uint32_t width = 0; width <= bits; ++width) {
      Array array = make_array(type, 2500, Pattern::kRandom, width);
      const uint128_t mask = width == 0 ? 0 : ~uint128_t{0} >> (128 - width);
      for (uint64_t i = 0; i < array.values.count; ++i) {
        uint128_t value = 0;
        std::memcpy(&value, array.data.data() + i * width_of(type), width_of(type));
        value = (value & mask) + 3;
        if (i == 0) value = 3;
        if (i == 1) value = mask + 3;
        if (width == bits) value -= 3;
        std::memcpy(array.data.data() + i * width_of(type), &value, width_of(type));
      }
      expect_round_trip(array.values, {"packed", {}});
    }
  }
}

TEST(RoundTrip, ChosenTreesHoldTheirValues) {
  std::vector<Physical> types(std::begin(kFixedTypes), std::end(kFixedTypes));
  types.push_back(Physical::kBytes);
  for (const Physical type : types) {
    for (const Pattern pattern : kAllPatterns) {
      for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{70000}}) {
        const Array array = make_array(type, count, pattern, 9);
        const Tree tree = choose_tree(array.values);
        EXPECT_EQ(bind_tree(tree, type), tree);
        expect_round_trip(array.values, tree);
      }
    }
  }
}

TEST(RoundTrip, ValidityKeepsFlagsAndValues) {
  Array array = make_array(Physical::kI32, 3000, Pattern::kNarrow, 1);
  array.validity.assign(375, 0);
  for (uint64_t i = 0; i < 3000; ++i) {
    if (i % 7 != 0) array.validity[i / 8] = static_cast<uint8_t>(array.validity[i / 8] | 1 << (i % 8));
  }
  array.values.validity = array.validity.data();
  const Node node = encode_tree(array.values, bind_tree(parse_tree("validity"), Physical::kI32));
  validate_tree(view_of(node));
  const auto flags = open_reader(view_of(node.children[0]));
  uint8_t decoded[kTileRows];
  for (uint32_t tile = 0; tile < 3; ++tile) {
    flags->decode_tile(tile, decoded);
    for (uint32_t i = 0; i < rows_in_tile(3000, tile); ++i) EXPECT_EQ(decoded[i], (tile * 1024 + i) % 7 != 0);
  }
}

}  // namespace
}  // namespace basalt
