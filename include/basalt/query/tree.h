// A query as a tree of relational operations, without DuckDB and without a device: what SQL is lowered to, what
// rewrites change, and what is cut into the stages that a backend runs. Expressions of a node refer to the columns of
// its input by place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt {

enum class QueryOp : uint8_t {
  kScan,       // of files
  kFilter,     // keeps the rows for which `predicate` holds
  kProject,    // `exprs` of each row
  kAggregate,  // a row for each combination of `keys`: these, then `aggregates`; no keys: one row
  kSort,       // by `order`, then `limit` rows behind the first `offset`
  kLimit,      // the same without an order
};

struct QueryNode {
  QueryOp op = QueryOp::kScan;
  std::vector<QueryNode> inputs;  // none for kScan, else one
  std::vector<Field> output;      // names and types of its columns; of kFilter, kSort and kLimit the input's
  // kScan
  std::vector<std::shared_ptr<const File>> files;
  std::vector<PipelineColumn> columns;
  // kFilter
  Expr predicate;
  // kProject
  std::vector<Expr> exprs;
  // kAggregate
  std::vector<Expr> keys;
  std::vector<Aggregate> aggregates;
  // kSort, kLimit
  std::vector<SortKey> order;
  uint64_t limit = kAllRows;
  uint64_t offset = 0;
};

// The tree as indented lines, the last operation first: for tests and explain.
std::string to_string(const QueryNode& root);

std::string to_string(const Query& query);
// A line of it: "groups by a, b + 1: sum(c)".
std::string to_string(const Pipeline& stage);

// Filters and projections are merged into the stage that needs them; every aggregate, order and limit ends one.
Query cut(const QueryNode& root);

}  // namespace basalt
