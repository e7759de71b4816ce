// Basalt's operator inside DuckDB's plans, and the hook that puts it there.
#pragma once

#include "duckdb.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"

namespace basalt::sql {

// Called after DuckDB's optimizer: replaces what can be lowered, and logs why the rest cannot.
void optimize_plan(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<duckdb::LogicalOperator>& plan);

}  // namespace basalt::sql
