// Lowering of joins and of correlated subqueries. DuckDB builds its hash tables from the second child; so do we. A
// DELIM_JOIN computes the distinct values of some columns of one side, which DELIM_GETs in the other one read, and then
// joins: that side and its distinct values are each computed once.
#include <algorithm>
#include <optional>

#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/operator/logical_any_join.hpp"
#include "duckdb/planner/operator/logical_column_data_get.hpp"
#include "duckdb/planner/operator/logical_comparison_join.hpp"
#include "duckdb/planner/operator/logical_delim_get.hpp"
#include "exec/evaluate.h"
#include "sql/query_lowering.h"
#include "sql/state.h"

namespace basalt::sql {

using duckdb::ExpressionType;
using duckdb::JoinType;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;
using duckdb::LogicalType;

namespace {

JoinKind kind_of_join(duckdb::ClientContext& context, JoinType type) {
  switch (type) {
    case JoinType::INNER: return JoinKind::kInner;
    case JoinType::LEFT: return JoinKind::kLeft;
    case JoinType::RIGHT: return JoinKind::kRight;
    case JoinType::OUTER: return JoinKind::kFull;
    case JoinType::SEMI: return JoinKind::kSemi;
    case JoinType::ANTI: return JoinKind::kAnti;
    case JoinType::MARK: return JoinKind::kMark;
    case JoinType::SINGLE:
      if (flag_setting(context, "scalar_subquery_error_on_multiple_rows")) return JoinKind::kSingle;
      throw NotLowered("a subquery that may give several rows for a value");
    case JoinType::RIGHT_SEMI: return JoinKind::kRightSemi;
    case JoinType::RIGHT_ANTI: return JoinKind::kRightAnti;
    default: throw NotLowered("a join of another kind");
  }
}

bool is_key(ExpressionType comparison) {
  return comparison == ExpressionType::COMPARE_EQUAL || comparison == ExpressionType::COMPARE_NOT_DISTINCT_FROM;
}

// The list of `x IN (…)` with so many values that DuckDB joins with it; nullptr: it is another join.
const duckdb::LogicalColumnDataGet* list_of_values(const duckdb::LogicalComparisonJoin& join) {
  const LogicalOperator& list = *join.children.at(1);
  const bool is_list = join.join_type == JoinType::MARK && join.conditions.size() == 1 && !join.predicate &&
                       list.type == LogicalOperatorType::LOGICAL_CHUNK_GET;
  if (!is_list) return nullptr;
  const duckdb::JoinCondition& condition = join.conditions.front();
  const auto& get = list.Cast<duckdb::LogicalColumnDataGet>();
  const bool is_plain = condition.comparison == ExpressionType::COMPARE_EQUAL && get.chunk_types.size() == 1 &&
                        condition.right->GetExpressionClass() == duckdb::ExpressionClass::BOUND_COLUMN_REF;
  return is_plain ? &get : nullptr;
}

// A conjunct of a join's condition that compares a column of one input with one of the other; `first`: how many columns
// the first one has.
std::optional<JoinKey> key_of(const Expr& conjunct, size_t first) {
  if (conjunct.op != ExprOp::kEqual && conjunct.op != ExprOp::kNotDistinct) return std::nullopt;
  JoinKey key{conjunct.args[0], conjunct.args[1], conjunct.op == ExprOp::kNotDistinct};
  if (key.probe.op != ExprOp::kColumn || key.build.op != ExprOp::kColumn) return std::nullopt;
  if (key.probe.column >= first) std::swap(key.probe, key.build);
  if (key.probe.column >= first || key.build.column < first) return std::nullopt;
  key.build.column -= static_cast<uint32_t>(first);
  return key;
}

// DuckDB puts conditions of which one is no comparison to every pair of rows. Those that are keys find partners.
void take_keys(QueryNode& join) {
  if (join.join == JoinKind::kMark) return;
  std::vector<Expr> left;
  for (const Expr* conjunct : exec::conjuncts_of(*join.residual)) {
    if (std::optional<JoinKey> key = key_of(*conjunct, join.inputs[0].output.size())) {
      join.join_keys.push_back(*std::move(key));
    } else {
      left.push_back(*conjunct);
    }
  }
  join.residual.reset();
  if (!left.empty()) join.residual = conjunction(std::move(left));
}

}  // namespace

void QueryLowering::require_whole_plans(const std::string& what) const {
  if (!whole_plans_) throw NotLowered(what + " runs in Basalt on a GPU or under --strict");
}

QueryNode QueryLowering::comparison_join(duckdb::LogicalComparisonJoin& join) {
  if (list_of_values(join) != nullptr) return long_list(join);
  require_whole_plans(operator_text(join));
  Side first = lower_side(*join.children.at(0));
  Side second = lower_side(*join.children.at(1));
  return join_on(join, std::move(first), std::move(second));
}

// The answer becomes a column behind the input's.
QueryNode QueryLowering::long_list(duckdb::LogicalComparisonJoin& join) {
  const duckdb::LogicalColumnDataGet& get = *list_of_values(join);
  QueryNode input = lower(*join.children.at(0));
  std::vector<Expr> args{lower_over(*join.conditions.front().left, input)};
  for (const auto& row : get.collection->GetRows()) {
    args.push_back(lower_over(duckdb::BoundConstantExpression(row.GetValue(0)), input));
    if (args.back().type != args.front().type) throw NotLowered("IN over values of different types");
  }
  std::vector<Expr> exprs;
  for (size_t i = 0; i < input.output.size(); ++i) exprs.push_back(reference_to(input, i));
  exprs.push_back(make_expr(ExprOp::kIn, Physical::kU8, std::move(args)));
  QueryNode marked = node_over(QueryOp::kProject, std::move(input));
  marked.output.push_back(result_field("IN", LogicalType::BOOLEAN, Physical::kU8));
  marked.exprs = std::move(exprs);
  bind(join.mark_index, 0, marked.output.size() - 1);
  return marked;
}

QueryNode QueryLowering::delim_join(duckdb::LogicalComparisonJoin& join) {
  require_whole_plans(operator_text(join));
  const size_t from = join.delim_flipped ? 1 : 0;
  Side outer = lower_side(*join.children.at(from));
  QueryNode distinct;
  distinct.op = QueryOp::kAggregate;
  const auto shared = std::make_shared<const QueryNode>(std::move(outer.node));
  outer.node = reference_to_shared(shared);
  distinct.inputs.push_back(outer.node);
  std::swap(scope_, outer.scope);
  for (const auto& column : join.duplicate_eliminated_columns) {
    refuse_collations(*column);
    distinct.keys.push_back(lower_over(*column, outer.node));
    distinct.output.push_back(result_field(column->GetName(), column->return_type, distinct.keys.back().type));
  }
  std::swap(scope_, outer.scope);
  delims_.push_back(std::make_shared<const QueryNode>(std::move(distinct)));
  Side inner = lower_side(*join.children.at(1 - from));
  delims_.pop_back();
  return join.delim_flipped ? join_on(join, std::move(inner), std::move(outer))
                            : join_on(join, std::move(outer), std::move(inner));
}

QueryNode QueryLowering::delim_get(duckdb::LogicalDelimGet& get) {
  if (delims_.empty()) throw NotLowered("a correlated subquery whose join is outside the query");
  const size_t columns = delims_.back()->output.size();
  if (get.chunk_types.size() != columns) throw NotLowered("a correlated subquery with other columns");
  for (size_t i = 0; i < columns; ++i) bind(get.table_index, i, i);
  return reference_to_shared(delims_.back());
}

QueryNode QueryLowering::any_join(duckdb::LogicalAnyJoin& join) {
  require_whole_plans(operator_text(join));
  const JoinKind kind = kind_of_join(context_, join.join_type);
  Side first = lower_side(*join.children.at(0));
  Side second = lower_side(*join.children.at(1));
  QueryNode node = joined(kind, std::move(first), std::move(second));
  add_condition(node, lower_over(*join.condition, node));
  take_keys(node);
  leave_columns(join, node);
  return node;
}

QueryNode QueryLowering::cross_product(LogicalOperator& node) {
  require_whole_plans(operator_text(node));
  Side first = lower_side(*node.children.at(0));
  Side second = lower_side(*node.children.at(1));
  add_word("JOIN");
  return joined(JoinKind::kInner, std::move(first), std::move(second));
}

QueryLowering::Side QueryLowering::lower_side(LogicalOperator& node) {
  Side side;
  Scope outer = std::exchange(scope_, {});
  QueryNode lowered = lower(node);
  const auto bindings = node.GetColumnBindings();
  side.node = node_over(QueryOp::kProject, std::move(lowered));
  side.node.output.clear();
  const QueryNode& from = side.node.inputs.front();
  for (const duckdb::ColumnBinding& binding : bindings) {
    const auto found = scope_.find({binding.table_index, binding.column_index});
    if (found == scope_.end()) throw NotLowered("a column from outside the query");
    Place place = found->second;
    if (place.reason.empty()) {
      side.node.exprs.push_back(reference_to(from, place.place));
      side.node.output.push_back(from.output.at(place.place));
      place.place = side.node.output.size() - 1;
    }
    side.scope[found->first] = std::move(place);
  }
  scope_ = std::move(outer);
  return side;
}

// A join without conditions. The scope becomes that of its columns: those of both sides, whichever of them leave, so
// that conditions can be added.
QueryNode QueryLowering::joined(JoinKind kind, Side first, Side second) {
  QueryNode node;
  node.op = QueryOp::kJoin;
  node.join = kind;
  node.output = first.node.output;
  node.output.insert(node.output.end(), second.node.output.begin(), second.node.output.end());
  for (Field& field : node.output) field.nullable = true;
  for (auto& [binding, place] : first.scope) scope_[binding] = place;
  for (auto& [binding, place] : second.scope) {
    scope_[binding] = {place.place + first.node.output.size(), place.reason};
  }
  node.inputs.push_back(std::move(first.node));
  node.inputs.push_back(std::move(second.node));
  return node;
}

void QueryLowering::add_condition(QueryNode& join, Expr condition) const {
  join.residual = join.residual ? conjunction({*std::move(join.residual), std::move(condition)}) : std::move(condition);
}

QueryNode QueryLowering::join_on(duckdb::LogicalComparisonJoin& join, Side first, Side second) {
  const JoinKind kind = kind_of_join(context_, join.join_type);
  const Scope first_scope = first.scope;
  const Scope second_scope = second.scope;
  QueryNode node = joined(kind, std::move(first), std::move(second));
  const bool all_keys =
      !join.predicate && std::all_of(join.conditions.begin(), join.conditions.end(),
                                     [](const duckdb::JoinCondition& one) { return is_key(one.comparison); });
  for (const duckdb::JoinCondition& condition : join.conditions) {
    refuse_collations(*condition.left);
    const bool nulls_equal = condition.comparison == ExpressionType::COMPARE_NOT_DISTINCT_FROM;
    // A mark is NULL where some condition is NULL and the others do not rule the row out: with comparisons among them
    // these are put to every row.
    const bool key = is_key(condition.comparison) && (kind != JoinKind::kMark || all_keys || nulls_equal);
    if (!key) {
      const duckdb::BoundComparisonExpression comparison(condition.comparison, condition.left->Copy(),
                                                         condition.right->Copy());
      add_condition(node, lower_over(comparison, node));
      continue;
    }
    JoinKey lowered;
    lowered.nulls_equal = nulls_equal;
    Scope both = std::exchange(scope_, first_scope);
    lowered.probe = lower_over(*condition.left, node.inputs[0]);
    scope_ = second_scope;
    lowered.build = lower_over(*condition.right, node.inputs[1]);
    scope_ = std::move(both);
    if (lowered.probe.type != lowered.build.type) throw NotLowered("a join of values of different types");
    node.join_keys.push_back(std::move(lowered));
  }
  if (join.predicate) add_condition(node, lower_over(*join.predicate, node));
  leave_columns(join, node);
  return node;
}

// The columns that leave, where conditions are done with the others.
void QueryLowering::leave_columns(const duckdb::LogicalJoin& join, QueryNode& node) {
  const bool marks = node.join == JoinKind::kMark;
  if (marks || node.join == JoinKind::kSemi || node.join == JoinKind::kAnti) {
    node.output.resize(node.inputs[0].output.size());
  }
  if (marks) {
    node.output.push_back(result_field("mark", LogicalType::BOOLEAN, Physical::kU8));
    bind(join.mark_index, 0, node.output.size() - 1);
  }
  add_word("JOIN");
}

}  // namespace basalt::sql
