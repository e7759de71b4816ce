// Lowering of queries over one table. Operators become nodes from the scan upwards; a scope says where each column
// binding of the plan lies among a node's columns. The scan's columns are numbered as they are met in its column list.
#include "sql/lower.h"

#include <algorithm>
#include <map>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/filter/optional_filter.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "duckdb/planner/operator/logical_column_data_get.hpp"
#include "duckdb/planner/operator/logical_comparison_join.hpp"
#include "duckdb/planner/operator/logical_distinct.hpp"
#include "duckdb/planner/operator/logical_filter.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/operator/logical_limit.hpp"
#include "duckdb/planner/operator/logical_order.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"
#include "duckdb/planner/operator/logical_top_n.hpp"
#include "sql/expressions.h"
#include "sql/lower_aggregate.h"
#include "sql/lowering.h"
#include "sql/scan.h"
#include "sql/state.h"
#include "sql/statistics.h"
#include "sql/types.h"

namespace basalt::sql {

using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;
using duckdb::LogicalType;

namespace {

constexpr size_t kMaxFiles = 100'000;

std::string operator_text(const LogicalOperator& node) {
  switch (node.type) {
    case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
    case LogicalOperatorType::LOGICAL_ANY_JOIN:
    case LogicalOperatorType::LOGICAL_DELIM_JOIN:
    case LogicalOperatorType::LOGICAL_CROSS_PRODUCT: return "JOIN";
    case LogicalOperatorType::LOGICAL_WINDOW: return "a window function";
    case LogicalOperatorType::LOGICAL_UNION: return "UNION";
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

Expr parameter_literal(const duckdb::Expression& expression, const std::vector<ShapeLiteral>& parameters) {
  const auto& parameter = expression.Cast<duckdb::BoundParameterExpression>();
  if (parameters.empty()) throw NotLowered("a parameter");
  const size_t number = std::stoul(parameter.identifier);
  const auto value = value_of(parameters.at(number - 1), parameter.return_type);
  if (!value) throw NotLowered("a parameter of type " + parameter.return_type.ToString());
  return literal(*value, parameter.return_type);
}

class QueryLowering {
 public:
  QueryLowering(duckdb::ClientContext& context, const std::vector<ShapeLiteral>& parameters)
      : context_(context), rules_(SessionRules::of(context)) {
    rules_.parameter = [&parameters](const duckdb::Expression& expression) {
      return parameter_literal(expression, parameters);
    };
  }

  std::shared_ptr<const LoweredQuery> run(LogicalOperator& root) {
    root.ResolveOperatorTypes();
    QueryNode tree = lower(root);
    result_->tree = with_columns_of(root, std::move(tree));
    result_->types = root.types;
    result_->query = cut(result_->tree);
    describe();
    return result_;
  }

 private:
  QueryNode lower(LogicalOperator& node) {
    switch (node.type) {
      case LogicalOperatorType::LOGICAL_GET: return scan(node.Cast<duckdb::LogicalGet>());
      case LogicalOperatorType::LOGICAL_FILTER: return filter(node);
      case LogicalOperatorType::LOGICAL_PROJECTION: return project(node.Cast<duckdb::LogicalProjection>());
      case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY: return aggregate(node.Cast<duckdb::LogicalAggregate>());
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
        result_->words.push_back("ORDER BY with LIMIT");
        return sorted;
      }
      case LogicalOperatorType::LOGICAL_LIMIT: return limit(node.Cast<duckdb::LogicalLimit>());
      case LogicalOperatorType::LOGICAL_COMPARISON_JOIN: return mark(node.Cast<duckdb::LogicalComparisonJoin>());
      default: throw NotLowered(operator_text(node));
    }
  }

  // --- columns

  Expr resolve(const duckdb::Expression& reference, const QueryNode& input) const {
    if (reference.GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
      throw NotLowered("the expression " + reference.ToString());
    }
    const auto& binding = reference.Cast<duckdb::BoundColumnRefExpression>().binding;
    return reference_to(input, place_of(binding));
  }

  size_t place_of(const duckdb::ColumnBinding& binding) const {
    const auto found = scope_.find(std::pair{binding.table_index, binding.column_index});
    if (found == scope_.end()) throw NotLowered("a column from outside the query");
    if (!found->second.reason.empty()) throw NotLowered(found->second.reason);
    return found->second.place;
  }

  Expr lower_over(const duckdb::Expression& expression, const QueryNode& input) const {
    return lower_expression(
        expression, [&](const duckdb::Expression& reference) { return resolve(reference, input); }, rules_);
  }

  void bind(duckdb::idx_t table, duckdb::idx_t column, size_t place, std::string reason = {}) {
    scope_[{table, column}] = {place, std::move(reason)};
  }

  static QueryNode over(QueryOp op, QueryNode input) {
    QueryNode node;
    node.op = op;
    node.output = input.output;
    node.inputs.push_back(std::move(input));
    return node;
  }

  // The columns that an operator gives, in its order, as the only ones of the node.
  QueryNode with_columns_of(LogicalOperator& node, QueryNode input) {
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
    QueryNode projection = over(QueryOp::kProject, std::move(input));
    projection.exprs = std::move(exprs);
    projection.output = std::move(output);
    return projection;
  }

  // --- operators

  QueryNode scan(duckdb::LogicalGet& get) {
    if (!is_scan(get.function)) throw NotLowered("the table is not a .basalt file");
    if (get.extra_info.sample_options) throw NotLowered("SAMPLE");
    if (get.ordinality_idx.IsValid()) throw NotLowered("WITH ORDINALITY");
    bind_data_ = &get.bind_data->Cast<duckdb::MultiFileBindData>();
    QueryNode node;
    node.files = open_files(context_, *bind_data_, kMaxFiles);
    if (node.files.empty()) throw NotLowered("there is no file to read");
    const auto& ids = get.GetColumnIds();
    for (duckdb::idx_t i = 0; i < ids.size(); ++i) {
      const duckdb::idx_t column = ids[i].GetPrimaryIndex();
      std::string reason =
          ids[i].IsVirtualColumn() ? "the column " + get.GetColumnName(ids[i]) : add_column(node, column);
      const size_t place = reason.empty() ? numbers_.at(column) : 0;
      bind(get.table_index, i, place, std::move(reason));
    }
    std::vector<Expr> filters;
    for (const auto& [column, table_filter] : get.table_filters.filters) {
      add_table_filter(node, column, *table_filter, filters);
    }
    if (filters.empty()) return node;
    QueryNode filtered = over(QueryOp::kFilter, std::move(node));
    filtered.predicate = conjunction(std::move(filters));
    return filtered;
  }

  // Adds a column of the scan unless it is there. Every file must hold it at the same place with the same type. Gives
  // the reason why it cannot be read.
  std::string add_column(QueryNode& node, duckdb::idx_t column) {
    const std::string& name = bind_data_->names.at(column);
    if (numbers_.contains(column)) return {};
    if (comes_from_path(*bind_data_, column)) return "column " + name + " comes from the file's path";
    const Field* first = nullptr;
    for (const auto& file : node.files) {
      const int found = find_column(*file, name);
      if (found < 0) return "column " + name + " is not in every file";
      const Field& field = file->schema().fields[static_cast<size_t>(found)];
      if (first == nullptr) first = &field;
      if (field.id != first->id || field.type != first->type) return "column " + name + " differs between files";
    }
    const Physical physical = physical_of(first->type);
    if ((width_of(physical) == 0 && physical != Physical::kBytes) || !first->children.empty()) {
      return "column " + name + " is nested";
    }
    if (needs_rescale(first->type) || to_logical_type(first->type) != bind_data_->types.at(column)) {
      return "column " + name + " is read as another type";
    }
    numbers_[column] = node.columns.size();
    node.columns.push_back({first->id, first->name, first->type});
    node.output.push_back(*first);
    return {};
  }

  void add_table_filter(QueryNode& node, duckdb::idx_t column, const duckdb::TableFilter& table_filter,
                        std::vector<Expr>& filters) {
    // A hint costs work and changes nothing here: what it hints at is among the other filters.
    if (table_filter.filter_type == duckdb::TableFilterType::OPTIONAL_FILTER) return;
    if (duckdb::IsVirtualColumn(column)) throw NotLowered("a filter on a virtual column");
    if (std::string reason = add_column(node, column); !reason.empty()) throw NotLowered(reason);
    const std::string& name = bind_data_->names.at(column);
    LoweredFilter lowered =
        lower_filter(table_filter, reference_to(node, numbers_[column]), bind_data_->types.at(column));
    if (!lowered.exact) throw NotLowered("the filter " + table_filter.ToString(name));
    if (!lowered.expr) return;
    filters.push_back(*std::move(lowered.expr));
    add_filter_text(table_filter.ToString(name));
  }

  QueryNode filter(LogicalOperator& node) {
    QueryNode input = lower(*node.children.at(0));
    std::vector<Expr> predicates;
    for (const auto& expression : node.expressions) {
      predicates.push_back(lower_over(*expression, input));
      add_filter_text(expression->ToString());
    }
    if (predicates.empty()) return input;  // statistics have answered all of them
    QueryNode filtered = over(QueryOp::kFilter, std::move(input));
    filtered.predicate = conjunction(std::move(predicates));
    return filtered;
  }

  // `x IN (…)` with so long a list that DuckDB joins with it: the answer becomes a column behind the input's.
  QueryNode mark(duckdb::LogicalComparisonJoin& join) {
    LogicalOperator& list = *join.children.at(1);
    const bool is_list = join.join_type == duckdb::JoinType::MARK && join.conditions.size() == 1 && !join.predicate &&
                         list.type == LogicalOperatorType::LOGICAL_CHUNK_GET;
    if (!is_list) throw NotLowered(operator_text(join));
    const duckdb::JoinCondition& condition = join.conditions.front();
    const auto& get = list.Cast<duckdb::LogicalColumnDataGet>();
    if (condition.comparison != duckdb::ExpressionType::COMPARE_EQUAL || get.chunk_types.size() != 1 ||
        condition.right->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
      throw NotLowered(operator_text(join));
    }
    QueryNode input = lower(*join.children.at(0));
    std::vector<Expr> args{lower_over(*condition.left, input)};
    for (const auto& row : get.collection->GetRows()) {
      args.push_back(lower_over(duckdb::BoundConstantExpression(row.GetValue(0)), input));
      if (args.back().type != args.front().type) throw NotLowered("IN over values of different types");
    }
    std::vector<Expr> exprs;
    for (size_t i = 0; i < input.output.size(); ++i) exprs.push_back(reference_to(input, i));
    exprs.push_back(make_expr(ExprOp::kIn, Physical::kU8, std::move(args)));
    QueryNode marked = over(QueryOp::kProject, std::move(input));
    marked.output.push_back(result_field("IN", LogicalType::BOOLEAN, Physical::kU8));
    marked.exprs = std::move(exprs);
    bind(join.mark_index, 0, marked.output.size() - 1);
    return marked;
  }

  QueryNode project(duckdb::LogicalProjection& node) {
    node.ResolveOperatorTypes();
    QueryNode input = lower(*node.children.at(0));
    std::vector<Expr> exprs;
    std::vector<Field> output;
    std::vector<std::string> reasons;
    for (size_t i = 0; i < node.expressions.size(); ++i) {
      Expr expr = lower_over(*node.expressions[i], input);
      output.push_back(result_field(node.expressions[i]->GetName(), node.types.at(i), expr.type));
      exprs.push_back(std::move(expr));
    }
    QueryNode projection = over(QueryOp::kProject, std::move(input));
    projection.exprs = std::move(exprs);
    projection.output = std::move(output);
    for (size_t i = 0; i < node.expressions.size(); ++i) bind(node.table_index, i, i);
    return projection;
  }

  QueryNode aggregate(duckdb::LogicalAggregate& node) {
    if (node.grouping_sets.size() > 1 || !node.grouping_functions.empty()) throw NotLowered("GROUPING SETS");
    node.ResolveOperatorTypes();
    QueryNode input = lower(*node.children.at(0));
    QueryNode groups = over(QueryOp::kAggregate, std::move(input));
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
    return groups;
  }

  QueryNode distinct(duckdb::LogicalDistinct& node) {
    if (node.distinct_type != duckdb::DistinctType::DISTINCT || node.order_by) throw NotLowered("DISTINCT ON");
    QueryNode input = lower(*node.children.at(0));
    input = with_columns_of(*node.children[0], std::move(input));
    QueryNode groups = over(QueryOp::kAggregate, std::move(input));
    for (size_t i = 0; i < groups.output.size(); ++i) groups.keys.push_back(reference_to(groups, i));
    result_->words.push_back("DISTINCT");
    return groups;
  }

  // Orders by something else than a column add it behind the input's columns.
  QueryNode sort(const duckdb::vector<duckdb::BoundOrderByNode>& orders, QueryNode input) {
    std::vector<SortKey> keys;
    std::vector<Expr> exprs;
    std::vector<Field> output = input.output;
    for (size_t i = 0; i < output.size(); ++i) exprs.push_back(reference_to(input, i));
    for (const duckdb::BoundOrderByNode& order : orders) {
      const LogicalType& type = order.expression->return_type;
      if (type.id() == duckdb::LogicalTypeId::VARCHAR && !duckdb::StringType::GetCollation(type).empty()) {
        throw NotLowered("a collation");
      }
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
      input = over(QueryOp::kProject, std::move(input));
      input.exprs = std::move(exprs);
      input.output = std::move(output);
    }
    QueryNode sorted = over(QueryOp::kSort, std::move(input));
    sorted.order = std::move(keys);
    return sorted;
  }

  static uint64_t constant(const duckdb::BoundLimitNode& node, uint64_t unset) {
    switch (node.Type()) {
      case duckdb::LimitNodeType::UNSET: return unset;
      case duckdb::LimitNodeType::CONSTANT_VALUE: return node.GetConstantValue();
      default: throw NotLowered("LIMIT that is not a constant");
    }
  }

  QueryNode limit(duckdb::LogicalLimit& node) {
    const uint64_t rows = constant(node.limit_val, kAllRows);
    const uint64_t skipped = constant(node.offset_val, 0);
    QueryNode limited = over(QueryOp::kLimit, lower(*node.children.at(0)));
    limited.limit = rows;
    limited.offset = skipped;
    result_->words.push_back("LIMIT");
    return limited;
  }

  // --- words

  // As DuckDB prints it: with dates and decimals instead of days and scaled integers.
  void add_filter_text(const std::string& text) { result_->filter += (result_->filter.empty() ? "" : "\n") + text; }

  void add_word(const std::string& word) {
    auto& words = result_->words;
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }

  void describe() {
    std::vector<std::string> paths;
    for (const auto& file : result_->scan().files) paths.push_back(file->name());
    result_->files = describe_files(paths);
    for (const PipelineColumn& column : result_->scan().columns) {
      result_->columns += (result_->columns.empty() ? "" : ", ") + column.name;
    }
    for (const std::string& word : result_->words) {
      result_->aggregates += (result_->aggregates.empty() ? "" : ", ") + word;
    }
    if (result_->aggregates.empty()) result_->aggregates = "rows";
  }

  struct Place {
    size_t place = 0;
    std::string reason;  // why it cannot be read; empty: it can
  };
  duckdb::ClientContext& context_;
  SessionRules rules_;
  std::shared_ptr<LoweredQuery> result_ = std::make_shared<LoweredQuery>();
  const duckdb::MultiFileBindData* bind_data_ = nullptr;
  std::map<duckdb::idx_t, size_t> numbers_;  // column of the scan → place in it
  std::map<std::pair<duckdb::idx_t, duckdb::idx_t>, Place> scope_;
};

}  // namespace

bool LoweredQuery::is_totals() const {
  const Pipeline& first = scan();
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
