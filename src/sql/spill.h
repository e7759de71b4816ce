// Where DuckDB puts rows aside that do not fit its memory: a private folder, made when the first rows need it.
#pragma once

#include <string>

#include "duckdb.hpp"

namespace basalt::sql {

// An unused name for such a folder inside `parent`, which is looked at when the folder is made.
std::string spill_folder_in(const std::string& parent);

// Lets the database make `folder`, its temp_directory, as a private one. It goes when the database does.
void use_spill_folder(duckdb::DuckDB& database, const std::string& folder);

}  // namespace basalt::sql
