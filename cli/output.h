// Where results go: formats by the names of files, and names that are refused.
#pragma once

#include <string>

namespace basalt::cli {

// parquet, csv, tsv, json, ndjson, arrow, arrows, basalt, or table for .txt; empty if the name does not tell. What
// compresses (.gz, .zst) is looked through.
std::string format_by_name(const std::string& path);
std::string compression_by_name(const std::string& path);  // gzip for .gz, zstd for .zst, empty for others
bool is_compressed_name(const std::string& path);

// Throws UsageError unless the name ends in .basalt. `option` lets other names pass.
void require_basalt_name(const std::string& path, const std::string& option);

// For writers that need a name. It is written through, whatever it is.
constexpr const char* kStandardOutput = "/dev/stdout";

}  // namespace basalt::cli
