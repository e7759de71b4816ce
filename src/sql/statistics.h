// What footers tell DuckDB's optimizer: rows, column statistics, and exact counts, minima and maxima that answer a
// statement without reading a row.
#pragma once

#include <string>

#include "basalt/file/reader.h"
#include "duckdb.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/function/partition_stats.hpp"

namespace basalt::sql {

// Index of a top-level column by name, as SQL compares names; −1 if there is none.
int find_column(const File& file, const std::string& name);

// nullptr where nothing useful is known (nested columns).
duckdb::unique_ptr<duckdb::BaseStatistics> column_statistics(const File& file, uint32_t column);

// Whether rows of a top-level column keep what column_statistics() promised of it as far as memory may depend on it:
// NULLs, and the bounds of integers. Throws Error(kCorrupt) where the footer lied.
void check_promises(const File& file, const Field& field, const Column& column);

// The files of a scan, opened; an empty list if there are more than `limit`.
std::vector<std::shared_ptr<const File>> open_files(duckdb::ClientContext& context,
                                                    const duckdb::MultiFileBindData& bind_data, size_t limit);

// True if the column's values come from the file's path (hive partitions, filename).
bool comes_from_path(const duckdb::MultiFileBindData& bind_data, duckdb::idx_t column);

// Callbacks of the table function.
duckdb::unique_ptr<duckdb::BaseStatistics> scan_statistics(duckdb::ClientContext& context,
                                                           const duckdb::FunctionData* bind_data,
                                                           duckdb::column_t column);
duckdb::vector<duckdb::PartitionStatistics> scan_partition_statistics(duckdb::ClientContext& context,
                                                                      duckdb::GetPartitionStatsInput& input);

}  // namespace basalt::sql
