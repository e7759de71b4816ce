// Plans to queries: recognises a tree of operators over one Basalt scan and describes it as a basalt::QueryNode.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "basalt/query/tree.h"
#include "duckdb.hpp"
#include "duckdb/planner/logical_operator.hpp"
#include "sql/statement_shape.h"

namespace basalt::sql {

struct LoweredQuery {
  QueryNode tree;
  Query query;                                // the tree, cut into stages
  duckdb::vector<duckdb::LogicalType> types;  // of the result
  std::vector<std::string> words;             // what it does, as SQL calls it: "GROUP BY", "sum"
  // Text for explain and the report.
  std::string files;
  std::string aggregates;
  std::string columns;
  std::string filter;  // empty: none

  // One row of aggregates that run_pipeline() takes, and nothing else but expressions over it.
  bool is_totals() const;
  const Pipeline& scan() const { return query.stages.front(); }
};

// Throws NotLowered with the reason. The operator's columns become those of the query, in their order. `parameters`:
// what $1, $2, … stand for.
std::shared_ptr<const LoweredQuery> lower_query(duckdb::ClientContext& context, duckdb::LogicalOperator& root,
                                                const std::vector<ShapeLiteral>& parameters = {});

// "lineitem.basalt", "lineitem.basalt and 3 more".
std::string describe_files(const std::vector<std::string>& paths);

}  // namespace basalt::sql
