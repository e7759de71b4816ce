#include "sql/statement_shape.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "duckdb/parser/parser.hpp"
#include "sql/kept_statements.h"

namespace basalt::sql {

using duckdb::SimplifiedTokenType;

namespace {

constexpr size_t kMostLiterals = 64;
// Larger limits are planned in other ways: rows that all leave are DuckDB's.
constexpr size_t kLimitDigits = 3;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

struct ShapeToken {
  SimplifiedTokenType type = SimplifiedTokenType::SIMPLIFIED_TOKEN_OPERATOR;
  size_t start = 0;
  size_t end = 0;
  std::string word;  // in capitals; empty if it is not simple: escapes, exponents, a comment behind it
};

size_t end_of_string(const std::string& text, size_t at) {
  if (text[at] != '\'') return at;
  for (++at; at < text.size(); ++at) {
    if (text[at] != '\'') continue;
    if (at + 1 == text.size() || text[at + 1] != '\'') return at + 1;
    ++at;
  }
  return at;
}

template <typename Test>
size_t end_of_run(const std::string& text, size_t at, const Test& test) {
  while (at < text.size() && test(text[at])) ++at;
  return at;
}

size_t end_of_token(const std::string& text, SimplifiedTokenType type, size_t start) {
  switch (type) {
    case SimplifiedTokenType::SIMPLIFIED_TOKEN_NUMERIC_CONSTANT:
      return end_of_run(text, start, [](char c) { return is_digit(c) || c == '.'; });
    case SimplifiedTokenType::SIMPLIFIED_TOKEN_STRING_CONSTANT: return end_of_string(text, start);
    case SimplifiedTokenType::SIMPLIFIED_TOKEN_OPERATOR:
      return end_of_run(text, start, [](char c) { return !is_word_part(c) && !is_blank(c) && c != '\'' && c != '"'; });
    default: return end_of_run(text, start, is_word_part);
  }
}

std::vector<ShapeToken> tokens_of(const std::string& text) {
  const auto simplified = duckdb::Parser::Tokenize(text);
  std::vector<ShapeToken> tokens;
  for (size_t i = 0; i < simplified.size(); ++i) {
    const size_t next = i + 1 < simplified.size() ? simplified[i + 1].start : text.size();
    ShapeToken token;
    token.type = simplified[i].type;
    token.start = simplified[i].start;
    token.end = std::min<size_t>(next, end_of_token(text, token.type, token.start));
    if (std::all_of(text.begin() + static_cast<std::ptrdiff_t>(token.end),
                    text.begin() + static_cast<std::ptrdiff_t>(next), is_blank)) {
      token.word = text.substr(token.start, token.end - token.start);
      if (token.type != SimplifiedTokenType::SIMPLIFIED_TOKEN_STRING_CONSTANT) {
        std::transform(token.word.begin(), token.word.end(), token.word.begin(),
                       [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      }
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

template <size_t kCount>
bool is_among(const std::string& word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool compares(const ShapeToken& token) {
  constexpr std::array<std::string_view, 8> kComparisons = {"=", "==", "<>", "!=", "<", "<=", ">", ">="};
  return token.type == SimplifiedTokenType::SIMPLIFIED_TOKEN_OPERATOR && is_among(token.word, kComparisons);
}

// What cannot continue an expression that binds closer than a comparison.
constexpr std::array<std::string_view, 21> kEnds = {"AND",    "OR",    ")",       ",",     ";",    "GROUP", "ORDER",
                                                    "HAVING", "LIMIT", "OFFSET",  "THEN",  "ELSE", "END",   "UNION",
                                                    "FROM",   "AS",    "QUALIFY", "WHERE", "JOIN", "INNER", "LEFT"};

// Finds literals token by token.
class ShapeFinder {
 public:
  explicit ShapeFinder(const std::string& text) : text_(text), tokens_(tokens_of(text)) {}

  StatementShape run() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      // A parameter that the statement has itself would be taken for one of these.
      const bool is_operator = tokens_[i].type == SimplifiedTokenType::SIMPLIFIED_TOKEN_OPERATOR;
      if (is_operator && (text_[tokens_[i].start] == '$' || text_[tokens_[i].start] == '?')) return {};
      std::vector<Found> found = literals_behind(i);
      if (found.empty()) continue;
      const std::string side = side_before(i) + tokens_[i].word;
      i = found.back().last;
      for (Found& literal : found) replace(std::move(literal), side);
      if (shape_.literals.size() > kMostLiterals) return {};
    }
    shape_.text += text_.substr(copied_);
    return std::move(shape_);
  }

 private:
  struct Found {
    ShapeLiteral literal;
    size_t first = 0;  // token
    size_t last = 0;
  };

  bool is(size_t token, std::string_view word) const { return token < tokens_.size() && tokens_[token].word == word; }
  bool has_type(size_t token, SimplifiedTokenType type) const {
    return token < tokens_.size() && tokens_[token].type == type;
  }
  bool is_number(size_t token) const {
    return has_type(token, SimplifiedTokenType::SIMPLIFIED_TOKEN_NUMERIC_CONSTANT) && !tokens_[token].word.empty();
  }
  bool is_text(size_t token) const {
    return has_type(token, SimplifiedTokenType::SIMPLIFIED_TOKEN_STRING_CONSTANT) && tokens_[token].word.size() >= 2;
  }

  void replace(Found found, const std::string& side) {
    shape_.text += text_.substr(copied_, tokens_[found.first].start - copied_);
    copied_ = tokens_[found.last].end;
    const std::string key = side + '\0' + static_cast<char>(found.literal.kind) + found.literal.text;
    shape_.literals.push_back(std::move(found.literal));
    const size_t number = shape_.literals.size();
    shape_.text += "$" + std::to_string(number);
    shape_.equals.push_back(numbers_.try_emplace(key, number).first->second);
  }

  // What stands before a comparison: a column or a call, as far as that is simple.
  std::string side_before(size_t comparison) const {
    if (comparison == 0) return {};
    size_t last = comparison - 1;
    if (is(last, "NOT") && last > 0) --last;
    size_t first = last;
    if (is(last, ")")) {
      for (size_t open = 1; open > 0 && first > 0;) {
        --first;
        open += is(first, ")") ? 1 : 0;
        open -= is(first, "(") ? 1 : 0;
      }
      if (first > 0) --first;
    }
    while (first > 1 && is(first - 1, ".")) first -= 2;
    return text_.substr(tokens_[first].start, tokens_[last].end - tokens_[first].start);
  }

  std::vector<Found> literals_behind(size_t token) const {
    if (is(token, "BETWEEN")) return bounds(token + 1);
    if (is(token, "IN") && is(token + 1, "(")) return list(token + 2);
    if (is(token, "LIMIT") || is(token, "OFFSET")) return count_of_rows(token + 1);
    const bool is_like = is(token, "LIKE") && is_text(token + 1);
    if (!is_like && !compares(tokens_[token])) return {};
    std::vector<Found> found;
    if (auto literal = closed_literal(token + 1)) found.push_back(*std::move(literal));
    return found;
  }

  std::vector<Found> count_of_rows(size_t first) const {
    std::optional<Found> count = closed_literal(first);
    if (!count || count->literal.kind != ShapeLiteral::Kind::kInteger) return {};
    const std::string& digits = count->literal.text;
    // None at all is planned in another way, too.
    if (!is_digit(digits.front()) || digits.front() == '0' || digits.size() > kLimitDigits) return {};
    return {*std::move(count)};
  }

  // A literal that is a whole side of a comparison.
  std::optional<Found> closed_literal(size_t first) const {
    std::optional<Found> found = literal_at(first);
    if (!found) return std::nullopt;
    const size_t behind = found->last + 1;
    if (behind < tokens_.size() && !is_among(tokens_[behind].word, kEnds)) return std::nullopt;
    return found;
  }

  // The lower bound behind BETWEEN, and the upper one if that is a literal, too.
  std::vector<Found> bounds(size_t first) const {
    std::optional<Found> lower = literal_at(first);
    if (!lower || !is(lower->last + 1, "AND")) return {};
    std::optional<Found> upper = closed_literal(lower->last + 2);
    std::vector<Found> found{*std::move(lower)};
    if (upper) found.push_back(*std::move(upper));
    return found;
  }

  // All elements of a list, if all of them are literals.
  std::vector<Found> list(size_t first) const {
    std::vector<Found> found;
    for (;; first = found.back().last + 2) {
      std::optional<Found> element = literal_at(first);
      if (!element) return {};
      found.push_back(*std::move(element));
      const size_t behind = found.back().last + 1;
      if (is(behind, ")")) return found;
      if (!is(behind, ",") || found.size() > kMostLiterals) return {};
    }
  }

  // A literal, or the sum of two of them.
  std::optional<Found> literal_at(size_t first) const {
    std::optional<Found> found = single_literal(first);
    if (!found) return std::nullopt;
    const size_t sign = found->last + 1;
    const bool subtract = is(sign, "-");
    if (!subtract && !is(sign, "+")) return found;
    std::optional<ShapeLiteral> sum;
    size_t last = sign + 1;
    if (is(sign + 1, "INTERVAL")) {
      const std::optional<Span> span = span_at(sign + 2);
      if (!span) return std::nullopt;
      sum = moved_by(found->literal, span->count, span->unit, subtract);
      last = span->last;
    } else if (is_number(sign + 1)) {
      const std::optional<Found> second = number(sign + 1, false);
      if (second) sum = sum_of(found->literal, second->literal, subtract);
    }
    if (!sum) return std::nullopt;
    return Found{*std::move(sum), first, last};
  }

  std::optional<Found> single_literal(size_t first) const {
    using Kind = ShapeLiteral::Kind;
    const bool negative = is(first, "-");
    if (is_number(first + (negative ? 1 : 0))) return number(first, negative);
    if (is_text(first)) return Found{{Kind::kText, unquoted(first)}, first, first};
    if (is_text(first + 1)) {
      if (is(first, "DATE")) return Found{{Kind::kDate, unquoted(first + 1)}, first, first + 1};
      if (is(first, "TIMESTAMP")) return Found{{Kind::kMoment, unquoted(first + 1)}, first, first + 1};
    }
    const bool is_cast = is(first, "CAST") && is(first + 1, "(") && is_text(first + 2) && is(first + 3, "AS");
    if (is_cast && is(first + 5, ")")) {
      if (is(first + 4, "DATE")) return Found{{Kind::kDate, unquoted(first + 2)}, first, first + 5};
      if (is(first + 4, "TIMESTAMP")) return Found{{Kind::kMoment, unquoted(first + 2)}, first, first + 5};
    }
    return std::nullopt;
  }

  std::optional<Found> number(size_t first, bool negative) const {
    const size_t last = first + (negative ? 1 : 0);
    const std::string& digits = tokens_[last].word;
    const auto points = std::count(digits.begin(), digits.end(), '.');
    if (points > 1 || digits == ".") return std::nullopt;
    const auto kind = points == 0 ? ShapeLiteral::Kind::kInteger : ShapeLiteral::Kind::kDecimal;
    return Found{{kind, (negative ? "-" : "") + digits}, first, last};
  }

  // What follows INTERVAL: '3' MONTH, 3 MONTH, '3 months'.
  struct Span {
    std::string count;
    std::string unit;
    size_t last = 0;  // token
  };
  std::optional<Span> span_at(size_t first) const {
    const std::string unit = first + 1 < tokens_.size() ? tokens_[first + 1].word : std::string();
    if (is_number(first)) return Span{tokens_[first].word, unit, first + 1};
    if (!is_text(first)) return std::nullopt;
    const std::string text = unquoted(first);
    const size_t blank = text.find(' ');
    if (blank == std::string::npos) return Span{text, unit, first + 1};
    return Span{text.substr(0, blank), text.substr(blank + 1), first};
  }

  std::string unquoted(size_t token) const {
    const std::string& word = tokens_[token].word;
    std::string plain;
    for (size_t i = 1; i + 1 < word.size(); ++i) {
      plain += word[i];
      if (word[i] == '\'') ++i;
    }
    return plain;
  }

  const std::string& text_;
  std::vector<ShapeToken> tokens_;
  StatementShape shape_;
  size_t copied_ = 0;                                // of the text
  std::unordered_map<std::string, size_t> numbers_;  // of the parameters by what they stand for
};

}  // namespace

std::string StatementShape::key() const {
  std::string kinds = text + '\0';
  for (const ShapeLiteral& literal : literals) kinds += static_cast<char>(literal.kind);
  return kinds;
}

std::vector<size_t> common_equals(const std::vector<size_t>& first, const std::vector<size_t>& second) {
  std::map<std::pair<size_t, size_t>, size_t> numbers;
  std::vector<size_t> common;
  for (size_t i = 0; i < first.size(); ++i) {
    common.push_back(numbers.try_emplace({first[i], second[i]}, i + 1).first->second);
  }
  return common;
}

StatementShape shape_of(const std::string& text) {
  if (text.size() > kMostTextBytes) return {};
  try {
    return ShapeFinder(text).run();
  } catch (const std::exception&) {  // whoever parses it says what is wrong
    return {};
  }
}

}  // namespace basalt::sql
