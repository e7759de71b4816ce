// A statement never writes over a file that it reads: COPY … TO, and the file that the program puts results into.
#pragma once

#include "duckdb.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"

namespace basalt::sql {

// Looks at a plan before it is changed. Throws if an output is one of its inputs, under whatever name.
void check_outputs(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<duckdb::LogicalOperator>& plan);

}  // namespace basalt::sql
