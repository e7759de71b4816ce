// Filters on one string column that the scan takes over from DuckDB, so that the column is tested as it is stored.
#pragma once

#include <string>

#include "duckdb.hpp"
#include "duckdb/planner/operator/logical_get.hpp"

namespace basalt::sql {

// DuckDB takes IN, OR and LIKE with a prefix for hints to the scan, and filters once more above it. In a conjunction of
// their own it leaves them whole, and asks takes_filter() about them.
void keep_string_filters_whole(const duckdb::LogicalGet& get,
                               duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters);

// Whether the scan evaluates the filter; if not, and it is one on strings, the statement's log says why.
bool takes_filter(duckdb::ClientContext& context, const duckdb::LogicalGet& get, duckdb::Expression& filter);

}  // namespace basalt::sql
