// Where results go: formats by the names of files, names that are refused, and Parquet through a pipe.
#pragma once

#include <string>

#include "basalt/sql/session.h"

namespace basalt::cli {

// parquet, csv, tsv, json, ndjson, arrow, arrows, basalt, or table for .txt; empty if the name does not tell. What
// compresses (.gz, .zst) is looked through.
std::string format_by_name(const std::string& path);
bool is_compressed_name(const std::string& path);

// Throws UsageError unless the name ends in .basalt. `option` lets other names pass.
void require_basalt_name(const std::string& path, const std::string& option);

// The Parquet file of a query, to standard output.
void parquet_to_stdout(Session& session, const std::string& query);

}  // namespace basalt::cli
