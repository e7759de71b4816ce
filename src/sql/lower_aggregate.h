// SQL's aggregate functions as basalt::Aggregate.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "basalt/exec/pipeline.h"
#include "duckdb.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"

namespace basalt::sql {

struct SqlAggregate {
  const char* name;  // as DuckDB calls it once bound
  AggregateOp op;
  const char* example;  // over the columns of sql/function_table.h; nullptr: only DuckDB's optimizer knows the name
};

// All that lowering takes; it refuses every other name.
std::span<const SqlAggregate> sql_aggregates();

// Throws NotLowered with the reason. `lower` lowers its argument and filter.
Aggregate lower_aggregate(const duckdb::BoundAggregateExpression& bound,
                          const std::function<Expr(const duckdb::Expression&)>& lower);

// As SQL calls it: "count" for count_star.
std::string aggregate_word(const duckdb::BoundAggregateExpression& bound);

}  // namespace basalt::sql
