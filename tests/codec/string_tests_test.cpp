// Tests of strings: automata against what they stand for, over bytes and over symbols, and readers that answer them.
#include <gtest/gtest.h>

#include <random>

#include "basalt/codec/string_test.h"
#include "basalt/core/error.h"
#include "codec/arrays.h"
#include "codec/random_string_tests.h"
#include "codec/strings/symbol_automaton.h"

namespace basalt {
namespace {

using strings::SymbolAutomaton;
using testing::random_test;
using testing::random_text;

// What tests mean, said once more and more simply: over lists of characters, each the bytes of one code point. The
// library's own way with code points is among what is tested.
using Characters = std::vector<std::string>;

Characters characters_of(const std::string& text) {
  Characters out;
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<uint8_t>(text[at]);
    const size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    out.push_back(text.substr(at, bytes));
    at += bytes;
  }
  return out;
}

std::string part_of(const Characters& characters, const StringTest::Part& part) {
  std::string out;
  for (uint64_t i = part.skip; i < characters.size() && i - part.skip < part.count; ++i) out += characters[i];
  return out;
}

// Whether characters from `at` on are what the pattern means from `from` on.
bool is_like(const Characters& pattern, size_t from, const Characters& text, size_t at) {
  if (from == pattern.size()) return at == text.size();
  if (pattern[from] == "%") {
    return is_like(pattern, from + 1, text, at) || (at < text.size() && is_like(pattern, from, text, at + 1));
  }
  if (at == text.size()) return false;
  if (pattern[from] == "_") return is_like(pattern, from + 1, text, at + 1);
  if (pattern[from] == "\\") ++from;
  return pattern[from] == text[at] && is_like(pattern, from + 1, text, at + 1);
}

bool holds(const StringTest& test, std::string text) {
  bool result = false;
  if (test.part) text = part_of(characters_of(text), *test.part);
  switch (test.kind) {
    case StringTest::Kind::kIn:
      result = std::find(test.values.begin(), test.values.end(), text) != test.values.end();
      break;
    case StringTest::Kind::kRange:
      result = (!test.low || text > *test.low || (test.low_inclusive && text == *test.low)) &&
               (!test.high || text < *test.high || (test.high_inclusive && text == *test.high));
      break;
    case StringTest::Kind::kLike: result = is_like(characters_of(test.pattern), 0, characters_of(text), 0); break;
    case StringTest::Kind::kLength: {
      const size_t length = test.in_bytes ? text.size() : characters_of(text).size();
      result = length >= test.least && length <= test.most;
      break;
    }
    case StringTest::Kind::kRegexp: ADD_FAILURE() << "what it means, DuckDB says"; break;
  }
  return result != test.negate;
}

TEST(StringTests, AutomataSayWhatTheTestSays) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const StringTest test = random_test(random);
    const auto [automaton, reason] = make_automaton(test);
    ASSERT_NE(automaton, nullptr) << reason;
    for (int i = 0; i < 50; ++i) {
      const std::string text = random_text(random, 8);
      ASSERT_EQ(automaton->matches(text), holds(test, text)) << '"' << test.pattern << "\" on \"" << text << '"';
      if (test.kind == StringTest::Kind::kLike && !test.part) {
        ASSERT_EQ(LikePattern(test.pattern).matches(text), holds(test, text) != test.negate);
      }
    }
  }
}

// A statement asks for its automata several times, in several threads.
TEST(StringTests, AutomataAreBuiltOnce) {
  StringTest test = StringTest::regexp("^[a-f]+(x|y){3}");
  const auto automaton = make_automaton(test).automaton;
  ASSERT_NE(automaton, nullptr);
  EXPECT_EQ(make_automaton(StringTest::regexp("^[a-f]+(x|y){3}")).automaton, automaton);
  test.negate = true;
  EXPECT_NE(make_automaton(test).automaton, automaton);
  test.negate = false;
  test.part = StringTest::Part{1, 2};
  EXPECT_NE(make_automaton(test).automaton, automaton);
}

TEST(StringTests, PatternsMeanWhatLikeMeans) {
  const auto like = [](const char* pattern, const char* text) { return LikePattern(pattern).matches(text); };
  EXPECT_TRUE(like("", ""));
  EXPECT_FALSE(like("", "a"));
  EXPECT_TRUE(like("%", ""));
  EXPECT_TRUE(like("%special%requests%", "the special and slow requests"));
  EXPECT_FALSE(like("%special%requests%", "requests that are special"));
  EXPECT_TRUE(like("_", "🦆"));
  EXPECT_FALSE(like("__", "é"));
  EXPECT_TRUE(like("a_c%", "aéc"));
  EXPECT_TRUE(like("100\\%", "100%"));
  EXPECT_FALSE(like("100\\%", "1000"));
  EXPECT_TRUE(like("%aab", "aaaab"));
  EXPECT_EQ(LikePattern("ab\\%c%d").prefix(), "ab%c");
  EXPECT_TRUE(LikePattern("ab%%").is_prefix_only());
  EXPECT_FALSE(LikePattern("ab%c").is_prefix_only());
  EXPECT_TRUE(like((LikePattern::escape("5%_\\") + "%").c_str(), "5%_\\!"));
  EXPECT_THROW(LikePattern("a\\"), Error);
}

TEST(StringTests, RegularExpressions) {
  const auto matches = [](const char* pattern, std::string_view text) {
    const auto [automaton, reason] = make_automaton(StringTest::regexp(pattern));
    EXPECT_NE(automaton, nullptr) << pattern << ": " << reason;
    return automaton != nullptr && automaton->matches(text);
  };
  EXPECT_TRUE(matches("", ""));
  EXPECT_TRUE(matches("^$", ""));
  EXPECT_FALSE(matches("^$", "a"));
  EXPECT_TRUE(matches("$^", ""));
  EXPECT_TRUE(matches("b+c", "abbbcd"));
  EXPECT_FALSE(matches("^b+c", "abbbcd"));
  EXPECT_TRUE(matches("(a|^b)c$", "bc"));
  EXPECT_FALSE(matches("(a|^b)c$", "bbc"));
  EXPECT_TRUE(matches("^a{2,3}$", "aaa"));
  EXPECT_FALSE(matches("^a{2,3}$", "aaaa"));
  EXPECT_TRUE(matches("^(?:ab?){2,}$", "aab"));
  EXPECT_FALSE(matches("^a{0}$", "a"));
  EXPECT_TRUE(matches("^.$", "🦆"));
  EXPECT_FALSE(matches("^.$", "\n"));
  EXPECT_TRUE(matches("^[^a]$", "\n"));
  EXPECT_TRUE(matches("^[à-ü世]+$", "é世ü"));
  EXPECT_FALSE(matches("^[à-ü]$", "z"));
  EXPECT_TRUE(matches("^\\d{3}-\\w\\s\\.$", "123-_ ."));
  EXPECT_TRUE(matches("^[\\d-]+$", "1-2"));
  EXPECT_TRUE(matches("^[^\\W\\d]$", "x"));
  EXPECT_TRUE(matches("x*?y", "y"));
  // What is wrong, or means more than an automaton says.
  for (const char* pattern : {"(",
                              ")",
                              "a)|(b",
                              "[",
                              "[a",
                              "a{2,1}",
                              "a**",
                              "*a",
                              "\\",
                              "\\b",
                              "\\1",
                              "\\pL",
                              "\\Q",
                              "\\_",
                              "(?i)a",
                              "(?P<n>a)",
                              "[[:alpha:]]",
                              "[z-a]",
                              "a{1001}",
                              "{",
                              "((((a{99}){99}){99}){99})",
                              "(((){999}){999}){999}",
                              "\xFF"}) {
    const auto [automaton, reason] = make_automaton(StringTest::regexp(pattern));
    EXPECT_EQ(automaton, nullptr) << pattern;
    EXPECT_FALSE(reason.empty());
  }
}

TEST(StringTests, AutomataAreSmallAndStopEarly) {
  const auto automaton = make_automaton(StringTest::like("%special%requests%")).automaton;
  ASSERT_NE(automaton, nullptr);
  EXPECT_EQ(automaton->states(), 16u);  // seven letters, eight letters, and the end
  EXPECT_TRUE(automaton->settled(automaton->run(automaton->start(), "special requests")));
  EXPECT_FALSE(automaton->settled(automaton->run(automaton->start(), "special request")));

  const auto prefix = make_automaton(StringTest::like("PROMO%")).automaton;
  EXPECT_TRUE(prefix->settled(prefix->run(prefix->start(), "S")));
  const auto part = [] {
    StringTest test = StringTest::in({"13", "31", "23"});
    test.part = StringTest::Part{0, 2};
    return make_automaton(test).automaton;
  }();
  EXPECT_TRUE(part->settled(part->run(part->start(), "1x")));
  EXPECT_TRUE(part->settled(part->run(part->start(), "13-")));
  const auto length = make_automaton(StringTest::length(false, 11, UINT64_MAX)).automaton;
  EXPECT_EQ(length->states(), 12u);
  EXPECT_TRUE(length->settled(length->run(length->start(), "eleven bytes")));
  // All texts, and none.
  EXPECT_EQ(make_automaton(StringTest::like("%")).automaton->states(), 1u);
  EXPECT_EQ(make_automaton(StringTest::in({})).automaton->states(), 1u);
}

// Any text of so many bytes, of letters that differ from their neighbours.
std::string letters(size_t length) {
  std::string out;
  for (size_t i = 0; i < length; ++i) out += static_cast<char>((i % 52 < 26 ? 'A' : 'a' - 26) + i % 52);
  return out;
}

TEST(StringTests, TooManyStatesHaveAReason) {
  std::vector<std::string> list;
  for (int i = 0; i < 600; ++i) list.push_back(std::to_string(i));
  for (const StringTest& test :
       {StringTest::in({std::string(127, 'x')}), StringTest::in(list), StringTest::like("%a______________b%"),
        StringTest::like(letters(127)), StringTest::like(letters(500)),
        StringTest::like(letters(60) + "%" + letters(70)), StringTest::between(std::nullopt, true, letters(128), false),
        StringTest::between(std::nullopt, true, letters(500), false),
        StringTest::between(letters(1 << 20), true, std::nullopt, true), StringTest::regexp("a.{14}b"),
        StringTest::regexp("^" + letters(127) + "$"), StringTest::regexp("^" + letters(500)),
        StringTest::regexp("^" + letters(1990)), StringTest::regexp(letters(1990)),
        StringTest::length(false, 0, 300)}) {
    const auto [automaton, reason] = make_automaton(test);
    EXPECT_EQ(automaton, nullptr);
    EXPECT_NE(reason.find("states"), std::string::npos) << reason;
  }
}

TEST(StringTests, AsManyStatesAsThereMayBe) {
  for (const StringTest& test :
       {StringTest::in({letters(126)}), StringTest::like(letters(126)), StringTest::like(letters(126) + "%"),
        StringTest::between(std::nullopt, true, letters(126), false), StringTest::regexp("^" + letters(126))}) {
    const auto [automaton, reason] = make_automaton(test);
    ASSERT_NE(automaton, nullptr) << reason;
    EXPECT_EQ(automaton->states(), Automaton::kMostStates);
    EXPECT_EQ(automaton->matches(letters(126)), test.kind != StringTest::Kind::kRange);
    EXPECT_EQ(automaton->matches(letters(125)), test.kind == StringTest::Kind::kRange);
  }
  // A list is as long as its values are different.
  const auto same = make_automaton(StringTest::in(std::vector<std::string>(600, "a"))).automaton;
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same, make_automaton(StringTest::in({"a"})).automaton);
}

// Symbols split code points and words anywhere.
TEST(StringTests, SymbolsLeadWhereTheirBytesLead) {
  std::mt19937_64 random(2);
  std::vector<std::string> symbols;
  for (int byte = 0; byte < 256; ++byte) symbols.push_back(std::string(1, static_cast<char>(byte)));
  for (int i = 0; i < 100; ++i) {
    const std::string text = random_text(random, 6) + "ab";
    symbols.push_back(text.substr(random() % (text.size() - 1), 1 + random() % 8));
  }
  for (int round = 0; round < 200; ++round) {
    const StringTest test = random_test(random);
    const auto automaton = make_automaton(test).automaton;
    const SymbolAutomaton by_symbol(automaton, static_cast<uint32_t>(symbols.size()),
                                    [&](uint32_t symbol) -> std::string_view { return symbols[symbol]; });
    for (int i = 0; i < 20; ++i) {
      std::string text;
      uint8_t state = automaton->start();
      for (size_t left = random() % 6; left > 0; --left) {
        const auto symbol = static_cast<uint32_t>(random() % symbols.size());
        text += symbols[symbol];
        state = by_symbol.next(state, symbol);
      }
      ASSERT_EQ(automaton->accepts(state), automaton->matches(text));
    }
  }
}

TEST(StringTests, ReadersAnswerWithoutDecoding) {
  for (const char* tree : {"strings(packed, plain)", "dict(packed, strings(packed, plain))", "dict(rle, strings)",
                           "strings(packed, fsst)", "dict(packed, strings(packed, fsst))", "strings(packed, tokens)"}) {
    std::mt19937_64 random(3);
    testing::Array array = testing::make_strings(2500, testing::Pattern::kZero, 0);
    array.bytes.clear();
    array.offsets.assign(1, 0);
    for (int i = 0; i < 2500; ++i) {
      array.bytes += random_text(random, 4);
      array.offsets.push_back(static_cast<int64_t>(array.bytes.size()));
    }
    array.values.bytes = array.bytes.data();
    array.values.offsets = array.offsets.data();
    const Node node = encode_tree(array.values, bind_tree(parse_tree(tree), Physical::kBytes));
    const NodeView view = view_of(node);
    validate_tree(view);
    const auto reader = open_reader(view);
    for (int round = 0; round < 100; ++round) {
      const StringTest test = random_test(random);
      const auto automaton = make_automaton(test).automaton;
      for (uint32_t tile = 0; tile < 3; ++tile) {
        uint8_t out[kTileRows];
        ASSERT_EQ(reader->filter_strings(tile, automaton, out), Answered::kByRows) << tree;
        for (uint32_t i = 0; i < rows_in_tile(2500, tile); ++i) {
          const std::string text(array.values.string(tile * kTileRows + i));
          ASSERT_EQ(out[i], holds(test, text) ? 1 : 0) << tree << ": \"" << test.pattern << "\" on \"" << text << '"';
        }
      }
    }
    EXPECT_FALSE(reader->corrupt());
  }
}

TEST(StringTests, ConstantsAnswerOnce) {
  testing::Array array = testing::make_strings(1500, testing::Pattern::kConstant, 0);
  const Node node = encode_tree(array.values, bind_tree(parse_tree("strings(constant, constant)"), Physical::kBytes));
  const NodeView view = view_of(node);
  const auto reader = open_reader(view);
  uint8_t out[kTileRows];
  ASSERT_EQ(reader->filter_strings(1, make_automaton(StringTest::like("v%")).automaton, out), Answered::kByRows);
  EXPECT_EQ(std::count(out, out + 476, 1), 476);
  ASSERT_EQ(reader->filter_strings(1, make_automaton(StringTest::like("w%")).automaton, out), Answered::kByRows);
  EXPECT_EQ(std::count(out, out + 476, 0), 476);
}

}  // namespace
}  // namespace basalt
