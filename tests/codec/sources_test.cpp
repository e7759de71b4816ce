// Columns that are stored by other columns: whatever the relation between them, rows come back; and where it holds,
// what is stored beside the source is next to nothing.
#include <gtest/gtest.h>

#include <functional>

#include "basalt/core/error.h"
#include "codec/arrays.h"
#include "codec/integer_types.h"
#include "codec/reads.h"

namespace basalt {
namespace {

using testing::Array;
using testing::make_array;
using testing::Pattern;

constexpr uint64_t kRows = 20000;
const Physical kWords[] = {Physical::kI8, Physical::kI16, Physical::kI32, Physical::kI64,
                           Physical::kU8, Physical::kU16, Physical::kU32, Physical::kU64};

using Formula = std::function<int64_t(uint64_t)>;

Array array_of(Physical type, const Formula& value) {
  Array array = make_array(type, kRows, Pattern::kZero, 1);
  for (uint64_t i = 0; i < kRows; ++i) {
    const int64_t number = value(i);
    std::memcpy(array.data.data() + i * width_of(type), &number, width_of(type));
  }
  return array;
}

int64_t noise(uint64_t i, uint64_t range) { return static_cast<int64_t>((i * 0x9E3779B97F4A7C15ull >> 20) % range); }

// Encoded columns that trees may name: `days`, `many` and so on.
struct Sources {
  std::vector<Node> nodes;
  std::vector<SourceColumn> columns;

  void add(const std::string& name, const Array& array, const std::string& tree) {
    const Physical type = array.values.type;
    nodes.push_back(encode_tree(array.values, bind_tree(parse_tree(tree), type)));
    columns.push_back({name, static_cast<uint32_t>(columns.size()), {}});
    for (size_t i = 0; i < nodes.size(); ++i) columns[i].array = view_of(nodes[i]);
  }

  Node encode(const Array& array, const std::string& tree) const {
    Values values = array.values;
    values.sources = &columns;
    return encode_tree(values, bind_tree(parse_tree(tree), values.type));
  }
};

void expect_rows(const Node& node, const Array& array) {
  const NodeView view = view_of(node);
  validate_tree(view);
  check_values(view);
  testing::expect_reads(array.values, *open_reader(view));
}

TEST(Sources, EveryPairOfTypesComesBack) {
  for (const Physical source : kWords) {
    for (const Physical type : kWords) {
      for (const Pattern pattern : testing::kAllPatterns) {
        Sources sources;
        sources.add("other", make_array(source, kRows, pattern, 3), "packed");
        for (const Pattern own : {Pattern::kRandom, Pattern::kRuns, Pattern::kExtremes}) {
          const Array array = make_array(type, kRows, own, 4);
          for (const char* tree : {"sum(packed, @other)", "sum(packed, product(packed, @other))",
                                   "sum(packed, product(packed, product(packed, @other)))",
                                   "sum(packed, place(@other))", "sum(packed, sum(@other, place(@other)))"}) {
            SCOPED_TRACE(std::string(tree) + " " + to_string(source) + " " + to_string(type));
            expect_rows(sources.encode(array, tree), array);
          }
          try {
            expect_rows(sources.encode(array, "sum(packed, map(@other, packed))"), array);
          } catch (const Error& error) {  // too many values
            EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
          }
        }
      }
    }
  }
}

TEST(Sources, DifferencesAreSmall) {
  const Formula shipped = [](uint64_t i) { return 9000 + noise(i, 2500); };
  const Formula received = [&](uint64_t i) { return shipped(i) + 1 + noise(i + 7, 30); };
  Sources sources;
  sources.add("shipped", array_of(Physical::kI32, shipped), "packed");
  for (const Physical type : {Physical::kI32, Physical::kI64, Physical::kU16}) {
    const Array array = array_of(type, received);
    const Node node = sources.encode(array, "sum(packed, @shipped)");
    expect_rows(node, array);
    EXPECT_LT(own_bytes(node), kRows * 5 / 8 + 2000);
  }
}

TEST(Sources, FunctionsCostTheirEntries) {
  const Formula key = [](uint64_t i) { return noise(i, 1500) - 700; };
  Sources sources;
  sources.add("key", array_of(Physical::kI16, key), "packed");
  const Array all = array_of(Physical::kI64, [&](uint64_t i) { return key(i) * key(i) * 977; });
  const Node function = sources.encode(all, "map(@key, packed)");
  expect_rows(function, all);
  EXPECT_LT(own_bytes(function), 2048 * 30 / 8u);
  // All but a few rows.
  const Array nearly =
      array_of(Physical::kI64, [&](uint64_t i) { return i % 3001 == 5 ? 12345 : key(i) * key(i) * 977; });
  EXPECT_THROW(sources.encode(nearly, "map(@key, packed)"), Error);
  const Node node = sources.encode(nearly, "sum(rle(packed, packed), map(@key, packed))");
  expect_rows(node, nearly);
  EXPECT_LT(own_bytes(node), 2048 * 30 / 8 + 1024 * 48 / 8u);  // and whole tiles of few runs
}

TEST(Sources, ProductsDivideBySourcesUnit) {
  const Formula quantity = [](uint64_t i) { return 100 * (1 + noise(i, 50)); };
  const Formula part = [](uint64_t i) { return 1 + noise(i * 31, 900); };
  const auto price = [&](uint64_t i) { return 90000 + part(i) * 101; };
  Sources sources;
  sources.add("quantity", array_of(Physical::kI64, quantity), "dict(packed, packed)");
  sources.add("part", array_of(Physical::kI32, part), "packed");
  const Array array = array_of(Physical::kI64, [&](uint64_t i) { return quantity(i) / 100 * price(i); });
  const Node node = sources.encode(array, "product(map(@part, packed), @quantity)");
  expect_rows(node, array);
  EXPECT_LT(own_bytes(node), 900 * 3 + 100u);
  // Negative sources keep their sign when they are divided.
  Sources negative;
  negative.add("quantity", array_of(Physical::kI64, [&](uint64_t i) { return -quantity(i); }), "packed");
  negative.add("part", array_of(Physical::kI32, part), "packed");
  EXPECT_LT(own_bytes(negative.encode(array, "product(map(@part, packed), @quantity)")), 900 * 3 + 100u);
}

TEST(Sources, SumsOfTwoColumns) {
  const Formula net = [](uint64_t i) { return noise(i, 100000) - 5000; };
  const Formula tax = [](uint64_t i) { return noise(i * 31, 9000); };
  Sources sources;
  sources.add("net", array_of(Physical::kI64, net), "packed");
  sources.add("tax", array_of(Physical::kU16, tax), "packed");
  for (const Physical type : {Physical::kI32, Physical::kI64, Physical::kU64}) {
    const Array array =
        array_of(type, [&](uint64_t i) { return i % 5003 == 2 ? 77 : net(i) + tax(i) + 12; });  // a fee, and a few rows
    const Node node = sources.encode(array, "sum(rle(packed, packed), sum(@tax, @net))");
    expect_rows(node, array);
    EXPECT_LT(own_bytes(node), 5000u);  // whole tiles of few runs
  }
  // What a column stands for may only be missed where something above makes up for it.
  EXPECT_THROW(sources.encode(array_of(Physical::kI64, net), "sum(@tax, @net)"), Error);
}

TEST(Sources, PlacesInRuns) {
  const Formula order = [](uint64_t i) { return static_cast<int64_t>((i + 3) / 7 * 2 - 90); };
  const Formula line = [](uint64_t i) { return static_cast<int64_t>((i + 3) % 7); };
  Sources sources;
  sources.add("order", array_of(Physical::kI16, order), "delta(packed)");
  // The first run began before the chunk, which the values tell.
  const Array lines = array_of(Physical::kU8, line);
  const Node places = sources.encode(lines, "place(@order)");
  expect_rows(places, lines);
  EXPECT_EQ(own_bytes(places), 4 * tile_count(kRows) + 12);  // the base, and which column that is
  const Array counted = array_of(Physical::kI32, [&](uint64_t i) { return i % 4001 == 5 ? -1 : line(i) + 1; });
  EXPECT_THROW(sources.encode(counted, "place(@order)"), Error);
  const Array from_five = array_of(Physical::kI64, [&](uint64_t i) { return line(i) - 5; });
  expect_rows(sources.encode(from_five, "place(@order)"), from_five);
  const Node node = sources.encode(counted, "sum(rle(packed, packed), place(@order))");
  expect_rows(node, counted);
  EXPECT_LT(own_bytes(node), 3000u);
  // Runs of many tiles, one run, none longer than a row.
  for (const uint64_t run : {uint64_t{2500}, kRows, uint64_t{1}}) {
    Sources others;
    others.add("order", array_of(Physical::kI32, [=](uint64_t i) { return static_cast<int64_t>(i / run); }), "packed");
    const Array array = array_of(Physical::kU32, [=](uint64_t i) { return static_cast<int64_t>(i % run); });
    expect_rows(others.encode(array, "place(@order)"), array);
  }
}

TEST(Sources, CodesOfStringsMayBeFunctions) {
  const Formula day = [](uint64_t i) { return noise(i, 2500); };
  Sources sources;
  sources.add("day", array_of(Physical::kI32, day), "packed");
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < kRows; ++i) texts.push_back(day(i) < 1200 ? "F" : "O");
  const Array array = testing::make_texts(texts);
  const Node node = sources.encode(array, "dict(map(@day, packed), strings)");
  validate_tree(view_of(node));
  EXPECT_LT(own_bytes(node), 1000u);
  StringRows rows;
  const auto reader = open_reader(view_of(node));
  for (uint32_t tile = 0; tile < tile_count(kRows); ++tile) reader->decode_tile(tile, rows);
  for (uint64_t i = 0; i < kRows; ++i) ASSERT_EQ(rows.at(i), texts[i]);
}

// The source of a function may be more than a column: then it is the values themselves, by that column.
TEST(Sources, FunctionsOfWhatColumnsGive) {
  const auto key = [](uint64_t i) { return noise(i, 100); };
  Sources sources;
  sources.add("key", array_of(Physical::kI32, key), "packed");
  const Array array = array_of(Physical::kI64, [&](uint64_t i) { return key(i) * 3; });
  for (const char* tree : {"map(sum(packed, @key), packed)", "map(product(packed, @key), packed)",
                           "map(map(@key, packed), packed)", "sum(packed, map(sum(packed, @key), packed))"}) {
    SCOPED_TRACE(tree);
    const Node node = sources.encode(array, tree);
    expect_rows(node, array);
  }
}

TEST(Sources, WhatIsNotThereIsRefused) {
  Sources sources;
  sources.add("other", make_array(Physical::kI32, kRows, Pattern::kNarrow, 3), "packed");
  sources.add("real", make_array(Physical::kF64, kRows, Pattern::kZero, 3), "plain");
  const Array array = make_array(Physical::kI32, kRows, Pattern::kRandom, 4);
  for (const char* tree : {"sum(packed, @missing)", "sum(packed, @real)", "rle(@other, packed)", "map(@other, packed)",
                           "product(packed, @other)", "place(@other)"}) {
    EXPECT_THROW(sources.encode(array, tree), Error) << tree;
  }
  EXPECT_THROW(bind_tree(parse_tree("@other"), Physical::kI32), Error);
  EXPECT_THROW(bind_tree(parse_tree("dict(packed, @other)"), Physical::kI32), Error);
  EXPECT_THROW(bind_tree(parse_tree("galp(sum(packed, @other(packed)))"), Physical::kF64), Error);
}

// A reader never looks beyond the entries, and says that it was asked to.
TEST(Sources, SourcesBeyondTheEntriesAreReported) {
  const Array keys = array_of(Physical::kI32, [](uint64_t i) { return noise(i, 100); });
  const Array array = array_of(Physical::kI64, [](uint64_t i) { return noise(i, 100) * 3; });
  Sources sources;
  sources.add("key", keys, "plain");
  for (const int32_t wrong : {-1, 100, INT32_MAX, INT32_MIN}) {
    Node node = sources.encode(array, "map(@key, packed)");
    std::memcpy(node.children[0].children[0].streams[0].data() + 4 * 5000, &wrong, sizeof(wrong));
    validate_tree(view_of(node));
    const auto reader = open_reader(view_of(node));
    std::vector<int64_t> tile(kTileRows);
    reader->decode_tile(0, tile.data());
    EXPECT_FALSE(reader->corrupt());
    reader->decode_tile(4, tile.data());
    EXPECT_TRUE(reader->corrupt()) << wrong;
  }
}

}  // namespace
}  // namespace basalt
