// Lowering of plans. Operators become nodes from the scans upwards; a scope says where each column binding of the plan
// lies among a node's columns.
#include "sql/lower.h"

#include <algorithm>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "basalt/exec/expressions.h"
#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "duckdb/planner/operator/logical_any_join.hpp"
#include "duckdb/planner/operator/logical_column_data_get.hpp"
#include "duckdb/planner/operator/logical_comparison_join.hpp"
#include "duckdb/planner/operator/logical_cteref.hpp"
#include "duckdb/planner/operator/logical_delim_get.hpp"
#include "duckdb/planner/operator/logical_distinct.hpp"
#include "duckdb/planner/operator/logical_dummy_scan.hpp"
#include "duckdb/planner/operator/logical_empty_result.hpp"
#include "duckdb/planner/operator/logical_expression_get.hpp"
#include "duckdb/planner/operator/logical_filter.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/operator/logical_limit.hpp"
#include "duckdb/planner/operator/logical_materialized_cte.hpp"
#include "duckdb/planner/operator/logical_order.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"
#include "duckdb/planner/operator/logical_set_operation.hpp"
#include "duckdb/planner/operator/logical_top_n.hpp"
#include "duckdb/planner/operator/logical_window.hpp"
#include "exec/several_rows.h"
#include "query/late_keys.h"
#include "sql/lowering.h"
#include "sql/query_lowering.h"
#include "sql/state.h"
#include "sql/types.h"

namespace basalt::sql {

using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;
using duckdb::LogicalType;

namespace {

constexpr const char* kTopRows = "ORDER BY with LIMIT";

// Whether an expression raises what a subquery does that gives several rows for a value.
bool raises_several_rows(const duckdb::Expression& expression) {
  if (expression.GetExpressionClass() == duckdb::ExpressionClass::BOUND_CAST) {
    return raises_several_rows(*expression.Cast<duckdb::BoundCastExpression>().child);
  }
  if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_FUNCTION) return false;
  const auto& raised = expression.Cast<duckdb::BoundFunctionExpression>();
  if (raised.function.name != "error" || raised.children.size() != 1) return false;
  const duckdb::Expression& text = *raised.children.front();
  return text.GetExpressionClass() == duckdb::ExpressionClass::BOUND_CONSTANT &&
         text.Cast<duckdb::BoundConstantExpression>().value.ToString() == exec::kSeveralRows;
}

// Whether a condition over aggregates is that they have several rows.
bool asks_for_several(const duckdb::Expression& when, const duckdb::LogicalAggregate& aggregates) {
  if (when.GetExpressionType() != duckdb::ExpressionType::COMPARE_GREATERTHAN) return false;
  const auto& comparison = when.Cast<duckdb::BoundComparisonExpression>();
  if (comparison.left->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF ||
      comparison.right->GetExpressionClass() != duckdb::ExpressionClass::BOUND_CONSTANT) {
    return false;
  }
  const auto& binding = comparison.left->Cast<duckdb::BoundColumnRefExpression>().binding;
  if (binding.table_index != aggregates.aggregate_index) return false;
  const auto& counted = aggregates.expressions.at(binding.column_index)->Cast<duckdb::BoundAggregateExpression>();
  const duckdb::Value& bound = comparison.right->Cast<duckdb::BoundConstantExpression>().value;
  return counted.function.name == "count_star" && !counted.filter && bound == duckdb::Value::BIGINT(1);
}

// A subquery that stands for a value arrives as CASE WHEN count(*) > 1 THEN error(…) ELSE first(x) END over these two
// aggregates. Gives the last of it, or nullptr if an expression is none of these.
const duckdb::Expression* value_of_subquery(const duckdb::Expression& expression,
                                            const duckdb::LogicalAggregate& aggregates) {
  if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_CASE) return nullptr;
  const auto& choice = expression.Cast<duckdb::BoundCaseExpression>();
  if (choice.case_checks.size() != 1) return nullptr;
  const duckdb::BoundCaseCheck& check = choice.case_checks.front();
  const bool is_check = raises_several_rows(*check.then_expr) && asks_for_several(*check.when_expr, aggregates);
  return is_check ? choice.else_expr.get() : nullptr;
}

// The ungrouped aggregates under a projection some expression of which is an error where they have several rows;
// nullptr: there are none.
duckdb::LogicalAggregate* aggregates_of_one_row(const duckdb::LogicalProjection& node) {
  LogicalOperator& child = *node.children.at(0);
  if (child.type != LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) return nullptr;
  auto& aggregates = child.Cast<duckdb::LogicalAggregate>();
  if (!aggregates.groups.empty()) return nullptr;
  const bool wants_one = std::any_of(node.expressions.begin(), node.expressions.end(), [&](const auto& expression) {
    return value_of_subquery(*expression, aggregates) != nullptr;
  });
  return wants_one ? &aggregates : nullptr;
}

}  // namespace

std::string operator_text(const LogicalOperator& node) {
  switch (node.type) {
    case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
    case LogicalOperatorType::LOGICAL_ANY_JOIN:
    case LogicalOperatorType::LOGICAL_DELIM_JOIN:
    case LogicalOperatorType::LOGICAL_CROSS_PRODUCT: return "JOIN";
    case LogicalOperatorType::LOGICAL_ASOF_JOIN: return "ASOF JOIN";
    case LogicalOperatorType::LOGICAL_POSITIONAL_JOIN: return "POSITIONAL JOIN";
    case LogicalOperatorType::LOGICAL_WINDOW: return "a window function";
    case LogicalOperatorType::LOGICAL_UNION: return "UNION";
    case LogicalOperatorType::LOGICAL_EXCEPT: return "EXCEPT";
    case LogicalOperatorType::LOGICAL_INTERSECT: return "INTERSECT";
    default: return node.GetName();
  }
}

Expr reference_to(const QueryNode& node, size_t place) {
  return column_reference(static_cast<uint32_t>(place), physical_of(node.output.at(place).type));
}

// The field that a column of this type has in a result.
Field result_field(const std::string& name, const LogicalType& type, Physical physical) {
  Field field;
  try {
    field = to_schema({name}, {type}).fields.at(0);
  } catch (const Error&) {
    throw NotLowered("a column of type " + type.ToString());
  }
  if (!field.children.empty() || physical_of(field.type) != physical || needs_rescale(field.type)) {
    throw NotLowered("a column of type " + type.ToString());
  }
  return field;
}

QueryNode node_over(QueryOp op, QueryNode input) {
  QueryNode node;
  node.op = op;
  node.output = input.output;
  node.inputs.push_back(std::move(input));
  return node;
}

void refuse_collations(const duckdb::Expression& expression) {
  const LogicalType& type = expression.return_type;
  if (type.id() == duckdb::LogicalTypeId::VARCHAR && !duckdb::StringType::GetCollation(type).empty()) {
    throw NotLowered("a collation");
  }
}

QueryNode reference_to_shared(const std::shared_ptr<const QueryNode>& shared) {
  QueryNode node;
  node.op = QueryOp::kShared;
  node.output = shared->output;
  node.shared = shared;
  return node;
}

namespace {

Expr parameter_literal(const duckdb::Expression& expression, const std::vector<ShapeLiteral>& parameters) {
  const auto& parameter = expression.Cast<duckdb::BoundParameterExpression>();
  if (parameters.empty()) throw NotLowered("a parameter");
  const size_t number = std::stoul(parameter.identifier);
  const auto value = value_of(parameters.at(number - 1), parameter.return_type);
  if (!value) throw NotLowered("a parameter of type " + parameter.return_type.ToString());
  return literal(*value, parameter.return_type);
}

// The GPU joins faster than DuckDB does over our scan, the CPU does not.
bool takes_whole_plans(duckdb::ClientContext& context) {
  if (flag_setting(context, "basalt_strict")) return true;
  return device_setting(context) != Device::kCpu && gpu().backend != nullptr;
}

}  // namespace

QueryLowering::QueryLowering(duckdb::ClientContext& context, const std::vector<ShapeLiteral>& parameters)
    : context_(context), rules_(SessionRules::of(context)), whole_plans_(takes_whole_plans(context)) {
  rules_.parameter = [&parameters](const duckdb::Expression& expression) {
    return parameter_literal(expression, parameters);
  };
}

std::shared_ptr<const LoweredQuery> QueryLowering::run(LogicalOperator& root) {
  root.ResolveOperatorTypes();
  QueryNode tree = lower(root);
  if (whole_plans_ && fetch_decided_keys(tree)) add_word("texts of the first groups");
  result_->tree = with_columns_of(root, std::move(tree));
  result_->types = root.types;
  result_->query = cut(result_->tree);
  describe();
  return result_;
}

QueryNode QueryLowering::lower(LogicalOperator& node) {
  switch (node.type) {
    case LogicalOperatorType::LOGICAL_GET: return scan(node.Cast<duckdb::LogicalGet>());
    case LogicalOperatorType::LOGICAL_FILTER: return filter(node);
    case LogicalOperatorType::LOGICAL_PROJECTION: return project(node.Cast<duckdb::LogicalProjection>());
    case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY: {
      QueryNode input = lower(*node.children.at(0));
      return aggregate(node.Cast<duckdb::LogicalAggregate>(), std::move(input));
    }
    case LogicalOperatorType::LOGICAL_DISTINCT: return distinct(node.Cast<duckdb::LogicalDistinct>());
    case LogicalOperatorType::LOGICAL_ORDER_BY: {
      QueryNode input = lower(*node.children.at(0));
      QueryNode sorted = sort(node.Cast<duckdb::LogicalOrder>().orders, std::move(input));
      result_->words.push_back("ORDER BY");
      return sorted;
    }
    case LogicalOperatorType::LOGICAL_TOP_N: {
      auto& top = node.Cast<duckdb::LogicalTopN>();
      QueryNode input = lower(*node.children.at(0));
      QueryNode sorted = sort(top.orders, std::move(input));
      sorted.limit = top.limit;
      sorted.offset = top.offset;
      result_->words.push_back(kTopRows);
      return sorted;
    }
    case LogicalOperatorType::LOGICAL_LIMIT: return limit(node.Cast<duckdb::LogicalLimit>());
    case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
      return comparison_join(node.Cast<duckdb::LogicalComparisonJoin>());
    case LogicalOperatorType::LOGICAL_DELIM_JOIN: return delim_join(node.Cast<duckdb::LogicalComparisonJoin>());
    case LogicalOperatorType::LOGICAL_DELIM_GET: return delim_get(node.Cast<duckdb::LogicalDelimGet>());
    case LogicalOperatorType::LOGICAL_ANY_JOIN: return any_join(node.Cast<duckdb::LogicalAnyJoin>());
    case LogicalOperatorType::LOGICAL_CROSS_PRODUCT: return cross_product(node);
    case LogicalOperatorType::LOGICAL_WINDOW: return window(node.Cast<duckdb::LogicalWindow>());
    case LogicalOperatorType::LOGICAL_CHUNK_GET: return constants(node.Cast<duckdb::LogicalColumnDataGet>());
    case LogicalOperatorType::LOGICAL_DUMMY_SCAN: return constants(node.Cast<duckdb::LogicalDummyScan>());
    case LogicalOperatorType::LOGICAL_EMPTY_RESULT: return constants(node.Cast<duckdb::LogicalEmptyResult>());
    case LogicalOperatorType::LOGICAL_EXPRESSION_GET: return constants(node.Cast<duckdb::LogicalExpressionGet>());
    case LogicalOperatorType::LOGICAL_MATERIALIZED_CTE: return cte(node.Cast<duckdb::LogicalMaterializedCTE>());
    case LogicalOperatorType::LOGICAL_CTE_REF: return cte_reference(node.Cast<duckdb::LogicalCTERef>());
    case LogicalOperatorType::LOGICAL_UNION:
    case LogicalOperatorType::LOGICAL_EXCEPT:
    case LogicalOperatorType::LOGICAL_INTERSECT: return set_operation(node.Cast<duckdb::LogicalSetOperation>());
    default: throw NotLowered(operator_text(node) + " does not run in Basalt");
  }
}

Expr QueryLowering::resolve(const duckdb::Expression& reference, const QueryNode& input) const {
  if (reference.GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
    throw NotLowered("the expression " + reference.ToString());
  }
  const auto& binding = reference.Cast<duckdb::BoundColumnRefExpression>().binding;
  return reference_to(input, place_of(binding));
}

size_t QueryLowering::place_of(const duckdb::ColumnBinding& binding) const {
  const auto found = scope_.find(std::pair{binding.table_index, binding.column_index});
  if (found == scope_.end()) throw NotLowered("a column from outside the query");
  if (!found->second.reason.empty()) throw NotLowered(found->second.reason);
  return found->second.place;
}

Expr QueryLowering::lower_over(const duckdb::Expression& expression, const QueryNode& input) const {
  return lower_expression(
      expression, [&](const duckdb::Expression& reference) { return resolve(reference, input); }, rules_);
}

void QueryLowering::bind(duckdb::idx_t table, duckdb::idx_t column, size_t place, std::string reason) {
  scope_[{table, column}] = {place, std::move(reason)};
}

// The columns that an operator gives, in its order, as the only ones of the node.
QueryNode QueryLowering::with_columns_of(LogicalOperator& node, QueryNode input) {
  const auto bindings = node.GetColumnBindings();
  node.ResolveOperatorTypes();
  std::vector<Expr> exprs;
  std::vector<Field> output;
  bool same = bindings.size() == input.output.size();
  for (size_t i = 0; i < bindings.size(); ++i) {
    const size_t place = place_of(bindings[i]);
    same = same && place == i;
    exprs.push_back(reference_to(input, place));
    output.push_back(result_field(input.output[place].name, node.types.at(i), exprs.back().type));
  }
  for (size_t i = 0; i < bindings.size(); ++i) bind(bindings[i].table_index, bindings[i].column_index, i);
  if (same) return input;
  QueryNode projection = node_over(QueryOp::kProject, std::move(input));
  projection.exprs = std::move(exprs);
  projection.output = std::move(output);
  return projection;
}

QueryNode QueryLowering::lower_apart(LogicalOperator& node) {
  Scope outer = std::exchange(scope_, {});
  QueryNode lowered = lower(node);
  lowered = with_columns_of(node, std::move(lowered));
  scope_ = std::move(outer);
  return lowered;
}

QueryNode QueryLowering::filter(LogicalOperator& node) {
  QueryNode input = lower(*node.children.at(0));
  std::vector<Expr> predicates;
  for (const auto& expression : node.expressions) {
    predicates.push_back(lower_over(*expression, input));
    add_filter_text(expression->ToString());
  }
  if (predicates.empty()) return input;  // statistics have answered all of them
  QueryNode filtered = node_over(QueryOp::kFilter, std::move(input));
  filtered.predicate = conjunction(std::move(predicates));
  return filtered;
}

QueryNode QueryLowering::project(duckdb::LogicalProjection& node) {
  node.ResolveOperatorTypes();
  duckdb::LogicalAggregate* one_row = whole_plans_ ? aggregates_of_one_row(node) : nullptr;
  QueryNode input;
  if (one_row != nullptr) {
    QueryNode rows = lower(*one_row->children.at(0));
    input = aggregate(*one_row, node_over(QueryOp::kOnlyRow, std::move(rows)));
  } else {
    input = lower(*node.children.at(0));
  }
  std::vector<Expr> exprs;
  std::vector<Field> output;
  for (size_t i = 0; i < node.expressions.size(); ++i) {
    const duckdb::Expression* value = one_row != nullptr ? value_of_subquery(*node.expressions[i], *one_row) : nullptr;
    Expr expr = lower_over(value != nullptr ? *value : *node.expressions[i], input);
    output.push_back(result_field(node.expressions[i]->GetName(), node.types.at(i), expr.type));
    exprs.push_back(std::move(expr));
  }
  QueryNode projection = node_over(QueryOp::kProject, std::move(input));
  projection.exprs = std::move(exprs);
  projection.output = std::move(output);
  for (size_t i = 0; i < node.expressions.size(); ++i) bind(node.table_index, i, i);
  return projection;
}

// Orders by something else than a column add it behind the input's columns.
QueryNode QueryLowering::sort(const duckdb::vector<duckdb::BoundOrderByNode>& orders, QueryNode input) {
  std::vector<SortKey> keys;
  std::vector<Expr> exprs;
  std::vector<Field> output = input.output;
  for (size_t i = 0; i < output.size(); ++i) exprs.push_back(reference_to(input, i));
  for (const duckdb::BoundOrderByNode& order : orders) {
    const LogicalType& type = order.expression->return_type;
    refuse_collations(*order.expression);
    Expr expr = lower_over(*order.expression, input);
    SortKey key;
    key.descending = order.type == duckdb::OrderType::DESCENDING;
    key.nulls_first = order.null_order == duckdb::OrderByNullType::NULLS_FIRST;
    if (expr.op == ExprOp::kColumn) {
      key.column = expr.column;
    } else {
      key.column = static_cast<uint32_t>(exprs.size());
      output.push_back(result_field(order.expression->GetName(), type, expr.type));
      exprs.push_back(std::move(expr));
    }
    keys.push_back(key);
  }
  if (exprs.size() > input.output.size()) {
    input = node_over(QueryOp::kProject, std::move(input));
    input.exprs = std::move(exprs);
    input.output = std::move(output);
  }
  QueryNode sorted = node_over(QueryOp::kSort, std::move(input));
  sorted.order = std::move(keys);
  return sorted;
}

uint64_t QueryLowering::rows_of(const duckdb::BoundLimitNode& node, uint64_t unset) const {
  constexpr const char* kUnknown = "LIMIT that is not a constant";
  switch (node.Type()) {
    case duckdb::LimitNodeType::UNSET: return unset;
    case duckdb::LimitNodeType::CONSTANT_VALUE: return node.GetConstantValue();
    case duckdb::LimitNodeType::EXPRESSION_VALUE: break;
    default: throw NotLowered(kUnknown);
  }
  const Expr rows = lower_expression(
      node.GetValueExpression(), [](const duckdb::Expression&) -> Expr { throw NotLowered(kUnknown); }, rules_);
  if (rows.op != ExprOp::kLiteral || rows.literal.null || rows.literal.integer < 0) throw NotLowered(kUnknown);
  return static_cast<uint64_t>(rows.literal.integer);
}

QueryNode QueryLowering::limit(duckdb::LogicalLimit& node) {
  const uint64_t rows = rows_of(node.limit_val, kAllRows);
  const uint64_t skipped = rows_of(node.offset_val, 0);
  QueryNode limited = node_over(QueryOp::kLimit, lower(*node.children.at(0)));
  limited.limit = rows;
  limited.offset = skipped;
  std::vector<std::string>& words = result_->words;
  if (!words.empty() && words.back() == "ORDER BY") {  // DuckDB tells them apart where it knows the number
    words.back() = kTopRows;
  } else {
    words.push_back("LIMIT");
  }
  return limited;
}

// As DuckDB prints it: with dates and decimals instead of days and scaled integers.
void QueryLowering::add_filter_text(const std::string& text) {
  result_->filter += (result_->filter.empty() ? "" : "\n") + text;
}

void QueryLowering::add_word(const std::string& word) {
  auto& words = result_->words;
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

void QueryLowering::describe() {
  std::vector<std::string> paths;
  for (const Pipeline& stage : result_->query.stages) {
    if (stage.files.empty()) continue;
    for (const auto& file : stage.files) {
      if (std::find(paths.begin(), paths.end(), file->name()) == paths.end()) paths.push_back(file->name());
    }
    for (const PipelineColumn& column : stage.columns) {
      result_->columns += (result_->columns.empty() ? "" : ", ") + column.name;
    }
  }
  result_->files = describe_files(paths);
  for (const std::string& word : result_->words) {
    result_->aggregates += (result_->aggregates.empty() ? "" : ", ") + word;
  }
  if (result_->aggregates.empty()) result_->aggregates = "rows";
}

bool LoweredQuery::is_totals() const {
  const Pipeline& first = scan();
  if (!is_chain(query)) return false;
  if (first.sink != Sink::kGroups || !first.keys.empty()) return false;
  return std::all_of(first.aggregates.begin(), first.aggregates.end(), [](const Aggregate& aggregate) {
    const bool counts = aggregate.op == AggregateOp::kCountStar || aggregate.op == AggregateOp::kCount;
    return is_simple(aggregate) && (counts || aggregate.arg.type != Physical::kBytes);
  });
}

std::shared_ptr<const LoweredQuery> lower_query(duckdb::ClientContext& context, LogicalOperator& root,
                                                const std::vector<ShapeLiteral>& parameters) {
  return QueryLowering(context, parameters).run(root);
}

std::string describe_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return "no file";
  const std::string& first = paths.front();
  const size_t slash = first.rfind('/');
  std::string text = slash == std::string::npos ? first : first.substr(slash + 1);
  if (paths.size() > 1) text += " and " + std::to_string(paths.size() - 1) + " more";
  return text;
}

}  // namespace basalt::sql
