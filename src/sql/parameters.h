// The parameters of a statement that are left in its plan, because their values are not known yet.
#pragma once

#include <functional>

#include "duckdb/planner/expression/bound_parameter_expression.hpp"
#include "duckdb/planner/logical_operator.hpp"

namespace basalt::sql {

using ParameterVisitor = std::function<void(duckdb::BoundParameterExpression&)>;

void visit_parameters(duckdb::LogicalOperator& plan, const ParameterVisitor& visit);

// Where there are some, DuckDB plans the statement once more when it runs, with values in their place.
bool has_parameters(duckdb::LogicalOperator& plan);

}  // namespace basalt::sql
