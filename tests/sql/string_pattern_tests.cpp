// Random patterns and strings: what automata and filters over files say must be what DuckDB says.
#include <gtest/gtest.h>

#include <random>

#include "basalt/codec/string_test.h"
#include "codec/strings/regexp.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

// Few letters, so that patterns meet them; code points of one to four bytes.
constexpr const char* kLetters[] = {"a", "b", "ab", "c", " ", "é", "ü", "世", "🦆", "%", "_", "\\"};

std::string random_text(std::mt19937_64& random, size_t most) {
  std::string out;
  for (size_t left = random() % (most + 1); left > 0; --left) out += kLetters[random() % std::size(kLetters)];
  return out;
}

std::string random_pattern(std::mt19937_64& random) {
  static const char* kParts[] = {"%", "%", "%", "_", "_", "a", "b", "ab", "é", "世", "🦆", "c a"};
  std::string out;
  for (size_t left = random() % 8; left > 0; --left) out += kParts[random() % std::size(kParts)];
  return out;
}

// What RE2 understands, of letters that texts have.
std::string random_regexp(std::mt19937_64& random, int depth) {
  static const char* kAtoms[] = {"a",    "b",     "c",      "é",   "世",  "🦆", ".", "[ab]",
                                 "[^a]", "[à-ü]", "[^世c]", "\\w", "\\W", "\\s",  " ", "\\\\"};
  static const char* kRepeats[] = {"", "", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}?", "{2,}"};
  std::string out;
  for (size_t left = 1 + random() % 3; left > 0; --left) {
    const uint64_t kind = random() % 12;
    if (kind == 0) {
      out += random() % 2 == 0 ? "^" : "$";
      continue;
    }
    if (kind < 3 && depth > 0) {
      out += (random() % 2 == 0 ? "(" : "(?:") + random_regexp(random, depth - 1) + "|" +
             random_regexp(random, depth - 1) + ")";
    } else {
      out += kAtoms[random() % std::size(kAtoms)];
    }
    out += kRepeats[random() % std::size(kRepeats)];
  }
  return out;
}

// `select … from (values (0, 'a'), …) name(i, s)`'s list.
std::string value_list(const std::vector<std::string>& texts) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) {
    out += (i > 0 ? ", (" : "(") + std::to_string(i) + ", " + quote_literal(texts[i]) + ")";
  }
  return out;
}

// DuckDB's answers, a row of zeros and ones for each pattern.
std::vector<std::string> duckdb_answers(const std::string& predicate, const std::vector<std::string>& texts,
                                        const std::vector<std::string>& patterns) {
  Session session(session_options(Device::kCpu));
  return rows_of(session, "select string_agg(case when " + predicate +
                              " then '1' else '0' end, '' order by t.i) from (values " + value_list(texts) +
                              ") t(i, s), (values " + value_list(patterns) + ") p(i, s) group by p.i order by p.i");
}

void expect_answers(const std::string& predicate, const std::vector<std::string>& texts,
                    const std::vector<std::string>& patterns,
                    const std::function<StringTest(const std::string&)>& test_of) {
  const std::vector<std::string> answers = duckdb_answers(predicate, texts, patterns);
  ASSERT_EQ(answers.size(), patterns.size());
  for (size_t p = 0; p < patterns.size(); ++p) {
    const StringTest test = test_of(patterns[p]);
    const auto automaton = make_automaton(test).automaton;
    ASSERT_NE(automaton, nullptr) << patterns[p];
    for (size_t t = 0; t < texts.size(); ++t) {
      ASSERT_EQ(automaton->matches(texts[t]), answers[p][t] == '1')
          << predicate << " with \"" << patterns[p] << "\" on \"" << texts[t] << '"';
      if (test.kind == StringTest::Kind::kLike && !test.part) {
        ASSERT_EQ(LikePattern(test.pattern).matches(texts[t]), answers[p][t] == '1');
      }
    }
  }
}

TEST(StringPatterns, AutomataAnswerAsDuckDb) {
  std::mt19937_64 random(11);
  const size_t scale = kQuick ? 1 : 4;
  std::vector<std::string> texts;
  for (size_t i = 0; i < 100 * scale; ++i) texts.push_back(random_text(random, 10));
  std::vector<std::string> patterns;
  for (size_t i = 0; i < 100 * scale; ++i) patterns.push_back(random_pattern(random));
  expect_answers("t.s like p.s", texts, patterns, [](const std::string& p) { return StringTest::like(p); });
  std::vector<std::string> escaped;
  for (const std::string& pattern : patterns) escaped.push_back(LikePattern::escape(random_text(random, 2)) + pattern);
  expect_answers("t.s like p.s escape '\\'", texts, escaped, [](const std::string& p) { return StringTest::like(p); });
  std::vector<std::string> words;
  for (size_t i = 0; i < 20 * scale; ++i) words.push_back(random_text(random, 3));
  expect_answers("t.s < p.s", texts, words,
                 [](const std::string& p) { return StringTest::between({}, true, p, false); });
  expect_answers("t.s >= p.s", texts, words,
                 [](const std::string& p) { return StringTest::between(p, true, {}, true); });
  expect_answers("t.s = p.s", texts, words, [](const std::string& p) { return StringTest::in({p}); });
  expect_answers("contains(t.s, p.s)", texts, words,
                 [](const std::string& p) { return StringTest::like("%" + LikePattern::escape(p) + "%"); });
  expect_answers("suffix(t.s, p.s)", texts, words,
                 [](const std::string& p) { return StringTest::like("%" + LikePattern::escape(p)); });
}

TEST(StringPatterns, RegularExpressionsAnswerAsDuckDb) {
  std::mt19937_64 random(13);
  const size_t scale = kQuick ? 1 : 4;
  std::vector<std::string> texts{"", "\n", "a\nb"};
  for (size_t i = 0; i < 50 * scale; ++i) texts.push_back(random_text(random, 8));
  const auto of_all = [](const std::string& pattern) { return StringTest::regexp("^(?:" + pattern + ")$"); };
  std::vector<std::string> patterns;
  size_t too_large = 0;
  while (patterns.size() < 75 * scale) {
    std::string pattern = random_regexp(random, 2);
    const std::string reason =
        make_automaton(StringTest::regexp(pattern)).reason + make_automaton(of_all(pattern)).reason;
    ASSERT_TRUE(reason.empty() || reason.find("states") != std::string::npos) << pattern << ": " << reason;
    if (reason.empty()) {
      patterns.push_back(std::move(pattern));
    } else {
      ++too_large;
    }
  }
  EXPECT_LT(too_large, patterns.size() / 10);
  expect_answers("regexp_matches(t.s, p.s)", texts, patterns,
                 [](const std::string& p) { return StringTest::regexp(p); });
  expect_answers("regexp_full_match(t.s, p.s)", texts, patterns, of_all);
}

TEST(StringPatterns, ReplacementsOfRegularExpressionsAreDuckDbs) {
  std::mt19937_64 random(17);
  const size_t scale = kQuick ? 1 : 4;
  std::vector<std::string> texts{"", "aab", "a\nb"};
  for (size_t i = 0; i < 50 * scale; ++i) texts.push_back(random_text(random, 8));
  std::vector<std::string> patterns;
  std::vector<strings::Regexp> regexps;
  while (patterns.size() < 75 * scale) {
    std::string pattern = "(" + random_regexp(random, 2) + ")";
    if (random() % 3 == 0) pattern = "(.*?)" + pattern;
    try {
      regexps.emplace_back(pattern, strings::Regexp::For::kMatches);
      patterns.push_back(std::move(pattern));
    } catch (const Error&) {  // what may be empty is not repeated
    }
  }
  Session session(session_options(Device::kCpu));
  for (const bool all : {false, true}) {
    const std::vector<std::string> answers =
        rows_of(session, "select replace(regexp_replace(t.s, p.s, '<\\1:\\0>', '" + std::string(all ? "g" : "") +
                             "'), chr(10), '@') || '.' from (values " + value_list(texts) + ") t(i, s), (values " +
                             value_list(patterns) + ") p(i, s) order by p.i, t.i");
    ASSERT_EQ(answers.size(), texts.size() * patterns.size());
    for (size_t p = 0; p < patterns.size(); ++p) {
      for (size_t t = 0; t < texts.size(); ++t) {
        std::string replaced;
        strings::append_replaced(regexps[p], texts[t], "<\\1:\\0>", all, replaced);
        std::ranges::replace(replaced, '\n', '@');  // rows are lines
        ASSERT_EQ(replaced + ".", answers[p * texts.size() + t]) << patterns[p] << " in " << texts[t];
      }
    }
  }
}

// Signs in any order: what has an automaton is a pattern for DuckDB, too, and means the same.
TEST(StringPatterns, WhatIsUnderstoodIsWhatDuckDbUnderstands) {
  static const char* kSigns[] = {"a",  "b",   "1", "2",  ".", "*",   "+",   "?",  "|",   "(",    ")",    "[",
                                 "]",  "{",   "}", "^",  "$", "-",   ",",   "\\", "d",   "w",    "S",    "n",
                                 "[^", "(?:", "é", "世", " ", "[a-", "\\]", ":",  "\\d", "🦆", "{1,2}"};
  std::mt19937_64 random(15);
  std::vector<std::string> patterns;
  for (int i = 0; i < (kQuick ? 1000 : 6000); ++i) {
    std::string pattern;
    for (size_t left = 1 + random() % 10; left > 0; --left) pattern += kSigns[random() % std::size(kSigns)];
    if (make_automaton(StringTest::regexp(pattern)).automaton != nullptr) patterns.push_back(std::move(pattern));
  }
  EXPECT_GT(patterns.size(), 100u);
  const std::vector<std::string> texts = {"",  "a",  "ab世", "🦆\n1", "b-2", "]", "\\", "2 a",
                                          "é", "{1", "aaa",  "n1]",     "^",   "$", "-",  "0"};
  expect_answers("regexp_matches(t.s, p.s)", texts, patterns,
                 [](const std::string& p) { return StringTest::regexp(p); });
}

TEST(StringPatterns, LengthsAndPartsAnswerAsDuckDb) {
  std::mt19937_64 random(14);
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) texts.push_back(random_text(random, 8));
  std::vector<std::string> numbers;
  for (int i = 0; i < 20; ++i) numbers.push_back(std::to_string(i));
  expect_answers("length(t.s) <= p.s::bigint", texts, numbers,
                 [](const std::string& n) { return StringTest::length(false, 0, std::stoull(n)); });
  expect_answers("strlen(t.s) >= p.s::bigint", texts, numbers,
                 [](const std::string& n) { return StringTest::length(true, std::stoull(n), UINT64_MAX); });
  const auto part = [](StringTest test, uint64_t skip, uint64_t count) {
    test.part = StringTest::Part{skip, count};
    return test;
  };
  std::vector<std::string> words;
  for (int i = 0; i < 60; ++i) words.push_back(random_text(random, 2));
  expect_answers("left(t.s, 2) = p.s", texts, words,
                 [&](const std::string& p) { return part(StringTest::in({p}), 0, 2); });
  expect_answers("substring(t.s, 2, 3) > p.s", texts, words,
                 [&](const std::string& p) { return part(StringTest::between(p, false, {}, true), 1, 3); });
  expect_answers("contains(substring(t.s, 3), p.s)", texts, words, [&](const std::string& p) {
    return part(StringTest::like("%" + LikePattern::escape(p) + "%"), 2, StringTest::Part::kToTheEnd);
  });
  expect_answers("length(substring(t.s, 2, 3)) = p.s::bigint", texts, numbers, [&](const std::string& n) {
    return part(StringTest::length(false, std::stoull(n), std::stoull(n)), 1, 3);
  });
}

std::string random_predicate(std::mt19937_64& random) {
  switch (random() % 16) {
    case 10: return "regexp_matches(s, " + quote_literal(random_regexp(random, 1)) + ")";
    case 11: return "s ~ " + quote_literal(random_regexp(random, 1));
    case 12: return "length(s) " + std::string(random() % 2 == 0 ? ">" : "<>") + " " + std::to_string(random() % 6);
    case 13: return "strlen(s) between " + std::to_string(random() % 4) + " and " + std::to_string(random() % 12);
    case 14:
      return "substring(s, 1, 2) in (" + quote_literal(random_text(random, 2)) + ", " +
             quote_literal(random_text(random, 1)) + ", 'ab')";
    case 15: return "substr(s, 2, 2) like " + quote_literal(random_pattern(random));
    case 0: return "s = " + quote_literal(random_text(random, 2));
    case 1: return "s <> " + quote_literal(random_text(random, 2));
    case 2:
      return "s in (" + quote_literal(random_text(random, 2)) + ", " + quote_literal(random_text(random, 1)) + ")";
    case 3: return "s not in (" + quote_literal(random_text(random, 1)) + ", 'a', 'b')";
    case 4:
      return "s between " + quote_literal(random_text(random, 2)) + " and " + quote_literal(random_text(random, 2));
    case 5: return "starts_with(s, " + quote_literal(random_text(random, 2)) + ")";
    case 6: return "s not like " + quote_literal(random_pattern(random));
    case 7: return "(s like " + quote_literal(random_pattern(random)) + " or s is null)";
    default: return "s like " + quote_literal(random_pattern(random));
  }
}

TEST(StringPatterns, FiltersOverFilesAnswerAsDuckDb) {
  const ScratchFolder folder;
  Session session(session_options(Device::kCpu));
  std::mt19937_64 random(12);
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) texts.push_back(random_text(random, 6));
  rows_of(session,
          "create table t as select i, case when i % 13 = 0 then null else s end as s, s || i as u from (values " +
              value_list(texts) + ") v(i, s)");
  struct Case {
    const char* name;
    const char* tree;
  };
  constexpr Case kCases[] = {{"plain", "validity(packed, strings(packed, plain))"},
                             {"dict", "validity(packed, dict(packed, strings(packed, plain)))"},
                             {"fsst", "validity(packed, strings(packed, fsst))"},
                             {"tokens", "validity(packed, strings(packed, tokens))"}};
  for (const auto& [name, tree] : kCases) {
    WriteOptions options;
    options.encodings["s"] = parse_tree(tree);
    session.convert("select * from t order by i", folder.file(std::string(name) + ".basalt"), options);
  }
  std::vector<std::unique_ptr<Session>> sessions;
  for (const Device device : test_devices()) sessions.push_back(std::make_unique<Session>(session_options(device)));
  for (int round = 0; round < (kQuick ? 20 : 150); ++round) {
    std::string predicate = random_predicate(random);
    if (random() % 4 == 0) predicate += " and not (" + random_predicate(random) + ")";
    // Strings among the results keep the aggregate in DuckDB, above a scan that filters; the other runs as a whole.
    for (const std::string query :
         {"select count(*), sum(i), max(u) from ", "select count(*), sum(i), count(s) from "}) {
      const std::vector<std::string> expected = rows_of(session, query + "t where " + predicate);
      for (const auto& [name, tree] : kCases) {
        const std::string file = quote_literal(folder.file(std::string(name) + ".basalt"));
        for (const auto& on_device : sessions) {
          EXPECT_EQ(rows_of(*on_device, query + file + " where " + predicate), expected) << name << ": " << predicate;
        }
      }
    }
  }
}

}  // namespace
}  // namespace basalt::testing
