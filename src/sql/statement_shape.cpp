#include "sql/statement_shape.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "duckdb/common/types/string_type.hpp"
#include "duckdb/parser/parser.hpp"
#include "sql/kept_statements.h"

namespace basalt::sql {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;
using duckdb::SimplifiedTokenType;

namespace {

constexpr size_t kMostLiterals = 64;
// So many digits are exact in every way that DuckDB has from a decimal to a double.
constexpr size_t kExactDigits = 15;

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
constexpr std::array<std::string_view, 17> kEnds = {"AND",   "OR",     ")",     ",",      ";",      "GROUP",
                                                    "ORDER", "HAVING", "LIMIT", "OFFSET", "THEN",   "ELSE",
                                                    "END",   "UNION",  "FROM",  "AS",     "QUALIFY"};

// Finds literals token by token.
class ShapeFinder {
 public:
  explicit ShapeFinder(const std::string& text) : text_(text), tokens_(tokens_of(text)) {}

  StatementShape run() {
    StatementShape shape;
    size_t copied = 0;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      // A parameter that the statement has itself would be taken for one of these.
      const bool is_operator = tokens_[i].type == SimplifiedTokenType::SIMPLIFIED_TOKEN_OPERATOR;
      if (is_operator && (text_[tokens_[i].start] == '$' || text_[tokens_[i].start] == '?')) return {};
      std::optional<Found> found;
      if (compares(tokens_[i])) found = closed_literal(i + 1);
      if (is(i, "BETWEEN") || i == upper_) found = bound_literal(i);
      if (!found) continue;
      shape.text += text_.substr(copied, tokens_[i + 1].start - copied);
      copied = tokens_[found->last].end;
      shape.literals.push_back(std::move(found->literal));
      shape.text += "$" + std::to_string(shape.literals.size());
      if (shape.literals.size() > kMostLiterals) return {};
    }
    shape.text += text_.substr(copied);
    return shape;
  }

 private:
  struct Found {
    ShapeLiteral literal;
    size_t last = 0;  // token
  };

  bool is(size_t token, std::string_view word) const { return token < tokens_.size() && tokens_[token].word == word; }
  bool is_number(size_t token) const {
    return token < tokens_.size() && tokens_[token].type == SimplifiedTokenType::SIMPLIFIED_TOKEN_NUMERIC_CONSTANT &&
           !tokens_[token].word.empty();
  }
  bool is_text(size_t token) const {
    return token < tokens_.size() && tokens_[token].type == SimplifiedTokenType::SIMPLIFIED_TOKEN_STRING_CONSTANT &&
           tokens_[token].word.size() >= 2;
  }

  // A literal that is the whole side of a comparison behind token `first` − 1.
  std::optional<Found> closed_literal(size_t first) const {
    std::optional<Found> found = literal_at(first);
    if (!found) return std::nullopt;
    const size_t behind = found->last + 1;
    if (behind < tokens_.size() && !is_among(tokens_[behind].word, kEnds)) return std::nullopt;
    return found;
  }

  // The lower bound behind BETWEEN, or the upper one behind the AND that follows a lower one.
  std::optional<Found> bound_literal(size_t at) {
    if (at == upper_) return closed_literal(at + 1);
    std::optional<Found> found = literal_at(at + 1);
    if (!found || !is(found->last + 1, "AND")) return std::nullopt;
    upper_ = found->last + 1;
    return found;
  }

  std::optional<Found> literal_at(size_t first) const {
    using Kind = ShapeLiteral::Kind;
    const bool negative = is(first, "-");
    if (is_number(first + (negative ? 1 : 0))) return number(first, negative);
    if (is_text(first)) return quoted(first, first, Kind::kText);
    if (is_text(first + 1)) {
      if (is(first, "DATE")) return quoted(first + 1, first + 1, Kind::kDate);
      if (is(first, "TIMESTAMP")) return quoted(first + 1, first + 1, Kind::kMoment);
    }
    const bool is_cast = is(first, "CAST") && is(first + 1, "(") && is_text(first + 2) && is(first + 3, "AS");
    if (is_cast && is(first + 5, ")")) {
      if (is(first + 4, "DATE")) return quoted(first + 2, first + 5, Kind::kDate);
      if (is(first + 4, "TIMESTAMP")) return quoted(first + 2, first + 5, Kind::kMoment);
    }
    return std::nullopt;
  }

  std::optional<Found> number(size_t first, bool negative) const {
    const size_t last = first + (negative ? 1 : 0);
    const std::string& digits = tokens_[last].word;
    const auto points = std::count(digits.begin(), digits.end(), '.');
    if (points > 1 || digits == ".") return std::nullopt;
    const auto kind = points == 0 ? ShapeLiteral::Kind::kInteger : ShapeLiteral::Kind::kDecimal;
    return Found{{kind, (negative ? "-" : "") + digits}, last};
  }

  std::optional<Found> quoted(size_t token, size_t last, ShapeLiteral::Kind kind) const {
    const std::string& word = tokens_[token].word;
    std::string plain;
    for (size_t i = 1; i + 1 < word.size(); ++i) {
      plain += word[i];
      if (word[i] == '\'') ++i;
    }
    return Found{{kind, std::move(plain)}, last};
  }

  const std::string& text_;
  std::vector<ShapeToken> tokens_;
  size_t upper_ = ~size_t{0};  // the AND before an upper bound
};

std::optional<duckdb::Value> cast_to(duckdb::Value value, const LogicalType& type) {
  if (!value.DefaultTryCastAs(type) || value.IsNull()) return std::nullopt;
  return value;
}

size_t digits_behind_point(const std::string& number) {
  const size_t point = number.find('.');
  return point == std::string::npos ? 0 : number.size() - point - 1;
}

std::optional<duckdb::Value> number_of(const ShapeLiteral& literal, const LogicalType& type) {
  const bool whole = literal.kind == ShapeLiteral::Kind::kInteger;
  const size_t fraction = digits_behind_point(literal.text);
  const auto digits = static_cast<size_t>(std::count_if(literal.text.begin(), literal.text.end(), is_digit));
  if (whole && type.IsIntegral()) return cast_to(duckdb::Value(literal.text), type);
  if (type.id() == LogicalTypeId::DECIMAL && fraction <= duckdb::DecimalType::GetScale(type)) {
    return cast_to(duckdb::Value(literal.text), type);
  }
  if (type.id() == LogicalTypeId::DOUBLE && digits <= kExactDigits) {
    const auto exact = cast_to(duckdb::Value(literal.text), LogicalType::DECIMAL(18, static_cast<uint8_t>(fraction)));
    return exact ? cast_to(*exact, type) : std::nullopt;
  }
  return std::nullopt;
}

// Words like 'infinity' and 'epoch' are left to DuckDB.
bool begins_with_digit(const std::string& text) { return !text.empty() && is_digit(text.front()); }

}  // namespace

std::string StatementShape::key() const {
  std::string kinds = text + '\0';
  for (const ShapeLiteral& literal : literals) kinds += static_cast<char>(literal.kind);
  return kinds;
}

StatementShape shape_of(const std::string& text) {
  if (text.size() > kMostTextBytes) return {};
  try {
    return ShapeFinder(text).run();
  } catch (const std::exception&) {  // whoever parses it says what is wrong
    return {};
  }
}

std::optional<duckdb::Value> value_of(const ShapeLiteral& literal, const LogicalType& type) {
  using Kind = ShapeLiteral::Kind;
  const bool is_date = type.id() == LogicalTypeId::DATE;
  const bool is_moment = type.id() == LogicalTypeId::TIMESTAMP;
  try {
    switch (literal.kind) {
      case Kind::kInteger:
      case Kind::kDecimal: return number_of(literal, type);
      case Kind::kText:
        if (type.id() == LogicalTypeId::VARCHAR && duckdb::StringType::GetCollation(type).empty()) {
          return duckdb::Value(literal.text);
        }
        if (!(is_date || is_moment) || !begins_with_digit(literal.text)) return std::nullopt;
        return cast_to(duckdb::Value(literal.text), type);
      case Kind::kDate: {
        if (!(is_date || is_moment) || !begins_with_digit(literal.text)) return std::nullopt;
        const auto date = cast_to(duckdb::Value(literal.text), LogicalType::DATE);
        return date ? cast_to(*date, type) : std::nullopt;
      }
      case Kind::kMoment:
        if (!is_moment || !begins_with_digit(literal.text)) return std::nullopt;
        return cast_to(duckdb::Value(literal.text), type);
    }
  } catch (const std::exception&) {  // strings that are not UTF-8
  }
  return std::nullopt;
}

}  // namespace basalt::sql
