// Basalt's operator inside DuckDB's plans, and the hook that puts it there.
#pragma once

#include "duckdb.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"
#include "sql/lower.h"

namespace basalt::sql {

// Called after DuckDB's optimizer: replaces what can be lowered, and logs why the rest cannot.
void optimize_plan(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<duckdb::LogicalOperator>& plan);

// Whether the hook would take this query under the settings of the moment. May throw NotLowered, too.
bool would_run(duckdb::ClientContext& context, const LoweredQuery& lowered);

}  // namespace basalt::sql
