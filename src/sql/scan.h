// read_basalt() and basalt_scan(): .basalt files as a table function on DuckDB's multi-file reader, which brings globs,
// union_by_name, hive partitions, filename and file_row_number.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "basalt/file/reader.h"
#include "duckdb.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/function/copy_function.hpp"
#include "duckdb/function/table_function.hpp"

namespace basalt::sql {

constexpr const char* kScanName = "basalt_scan";
constexpr const char* kReadName = "read_basalt";  // the same function

// What binding a scan has found, beside what DuckDB's reader keeps.
struct ScanOptions : duckdb::BaseFileReaderOptions {
  bool file_row_number = false;
  // Of every file only these rows.
  uint64_t first_row = 0;
  uint64_t rows = ~uint64_t{0};
  bool all_rows() const { return first_row == 0 && rows == ~uint64_t{0}; }
  uint64_t end_row() const { return rows > ~first_row ? ~uint64_t{0} : first_row + rows; }
  uint64_t rows_of(const File& file) const {
    return std::min(file.rows(), end_row()) - std::min(file.rows(), first_row);
  }
};
struct ScanBindData : duckdb::TableFunctionData {
  duckdb::unique_ptr<ScanOptions> options;
  duckdb::idx_t first_file_rows = 0;
  duckdb::idx_t first_file_parts = 1;
  std::string why_in_duckdb;  // why nothing of ours is above the scan: for EXPLAIN
  double expected_share = 1;  // of the rows, behind filters that the optimizer does not see (expected_shares.h)
  // The files of a list, once they were asked for: the optimizer asks for statistics of every column.
  mutable duckdb::shared_ptr<duckdb::MultiFileList> opened_list;
  mutable std::vector<std::shared_ptr<const File>> opened;

  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override;  // NOLINT: called under this name
};

// True for the name of either.
bool is_scan(const duckdb::TableFunction& function);

duckdb::TableFunctionSet scan_functions(const char* name);
// COPY table FROM 'x.basalt'.
duckdb::unique_ptr<duckdb::FunctionData> bind_copy_from(duckdb::ClientContext& context,
                                                        duckdb::CopyFromFunctionBindInput& input,
                                                        duckdb::vector<duckdb::string>& names,
                                                        duckdb::vector<duckdb::LogicalType>& types);

}  // namespace basalt::sql
