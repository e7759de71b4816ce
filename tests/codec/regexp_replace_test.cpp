// Matches of regular expressions and what replaces them, as RE2 has them; a search that remembers nothing finds the
// same or gives up.
#include <gtest/gtest.h>

#include <string>

#include "basalt/core/error.h"
#include "codec/strings/regexp.h"

namespace basalt::strings {
namespace {

TextBytes bytes_of(std::string_view text) { return {reinterpret_cast<const unsigned char*>(text.data()), text.size()}; }

std::string replaced(std::string_view text, std::string_view pattern, std::string_view replacement, bool all = false) {
  const Regexp regexp(pattern, Regexp::For::kMatches);
  check_replacement(replacement, regexp.groups());
  BoundedSearch<48> search;
  search.most_steps = most_search_steps(text.size());
  CountingSink count;
  if (!replace_matches(regexp.view(), bytes_of(text), bytes_of(replacement), all, search, count)) return "gave up";
  std::string out(count.size, '?');
  WritingSink sink{reinterpret_cast<unsigned char*>(out.data())};
  search.steps = 0;
  replace_matches(regexp.view(), bytes_of(text), bytes_of(replacement), all, search, sink);
  std::string on_host;
  append_replaced(regexp, text, replacement, all, on_host);
  EXPECT_EQ(on_host, out) << pattern;
  return out;
}

TEST(RegexpReplace, TakesGroups) {
  constexpr const char* kHost = "^https?://(?:www\\.)?([^/]+)/.*$";
  EXPECT_EQ(replaced("http://www.example.com/a/b", kHost, "\\1"), "example.com");
  EXPECT_EQ(replaced("https://example.com/", kHost, "\\1"), "example.com");
  EXPECT_EQ(replaced("http://www.www/", kHost, "\\1"), "www");
  EXPECT_EQ(replaced("http://www./", kHost, "\\1"), "www.");
  EXPECT_EQ(replaced("http://example.com", kHost, "\\1"), "http://example.com");
  EXPECT_EQ(replaced("http://пример.рф/путь", kHost, "<\\1>"), "<пример.рф>");
  EXPECT_EQ(replaced("http://a/b\nc", kHost, "\\1"), "http://a/b\nc");
  EXPECT_EQ(replaced("", kHost, "\\1"), "");
  EXPECT_EQ(replaced("john smith", "(\\w+) (\\w+)", "\\2, \\1 \\\\ \\0"), "smith, john \\ john smith");
}

TEST(RegexpReplace, TriesAlternativesInOrder) {
  EXPECT_EQ(replaced("abcd", "a|ab", "<\\0>"), "<a>bcd");
  EXPECT_EQ(replaced("abcd", "(?:a|ab)c", "<\\0>"), "<abc>d");
  EXPECT_EQ(replaced("aaa", "a+?", "<\\0>"), "<a>aa");
  EXPECT_EQ(replaced("aaa", "a+", "<\\0>"), "<aaa>");
  EXPECT_EQ(replaced("aaaa", "a{2,3}", "<\\0>"), "<aaa>a");
  EXPECT_EQ(replaced("aaaa", "a{2,3}?", "<\\0>"), "<aa>aa");
  EXPECT_EQ(replaced("<b><i>", "<(.*)>", "\\1"), "b><i");
  EXPECT_EQ(replaced("<b><i>", "<(.*?)>", "\\1"), "b<i>");
  EXPECT_EQ(replaced("xaby", "(a)|(b)", "[\\1|\\2]"), "x[a|]by");
  EXPECT_EQ(replaced("xaby", "(a)|(b)", "[\\1|\\2]", true), "x[a|][|b]y");
}

TEST(RegexpReplace, ReplacesAll) {
  EXPECT_EQ(replaced("banana", "a", "o"), "bonana");
  EXPECT_EQ(replaced("banana", "a", "o", true), "bonono");
  EXPECT_EQ(replaced("abc", "x*", "-", true), "-a-b-c-");
  EXPECT_EQ(replaced("xxabc", "x*", "-", true), "-a-b-c-");
  EXPECT_EQ(replaced("яb", "x*", "-", true), "-я-b-");
  EXPECT_EQ(replaced("aaa", "^a", "b", true), "baa");
  EXPECT_EQ(replaced("", "^$", "b", true), "b");
  EXPECT_EQ(replaced("grün", "[^a-z]", "u", true), "grun");
  EXPECT_EQ(replaced("grün", ".", "x", true), "xxxx");
  EXPECT_EQ(replaced("üü", "(.+?)(.*)", "[\\1][\\2]"), "[ü][ü]");
  EXPECT_EQ(replaced("üa", "(.*)(.)", "[\\1][\\2]"), "[ü][a]");
  EXPECT_EQ(replaced("aü", "(.*)(.)", "[\\1][\\2]"), "[a][ü]");
}

TEST(RegexpReplace, GivesUpInsteadOfTakingForEver) {
  const std::string text(400, 'a');
  constexpr const char* kHard = "(?:a|aa)+(?:a|aa)+(?:a|aa)+b";
  EXPECT_EQ(replaced(text, kHard, ""), "gave up");
  std::string out;
  append_replaced(Regexp(kHard, Regexp::For::kMatches), text, "", false, out);
  EXPECT_EQ(out, text);
  out.clear();
  append_replaced(Regexp(kHard, Regexp::For::kMatches), text + "b" + text + "b", "<>", true, out);
  EXPECT_EQ(out, "<><>");
}

TEST(RegexpReplace, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(Regexp("(a*)*", Regexp::For::kMatches), Error);
  EXPECT_THROW(Regexp("(?i)a", Regexp::For::kMatches), Error);
  EXPECT_THROW(Regexp("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)", Regexp::For::kMatches), Error);
  EXPECT_THROW(check_replacement("\\2", 1), Error);
  EXPECT_THROW(check_replacement("\\", 1), Error);
  EXPECT_THROW(check_replacement("\\n", 1), Error);
  EXPECT_NO_THROW(check_replacement("\\1\\0\\\\", 1));
}

}  // namespace
}  // namespace basalt::strings
