// The inside of QueryResult: DuckDB's result, and what is counted while its rows are fetched.
#pragma once

#include <chrono>
#include <memory>

#include "basalt/sql/session.h"
#include "duckdb.hpp"
#include "sql/state.h"
#include "sql/vectors.h"

namespace basalt {

struct QueryResult::State {
  duckdb::unique_ptr<duckdb::QueryResult> result;
  std::shared_ptr<duckdb::Connection> connection;
  std::shared_ptr<sql::StatementLog> log;
  std::chrono::steady_clock::time_point start;
  std::vector<ResultColumn> columns;
  bool has_rows = false;
  bool is_explain = false;
  bool kept_plan = false;
  std::string done_to_rows;

  // Shared with an Arrow stream that may outlive the result.
  struct Counts {
    uint64_t rows = 0;
    bool done = false;
    double total_ms = 0;
  };
  std::shared_ptr<Counts> counts = std::make_shared<Counts>();
  QueryReport report;
  std::unique_ptr<Schema> schema;  // of next()

  // nullptr at the end. Throws Error.
  duckdb::unique_ptr<duckdb::DataChunk> fetch();
  // The next rows as a table; nullptr at the end.
  std::unique_ptr<Table> next();
  // All rows that are left.
  duckdb::MaterializedQueryResult& materialize();
  std::string to_box(const RenderOptions& options);
  void finish(uint64_t rows);
  void require_unfetched() const;
};

}  // namespace basalt
