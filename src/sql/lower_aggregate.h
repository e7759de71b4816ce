// SQL's aggregate functions as basalt::Aggregate.
#pragma once

#include <functional>
#include <string>

#include "basalt/exec/pipeline.h"
#include "duckdb.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"

namespace basalt::sql {

// Throws NotLowered with the reason. `lower` lowers its argument and filter.
Aggregate lower_aggregate(const duckdb::BoundAggregateExpression& bound,
                          const std::function<Expr(const duckdb::Expression&)>& lower);

// As SQL calls it: "count" for count_star.
std::string aggregate_word(const duckdb::BoundAggregateExpression& bound);

}  // namespace basalt::sql
