#include "sql/parameters.h"

#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/logical_operator_visitor.hpp"

namespace basalt::sql {

namespace {

void visit_parameters_of(duckdb::Expression& expression, const ParameterVisitor& visit) {
  if (expression.GetExpressionClass() == duckdb::ExpressionClass::BOUND_PARAMETER) {
    visit(expression.Cast<duckdb::BoundParameterExpression>());
  }
  duckdb::ExpressionIterator::EnumerateChildren(expression,
                                                [&](duckdb::Expression& child) { visit_parameters_of(child, visit); });
}

}  // namespace

void visit_parameters(duckdb::LogicalOperator& plan, const ParameterVisitor& visit) {
  for (auto& child : plan.children) visit_parameters(*child, visit);
  duckdb::LogicalOperatorVisitor::EnumerateExpressions(
      plan, [&](duckdb::unique_ptr<duckdb::Expression>* expression) { visit_parameters_of(**expression, visit); });
}

bool has_parameters(duckdb::LogicalOperator& plan) {
  bool found = false;
  visit_parameters(plan, [&](duckdb::BoundParameterExpression&) { found = true; });
  return found;
}

}  // namespace basalt::sql
