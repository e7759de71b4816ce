// Functions and tests of strings.
#include <algorithm>
#include <limits>

#include "basalt/codec/string_test.h"
#include "basalt/core/error.h"
#include "codec/strings/regexp.h"
#include "core/case_mapping.h"
#include "sql/lowering.h"

namespace basalt::sql {

using duckdb::ExpressionClass;
using duckdb::ExpressionType;
using duckdb::LogicalType;
using duckdb::LogicalTypeId;

namespace {

// A pattern that goes into brackets must hold together without them.
void check_brackets(const std::string& pattern, const std::string& function) {
  try {
    const strings::Regexp alone(pattern);
  } catch (const Error& error) {
    throw NotLowered(function + ": " + error.what());
  }
}

// A pattern with another escape character in the form with backslashes. What DuckDB finds fault with, or reads in a
// way of its own, stays there.
std::string with_backslashes(const std::string& pattern, const std::string& escape) {
  if (escape.size() != 1 || escape == "%" || escape == "_") throw NotLowered("LIKE with ESCAPE '" + escape + "'");
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == escape[0]) {
      if (++i == pattern.size()) throw NotLowered("a pattern of LIKE that ends with its escape character");
      out += LikePattern::escape({&pattern[i], 1});
    } else if (pattern[i] == '\\') {
      out += "\\\\";
    } else {
      out += pattern[i];
    }
  }
  return out;
}

Expr prefix(Expr text, int64_t count) {
  return make_expr(ExprOp::kSubstring, Physical::kBytes,
                   {std::move(text), number_literal(Physical::kI64, 0), number_literal(Physical::kI64, count)});
}
Expr suffix(Expr text, int64_t count) {
  return make_expr(ExprOp::kSuffix, Physical::kBytes, {std::move(text), number_literal(Physical::kI64, count)});
}
Expr text_literal(std::string text) {
  Expr expr;
  expr.type = Physical::kBytes;
  expr.literal = Value::of_bytes(std::move(text));
  return expr;
}

// What trim() takes for spaces: the space separators of Unicode.
constexpr const char* kSpaces =
    " \u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u202F\u205F\u3000";

}  // namespace

// length(), strlen(), and parts of a text that are counted from its front.
std::optional<Expr> Lowering::text_function(const Function& expression) const {
  const std::string& name = expression.function.name;
  const bool is_length = name == "length" || name == "len" || name == "char_length" || name == "character_length";
  const bool is_part = name == "substring" || name == "substr" || name == "left";
  if (!is_length && name != "strlen" && !is_part) return std::nullopt;
  const duckdb::Expression& text = *expression.children.at(0);
  if (text.return_type.id() != LogicalTypeId::VARCHAR) throw NotLowered(name + " of " + text.return_type.ToString());
  if (!is_part) return make_expr(is_length ? ExprOp::kLength : ExprOp::kByteLength, Physical::kI64, {lower(text)});
  const bool from_front = name == "left";
  const int64_t first = from_front ? 1 : constant_number(*expression.children.at(1), name);
  const size_t count_at = from_front ? 1 : 2;
  const bool has_count = count_at < expression.children.size();
  const int64_t count =
      has_count ? constant_number(*expression.children[count_at], name) : std::numeric_limits<int64_t>::max();
  // DuckDB refuses these.
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  if (first > kMost || first < -kMost || (has_count && count > kMost)) throw NotLowered(name + " beyond 32 bits");
  if (from_front && count < 0) {
    if (count < -kMost) throw NotLowered(name + " beyond 32 bits");
    return make_expr(ExprOp::kDropSuffix, Physical::kBytes, {lower(text), number_literal(Physical::kI64, -count)});
  }
  // From the end, DuckDB counts in two ways where a text is too short, and statistics choose between them.
  if (count < 0 || (first < 0 && has_count)) throw NotLowered(name + " counted from the end");
  if (first < 0) return suffix(lower(text), -first);
  if (first == 0) return prefix(lower(text), has_count ? std::max<int64_t>(count - 1, 0) : count);
  return make_expr(ExprOp::kSubstring, Physical::kBytes,
                   {lower(text), number_literal(Physical::kI64, first - 1), number_literal(Physical::kI64, count)});
}

// regexp_matches() and, with the pattern bound to both ends, regexp_full_match(): what `~` and SIMILAR TO become.
std::optional<Expr> Lowering::regexp(const Function& expression) const {
  const std::string& name = expression.function.name;
  const bool whole = name == "regexp_full_match";
  if (!whole && name != "regexp_matches") return std::nullopt;
  if (expression.children.size() != 2) throw NotLowered(name + " with options");
  Expr text = lower(*expression.children[0]);
  if (text.op != ExprOp::kColumn || text.type != Physical::kBytes) throw NotLowered(name + " of an expression");
  std::string pattern = constant_text(*expression.children[1], name);
  if (whole) {
    check_brackets(pattern, name);
    pattern = "^(?:" + pattern + ")$";
  }
  const std::string reason = make_automaton(StringTest::regexp(pattern)).reason;
  if (!reason.empty()) throw NotLowered(name + ": " + reason);
  return make_expr(ExprOp::kRegexp, Physical::kU8,
                   {std::move(text), literal(duckdb::Value(pattern), LogicalType::VARCHAR)});
}

// Of a pattern and a replacement that are constant; of options only 'g' is known.
std::optional<Expr> Lowering::regexp_replace(const Function& expression) const {
  const std::string& name = expression.function.name;
  const auto& children = expression.children;
  if (name != "regexp_replace") return std::nullopt;
  if (children.size() < 3 || children.size() > 4) throw NotLowered(name + " of " + std::to_string(children.size()));
  const std::string options = children.size() == 4 ? constant_text(*children[3], name) : std::string();
  if (!options.empty() && options != "g") throw NotLowered(name + " with options");
  std::string pattern = constant_text(*children[1], name);
  std::string replacement = constant_text(*children[2], name);
  try {
    strings::check_replacement(replacement, strings::Regexp(pattern, strings::Regexp::For::kMatches).groups());
  } catch (const Error& error) {
    throw NotLowered(name + ": " + error.what());
  }
  return make_expr(ExprOp::kRegexpReplace, Physical::kBytes,
                   {lower(*children[0]), text_literal(std::move(pattern)), text_literal(std::move(replacement)),
                    number_literal(Physical::kI64, options.empty() ? 0 : 1)});
}

// LIKE and what DuckDB's optimizer makes of it, in the one form that basalt::LikePattern has.
std::optional<Expr> Lowering::like(const Function& expression) const {
  const std::string& name = expression.function.name;
  const bool escaped = name == "like_escape" || name == "not_like_escape";
  const bool any_case = name == "~~*" || name == "!~~*";
  const bool negated = name == "!~~" || name == "!~~*" || name == "not_like_escape";
  const bool pattern = name == "~~" || name == "!~~" || any_case || escaped;
  const bool before = name == "suffix" || name == "ends_with" || name == "contains";
  const bool behind = name == "prefix" || name == "starts_with" || name == "^@" || name == "contains";
  if (!pattern && !before && !behind) return std::nullopt;
  for (const auto& child : expression.children) {
    if (child->return_type.id() != LogicalTypeId::VARCHAR)
      throw NotLowered(name + " of " + child->return_type.ToString());
    if (!duckdb::StringType::GetCollation(child->return_type).empty()) throw NotLowered("a collation");
  }
  if (expression.children.size() != (escaped ? 3 : 2)) throw NotLowered("the function " + name);
  const bool constant = expression.children[1]->GetExpressionClass() == ExpressionClass::BOUND_CONSTANT;
  if (!constant && behind) {  // what is contained has a place, a prefix the first
    Expr place = make_expr(ExprOp::kPosition, Physical::kI64, lower_all(expression));
    const ExprOp op = before ? ExprOp::kGreaterEqual : ExprOp::kEqual;
    return make_expr(op, Physical::kU8, {std::move(place), number_literal(Physical::kI64, 1)});
  }
  std::string given = known_text(*expression.children[1], name);
  Expr tested = lower(*expression.children[0]);
  if (any_case) {
    tested = make_expr(ExprOp::kLower, Physical::kBytes, {std::move(tested)});
    std::string lowered;
    append_in_case(given, LetterCase::kLower, lowered);
    given = std::move(lowered);
  }
  std::string text;
  if (escaped) {
    text = with_backslashes(given, constant_text(*expression.children[2], name));
  } else {
    if (before) text += '%';
    for (const char c : given) text += pattern && c != '\\' ? std::string(1, c) : LikePattern::escape({&c, 1});
    if (behind) text += '%';
  }
  Expr result = make_expr(ExprOp::kLike, Physical::kU8, {std::move(tested), text_literal(std::move(text))});
  return negated ? make_expr(ExprOp::kNot, Physical::kU8, {std::move(result)}) : result;
}

// Functions that make strings or look for one.
std::optional<Expr> Lowering::made_text(const Function& expression) const {
  const std::string& name = expression.function.name;
  const auto& children = expression.children;
  const bool trims = name == "trim" || name == "ltrim" || name == "rtrim";
  const bool finds = name == "strpos" || name == "instr" || name == "position";
  const bool joins = name == "||" || name == "concat";
  const bool to_upper = name == "upper" || name == "ucase";
  const bool changes_case = to_upper || name == "lower" || name == "lcase";
  if (!trims && !finds && !joins && !changes_case && name != "replace" && name != "right") return std::nullopt;
  if (name == "right") {
    const int64_t count = constant_number(*children.at(1), name);
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (count > kMost || count < -kMost) throw NotLowered(name + " beyond 32 bits");
    if (count >= 0) return suffix(lower(*children[0]), count);
    return make_expr(
        ExprOp::kSubstring, Physical::kBytes,
        {lower(*children[0]), number_literal(Physical::kI64, -count), number_literal(Physical::kI64, kMost)});
  }
  for (const auto& child : children) {
    if (child->return_type.id() != LogicalTypeId::VARCHAR) {
      throw NotLowered(name + " of " + child->return_type.ToString());
    }
  }
  if (trims) {
    std::string points = children.size() > 1 ? constant_text(*children[1], name) : kSpaces;
    const int64_t sides = name == "ltrim" ? 1 : name == "rtrim" ? 2 : 3;
    return make_expr(ExprOp::kTrim, Physical::kBytes,
                     {lower(*children.at(0)), text_literal(std::move(points)), number_literal(Physical::kI64, sides)});
  }
  std::vector<Expr> args = lower_all(expression);
  if (finds) return make_expr(ExprOp::kPosition, Physical::kI64, std::move(args));
  if (changes_case) {
    return make_expr(to_upper ? ExprOp::kUpper : ExprOp::kLower, Physical::kBytes, std::move(args));
  }
  if (name == "replace") return make_expr(ExprOp::kReplace, Physical::kBytes, std::move(args));
  if (name == "concat") {  // skips NULLs
    for (Expr& arg : args) {
      const bool known = arg.op == ExprOp::kLiteral && !arg.literal.null;
      if (!known) arg = make_expr(ExprOp::kCoalesce, Physical::kBytes, {std::move(arg), text_literal({})});
    }
  }
  return make_expr(ExprOp::kConcat, Physical::kBytes, std::move(args));
}

// lpad(), rpad() and repeat(), of constants.
std::optional<Expr> Lowering::longer_text(const Function& expression) const {
  constexpr int64_t kMost = 1 << 16;  // of what a string may grow by
  const std::string& name = expression.function.name;
  const auto& children = expression.children;
  const bool pads = name == "lpad" || name == "rpad";
  if (!pads && name != "repeat") return std::nullopt;
  if (children.at(0)->return_type.id() != LogicalTypeId::VARCHAR) {
    throw NotLowered(name + " of " + children[0]->return_type.ToString());
  }
  const int64_t count = std::max<int64_t>(constant_number(*children.at(1), name), 0);
  if (count > kMost) throw NotLowered(name + " to strings that long");
  std::vector<Expr> args{lower(*children[0]), number_literal(Physical::kI64, count)};
  if (!pads) return make_expr(ExprOp::kRepeat, Physical::kBytes, std::move(args));
  std::string pad = constant_text(*children.at(2), name);
  if (pad.empty()) throw NotLowered(name + " with nothing to fill up with");
  args.push_back(text_literal(std::move(pad)));
  return make_expr(name == "lpad" ? ExprOp::kLeftPad : ExprOp::kRightPad, Physical::kBytes, std::move(args));
}

std::optional<Expr> Lowering::code_point(const Function& expression) const {
  const std::string& name = expression.function.name;
  const bool zero_if_empty = name == "ascii";
  if (name == "bit_length") {
    if (expression.children.at(0)->return_type.id() != LogicalTypeId::VARCHAR) {
      throw NotLowered(name + " of " + expression.children[0]->return_type.ToString());
    }
    Expr bytes = make_expr(ExprOp::kByteLength, Physical::kI64, lower_all(expression));
    return make_expr(ExprOp::kMultiply, Physical::kI64, {std::move(bytes), number_literal(Physical::kI64, 8)});
  }
  if (name == "chr") {
    Expr number = make_expr(ExprOp::kCast, Physical::kI64, lower_all(expression));
    return make_expr(ExprOp::kChr, Physical::kBytes, {std::move(number)});
  }
  if (!zero_if_empty && name != "unicode" && name != "ord") return std::nullopt;
  const Expr text = lower(*expression.children.at(0));
  Expr point = make_expr(ExprOp::kCodePoint, Physical::kI64, {text});
  Expr narrow = make_expr(ExprOp::kCast, Physical::kI32, {std::move(point)});
  if (zero_if_empty) return narrow;
  Expr is_empty = make_expr(ExprOp::kEqual, Physical::kU8, {text, text_literal({})});
  return make_expr(ExprOp::kCase, Physical::kI32,
                   {std::move(is_empty), number_literal(Physical::kI32, -1), std::move(narrow)});
}

// split_part() is a macro: coalesce(string_split(text, separator)[number], '').
std::optional<Expr> Lowering::split_part(const duckdb::BoundOperatorExpression& coalesce) const {
  const auto call_of = [](const duckdb::Expression& expression, const char* name) -> const Function* {
    if (expression.GetExpressionClass() != ExpressionClass::BOUND_FUNCTION) return nullptr;
    const auto& function = expression.Cast<Function>();
    return function.function.name == name && function.children.size() == 2 ? &function : nullptr;
  };
  if (coalesce.children.size() != 2) return std::nullopt;
  const Function* extract = call_of(*coalesce.children[0], "array_extract");
  const Function* split = extract == nullptr ? nullptr : call_of(*extract->children[0], "string_split");
  const std::string name = "split_part";
  if (split == nullptr || !constant_text(*coalesce.children[1], name).empty()) return std::nullopt;
  std::string separator = constant_text(*split->children[1], name);
  if (separator.empty()) throw NotLowered(name + " between characters");
  const int64_t number = constant_number(*extract->children[1], name);
  return make_expr(
      ExprOp::kSplitPart, Physical::kBytes,
      {lower(*split->children[0]), text_literal(std::move(separator)), number_literal(Physical::kI64, number)});
}

}  // namespace basalt::sql
