// What DuckDB cannot see when it orders the joins of a statement's shape: the filters stay above the scans, and it
// expects the same share of the rows behind any of them.
#pragma once

#include "duckdb.hpp"
#include "duckdb/planner/logical_operator.hpp"

namespace basalt::sql {

// Tells the scans of a plan that is not optimized yet which share of their rows equalities with a parameter leave.
void expect_shares(duckdb::ClientContext& context, duckdb::LogicalOperator& plan);

}  // namespace basalt::sql
