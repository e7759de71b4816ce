// Table filters to basalt::Expr: what DuckDB pushed into a scan, among it the hints that joins and TOP_N leave while
// the query runs.
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/filter/expression_filter.hpp"
#include "duckdb/planner/filter/list.hpp"
#include "sql/expressions.h"
#include "sql/types.h"

namespace basalt::sql {

using duckdb::TableFilterType;

namespace {

Expr predicate(ExprOp op, std::vector<Expr> args) { return make_expr(op, Physical::kU8, std::move(args)); }

std::optional<Expr> constant(const duckdb::Value& value, const duckdb::LogicalType& type, Physical physical) {
  if (value.type() != type) return std::nullopt;
  const auto plain = to_value(value, physical);
  if (!plain) return std::nullopt;
  Expr expr;
  expr.op = ExprOp::kLiteral;
  expr.type = physical;
  expr.literal = *plain;
  return expr;
}

LoweredFilter whole(std::optional<Expr> expr) {
  const bool complete = expr.has_value();
  return {std::move(expr), complete, complete};
}

LoweredFilter lower_comparison(const duckdb::ConstantFilter& filter, const Expr& column,
                               const duckdb::LogicalType& type) {
  const auto op = comparison_op(filter.comparison_type);
  auto bound = constant(filter.constant, type, column.type);
  if (!op || !bound) return {};
  return whole(predicate(*op, {column, *std::move(bound)}));
}

LoweredFilter lower_conjunction(const duckdb::ConjunctionFilter& filter, const Expr& column,
                                const duckdb::LogicalType& type) {
  const bool is_and = filter.filter_type == TableFilterType::CONJUNCTION_AND;
  std::vector<Expr> parts;
  bool complete = true;
  bool exact = true;
  for (const auto& child : filter.child_filters) {
    LoweredFilter part = lower_filter(*child, column, type);
    complete = complete && part.complete;
    exact = exact && part.exact;
    // An OR is implied by its parts only if each of them says something.
    if (!part.expr && !is_and) return {};
    if (part.expr) parts.push_back(*std::move(part.expr));
  }
  if (parts.empty()) return {std::nullopt, complete, exact};
  if (is_and) return {conjunction(std::move(parts)), complete, exact};
  return {predicate(ExprOp::kOr, std::move(parts)), complete, exact};
}

}  // namespace

LoweredFilter lower_filter(const duckdb::TableFilter& filter, const Expr& column, const duckdb::LogicalType& type) {
  switch (filter.filter_type) {
    case TableFilterType::CONSTANT_COMPARISON:
      return lower_comparison(filter.Cast<duckdb::ConstantFilter>(), column, type);
    case TableFilterType::IS_NULL: return whole(predicate(ExprOp::kIsNull, {column}));
    case TableFilterType::IS_NOT_NULL: return whole(predicate(ExprOp::kIsNotNull, {column}));
    case TableFilterType::CONJUNCTION_AND:
      return lower_conjunction(filter.Cast<duckdb::ConjunctionAndFilter>(), column, type);
    case TableFilterType::CONJUNCTION_OR:
      return lower_conjunction(filter.Cast<duckdb::ConjunctionOrFilter>(), column, type);
    case TableFilterType::IN_FILTER: {
      std::vector<Expr> args{column};
      for (const auto& value : filter.Cast<duckdb::InFilter>().values) {
        auto item = constant(value, type, column.type);
        if (!item) return {};
        args.push_back(*std::move(item));
      }
      return whole(predicate(ExprOp::kIn, std::move(args)));
    }
    case TableFilterType::OPTIONAL_FILTER: {
      const auto& child = filter.Cast<duckdb::OptionalFilter>().child_filter;
      LoweredFilter hint = child ? lower_filter(*child, column, type) : LoweredFilter{std::nullopt, true, true};
      hint.exact = true;
      return hint;
    }
    case TableFilterType::DYNAMIC_FILTER: {
      const auto& data = filter.Cast<duckdb::DynamicFilter>().filter_data;
      if (!data || !data->initialized) return {std::nullopt, true, true};
      const duckdb::lock_guard<duckdb::mutex> lock(data->lock);
      return data->filter ? lower_comparison(*data->filter, column, type) : LoweredFilter{std::nullopt, true, true};
    }
    case TableFilterType::EXPRESSION_FILTER:
      try {
        return whole(
            lower_expression(*filter.Cast<duckdb::ExpressionFilter>().expr, [&](const duckdb::Expression& reference) {
              if (reference.return_type != type) throw NotLowered("another type");
              return column;
            }));
      } catch (const NotLowered&) {
        return {};
      }
    default: return {};
  }
}

}  // namespace basalt::sql
