// Tables that the session's owner has under names of its own: Python's variables, say. DuckDB asks for them when nobody
// else knows a name.
#pragma once

#include <functional>
#include <string>

#include "basalt/sql/session.h"

namespace duckdb {
class DatabaseInstance;
}

namespace basalt::sql {

void look_for_tables(duckdb::DatabaseInstance& database, std::function<StreamOpener(const std::string&)> find);

}  // namespace basalt::sql
