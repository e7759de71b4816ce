// Basalt's own sink for COPY … TO 'x.basalt'. DuckDB's collects rows twice, the second time under a lock, and starts
// only as many threads as its memory limit has room for 4 MiB per column: 4 of 16 for a table of 15 columns.
#pragma once

#include "duckdb.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"

namespace basalt::sql {

// Replaces the COPY of a plan; what asks for several files is left to DuckDB.
void optimize_copy(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<duckdb::LogicalOperator>& plan);

}  // namespace basalt::sql
