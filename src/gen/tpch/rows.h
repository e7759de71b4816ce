// The tables of TPC-H by ranges of rows: DuckDB's generator without DuckDB's tables, so that ranges are made on any
// number of threads and come in the order of the primary key. Part of libbasalt_sql, which holds that generator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "basalt/core/column.h"

namespace basalt {

Schema tpch_schema(const std::string& name);

// One at a time in a process: the generator keeps its words in global variables.
class TpchRows {
 public:
  explicit TpchRows(double scale);
  ~TpchRows();
  TpchRows(const TpchRows&) = delete;
  TpchRows& operator=(const TpchRows&) = delete;

  // What a table is counted in: orders for lineitem, parts for partsupp, rows for the others.
  uint64_t units(const std::string& name) const;
  // All rows of units [begin, end), or of those that there are.
  Table make(const std::string& name, uint64_t begin, uint64_t end) const;

  struct Context;

 private:
  std::unique_ptr<Context> base_;
};

}  // namespace basalt
