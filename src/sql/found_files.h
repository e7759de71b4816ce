// Files that a path stands for in statements: itself, those that a pattern finds, those of a folder.
#pragma once

#include <memory>
#include <string>

#include "duckdb/common/multi_file/multi_file_reader.hpp"

namespace basalt::sql {

// Finds the files of scans. A folder stands for its own files or, where it has none, for those of the folders in it,
// which may be partitions. What is hidden, as files that were replaced and are still read, is found only where the
// pattern asks for hidden names itself.
duckdb::unique_ptr<duckdb::MultiFileReader> make_file_finder(const duckdb::TableFunction& function);

// The same, as paths; none where there is no file.
std::vector<std::string> find_files(duckdb::ClientContext& context, const std::string& path);

// Whether a name without an ending is a table nevertheless: a folder, or a pattern that finds .basalt files only.
bool stands_for_files(duckdb::ClientContext& context, const std::string& path);

}  // namespace basalt::sql
