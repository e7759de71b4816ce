// COPY … TO 'x.basalt': DuckDB's chunks into the writer, in order, which encodes in parallel.
#pragma once

#include "duckdb.hpp"
#include "duckdb/function/copy_function.hpp"

namespace basalt::sql {

// Options: ENCODINGS {column: 'tree', …}, SORT_COLUMNS [columns], THREADS n, CHUNK_ROWS n, MEMORY_LIMIT bytes.
duckdb::CopyFunction copy_function();

}  // namespace basalt::sql
