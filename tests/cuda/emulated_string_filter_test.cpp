// Tests of strings as kernels put them to tiles, run on the CPU: every encoding and every kind of test gives what the
// CPU's reader gives, for all rows and for some; damage is found.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "basalt/codec/string_test.h"
#include "basalt/encoding/tree.h"
#include "codec/fsst/layout.h"
#include "codec/fsst_texts.h"
#include "codec/plain/layout.h"
#include "codec/random_string_tests.h"
#include "codec/strings/make_table.h"
#include "cuda/device_arrays.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/constant/gpu/filter.cuh"
#include "codec/constant/gpu/kernels.cuh"
#include "codec/dict/gpu/filter.cuh"
#include "codec/fsst/gpu/filter.cuh"
#include "codec/numbered/gpu/filter.cuh"
#include "codec/plain/gpu/filter.cuh"
#include "codec/plain/gpu/kernels.cuh"
#include "codec/rle/gpu/kernels.cuh"
#include "codec/strings/gpu/filter.cuh"
#include "codec/tokens/gpu/filter.cuh"
#include "exec/device/text_tests.cuh"

namespace basalt::test {
namespace {

using device::ConstantFilter;
using device::DictFilter;
using device::FsstFilter;
using device::NumberedFilter;
using device::PlainFilter;
using device::StringsFilter;
using device::TokensFilter;
using testing::make_texts;
using testing::random_test;
using testing::random_text;
using testing::sentences;
using testing::text_cases;
using testing::TextCase;

using Numbers = device::Packed<uint32_t>;
using Words = device::Plain<uint32_t>;
using OneLength = device::Constant<uint32_t>;

using Masks = std::array<uint32_t, kLanes>;

Masks every_row(uint64_t count, uint32_t tile) {
  Masks alive;
  for (uint32_t lane = 0; lane < kLanes; ++lane) alive[lane] = device::rows_mask(rows_in_tile(count, tile), lane);
  return alive;
}

struct Tested {
  Masks masks{};
  bool bad = false;
};

template <typename Filter>
Tested run_tile(const NodeView& view, uint32_t tile, const Buffer& table, const Masks& alive) {
  const std::vector<uint64_t> descriptor = descriptor_of(view);
  alignas(16) static unsigned char scratch[Filter::kScratchBytes + 16];
  Tested out;
  EmulatedWarp::run([&] {
    const uint32_t lane = device::lane_id();
    const device::TileAnswer answer =
        device::ShapeTextTest<Filter>::run(descriptor.data(), tile, scratch, table.data(), alive[lane]);
    out.masks[lane] = answer.mask;
    out.bad = out.bad || answer.bad != 0;
  });
  return out;
}

// Whether anything was found to be damaged.
template <typename Filter>
bool finds_damage(const NodeView& view, const StringTest& test) {
  const Buffer table = view.codec->text_alphabet(view)->table(*make_automaton(test).automaton);
  bool bad = false;
  for (uint32_t tile = 0; tile < tile_count(view.count); ++tile) {
    bad = bad || run_tile<Filter>(view, tile, table, every_row(view.count, tile)).bad;
  }
  return bad;
}

template <typename Filter>
void expect_answers(const NodeView& view, const std::vector<StringTest>& tests) {
  const auto reader = open_reader(view);
  const auto alphabet = view.codec->text_alphabet(view);
  ASSERT_NE(alphabet, nullptr);
  std::mt19937_64 random(7);
  for (const StringTest& test : tests) {
    const auto automaton = make_automaton(test).automaton;
    ASSERT_NE(automaton, nullptr);
    const Buffer table = alphabet->table(*automaton);
    EXPECT_LE(table.size(), view.codec->filter_table_bytes(view, automaton->states()));
    for (uint32_t tile = 0; tile < tile_count(view.count); ++tile) {
      uint8_t expected[kTileRows];
      ASSERT_NE(reader->filter_strings(tile, automaton, expected), Answered::kNot);
      Masks alive = every_row(view.count, tile);
      if (random() % 3 == 0) {
        for (uint32_t& mask : alive) mask &= static_cast<uint32_t>(random() & random());
      }
      const Tested got = run_tile<Filter>(view, tile, table, alive);
      EXPECT_FALSE(got.bad);
      for (uint32_t row = 0; row < rows_in_tile(view.count, tile); ++row) {
        const bool asked = (alive[row % kLanes] >> row / kLanes & 1) != 0;
        const bool passes = (got.masks[row % kLanes] >> row / kLanes & 1) != 0;
        ASSERT_EQ(passes, asked && expected[row] != 0) << "row " << row << " of tile " << tile << ", " << test.pattern;
      }
    }
  }
}

template <typename Filter>
void expect_answers(const std::string& tree, const std::string& type, const std::vector<std::string>& texts,
                    const std::vector<StringTest>& tests) {
  SCOPED_TRACE(tree);
  const testing::Array array = make_texts(texts);
  const Node node = encode_tree(array.values, bind_tree(parse_tree(tree), Physical::kBytes));
  const NodeView view = view_of(node);
  validate_tree(view);
  // What the generator would write.
  EXPECT_EQ(view.codec->device_filter(view).type.text(), type);
  EXPECT_EQ(view.codec->device_filter(view).scratch_bytes, Filter::kScratchBytes);
  expect_answers<Filter>(view, tests);
}

std::vector<StringTest> random_tests(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<StringTest> tests;
  for (size_t i = 0; i < count; ++i) tests.push_back(random_test(random));
  return tests;
}
std::vector<std::string> random_texts(size_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> texts;
  for (size_t i = 0; i < rows; ++i) texts.push_back(random_text(random, 6));
  return texts;
}
std::vector<StringTest> word_tests() {
  std::vector<StringTest> tests;
  for (const char* pattern :
       {"%special%requests%", "special%", "%beans", "%final%", "_e%", "%", "", "%quickly _bove%"}) {
    tests.push_back(StringTest::like(pattern));
  }
  tests.push_back(StringTest::between("final", true, "pinto", false));
  tests.push_back(StringTest::in({"the10", "sleep7", "above99", "x"}));
  tests.back().negate = true;
  return tests;
}

TEST(EmulatedStringFilter, RandomTestsOfEveryEncoding) {
  const std::vector<std::string> texts = random_texts(1500, 1);
  const std::vector<StringTest> tests = random_tests(40, 2);
  expect_answers<StringsFilter<Numbers, PlainFilter>>("strings(packed, plain)",
                                                      "StringsFilter<Packed<uint32_t>, PlainFilter>", texts, tests);
  expect_answers<StringsFilter<Numbers, FsstFilter<Numbers>>>(
      "strings(packed, fsst(packed))", "StringsFilter<Packed<uint32_t>, FsstFilter<Packed<uint32_t>>>", texts, tests);
  expect_answers<StringsFilter<Words, FsstFilter<Words>>>(
      "strings(plain, fsst(plain))", "StringsFilter<Plain<uint32_t>, FsstFilter<Plain<uint32_t>>>", texts, tests);
  expect_answers<DictFilter<Numbers>>("dict(packed, strings(packed, plain))", "DictFilter<Packed<uint32_t>>", texts,
                                      tests);
  expect_answers<DictFilter<device::Rle<uint32_t, Numbers, Numbers>>>(
      "dict(rle(packed, packed), strings(packed, fsst))",
      "DictFilter<Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>>", texts, tests);
  expect_answers<StringsFilter<Numbers, TokensFilter<Numbers, Numbers>>>(
      "strings(packed, tokens(packed, packed, strings))",
      "StringsFilter<Packed<uint32_t>, TokensFilter<Packed<uint32_t>, Packed<uint32_t>>>", texts, tests);
  expect_answers<StringsFilter<OneLength, ConstantFilter>>("strings(constant, constant)",
                                                           "StringsFilter<Constant<uint32_t>, ConstantFilter>",
                                                           std::vector<std::string>(1100, "ab世"), tests);
}

TEST(EmulatedStringFilter, EveryKindOfBytes) {
  std::vector<StringTest> tests = word_tests();
  tests.push_back(StringTest::like("%\xFF\xFE%"));
  tests.push_back(StringTest::between(std::string("\0\1", 2), false, std::string("\xFD"), true));
  for (const TextCase& one : text_cases()) {
    if (one.texts.empty()) continue;
    SCOPED_TRACE(one.name);
    const testing::Array array = make_texts(one.texts);
    for (const Effort effort : {Effort::kFast, Effort::kBest}) {
      const Tree tree = bind_tree(parse_tree("strings(packed, fsst(packed))"), Physical::kBytes);
      expect_answers<StringsFilter<Numbers, FsstFilter<Numbers>>>(view_of(encode_tree(array.values, tree, effort)),
                                                                  tests);
    }
    const Tree plain = bind_tree(parse_tree("strings(packed, plain)"), Physical::kBytes);
    expect_answers<StringsFilter<Numbers, PlainFilter>>(view_of(encode_tree(array.values, plain)), tests);
    const Tree tokens = bind_tree(parse_tree("strings(packed, tokens)"), Physical::kBytes);
    expect_answers<StringsFilter<Numbers, TokensFilter<Numbers, Numbers>>>(view_of(encode_tree(array.values, tokens)),
                                                                           tests);
  }
}

TEST(EmulatedStringFilter, NumbersBehindAText) {
  std::vector<std::string> texts;
  std::mt19937_64 random(3);
  for (int i = 0; i < 1300; ++i) {
    std::string digits = std::to_string(random() % 1'000'000'000'000'000'000ull);
    texts.push_back("Customer#" + std::string(18 - digits.size(), '0') + digits);
  }
  std::vector<StringTest> tests;
  for (const char* pattern : {"%77%", "Cust%", "cust%", "Customer#0%1", "Customer#_____7%", "%9"}) {
    tests.push_back(StringTest::like(pattern));
  }
  tests.push_back(StringTest::in({texts[5], texts[1200]}));
  tests.push_back(StringTest::between("Customer#1", true, "Customer#5", false));
  expect_answers<NumberedFilter<2, device::Packed<uint64_t>>>("numbered(packed)", "NumberedFilter<2, Packed<uint64_t>>",
                                                              texts, tests);
}

// As many states as the device takes, with and without escapes.
TEST(EmulatedStringFilter, LargeAutomata) {
  std::vector<std::string> texts = random_texts(300, 5);
  const std::string longest(Automaton::kMostDeviceStates - 2, 'a');
  texts.push_back(longest);
  texts.push_back(longest + 'a');
  texts.push_back(longest.substr(1) + '\xFE');
  std::vector<StringTest> tests{StringTest::in({longest}), StringTest::like("%" + longest.substr(2))};
  EXPECT_EQ(make_automaton(tests[0]).automaton->states(), Automaton::kMostDeviceStates);
  expect_answers<StringsFilter<Numbers, FsstFilter<Numbers>>>(
      "strings(packed, fsst(packed))", "StringsFilter<Packed<uint32_t>, FsstFilter<Packed<uint32_t>>>", texts, tests);
}

// Rows that are added up in 64 bits: what their lengths find of damage is in the answer, too.
TEST(EmulatedStringFilter, LargeRowsKeepDamageThatTheirLengthsFind) {
  struct Lengths {
    bool bad = false;
    uint32_t at(uint32_t) {
      bad = finds;
      return 3;
    }
    bool finds;
  };
  Buffer buffer;
  strings::append_byte_table(buffer, *make_automaton(StringTest::like("%b%")).automaton);
  const std::string bytes = "abcaaa";
  for (const bool finds : {false, true}) {
    EmulatedWarp::run([&] {
      const device::FilterTable table(reinterpret_cast<const strings::FilterTableHead*>(buffer.data()));
      const device::TileAnswer answer =
          device::filter_large_rows(Lengths{false, finds}, 2, reinterpret_cast<const unsigned char*>(bytes.data()),
                                    bytes.size(), table, device::rows_mask(2, device::lane_id()));
      EXPECT_EQ(answer.bad != 0, finds && device::lane_id() < 2);
      EXPECT_EQ(answer.mask, device::lane_id() == 0 ? 1u : 0u);
    });
  }
}

TEST(EmulatedStringFilter, DamageIsFound) {
  const StringTest test = StringTest::like("%no such text%");
  std::vector<std::string> texts = sentences(1500, 4);
  texts[700] = std::string(9000, 'x') + "end";
  const testing::Array array = make_texts(texts);
  const auto found = [&]<typename Filter>(const char* tree, Filter*, const auto& damage) {
    Node node = encode_tree(array.values, bind_tree(parse_tree(tree), Physical::kBytes));
    damage(node);
    return finds_damage<Filter>(view_of(node), test);
  };
  const auto none = [](Node&) {};
  const auto child_number = [](Node& node, uint32_t row) -> uint32_t& { return node.streams[0].as<uint32_t>()[row]; };

  const char* plain = "strings(plain, plain)";
  StringsFilter<Words, PlainFilter>* plain_filter = nullptr;
  EXPECT_FALSE(found(plain, plain_filter, none));
  for (const uint32_t value : {uint32_t{0}, 1u << 26, ~0u}) {
    EXPECT_TRUE(found(plain, plain_filter, [&](Node& node) { child_number(node.children[0], 1400) = value; }));
  }

  const char* fsst = "strings(plain, fsst(plain))";
  StringsFilter<Words, FsstFilter<Words>>* fsst_filter = nullptr;
  EXPECT_FALSE(found(fsst, fsst_filter, none));
  EXPECT_TRUE(found(fsst, fsst_filter, [&](Node& node) { ++child_number(node.children[1].children[0], 3); }));
  EXPECT_TRUE(found(fsst, fsst_filter, [&](Node& node) { child_number(node.children[1].children[0], 3) = ~0u; }));
  EXPECT_TRUE(found(fsst, fsst_filter, [](Node& node) {  // an escape with no byte behind it
    Buffer& tables = node.children[1].streams[fsst::kTables];
    tables.as<uint8_t>()[tables.as<uint32_t>()[0] + fsst::kTableFlags] = 0;
    Buffer& codes = node.children[1].streams[fsst::kCodes];
    codes.as<uint8_t>()[codes.size() - 1] = fsst::kEscape;
  }));
  EXPECT_TRUE(found(fsst, fsst_filter, [](Node& node) {  // escapes where there are none
    Buffer& tables = node.children[1].streams[fsst::kTables];
    tables.as<uint8_t>()[tables.as<uint32_t>()[0] + fsst::kTableFlags] = fsst::kEscapeFree;
    Buffer& codes = node.children[1].streams[fsst::kCodes];
    codes.as<uint8_t>()[5] = fsst::kEscape;
  }));

  const char* tokens = "strings(plain, tokens(plain, plain, strings))";
  StringsFilter<Words, TokensFilter<Words, Words>>* tokens_filter = nullptr;
  EXPECT_FALSE(found(tokens, tokens_filter, none));
  EXPECT_TRUE(
      found(tokens, tokens_filter, [&](Node& node) { child_number(node.children[1].children[0], 9) = 1u << 20; }));
  EXPECT_TRUE(found(tokens, tokens_filter, [&](Node& node) { child_number(node.children[1].children[1], 9) = ~0u; }));
  EXPECT_TRUE(found(tokens, tokens_filter, [&](Node& node) { ++child_number(node.children[1].children[1], 1400); }));

  // Codes are tested by bits here; where they are compared, loading has checked them.
  const char* dict = "dict(plain, strings)";
  const StringTest scattered = StringTest::like("%final%");
  Node node = encode_tree(array.values, bind_tree(parse_tree(dict), Physical::kBytes));
  EXPECT_FALSE(finds_damage<DictFilter<Words>>(view_of(node), scattered));
  child_number(node.children[0], 77) = 1u << 30;
  EXPECT_TRUE(finds_damage<DictFilter<Words>>(view_of(node), scattered));
}

}  // namespace
}  // namespace basalt::test
