// Bound expressions to basalt::Expr. The binder has already made the types of operands equal and folded constants; what
// is left is to keep DuckDB's rules for NULLs, roundings and errors.
#include "sql/expressions.h"

#include <algorithm>

#include "basalt/core/error.h"
#include "duckdb/main/client_context.hpp"
#include "sql/function_table.h"
#include "sql/lowering.h"
#include "sql/types.h"

namespace basalt::sql {

using duckdb::ExpressionClass;
using duckdb::ExpressionType;
using duckdb::LogicalType;
using duckdb::LogicalTypeId;

namespace {

constexpr int64_t kMicrosPerDay = 86'400'000'000;

}  // namespace

bool is_decimal(const LogicalType& type) { return type.id() == LogicalTypeId::DECIMAL; }
bool is_real(const LogicalType& type) {
  return type.id() == LogicalTypeId::FLOAT || type.id() == LogicalTypeId::DOUBLE;
}
bool is_number(const LogicalType& type) { return type.IsIntegral() || is_decimal(type) || is_real(type); }

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

Expr number_literal(Physical type, int128_t value) {
  Expr expr;
  expr.type = type;
  expr.literal = Value::of_integer(type, value);
  return expr;
}

int64_t constant_number(const duckdb::Expression& expression, const std::string& function) {
  if (expression.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) {
    throw NotLowered(function + " with a number that is not constant");
  }
  const duckdb::Value& value = expression.Cast<duckdb::BoundConstantExpression>().value;
  if (value.IsNull()) throw NotLowered(function + " with NULL");
  return value.GetValue<int64_t>();
}

std::string constant_text(const duckdb::Expression& expression, const std::string& function) {
  if (expression.GetExpressionClass() != ExpressionClass::BOUND_CONSTANT) {
    throw NotLowered(function + " with a pattern that is not constant");
  }
  const duckdb::Value& value = expression.Cast<duckdb::BoundConstantExpression>().value;
  if (value.IsNull()) throw NotLowered(function + " with NULL");
  return duckdb::StringValue::Get(value);
}

Expr Lowering::lower(const duckdb::Expression& expression) const {
  switch (expression.GetExpressionClass()) {
    case ExpressionClass::BOUND_COLUMN_REF:
    case ExpressionClass::BOUND_REF: return columns_(expression);
    case ExpressionClass::BOUND_CONSTANT:
      return literal(expression.Cast<duckdb::BoundConstantExpression>().value, expression.return_type);
    case ExpressionClass::BOUND_PARAMETER:
      if (!rules_.parameter) throw NotLowered("a parameter");
      return rules_.parameter(expression);
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

Expr Lowering::comparison(const duckdb::BoundComparisonExpression& expression) const {
  return compare(expression.GetExpressionType(), *expression.left, *expression.right);
}

Expr Lowering::compare(ExpressionType type, const duckdb::Expression& left, const duckdb::Expression& right) const {
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
std::optional<Expr> Lowering::compare_as_date(ExprOp op, const duckdb::Expression& left,
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

Expr Lowering::between(const duckdb::BoundBetweenExpression& expression) const {
  const auto low =
      expression.lower_inclusive ? ExpressionType::COMPARE_GREATERTHANOREQUALTO : ExpressionType::COMPARE_GREATERTHAN;
  const auto high =
      expression.upper_inclusive ? ExpressionType::COMPARE_LESSTHANOREQUALTO : ExpressionType::COMPARE_LESSTHAN;
  return make_expr(
      ExprOp::kAnd, Physical::kU8,
      {compare(low, *expression.input, *expression.lower), compare(high, *expression.input, *expression.upper)});
}

Expr Lowering::operation(const duckdb::BoundOperatorExpression& expression) const {
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
      if (auto part = split_part(expression)) return *std::move(part);
      std::vector<Expr> args;
      for (const auto& child : expression.children) args.push_back(lower(*child));
      return make_expr(ExprOp::kCoalesce, physical_type(expression.return_type), std::move(args));
    }
    default: throw NotLowered("the operator " + expression.ToString());
  }
}

Expr Lowering::case_of(const duckdb::BoundCaseExpression& expression) const {
  std::vector<Expr> args;
  for (const auto& check : expression.case_checks) {
    args.push_back(lower(*check.when_expr));
    args.push_back(lower(*check.then_expr));
  }
  args.push_back(lower(*expression.else_expr));
  return make_expr(ExprOp::kCase, physical_type(expression.return_type), std::move(args));
}

Expr Lowering::in_list(const duckdb::BoundOperatorExpression& expression) const {
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

std::vector<Expr> Lowering::lower_all(const Function& expression) const {
  std::vector<Expr> args;
  for (const auto& child : expression.children) args.push_back(lower(*child));
  return args;
}

std::string Lowering::known_text(const duckdb::Expression& expression, const std::string& function) const {
  if (expression.GetExpressionClass() != ExpressionClass::BOUND_PARAMETER) return constant_text(expression, function);
  return lower(expression).literal.bytes;
}

namespace {

// The optimizer's own function, for comparisons that statistics decide: the constant, or NULL where one of the other
// arguments is NULL.
Expr constant_or_null(const Lowering& lowering, const duckdb::BoundFunctionExpression& expression) {
  std::vector<Expr> nulls;
  for (size_t i = 1; i < expression.children.size(); ++i) {
    Expr argument = lowering.lower(*expression.children[i]);
    if (argument.op == ExprOp::kLiteral && !argument.literal.null) continue;
    nulls.push_back(make_expr(ExprOp::kIsNull, Physical::kU8, {std::move(argument)}));
  }
  Expr constant = lowering.lower(*expression.children.at(0));
  if (nulls.empty()) return constant;
  const Physical type = constant.type;
  Expr null = literal(duckdb::Value(), expression.return_type);
  Expr any = nulls.size() == 1 ? std::move(nulls.front()) : make_expr(ExprOp::kOr, Physical::kU8, std::move(nulls));
  return make_expr(ExprOp::kCase, type, {std::move(any), std::move(null), std::move(constant)});
}

}  // namespace

Expr Lowering::function(const Function& expression) const {
  const std::string& name = expression.function.name;
  if (expression.IsVolatile()) throw NotLowered("the volatile function " + name);
  if (name == "constant_or_null") return constant_or_null(*this, expression);
  if (!is_known_function(name)) throw NotLowered("the function " + name);
  for (const auto& child : expression.children) {
    if (child->return_type.id() == LogicalTypeId::VARCHAR &&
        !duckdb::StringType::GetCollation(child->return_type).empty()) {
      throw NotLowered("a collation");
    }
  }
  using Kind = std::optional<Expr> (Lowering::*)(const Function&) const;
  for (const Kind kind :
       {&Lowering::like, &Lowering::regexp, &Lowering::regexp_replace, &Lowering::text_function, &Lowering::made_text,
        &Lowering::longer_text, &Lowering::code_point, &Lowering::date_arithmetic, &Lowering::date_made,
        &Lowering::date_name, &Lowering::time_function, &Lowering::date_function, &Lowering::arithmetic,
        &Lowering::division, &Lowering::rounding, &Lowering::sign_or_extreme, &Lowering::bits, &Lowering::math,
        &Lowering::finiteness}) {
    if (auto lowered = (this->*kind)(expression)) return *std::move(lowered);
  }
  throw NotLowered("the function " + name);
}

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

SessionRules SessionRules::of(duckdb::ClientContext& context) {
  SessionRules rules;
  duckdb::Value value;
  if (context.TryGetCurrentSetting("ieee_floating_point_ops", value)) rules.ieee_floats = value.GetValue<bool>();
  const auto is = [&](const char* setting, std::initializer_list<const char*> wanted) {
    if (!context.TryGetCurrentSetting(setting, value) || value.IsNull()) return false;
    const std::string word = duckdb::StringUtil::Lower(value.ToString());
    return std::any_of(wanted.begin(), wanted.end(), [&](const char* one) { return word == one; });
  };
  rules.utc = is("TimeZone", {"utc", "etc/utc"}) && is("Calendar", {"gregorian"});
  return rules;
}

Expr lower_expression(const duckdb::Expression& expression, const ColumnResolver& columns, const SessionRules& rules) {
  return Lowering(columns, rules).lower(expression);
}

Expr conjunction(std::vector<Expr> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  return make_expr(ExprOp::kAnd, Physical::kU8, std::move(parts));
}

}  // namespace basalt::sql
