// COPY … TO 'x.basalt': DuckDB's chunks into the writer, in order, which encodes in parallel.
#pragma once

#include <memory>
#include <string>

#include "basalt/file/writer.h"
#include "duckdb.hpp"
#include "duckdb/function/copy_function.hpp"

namespace basalt::sql {

// A table handed to the writer has about this many rows: few enough to stay in cache, enough to make its overhead
// vanish. Wide rows, long strings and little memory make smaller tables.
constexpr uint64_t kTableRows = 128 << 10;
// Bytes of the tables that threads fill and that wait for the writer, and of one of them.
uint64_t held_limit(const Writer& writer);
uint64_t table_bytes(duckdb::ClientContext& context, const Writer& writer);

struct CopyBindData : duckdb::FunctionData {
  Schema schema;
  duckdb::vector<duckdb::LogicalType> types;
  WriteOptions options;

  duckdb::unique_ptr<FunctionData> Copy() const override { return duckdb::make_uniq<CopyBindData>(*this); }
  bool Equals(const FunctionData& other) const override { return this == &other; }
};

// Options: ENCODINGS {column: 'tree', …}, SORT_COLUMNS [columns], THREADS n, CHUNK_ROWS n, MEMORY_LIMIT bytes.
duckdb::CopyFunction copy_function();

// `cancel` keeps the token alive that the writer looks at.
std::unique_ptr<Writer> open_writer(duckdb::ClientContext& context, const CopyBindData& bind, const std::string& path,
                                    std::shared_ptr<CancelToken>& cancel);
// Finishes the file and notes in the statement's log what it became.
void finish_writer(duckdb::ClientContext& context, Writer& writer, const std::string& path);

}  // namespace basalt::sql
