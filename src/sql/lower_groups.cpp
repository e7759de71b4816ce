// Lowering of GROUP BY, and of several groupings of the same rows: these are computed once, grouped in each way, and
// put together.
#include "basalt/exec/expressions.h"
#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "sql/lower_aggregate.h"
#include "sql/lowering.h"
#include "sql/query_lowering.h"

namespace basalt::sql {

using duckdb::LogicalType;

namespace {

// What GROUPING() of some keys is: a bit for each that a set leaves out, the last one's lowest.
int64_t grouping_of(const duckdb::unsafe_vector<duckdb::idx_t>& keys, const duckdb::GroupingSet& set) {
  int64_t bits = 0;
  for (const duckdb::idx_t key : keys) bits = bits * 2 + (set.count(key) == 0 ? 1 : 0);
  return bits;
}

}  // namespace

QueryNode QueryLowering::aggregate(duckdb::LogicalAggregate& node, QueryNode input) {
  const bool several = node.grouping_sets.size() > 1 || !node.grouping_functions.empty();
  if (several) require_whole_plans("GROUPING SETS");
  node.ResolveOperatorTypes();
  QueryNode groups = node_over(QueryOp::kAggregate, std::move(input));
  const QueryNode& from = groups.inputs.front();
  groups.output.clear();
  for (size_t i = 0; i < node.groups.size(); ++i) {
    groups.keys.push_back(lower_over(*node.groups[i], from));
    groups.output.push_back(result_field(node.groups[i]->GetName(), node.types.at(i), groups.keys.back().type));
  }
  if (!node.groups.empty()) result_->words.push_back("GROUP BY");
  const auto lower_argument = [&](const duckdb::Expression& expression) { return lower_over(expression, from); };
  for (size_t i = 0; i < node.expressions.size(); ++i) {
    const auto& bound = node.expressions[i]->Cast<duckdb::BoundAggregateExpression>();
    groups.aggregates.push_back(lower_aggregate(bound, lower_argument));
    const LogicalType& type = node.types.at(node.groups.size() + i);
    groups.output.push_back(result_field(bound.GetName(), type, result_type(groups.aggregates.back())));
    add_word(aggregate_word(bound));
  }
  for (size_t i = 0; i < node.groups.size(); ++i) bind(node.group_index, i, i);
  for (size_t i = 0; i < node.expressions.size(); ++i) bind(node.aggregate_index, i, node.groups.size() + i);
  return several ? grouping_sets(node, std::move(groups)) : groups;
}

// `groups`: by all keys.
QueryNode QueryLowering::grouping_sets(duckdb::LogicalAggregate& node, QueryNode groups) {
  const auto shared = std::make_shared<const QueryNode>(std::move(groups.inputs.front()));
  QueryNode all;
  all.op = QueryOp::kUnion;
  const size_t keys = node.groups.size();
  for (const duckdb::GroupingSet& set : node.grouping_sets) {
    QueryNode some;
    some.op = QueryOp::kAggregate;
    some.aggregates = groups.aggregates;
    std::vector<Expr> exprs(keys);
    for (size_t i = 0; i < keys; ++i) {
      exprs[i].type = groups.keys[i].type;
      exprs[i].literal = Value::of_null(groups.keys[i].type);
      if (set.count(i) == 0) continue;
      exprs[i] = column_reference(static_cast<uint32_t>(some.keys.size()), groups.keys[i].type);
      some.keys.push_back(groups.keys[i]);
      some.output.push_back(groups.output[i]);
    }
    some.output.insert(some.output.end(), groups.output.begin() + static_cast<ptrdiff_t>(keys), groups.output.end());
    for (size_t i = some.keys.size(); i < some.output.size(); ++i) exprs.push_back(reference_to(some, i));
    for (const auto& grouping : node.grouping_functions) {
      exprs.push_back(number_literal(Physical::kI64, grouping_of(grouping, set)));
    }
    some.inputs.push_back(reference_to_shared(shared));
    QueryNode rows = node_over(QueryOp::kProject, std::move(some));
    rows.exprs = std::move(exprs);
    rows.output = groups.output;
    for (size_t i = 0; i < node.grouping_functions.size(); ++i) {
      rows.output.push_back(result_field("grouping", LogicalType::BIGINT, Physical::kI64));
    }
    all.output = rows.output;
    all.inputs.push_back(std::move(rows));
  }
  for (size_t i = 0; i < node.grouping_functions.size(); ++i) {
    bind(node.groupings_index, i, groups.output.size() + i);
  }
  add_word("GROUPING SETS");
  return all;
}

}  // namespace basalt::sql
