// A query as a tree of relational operations, without DuckDB and without a device: what SQL is lowered to, what
// rewrites change, and what is cut into the stages that a backend runs. Expressions of a node refer to the columns of
// its input by place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  kJoin,       // of two inputs: the columns of the first, then what `join` adds, as behind a Probe
  kUnion,      // the rows of all inputs, one after the other
  kShared,     // what `shared` gives, which is computed once for all who refer to it
  kConstants,  // rows of a table
  kWindow,     // the input's columns, then `windows`
  kOnlyRow,    // the input's row; several are an error
};

struct QueryNode {
  QueryOp op = QueryOp::kScan;
  std::vector<QueryNode> inputs;  // none for kScan, kShared and kConstants, two for kJoin, some for kUnion, else one
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
  // kJoin
  JoinKind join = JoinKind::kInner;
  std::vector<JoinKey> join_keys;
  std::optional<Expr> residual{};  // over the columns of the first input, then those of the second
  // kShared
  std::shared_ptr<const QueryNode> shared;
  // kWindow
  std::vector<WindowFunction> windows;
  // kConstants
  std::shared_ptr<const Table> constants;
};

// The tree as indented lines, the last operation first: for tests and explain.
std::string to_string(const QueryNode& root);

// A line for each stage: "groups by a, b + 1: sum(c)". Stages that are no chain have numbers.
std::string to_string(const Query& query);

// Filters, projections and joins are merged into the stage that needs them; every aggregate, order and limit ends one,
// and so does what a join looks up: the rows of its second input.
Query cut(const QueryNode& root);

}  // namespace basalt
