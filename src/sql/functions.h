// Table functions beside the scan: what files hold beside rows (basalt_metadata, basalt_schema, basalt_encodings), and
// the rows of Arrow files (read_arrow).
#pragma once

#include <vector>

#include "duckdb.hpp"

namespace basalt::sql {

constexpr const char* kReadArrow = "read_arrow";

std::vector<duckdb::TableFunction> table_functions();

}  // namespace basalt::sql
