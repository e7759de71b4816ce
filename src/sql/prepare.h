// Queries run all at once for what they leave behind: kernels that were compiled and plans of stages. Compiling is most
// of what a query takes the first time, and one query keeps a core or two busy with it.
#pragma once

#include <string>
#include <vector>

#include "basalt/sql/session.h"
#include "duckdb.hpp"

namespace basalt::sql {

// Each on a connection of its own to the database of `like`, with its settings; the rows are dropped. In the order of
// the queries.
std::vector<PreparedQuery> prepare_queries(duckdb::Connection& like, const std::vector<std::string>& queries);

}  // namespace basalt::sql
