// Lowering of what puts whole tables together: constants, set operations, CTEs, DISTINCT ON.
#include <algorithm>

#include "basalt/exec/expressions.h"
#include "duckdb/execution/expression_executor.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/planner/bound_result_modifier.hpp"
#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/operator/logical_column_data_get.hpp"
#include "duckdb/planner/operator/logical_cteref.hpp"
#include "duckdb/planner/operator/logical_distinct.hpp"
#include "duckdb/planner/operator/logical_dummy_scan.hpp"
#include "duckdb/planner/operator/logical_empty_result.hpp"
#include "duckdb/planner/operator/logical_expression_get.hpp"
#include "duckdb/planner/operator/logical_materialized_cte.hpp"
#include "duckdb/planner/operator/logical_set_operation.hpp"
#include "sql/lowering.h"
#include "sql/query_lowering.h"
#include "sql/types.h"
#include "sql/vectors.h"

namespace basalt::sql {

using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;
using duckdb::LogicalType;

namespace {

// A table without rows, of columns that have no names of their own.
std::shared_ptr<Table> empty_table(const duckdb::vector<LogicalType>& types) {
  auto table = std::make_shared<Table>();
  for (const LogicalType& type : types) {
    table->schema.fields.push_back(
        result_field("col" + std::to_string(table->columns.size()), type, physical_type(type)));
    table->columns.push_back(make_column(table->schema.fields.back()));
  }
  return table;
}

QueryNode constants_of(std::shared_ptr<const Table> table) {
  QueryNode node;
  node.op = QueryOp::kConstants;
  node.output = table->schema.fields;
  node.constants = std::move(table);
  return node;
}

void append_chunk(Table& table, duckdb::DataChunk& chunk) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    append_vector(table.columns[i], table.schema.fields[i], chunk.data[i], chunk.size());
  }
  table.rows += chunk.size();
}

// Rows that are different, NULL equal to NULL.
QueryNode distinct_rows(QueryNode input) {
  QueryNode groups = node_over(QueryOp::kAggregate, std::move(input));
  for (size_t i = 0; i < groups.output.size(); ++i) groups.keys.push_back(reference_to(groups, i));
  return groups;
}

// Set operations compare strings by their type's collation, or else by the default one.
void refuse_collations(duckdb::ClientContext& context, const LogicalOperator& node) {
  duckdb::Value by_default;
  const bool has_default =
      context.TryGetCurrentSetting("default_collation", by_default) && !by_default.ToString().empty();
  for (const LogicalType& type : node.types) {
    const bool is_text = type.id() == duckdb::LogicalTypeId::VARCHAR;
    if (is_text && (has_default || !duckdb::StringType::GetCollation(type).empty())) throw NotLowered("a collation");
  }
}

// Rows with a number among their equals: of several equal rows each is another one then.
QueryNode with_numbers_of_equals(QueryNode input) {
  QueryNode numbered = node_over(QueryOp::kWindow, std::move(input));
  WindowFunction number;
  for (uint32_t i = 0; i < numbered.output.size(); ++i) number.partition.push_back(i);
  numbered.windows.push_back(std::move(number));
  numbered.output.push_back(result_field("number", LogicalType::BIGINT, Physical::kI64));
  return numbered;
}

}  // namespace

// --- constants

QueryNode QueryLowering::constants(duckdb::LogicalColumnDataGet& get) {
  require_whole_plans(operator_text(get));
  const auto table = empty_table(get.chunk_types);
  for (duckdb::DataChunk& chunk : get.collection->Chunks()) append_chunk(*table, chunk);
  for (size_t i = 0; i < get.chunk_types.size(); ++i) bind(get.table_index, i, i);
  return constants_of(table);
}

QueryNode QueryLowering::constants(duckdb::LogicalDummyScan& scan) {
  require_whole_plans(operator_text(scan));
  const auto table = empty_table({LogicalType::INTEGER});
  append_nulls(table->columns.front(), 1);
  table->rows = 1;
  bind(scan.table_index, 0, 0);
  return constants_of(table);
}

QueryNode QueryLowering::constants(duckdb::LogicalEmptyResult& empty) {
  require_whole_plans(operator_text(empty));
  for (size_t i = 0; i < empty.bindings.size(); ++i) {
    bind(empty.bindings[i].table_index, empty.bindings[i].column_index, i);
  }
  return constants_of(empty_table(empty.return_types));
}

QueryNode QueryLowering::constants(duckdb::LogicalExpressionGet& get) {
  require_whole_plans(operator_text(get));
  const auto table = empty_table(get.expr_types);
  duckdb::DataChunk chunk;
  chunk.Initialize(context_, get.expr_types);
  for (const auto& row : get.expressions) {
    chunk.Reset();
    for (size_t i = 0; i < row.size(); ++i) {
      if (!row[i]->IsFoldable()) throw NotLowered("VALUES that are not constant");
      chunk.SetValue(i, 0, duckdb::ExpressionExecutor::EvaluateScalar(context_, *row[i]));
    }
    chunk.SetCardinality(1);
    append_chunk(*table, chunk);
  }
  for (size_t i = 0; i < get.expr_types.size(); ++i) bind(get.table_index, i, i);
  return constants_of(table);
}

// --- CTEs

QueryNode QueryLowering::cte(duckdb::LogicalMaterializedCTE& node) {
  require_whole_plans(operator_text(node));
  ctes_[node.table_index] = std::make_shared<const QueryNode>(lower_apart(*node.children.at(0)));
  return lower(*node.children.at(1));
}

QueryNode QueryLowering::cte_reference(duckdb::LogicalCTERef& reference) {
  const auto found = ctes_.find(reference.cte_index);
  if (found == ctes_.end()) throw NotLowered("a CTE from outside the query");
  if (found->second->output.size() != reference.chunk_types.size()) throw NotLowered("a CTE with other columns");
  for (size_t i = 0; i < reference.chunk_types.size(); ++i) bind(reference.table_index, i, i);
  return reference_to_shared(found->second);
}

// --- set operations

QueryNode QueryLowering::set_operation(duckdb::LogicalSetOperation& node) {
  require_whole_plans(operator_text(node));
  const bool compares = node.type != LogicalOperatorType::LOGICAL_UNION || !node.setop_all;
  std::vector<QueryNode> inputs;
  for (const auto& child : node.children) {
    inputs.push_back(lower_apart(*child));
    if (compares) refuse_collations(context_, *child);
    bool same = inputs.back().output.size() == inputs.front().output.size();
    for (size_t i = 0; same && i < inputs.back().output.size(); ++i) {
      same = inputs.back().output[i].type == inputs.front().output[i].type;
    }
    if (!same) throw NotLowered(operator_text(node) + " of columns of different types");
  }
  for (size_t i = 0; i < node.column_count; ++i) bind(node.table_index, i, i);
  QueryNode out;
  out.output = inputs.front().output;
  if (node.type == LogicalOperatorType::LOGICAL_UNION) {
    add_word("UNION");
    out.op = QueryOp::kUnion;
    out.inputs = std::move(inputs);
    return node.setop_all ? out : distinct_rows(std::move(out));
  }
  const bool except = node.type == LogicalOperatorType::LOGICAL_EXCEPT;
  add_word(except ? "EXCEPT" : "INTERSECT");
  if (node.setop_all) {
    for (QueryNode& input : inputs) input = with_numbers_of_equals(std::move(input));
    out.output = inputs.front().output;
  }
  out.op = QueryOp::kJoin;
  out.join = except ? JoinKind::kAnti : JoinKind::kSemi;
  for (size_t i = 0; i < out.output.size(); ++i) {
    out.join_keys.push_back({reference_to(inputs[0], i), reference_to(inputs[1], i), true});
  }
  out.inputs = std::move(inputs);
  return node.setop_all ? out : distinct_rows(std::move(out));
}

// --- DISTINCT

QueryNode QueryLowering::distinct(duckdb::LogicalDistinct& node) {
  if (node.distinct_type != duckdb::DistinctType::DISTINCT || node.order_by) return distinct_on(node);
  for (const auto& target : node.distinct_targets) {
    // Of a string with a collation the target is what its rules make of it.
    if (target->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
      throw NotLowered("DISTINCT by " + target->ToString());
    }
    refuse_collations(*target);
  }
  QueryNode input = lower(*node.children.at(0));
  input = with_columns_of(*node.children[0], std::move(input));
  result_->words.push_back("DISTINCT");
  return distinct_rows(std::move(input));
}

// The first row in the order, for each combination of the targets.
QueryNode QueryLowering::distinct_on(duckdb::LogicalDistinct& node) {
  require_whole_plans("DISTINCT ON");
  QueryNode input = lower(*node.children.at(0));
  input = with_columns_of(*node.children[0], std::move(input));
  const std::vector<Field> columns = input.output;
  if (node.order_by) input = sort(node.order_by->orders, std::move(input));
  QueryNode groups = node_over(QueryOp::kAggregate, std::move(input));
  const QueryNode& from = groups.inputs.front();
  groups.output.clear();
  for (const auto& target : node.distinct_targets) {
    groups.keys.push_back(lower_over(*target, from));
    groups.output.push_back(result_field(target->GetName(), target->return_type, groups.keys.back().type));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    Aggregate first;
    first.op = AggregateOp::kFirst;
    first.arg = reference_to(from, i);
    groups.aggregates.push_back(std::move(first));
    groups.output.push_back(columns[i]);
  }
  result_->words.push_back("DISTINCT ON");
  QueryNode firsts = node_over(QueryOp::kProject, std::move(groups));
  firsts.output = columns;
  for (size_t i = 0; i < columns.size(); ++i) {
    firsts.exprs.push_back(reference_to(firsts.inputs.front(), node.distinct_targets.size() + i));
  }
  return firsts;
}

}  // namespace basalt::sql
