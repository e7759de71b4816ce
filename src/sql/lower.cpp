// Lowering of ungrouped aggregates. The optimized plan is AGGREGATE over any number of PROJECTION and FILTER over one
// scan; column references are followed through the projections, filters are collected, and columns are numbered as they
// are met.
#include "sql/lower.h"

#include <algorithm>
#include <map>

#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/filter/optional_filter.hpp"
#include "duckdb/planner/operator/logical_filter.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"
#include "sql/expressions.h"
#include "sql/scan.h"
#include "sql/state.h"
#include "sql/statistics.h"
#include "sql/types.h"

namespace basalt::sql {

using duckdb::LogicalOperatorType;
using duckdb::LogicalType;
using duckdb::LogicalTypeId;

namespace {

constexpr size_t kMaxFiles = 100'000;

class AggregateLowering {
 public:
  AggregateLowering(duckdb::ClientContext& context, duckdb::LogicalAggregate& aggregate)
      : context_(context), aggregate_(aggregate), result_(std::make_shared<LoweredAggregate>()) {}

  std::shared_ptr<const LoweredAggregate> run() {
    if (!aggregate_.groups.empty() || aggregate_.grouping_sets.size() > 1 || !aggregate_.grouping_functions.empty()) {
      throw NotLowered("GROUP BY");
    }
    walk(*aggregate_.children.at(0));
    open();
    std::vector<Expr> filters;
    for (const auto& [column, filter] : get_->table_filters.filters) add_table_filter(column, *filter, filters);
    for (const duckdb::Expression* expression : filters_) {
      filters.push_back(lower(*expression));
      add_filter_text(expression->ToString());
    }
    Pipeline& pipeline = result_->pipeline;
    if (!filters.empty()) {
      pipeline.has_filter = true;
      pipeline.filter = conjunction(std::move(filters));
    }
    for (const auto& expression : aggregate_.expressions) add_aggregate(*expression);
    describe();
    return result_;
  }

 private:
  // Down to the scan, remembering projections and filters.
  void walk(duckdb::LogicalOperator& start) {
    duckdb::LogicalOperator* node = &start;
    while (true) {
      switch (node->type) {
        case LogicalOperatorType::LOGICAL_PROJECTION:
          projections_[node->Cast<duckdb::LogicalProjection>().table_index] = &node->expressions;
          break;
        case LogicalOperatorType::LOGICAL_FILTER:
          for (const auto& expression : node->expressions) filters_.push_back(expression.get());
          break;
        case LogicalOperatorType::LOGICAL_GET:
          get_ = &node->Cast<duckdb::LogicalGet>();
          if (!is_scan(get_->function)) throw NotLowered("the table is not a .basalt file");
          if (get_->extra_info.sample_options) throw NotLowered("SAMPLE");
          if (get_->ordinality_idx.IsValid()) throw NotLowered("WITH ORDINALITY");
          return;
        default: throw NotLowered(operator_text(*node));
      }
      if (node->children.size() != 1) throw NotLowered(operator_text(*node));
      node = node->children[0].get();
    }
  }

  static std::string operator_text(const duckdb::LogicalOperator& node) {
    switch (node.type) {
      case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
      case LogicalOperatorType::LOGICAL_ANY_JOIN:
      case LogicalOperatorType::LOGICAL_DELIM_JOIN:
      case LogicalOperatorType::LOGICAL_CROSS_PRODUCT: return "JOIN";
      case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY: return "an aggregate of an aggregate";
      case LogicalOperatorType::LOGICAL_DISTINCT: return "DISTINCT";
      case LogicalOperatorType::LOGICAL_WINDOW: return "a window function";
      case LogicalOperatorType::LOGICAL_UNION: return "UNION";
      case LogicalOperatorType::LOGICAL_LIMIT:
      case LogicalOperatorType::LOGICAL_TOP_N: return "LIMIT";
      case LogicalOperatorType::LOGICAL_ORDER_BY: return "ORDER BY";
      default: return node.GetName();
    }
  }

  void open() {
    bind_data_ = &get_->bind_data->Cast<duckdb::MultiFileBindData>();
    result_->pipeline.files = open_files(context_, *bind_data_, kMaxFiles);
    if (result_->pipeline.files.empty()) throw NotLowered("there is no file to read");
  }

  Expr lower(const duckdb::Expression& expression) {
    return lower_expression(
        expression, [this](const duckdb::Expression& reference) { return resolve(reference); },
        SessionRules::of(context_));
  }

  Expr resolve(const duckdb::Expression& reference) {
    if (reference.GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
      throw NotLowered("the expression " + reference.ToString());
    }
    const auto& binding = reference.Cast<duckdb::BoundColumnRefExpression>().binding;
    const auto projection = projections_.find(binding.table_index);
    if (projection != projections_.end()) return lower(*projection->second->at(binding.column_index));
    if (binding.table_index != get_->table_index) throw NotLowered("a column from outside the scan");
    const auto& column = get_->GetColumnIds().at(binding.column_index);
    if (column.IsVirtualColumn()) throw NotLowered("the column " + get_->GetColumnName(column));
    return file_column(column.GetPrimaryIndex());
  }

  // The pipeline's column for a column of the scan. Every file must hold it at the same place with the same type.
  Expr file_column(duckdb::idx_t column) {
    const std::string& name = bind_data_->names.at(column);
    const auto known = numbers_.find(column);
    if (known != numbers_.end()) {
      return column_expr(known->second, physical_of(result_->pipeline.columns[known->second].type));
    }
    if (comes_from_path(*bind_data_, column)) throw NotLowered("column " + name + " comes from the file's path");
    const Field* first = nullptr;
    for (const auto& file : result_->pipeline.files) {
      const int found = find_column(*file, name);
      if (found < 0) throw NotLowered("column " + name + " is not in every file");
      const Field& field = file->schema().fields[static_cast<size_t>(found)];
      if (first == nullptr) first = &field;
      if (field.id != first->id || field.type != first->type) {
        throw NotLowered("column " + name + " differs between files");
      }
    }
    const Physical physical = physical_of(first->type);
    if ((width_of(physical) == 0 && physical != Physical::kBytes) || !first->children.empty()) {
      throw NotLowered("column " + name + " is nested");
    }
    if (needs_rescale(first->type) || to_logical_type(first->type) != bind_data_->types.at(column)) {
      throw NotLowered("column " + name + " is read as another type");
    }
    const auto number = static_cast<uint32_t>(result_->pipeline.columns.size());
    result_->pipeline.columns.push_back({first->id, first->name, first->type});
    numbers_[column] = number;
    return column_expr(number, physical_of(first->type));
  }

  void add_table_filter(duckdb::idx_t column, const duckdb::TableFilter& filter, std::vector<Expr>& filters) {
    // A hint costs work and changes nothing here: what it hints at is among the other filters.
    if (filter.filter_type == duckdb::TableFilterType::OPTIONAL_FILTER) return;
    if (duckdb::IsVirtualColumn(column)) throw NotLowered("a filter on a virtual column");
    const Expr reference = file_column(column);
    LoweredFilter lowered = lower_filter(filter, reference, bind_data_->types.at(column));
    if (!lowered.exact) throw NotLowered("the filter " + filter.ToString(bind_data_->names.at(column)));
    if (!lowered.expr) return;
    filters.push_back(*std::move(lowered.expr));
    add_filter_text(filter.ToString(bind_data_->names.at(column)));
  }

  // As DuckDB prints it: with dates and decimals instead of days and scaled integers.
  void add_filter_text(const std::string& text) { result_->filter += (result_->filter.empty() ? "" : "\n") + text; }

  // The place of an aggregate among the pipeline's; equal ones share it.
  size_t place_of(AggregateOp op, const duckdb::Expression* argument) {
    for (const Place& place : places_) {
      if (place.op != op) continue;
      if (argument == nullptr || place.argument->Equals(*argument)) return place.index;
    }
    Aggregate aggregate;
    aggregate.op = op;
    if (argument != nullptr) aggregate.arg = lower(*argument);
    if (aggregate.arg.type == Physical::kBytes && op != AggregateOp::kCount) {
      throw NotLowered("an aggregate of strings");
    }
    const size_t index = result_->pipeline.aggregates.size();
    result_->pipeline.aggregates.push_back(std::move(aggregate));
    places_.push_back({op, argument, index});
    return index;
  }

  void add_aggregate(const duckdb::Expression& expression) {
    const auto& bound = expression.Cast<duckdb::BoundAggregateExpression>();
    const std::string& name = bound.function.name;
    if (bound.IsDistinct()) throw NotLowered(name + "(DISTINCT …)");
    if (bound.filter) throw NotLowered(name + "(…) FILTER");
    if (bound.order_bys && !bound.order_bys->orders.empty()) throw NotLowered(name + "(… ORDER BY)");
    AggregateOutput output;
    output.type = bound.return_type;
    if (name == "count_star") {
      output.value = place_of(AggregateOp::kCountStar, nullptr);
      result_->outputs.push_back(output);
      return;
    }
    if (bound.children.size() != 1) throw NotLowered("the aggregate " + name);
    const duckdb::Expression& argument = *bound.children[0];
    if (name == "count") {
      output.value = place_of(AggregateOp::kCount, &argument);
    } else if (name == "min" || name == "max") {
      output.value = place_of(name == "min" ? AggregateOp::kMin : AggregateOp::kMax, &argument);
    } else if (name == "sum" || name == "sum_no_overflow") {
      require_number(name, argument.return_type);
      output.value = place_of(AggregateOp::kSum, &argument);
    } else if (name == "avg") {
      require_number(name, argument.return_type);
      output.kind = AggregateOutput::Kind::kAverage;
      output.value = place_of(AggregateOp::kSum, &argument);
      output.count = place_of(AggregateOp::kCount, &argument);
      if (argument.return_type.id() == LogicalTypeId::DECIMAL) {
        output.scale = duckdb::DecimalType::GetScale(argument.return_type);
      }
      output.wide = argument.return_type.InternalType() != duckdb::PhysicalType::INT16;
    } else {
      throw NotLowered("the aggregate " + name);
    }
    result_->outputs.push_back(output);
  }

  static void require_number(const std::string& name, const LogicalType& type) {
    const bool number = type.IsIntegral() || type.id() == LogicalTypeId::DECIMAL ||
                        type.id() == LogicalTypeId::DOUBLE || type.id() == LogicalTypeId::FLOAT ||
                        type.id() == LogicalTypeId::BOOLEAN;
    if (!number) throw NotLowered(name + " of " + type.ToString());
  }

  void describe() {
    std::vector<std::string> paths;
    for (const auto& file : result_->pipeline.files) paths.push_back(file->name());
    result_->files = describe_files(paths);
    for (const PipelineColumn& column : result_->pipeline.columns) {
      result_->columns += (result_->columns.empty() ? "" : ", ") + column.name;
    }
    for (const auto& expression : aggregate_.expressions) {
      std::string text = expression->Cast<duckdb::BoundAggregateExpression>().function.name;
      if (text == "count_star") text = "count";
      if (text == "sum_no_overflow") text = "sum";
      if (result_->aggregates.find(text) != std::string::npos) continue;
      result_->aggregates += (result_->aggregates.empty() ? "" : ", ") + text;
    }
  }

  duckdb::ClientContext& context_;
  duckdb::LogicalAggregate& aggregate_;
  std::shared_ptr<LoweredAggregate> result_;
  duckdb::LogicalGet* get_ = nullptr;
  const duckdb::MultiFileBindData* bind_data_ = nullptr;
  std::map<duckdb::idx_t, const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>*> projections_;
  std::vector<const duckdb::Expression*> filters_;
  std::map<duckdb::idx_t, uint32_t> numbers_;  // column of the scan → column of the pipeline
  struct Place {
    AggregateOp op;
    const duckdb::Expression* argument;
    size_t index;
  };
  std::vector<Place> places_;
};

}  // namespace

std::shared_ptr<const LoweredAggregate> lower_aggregate(duckdb::ClientContext& context,
                                                        duckdb::LogicalAggregate& aggregate) {
  return AggregateLowering(context, aggregate).run();
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
