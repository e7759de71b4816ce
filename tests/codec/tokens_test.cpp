// `tokens` and `numbered`: what they hold, how small, and what damage they report.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "basalt/codec/string_test.h"
#include "basalt/core/error.h"
#include "basalt/encoding/chooser.h"
#include "codec/arrays.h"
#include "codec/tokens/layout.h"

namespace basalt {
namespace {

using testing::Array;
using testing::make_texts;

// Sentences cut out of a longer text, so that their first and last words are pieces of words.
std::vector<std::string> sentences(size_t count, uint64_t seed) {
  static const char* kWords[] = {"furiously ", "quick ",   "deposits ", "sleep ",    "carefully ", "the ",
                                 "final ",     "requests", ". ",        "packages ", "accounts ",  "haggle "};
  std::mt19937_64 random(seed);
  std::string text;
  while (text.size() < 60000) text += kWords[random() % std::size(kWords)];
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) out.push_back(text.substr(random() % 59900, 10 + random() % 40));
  return out;
}

std::vector<std::string> read_all(const NodeView& view) {
  validate_tree(view);
  const auto reader = open_reader(view);
  StringRows rows;
  for (uint32_t tile = 0; tile < tile_count(view.count); ++tile) reader->decode_tile(tile, rows);
  EXPECT_FALSE(reader->corrupt());
  std::vector<std::string> out;
  for (size_t i = 0; i < rows.size(); ++i) out.emplace_back(rows.at(i));
  return out;
}

Node encode_tokens(const Array& array, Effort effort = Effort::kBalanced) {
  return encode_tree(array.values, bind_tree(parse_tree("strings(packed, tokens)"), Physical::kBytes), effort);
}

TEST(Tokens, HoldAnyBytes) {
  std::mt19937_64 random(1);
  std::vector<std::string> texts{"", std::string(1, '\0'), std::string(5000, 'x'), std::string(300, ' '),
                                 "\xFF\xFE\xFD"};
  for (int i = 0; i < 1500; ++i) {
    std::string text;
    for (size_t left = random() % 20; left > 0; --left) text += static_cast<char>(random());
    texts.push_back(text);
    texts.push_back("漢字 und Wörter, " + std::to_string(i % 7));
  }
  const Array array = make_texts(texts);
  EXPECT_EQ(read_all(view_of(encode_tokens(array))), texts);
  EXPECT_EQ(read_all(view_of(encode_tokens(make_texts({})))), std::vector<std::string>{});
  EXPECT_EQ(read_all(view_of(encode_tokens(make_texts({"", ""})))), (std::vector<std::string>{"", ""}));
}

TEST(Tokens, MakeSentencesSmall) {
  const std::vector<std::string> texts = sentences(20000, 2);
  const Array array = make_texts(texts);
  const Node node = encode_tokens(array);
  EXPECT_EQ(read_all(view_of(node)), texts);
  EXPECT_LT(node.encoded_bytes() * 3, array.bytes.size());
  // Phrases, not words alone, and the most frequent entry first.
  const Node& bytes = node.children[1];
  const Node& entries = bytes.children[tokens::kEntries];
  const auto reader = open_reader(view_of(entries));
  StringRows rows;
  reader->decode_tile(0, rows);
  const std::string all(rows.bytes.as<char>(), rows.bytes.size());
  EXPECT_NE(all.find("furiously quick "), std::string::npos);
  std::set<std::string_view> distinct;
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_TRUE(distinct.insert(rows.at(i)).second) << rows.at(i);
  std::vector<uint64_t> used(entries.count, 0);
  const auto ids = open_reader(view_of(bytes.children[tokens::kIds]));
  uint32_t tile_ids[kTileRows];
  for (uint32_t tile = 0; tile < tile_count(ids->count()); ++tile) {
    ids->decode_tile(tile, tile_ids);
    for (uint32_t i = 0; i < rows_in_tile(ids->count(), tile); ++i) ++used[tile_ids[i]];
  }
  EXPECT_TRUE(std::is_sorted(used.begin(), used.end(), std::greater<>()));
  EXPECT_GT(used.back(), 0u);
}

// Entries are chosen for what ids take: for their entropy there are never more than `ans` has symbols for.
TEST(Tokens, EntropyWantsOtherEntries) {
  std::mt19937_64 random(3);
  std::vector<std::string> texts(30'000);
  for (std::string& text : texts) {
    for (size_t left = 2 + random() % 9; left > 0; --left) {
      const size_t word = std::min({random() % 2000, random() % 2000, random() % 2000, random() % 2000});
      text += "w" + std::to_string(word) + (left > 1 ? " " : ".");
    }
  }
  const Array array = make_texts(texts);
  const auto encoded = [&](const char* tree) {
    return encode_tree(array.values, bind_tree(parse_tree(tree), Physical::kBytes),
                       {Effort::kBalanced, Purpose::kDisk});
  };
  const Node entropy = encoded("strings(packed, tokens(ans))");
  const Node equal = encoded("strings(packed, tokens(packed))");
  EXPECT_EQ(read_all(view_of(entropy)), texts);
  EXPECT_LE(entropy.children[1].children[2].count, 4096u);
  EXPECT_LT(entropy.encoded_bytes(), equal.encoded_bytes());
}

TEST(Tokens, SameValuesGiveTheSameBytes) {
  const Array array = make_texts(sentences(5000, 3));
  for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
    const Node a = encode_tokens(array, effort);
    const Node b = encode_tokens(array, effort);
    for (size_t child = 0; child < 3; ++child) {
      const auto& left = a.children[1].children[child].streams;
      const auto& right = b.children[1].children[child].streams;
      ASSERT_EQ(left.size(), right.size());
      for (size_t i = 0; i < left.size(); ++i) {
        EXPECT_TRUE(std::ranges::equal(left[i].view(), right[i].view()));
      }
    }
  }
}

TEST(Tokens, AreChosenForTextsAndNotForNoise) {
  const Array text = make_texts(sentences(20000, 4));
  EXPECT_EQ(choose_tree(text.values).children.at(1).codec, "tokens");
  std::mt19937_64 random(5);
  std::vector<std::string> noise;
  for (int i = 0; i < 20000; ++i) noise.push_back(std::to_string(random()) + std::to_string(random()));
  const Array array = make_texts(noise);
  EXPECT_NE(choose_tree(array.values).children.at(1).codec, "tokens");
}

// Each row repeats a text of its own: a sample of some rows is full of repetitions that the others do not share.
TEST(Tokens, AreNotChosenForWhatOnlyASampleRepeats) {
  std::mt19937_64 random(5);
  std::vector<std::string> texts;
  for (int i = 0; i < 400; ++i) {
    std::string once;
    while (once.size() < 32) once += "0123456789abcdef"[random() % 16];
    std::string text;
    while (text.size() < 20000) text += once;
    texts.push_back(text);
  }
  const Array array = make_texts(texts);
  const Tree tree = choose_tree(array.values);
  const Node node = encode_tree(array.values, bind_tree(tree, Physical::kBytes), Effort::kBalanced);
  EXPECT_LT(node.encoded_bytes(), 400u * 20000 * 6 / 10) << to_string(tree);
}

// A third of all words are names that no other row has, the others are few.
TEST(Tokens, AreNotChosenWhereWordsNeverEnd) {
  std::mt19937_64 random(6);
  std::vector<std::string> texts;
  for (int i = 0; i < 100'000; ++i) {
    std::string name;
    const size_t length = 6 + random() % 6;
    while (name.size() < length) name += "etaoinshrdlu"[random() % 12];
    texts.push_back(name + "@mail" + std::to_string(random() % 300) + ".com");
  }
  const Array array = make_texts(texts);
  const auto bytes = [&](const Tree& tree) {
    return encode_tree(array.values, bind_tree(tree, Physical::kBytes), Effort::kBalanced).encoded_bytes();
  };
  const Tree tree = choose_tree(array.values);
  EXPECT_LT(bytes(tree), bytes(parse_tree("strings(packed, fsst)")) * 101 / 100) << to_string(tree);
}

TEST(Tokens, TestsSpanTokens) {
  const std::vector<std::string> texts = sentences(3000, 6);
  const Array array = make_texts(texts);
  const Node node = encode_tokens(array);
  const NodeView view = view_of(node);
  const auto reader = open_reader(view);
  for (const char* pattern : {"%y quick d%", "%sly%. %", "f%", "%s", "________%e__", "%", ""}) {
    const auto automaton = make_automaton(StringTest::like(pattern)).automaton;
    const LikePattern direct(pattern);
    uint32_t matches = 0;
    for (uint32_t tile = 0; tile < 3; ++tile) {
      uint8_t out[kTileRows];
      ASSERT_EQ(reader->filter_strings(tile, automaton, out), Answered::kByRows);
      for (uint32_t i = 0; i < rows_in_tile(3000, tile); ++i) {
        ASSERT_EQ(out[i], direct.matches(texts[tile * kTileRows + i]) ? 1 : 0) << pattern;
        matches += out[i];
      }
    }
    EXPECT_EQ(matches > 0, *pattern != 0) << pattern;
  }
}

bool is_reported(const Node& node) {
  const NodeView view = view_of(node);
  validate_tree(view);
  const auto reader = open_reader(view);
  StringRows rows;
  for (uint32_t tile = 0; tile < tile_count(view.count); ++tile) reader->decode_tile(tile, rows);
  return reader->corrupt();
}

TEST(Tokens, ReportWhatOnlyValuesShow) {
  const Array array = make_texts(sentences(1500, 7));
  const Tree tree =
      bind_tree(parse_tree("strings(plain, tokens(plain, plain, strings(plain, plain)))"), Physical::kBytes);
  const auto damaged = [&](auto&& change) {
    Node node = encode_tree(array.values, tree);
    change(node.children[1]);
    return is_reported(node);
  };
  EXPECT_FALSE(damaged([](Node&) {}));
  EXPECT_TRUE(damaged([](Node& bytes) { bytes.children[tokens::kIds].streams[0].as<uint32_t>()[7] = 4000000000u; }));
  EXPECT_TRUE(damaged([](Node& bytes) { ++bytes.children[tokens::kCounts].streams[0].as<uint32_t>()[3]; }));
  EXPECT_TRUE(damaged([](Node& bytes) {  // the tile's sum stays
    auto* counts = bytes.children[tokens::kCounts].streams[0].as<uint32_t>();
    ++counts[3];
    --counts[4];
  }));
  EXPECT_TRUE(damaged([](Node& bytes) { ++bytes.streams[tokens::kTileStarts].as<uint64_t>()[1]; }));
  Node node = encode_tree(array.values, tree);
  node.children[1].streams[tokens::kTileStarts].as<uint64_t>()[1] = ~uint64_t{0};
  EXPECT_THROW(validate_tree(view_of(node)), Error);
}

TEST(Numbered, HoldsPaddedNumbers) {
  std::vector<std::string> names;
  for (int i = 1; i <= 15000; ++i) {
    std::string digits = std::to_string(i);
    names.push_back("Customer#" + std::string(9 - digits.size(), '0') + digits);
  }
  const Array array = make_texts(names);
  const Tree tree = choose_tree(array.values);
  EXPECT_EQ(tree.codec, "numbered");
  const Node node = encode_tree(array.values, tree);
  EXPECT_EQ(read_all(view_of(node)), names);
  EXPECT_LT(node.encoded_bytes() * 100, array.bytes.size());

  const NodeView view = view_of(node);
  const auto reader = open_reader(view);
  uint8_t out[kTileRows];
  EXPECT_EQ(reader->filter_strings(0, make_automaton(StringTest::like("Supplier%")).automaton, out),
            Answered::kByBounds);
  EXPECT_EQ(std::count(out, out + kTileRows, 0), kTileRows);
  EXPECT_EQ(reader->filter_strings(0, make_automaton(StringTest::like("%#%077")).automaton, out), Answered::kByRows);
  EXPECT_EQ(std::count(out, out + kTileRows, 1), 1);
  EXPECT_EQ(out[76], 1);
}

TEST(Numbered, RefusesOtherStrings) {
  const Tree tree = bind_tree(parse_tree("numbered"), Physical::kBytes);
  for (const auto& texts : std::vector<std::vector<std::string>>{{"a1", "a"}, {"a1", "b1"}, {"x", "y"}, {"", "1"}}) {
    const Array array = make_texts(texts);
    EXPECT_THROW(encode_tree(array.values, tree), Error);
  }
  const Array long_number = make_texts({"12345678901234567890123", "12345678909999999999999"});
  EXPECT_EQ(read_all(view_of(encode_tree(long_number.values, tree))).at(1), "12345678909999999999999");
}

TEST(Numbered, NumbersOfTooManyDigitsAreReported) {
  const Array array = make_texts({"a12", "a13"});
  Node node = encode_tree(array.values, bind_tree(parse_tree("numbered(plain)"), Physical::kBytes));
  EXPECT_FALSE(is_reported(node));
  node.children[0].streams[0].as<uint64_t>()[1] = 100;
  EXPECT_TRUE(is_reported(node));
  node.params[0] = std::byte{20};
  EXPECT_THROW(validate_tree(view_of(node)), Error);
}

}  // namespace
}  // namespace basalt
