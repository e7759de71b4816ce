// read_basalt() and basalt_scan(): .basalt files as a table function on DuckDB's multi-file reader, which brings globs,
// union_by_name, hive partitions, filename and file_row_number.
#pragma once

#include "duckdb.hpp"
#include "duckdb/function/copy_function.hpp"
#include "duckdb/function/table_function.hpp"

namespace basalt::sql {

constexpr const char* kScanName = "basalt_scan";
constexpr const char* kReadName = "read_basalt";  // the same function

// True for the name of either.
bool is_scan(const duckdb::TableFunction& function);

duckdb::TableFunctionSet scan_functions(const char* name);
// COPY table FROM 'x.basalt'.
duckdb::unique_ptr<duckdb::FunctionData> bind_copy_from(duckdb::ClientContext& context,
                                                        duckdb::CopyFromFunctionBindInput& input,
                                                        duckdb::vector<duckdb::string>& names,
                                                        duckdb::vector<duckdb::LogicalType>& types);

}  // namespace basalt::sql
