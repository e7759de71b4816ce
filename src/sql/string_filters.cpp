// Which filters the scan takes: those on a single string column that can be lowered.
#include "sql/string_filters.h"

#include "basalt/exec/expressions.h"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "sql/expressions.h"
#include "sql/scan.h"
#include "sql/state.h"
#include "sql/statistics.h"

namespace basalt::sql {

using duckdb::ExpressionClass;
using duckdb::ExpressionType;

namespace {

bool is_string_column(const duckdb::LogicalGet& get, const duckdb::BoundColumnRefExpression& reference) {
  if (reference.binding.table_index != get.table_index) return false;
  const auto& column = get.GetColumnIds().at(reference.binding.column_index);
  if (column.IsVirtualColumn() || column.HasChildren()) return false;
  if (comes_from_path(get.bind_data->Cast<duckdb::MultiFileBindData>(), column.GetPrimaryIndex())) return false;
  return reference.return_type.id() == duckdb::LogicalTypeId::VARCHAR;
}

// Whether all columns that the expression reads are string columns of the scan.
bool reads_strings_only(const duckdb::LogicalGet& get, const duckdb::Expression& expression) {
  if (expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF) {
    return is_string_column(get, expression.Cast<duckdb::BoundColumnRefExpression>());
  }
  bool all = true;
  duckdb::ExpressionIterator::EnumerateChildren(
      expression, [&](const duckdb::Expression& child) { all = all && reads_strings_only(get, child); });
  return all;
}

// Empty: it can be lowered.
std::string why_not(const duckdb::Expression& filter) {
  try {
    lower_expression(filter, [](const duckdb::Expression&) { return column_reference(0, Physical::kBytes); });
    return {};
  } catch (const NotLowered& reason) {
    return reason.what();
  }
}

bool is_taken_for_hint(const duckdb::Expression& filter) {
  if (filter.GetExpressionType() == ExpressionType::COMPARE_IN) return true;
  if (filter.GetExpressionType() == ExpressionType::CONJUNCTION_OR) return true;
  return filter.GetExpressionClass() == ExpressionClass::BOUND_FUNCTION &&
         filter.Cast<duckdb::BoundFunctionExpression>().function.name == "~~";
}

}  // namespace

void keep_string_filters_whole(const duckdb::LogicalGet& get,
                               duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& filters) {
  for (auto& filter : filters) {
    if (!is_taken_for_hint(*filter) || !reads_strings_only(get, *filter) || !why_not(*filter).empty()) continue;
    auto alone = duckdb::make_uniq<duckdb::BoundConjunctionExpression>(ExpressionType::CONJUNCTION_OR);
    alone->children.push_back(std::move(filter));
    filter = std::move(alone);
  }
}

bool takes_filter(duckdb::ClientContext& context, const duckdb::LogicalGet& get, duckdb::Expression& filter) {
  if (!reads_strings_only(get, filter)) return false;
  const std::string reason = why_not(filter);
  if (reason.empty()) return true;
  const auto log = StatementLog::of(context);
  log->add_in_duckdb("the filter " + filter.ToString());
  log->add_why_duckdb(reason);
  return false;
}

}  // namespace basalt::sql
