// Bound expressions to basalt::Expr. The binder has already made the types of operands equal and folded constants; what
// is left is to keep DuckDB's overflow rules: a decimal result of 18 or 38 digits is checked against its digits, an
// integer against its type.
#include "sql/expressions.h"

#include <limits>

#include "basalt/codec/string_test.h"
#include "basalt/core/error.h"
#include "codec/strings/regexp.h"
#include "duckdb/common/types/decimal.hpp"
#include "duckdb/planner/expression/list.hpp"
#include "sql/types.h"

namespace basalt::sql {

using duckdb::ExpressionClass;
using duckdb::ExpressionType;
using duckdb::LogicalType;
using duckdb::LogicalTypeId;

namespace {

constexpr int64_t kMicrosPerDay = 86'400'000'000;
// Integers up to here are exact in a double, so that a decimal of 15 digits is divided exactly as DuckDB does it.
constexpr uint8_t kMaxExactDigits = 15;

int128_t power_of_ten(int digits) {
  int128_t power = 1;
  for (int i = 0; i < digits; ++i) power *= 10;
  return power;
}

bool is_plain_integer(const LogicalType& type) { return type.IsIntegral(); }
bool is_decimal(const LogicalType& type) { return type.id() == LogicalTypeId::DECIMAL; }
bool is_number(const LogicalType& type) {
  return is_plain_integer(type) || is_decimal(type) || type.id() == LogicalTypeId::FLOAT ||
         type.id() == LogicalTypeId::DOUBLE;
}

Physical physical_type(const LogicalType& type) {
  const Physical physical = to_physical(type.InternalType());
  if (physical == Physical::kNone) throw NotLowered("values of type " + type.ToString());
  return physical;
}

Expr literal(const duckdb::Value& value, const LogicalType& type) {
  const Physical physical = physical_type(type);
  Expr expr;
  expr.op = ExprOp::kLiteral;
  expr.type = physical;
  if (value.IsNull()) {
    expr.literal = Value::of_null(physical);
    return expr;
  }
  const auto plain = to_value(value, physical);
  if (!plain) throw NotLowered("a constant of type " + value.type().ToString());
  expr.literal = *plain;
  return expr;
}

class Lowering {
 public:
  explicit Lowering(const ColumnResolver& columns) : columns_(columns) {}

  Expr lower(const duckdb::Expression& expression) const {
    switch (expression.GetExpressionClass()) {
      case ExpressionClass::BOUND_COLUMN_REF:
      case ExpressionClass::BOUND_REF: return columns_(expression);
      case ExpressionClass::BOUND_CONSTANT:
        return literal(expression.Cast<duckdb::BoundConstantExpression>().value, expression.return_type);
      case ExpressionClass::BOUND_CAST: return cast(expression.Cast<duckdb::BoundCastExpression>());
      case ExpressionClass::BOUND_FUNCTION: return function(expression.Cast<duckdb::BoundFunctionExpression>());
      case ExpressionClass::BOUND_COMPARISON: return comparison(expression.Cast<duckdb::BoundComparisonExpression>());
      case ExpressionClass::BOUND_CONJUNCTION: {
        std::vector<Expr> args;
        for (const auto& child : expression.Cast<duckdb::BoundConjunctionExpression>().children) {
          args.push_back(lower(*child));
        }
        if (args.size() == 1) return std::move(args.front());
        const bool all = expression.GetExpressionType() == ExpressionType::CONJUNCTION_AND;
        return make_expr(all ? ExprOp::kAnd : ExprOp::kOr, Physical::kU8, std::move(args));
      }
      case ExpressionClass::BOUND_BETWEEN: return between(expression.Cast<duckdb::BoundBetweenExpression>());
      case ExpressionClass::BOUND_CASE: return case_of(expression.Cast<duckdb::BoundCaseExpression>());
      case ExpressionClass::BOUND_OPERATOR: return operation(expression.Cast<duckdb::BoundOperatorExpression>());
      default: throw NotLowered("the expression " + expression.ToString());
    }
  }

 private:
  Expr cast(const duckdb::BoundCastExpression& expression) const {
    const LogicalType& from = expression.child->return_type;
    const LogicalType& to = expression.return_type;
    const auto refuse = [&] { return NotLowered("a cast from " + from.ToString() + " to " + to.ToString()); };
    if (expression.try_cast) throw refuse();
    if (from == to) return lower(*expression.child);
    Expr result = make_expr(ExprOp::kCast, physical_type(to), {});
    const bool from_integer = is_plain_integer(from) || from.id() == LogicalTypeId::BOOLEAN;
    if (is_plain_integer(to) && from_integer) {
      // The type's own range is the check.
    } else if (is_decimal(to) && (from_integer || is_decimal(from))) {
      const int from_scale = is_decimal(from) ? duckdb::DecimalType::GetScale(from) : 0;
      const int to_scale = duckdb::DecimalType::GetScale(to);
      if (to_scale < from_scale) throw NotLowered("a cast that rounds, to " + to.ToString());
      result.power_of_ten = to_scale - from_scale;
      result.limit = power_of_ten(duckdb::DecimalType::GetWidth(to)) - 1;
    } else if (is_plain_integer(to) && is_decimal(from) && duckdb::DecimalType::GetScale(from) == 0) {
      // A decimal without a fraction is an integer.
    } else if (to.id() == LogicalTypeId::DOUBLE && from_integer && result_width(from) <= 8) {
      // Rounds once, to nearest even, as DuckDB does.
    } else if (to.id() == LogicalTypeId::DOUBLE && from.id() == LogicalTypeId::FLOAT) {
      // Exact.
    } else if (to.id() == LogicalTypeId::DOUBLE && is_decimal(from) &&
               duckdb::DecimalType::GetWidth(from) <= kMaxExactDigits) {
      result.power_of_ten = duckdb::DecimalType::GetScale(from);
    } else {
      throw refuse();
    }
    result.args.push_back(lower(*expression.child));
    return result;
  }

  static uint32_t result_width(const LogicalType& type) { return width_of(physical_type(type)); }

  Expr function(const duckdb::BoundFunctionExpression& expression) const {
    const std::string& name = expression.function.name;
    const LogicalType& type = expression.return_type;
    if (auto text_test = like(expression)) return *std::move(text_test);
    if (auto text_test = regexp(expression)) return *std::move(text_test);
    if (auto of_text = text_function(expression)) return *std::move(of_text);
    if (name != "+" && name != "-" && name != "*") throw NotLowered("the function " + name);
    if (!is_number(type)) throw NotLowered(name + " on " + type.ToString());
    const Physical physical = physical_type(type);
    std::vector<Expr> args;
    for (const auto& child : expression.children) {
      if (!is_number(child->return_type) || physical_type(child->return_type) != physical) {
        throw NotLowered(name + " on " + child->return_type.ToString());
      }
      args.push_back(lower(*child));
    }
    Expr result;
    if (args.size() == 1 && name == "-") {
      // DuckDB lets these wrap around.
      if (!is_signed(physical) && !is_float(physical)) throw NotLowered("the negative of " + type.ToString());
      result = make_expr(ExprOp::kNegate, physical, std::move(args));
    } else if (args.size() == 2) {
      const ExprOp op = name == "+" ? ExprOp::kAdd : name == "-" ? ExprOp::kSubtract : ExprOp::kMultiply;
      result = make_expr(op, physical, std::move(args));
    } else {
      throw NotLowered("the function " + name + " with " + std::to_string(expression.children.size()) + " arguments");
    }
    // Narrower results cannot leave their digits: the binder widened them.
    if (is_decimal(type)) {
      const int digits = duckdb::DecimalType::GetWidth(type);
      if (digits == duckdb::Decimal::MAX_WIDTH_INT64 || digits == duckdb::Decimal::MAX_WIDTH_DECIMAL) {
        result.limit = power_of_ten(digits) - 1;
      }
    }
    return result;
  }

  // length(), strlen(), and parts of a text that are counted from its front.
  std::optional<Expr> text_function(const duckdb::BoundFunctionExpression& expression) const {
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
    if (first < 1 || count < 0) throw NotLowered(name + " counted from the end");
    // DuckDB refuses these.
    constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
    if (first > kMost || (has_count && count > kMost)) throw NotLowered(name + " beyond 32 bits");
    return make_expr(ExprOp::kSubstring, Physical::kBytes, {lower(text), number(first - 1), number(count)});
  }

  static Expr number(int64_t value) { return literal(duckdb::Value::BIGINT(value), LogicalType::BIGINT); }
  static int64_t constant_number(const duckdb::Expression& expression, const std::string& function) {
    if (expression.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) {
      throw NotLowered(function + " with a number that is not constant");
    }
    const duckdb::Value& value = expression.Cast<duckdb::BoundConstantExpression>().value;
    if (value.IsNull()) throw NotLowered(function + " with NULL");
    return value.GetValue<int64_t>();
  }

  // regexp_matches() and, with the pattern bound to both ends, regexp_full_match(): what `~` and SIMILAR TO become.
  std::optional<Expr> regexp(const duckdb::BoundFunctionExpression& expression) const {
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

  // A pattern that goes into brackets must hold together without them.
  static void check_brackets(const std::string& pattern, const std::string& function) {
    try {
      const strings::Regexp alone(pattern);
    } catch (const Error& error) {
      throw NotLowered(function + ": " + error.what());
    }
  }

  // LIKE and what DuckDB's optimizer makes of it, in the one form that basalt::LikePattern has.
  std::optional<Expr> like(const duckdb::BoundFunctionExpression& expression) const {
    const std::string& name = expression.function.name;
    const bool escaped = name == "like_escape" || name == "not_like_escape";
    const bool negated = name == "!~~" || name == "not_like_escape";
    const bool pattern = name == "~~" || name == "!~~" || escaped;
    const bool before = name == "suffix" || name == "ends_with" || name == "contains";
    const bool behind = name == "prefix" || name == "starts_with" || name == "^@" || name == "contains";
    if (!pattern && !before && !behind) return std::nullopt;
    for (const auto& child : expression.children) {
      if (child->return_type.id() != LogicalTypeId::VARCHAR)
        throw NotLowered(name + " of " + child->return_type.ToString());
      if (!duckdb::StringType::GetCollation(child->return_type).empty()) throw NotLowered("a collation");
    }
    if (expression.children.size() != (escaped ? 3 : 2)) throw NotLowered("the function " + name);
    const std::string given = constant_text(*expression.children[1], name);
    std::string text;
    if (escaped) {
      text = with_backslashes(given, constant_text(*expression.children[2], name));
    } else {
      if (before) text += '%';
      for (const char c : given) text += pattern && c != '\\' ? std::string(1, c) : LikePattern::escape({&c, 1});
      if (behind) text += '%';
    }
    Expr wanted;
    wanted.op = ExprOp::kLiteral;
    wanted.type = Physical::kBytes;
    wanted.literal = Value::of_bytes(std::move(text));
    Expr result = make_expr(ExprOp::kLike, Physical::kU8, {lower(*expression.children[0]), std::move(wanted)});
    return negated ? make_expr(ExprOp::kNot, Physical::kU8, {std::move(result)}) : result;
  }

  static std::string constant_text(const duckdb::Expression& expression, const std::string& function) {
    if (expression.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) {
      throw NotLowered(function + " with a pattern that is not constant");
    }
    const duckdb::Value& value = expression.Cast<duckdb::BoundConstantExpression>().value;
    if (value.IsNull()) throw NotLowered(function + " with NULL");
    return duckdb::StringValue::Get(value);
  }

  // A pattern with another escape character in the form with backslashes. What DuckDB finds fault with, or reads in a
  // way of its own, stays there.
  static std::string with_backslashes(const std::string& pattern, const std::string& escape) {
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

  Expr comparison(const duckdb::BoundComparisonExpression& expression) const {
    return compare(expression.GetExpressionType(), *expression.left, *expression.right);
  }

  Expr compare(ExpressionType type, const duckdb::Expression& left, const duckdb::Expression& right) const {
    const auto op = comparison_op(type);
    if (!op) throw NotLowered("the comparison " + duckdb::ExpressionTypeToOperator(type));
    if (left.GetExpressionClass() == ExpressionClass::BOUND_CONSTANT &&
        right.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) {
      return compare(duckdb::FlipComparisonExpression(type), right, left);
    }
    const bool nulls_compare = *op == ExprOp::kDistinct || *op == ExprOp::kNotDistinct;
    auto as_date = nulls_compare ? std::nullopt : compare_as_date(*op, left, right);
    if (as_date) return *std::move(as_date);
    if (left.return_type != right.return_type && physical_type(left.return_type) != physical_type(right.return_type)) {
      throw NotLowered("a comparison of " + left.return_type.ToString() + " with " + right.return_type.ToString());
    }
    return make_expr(*op, Physical::kU8, {lower(left), lower(right)});
  }

  // `date_column < date + interval` arrives as CAST(date_column AS TIMESTAMP) < timestamp: back to days, which need no
  // arithmetic per row.
  std::optional<Expr> compare_as_date(ExprOp op, const duckdb::Expression& left,
                                      const duckdb::Expression& right) const {
    if (left.GetExpressionClass() != ExpressionClass::BOUND_CAST ||
        right.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) {
      return std::nullopt;
    }
    const auto& inner = left.Cast<duckdb::BoundCastExpression>();
    const auto& constant = right.Cast<duckdb::BoundConstantExpression>().value;
    if (inner.try_cast || inner.child->return_type.id() != LogicalTypeId::DATE ||
        constant.type().id() != LogicalTypeId::TIMESTAMP || constant.IsNull()) {
      return std::nullopt;
    }
    const int64_t micros = constant.GetValueUnsafe<int64_t>();
    if (!duckdb::Timestamp::IsFinite(duckdb::timestamp_t(micros))) return std::nullopt;
    const bool midnight = micros % kMicrosPerDay == 0;
    const int64_t day = micros / kMicrosPerDay - (micros % kMicrosPerDay < 0 ? 1 : 0);
    if (!midnight) {
      if (op == ExprOp::kLess) op = ExprOp::kLessEqual;
      if (op == ExprOp::kGreaterEqual) op = ExprOp::kGreater;
      if (op == ExprOp::kEqual || op == ExprOp::kNotEqual) return std::nullopt;
    }
    Expr bound;
    bound.op = ExprOp::kLiteral;
    bound.type = Physical::kI32;
    bound.literal = Value::of_integer(Physical::kI32, day);
    return make_expr(op, Physical::kU8, {lower(*inner.child), bound});
  }

  Expr between(const duckdb::BoundBetweenExpression& expression) const {
    const auto low =
        expression.lower_inclusive ? ExpressionType::COMPARE_GREATERTHANOREQUALTO : ExpressionType::COMPARE_GREATERTHAN;
    const auto high =
        expression.upper_inclusive ? ExpressionType::COMPARE_LESSTHANOREQUALTO : ExpressionType::COMPARE_LESSTHAN;
    return make_expr(
        ExprOp::kAnd, Physical::kU8,
        {compare(low, *expression.input, *expression.lower), compare(high, *expression.input, *expression.upper)});
  }

  Expr operation(const duckdb::BoundOperatorExpression& expression) const {
    switch (expression.GetExpressionType()) {
      case ExpressionType::OPERATOR_NOT:
        return make_expr(ExprOp::kNot, Physical::kU8, {lower(*expression.children.at(0))});
      case ExpressionType::OPERATOR_IS_NULL:
        return make_expr(ExprOp::kIsNull, Physical::kU8, {lower(*expression.children.at(0))});
      case ExpressionType::OPERATOR_IS_NOT_NULL:
        return make_expr(ExprOp::kIsNotNull, Physical::kU8, {lower(*expression.children.at(0))});
      case ExpressionType::COMPARE_IN: return in_list(expression);
      case ExpressionType::COMPARE_NOT_IN: return make_expr(ExprOp::kNot, Physical::kU8, {in_list(expression)});
      case ExpressionType::OPERATOR_COALESCE: {
        std::vector<Expr> args;
        for (const auto& child : expression.children) args.push_back(lower(*child));
        return make_expr(ExprOp::kCoalesce, physical_type(expression.return_type), std::move(args));
      }
      default: throw NotLowered("the operator " + expression.ToString());
    }
  }

  Expr case_of(const duckdb::BoundCaseExpression& expression) const {
    std::vector<Expr> args;
    for (const auto& check : expression.case_checks) {
      args.push_back(lower(*check.when_expr));
      args.push_back(lower(*check.then_expr));
    }
    args.push_back(lower(*expression.else_expr));
    return make_expr(ExprOp::kCase, physical_type(expression.return_type), std::move(args));
  }

  Expr in_list(const duckdb::BoundOperatorExpression& expression) const {
    std::vector<Expr> args;
    bool constants = true;
    for (const auto& child : expression.children) {
      args.push_back(lower(*child));
      if (args.back().type != args.front().type) throw NotLowered("IN over values of different types");
      if (args.size() > 1) constants = constants && args.back().op == ExprOp::kLiteral;
    }
    if (constants) return make_expr(ExprOp::kIn, Physical::kU8, std::move(args));
    std::vector<Expr> hits;
    for (size_t i = 1; i < args.size(); ++i) {
      hits.push_back(make_expr(ExprOp::kEqual, Physical::kU8, {args[0], std::move(args[i])}));
    }
    if (hits.size() == 1) return std::move(hits.front());
    return make_expr(ExprOp::kOr, Physical::kU8, std::move(hits));
  }

  const ColumnResolver& columns_;
};

}  // namespace

std::optional<ExprOp> comparison_op(ExpressionType type) {
  switch (type) {
    case ExpressionType::COMPARE_EQUAL: return ExprOp::kEqual;
    case ExpressionType::COMPARE_NOTEQUAL: return ExprOp::kNotEqual;
    case ExpressionType::COMPARE_LESSTHAN: return ExprOp::kLess;
    case ExpressionType::COMPARE_LESSTHANOREQUALTO: return ExprOp::kLessEqual;
    case ExpressionType::COMPARE_GREATERTHAN: return ExprOp::kGreater;
    case ExpressionType::COMPARE_GREATERTHANOREQUALTO: return ExprOp::kGreaterEqual;
    case ExpressionType::COMPARE_DISTINCT_FROM: return ExprOp::kDistinct;
    case ExpressionType::COMPARE_NOT_DISTINCT_FROM: return ExprOp::kNotDistinct;
    default: return std::nullopt;
  }
}

Expr make_expr(ExprOp op, Physical type, std::vector<Expr> args) {
  Expr expr;
  expr.op = op;
  expr.type = type;
  expr.args = std::move(args);
  return expr;
}

Expr lower_expression(const duckdb::Expression& expression, const ColumnResolver& columns) {
  return Lowering(columns).lower(expression);
}

Expr column_expr(uint32_t column, Physical type) {
  Expr expr;
  expr.op = ExprOp::kColumn;
  expr.type = type;
  expr.column = column;
  return expr;
}

Expr conjunction(std::vector<Expr> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return make_expr(ExprOp::kAnd, Physical::kU8, std::move(parts));
}

}  // namespace basalt::sql
