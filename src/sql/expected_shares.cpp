#include "sql/expected_shares.h"

#include <algorithm>
#include <map>
#include <utility>

#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"
#include "sql/scan.h"
#include "sql/statistics.h"

namespace basalt::sql {

using duckdb::ExpressionClass;
using duckdb::ExpressionType;
using duckdb::LogicalOperatorType;

namespace {

// DuckDB's own guess for a filter above a scan, which is a factor of its estimate in any case.
constexpr double kShareOfAnyFilter = 0.2;

class ExpectedShares {
 public:
  explicit ExpectedShares(duckdb::ClientContext& context) : context_(context) {}

  void visit(duckdb::LogicalOperator& node) {
    for (auto& child : node.children) visit(*child);
    switch (node.type) {
      case LogicalOperatorType::LOGICAL_GET: add_columns(node.Cast<duckdb::LogicalGet>()); break;
      case LogicalOperatorType::LOGICAL_PROJECTION: add_columns(node.Cast<duckdb::LogicalProjection>()); break;
      case LogicalOperatorType::LOGICAL_FILTER:
        for (const auto& expression : node.expressions) expect(*expression);
        break;
      default: break;
    }
  }

 private:
  struct ScanColumn {
    duckdb::LogicalGet* get = nullptr;
    duckdb::idx_t column = 0;
  };

  void add_columns(duckdb::LogicalGet& get) {
    if (!is_scan(get.function)) return;
    const auto& ids = get.GetColumnIds();
    for (duckdb::idx_t i = 0; i < ids.size(); ++i) {
      if (!ids[i].IsVirtualColumn()) columns_[{get.table_index, i}] = {&get, ids[i].GetPrimaryIndex()};
    }
  }

  void add_columns(const duckdb::LogicalProjection& projection) {
    for (duckdb::idx_t i = 0; i < projection.expressions.size(); ++i) {
      const ScanColumn found = column_of(*projection.expressions[i]);
      if (found.get != nullptr) columns_[{projection.table_index, i}] = found;
    }
  }

  ScanColumn column_of(const duckdb::Expression& expression) const {
    if (expression.GetExpressionClass() != ExpressionClass::BOUND_COLUMN_REF) return {};
    const auto& binding = expression.Cast<duckdb::BoundColumnRefExpression>().binding;
    const auto found = columns_.find({binding.table_index, binding.column_index});
    return found == columns_.end() ? ScanColumn{} : found->second;
  }

  void expect(const duckdb::Expression& condition) {
    if (condition.GetExpressionType() == ExpressionType::CONJUNCTION_AND) {
      for (const auto& part : condition.Cast<duckdb::BoundConjunctionExpression>().children) expect(*part);
    }
    if (condition.GetExpressionType() != ExpressionType::COMPARE_EQUAL) return;
    const auto& equality = condition.Cast<duckdb::BoundComparisonExpression>();
    const ScanColumn column = column_of(*equality.left);
    if (column.get == nullptr || equality.right->GetExpressionClass() != ExpressionClass::BOUND_PARAMETER) return;
    const auto statistics = scan_statistics(context_, column.get->bind_data.get(), column.column);
    const duckdb::idx_t distinct = statistics ? statistics->GetDistinctCount() : 0;
    if (distinct == 0) return;
    auto& scan = column.get->bind_data->Cast<duckdb::MultiFileBindData>().bind_data->Cast<ScanBindData>();
    scan.expected_share = std::min(scan.expected_share, 1 / (kShareOfAnyFilter * static_cast<double>(distinct)));
  }

  duckdb::ClientContext& context_;
  std::map<std::pair<duckdb::idx_t, duckdb::idx_t>, ScanColumn> columns_;  // by binding
};

}  // namespace

void expect_shares(duckdb::ClientContext& context, duckdb::LogicalOperator& plan) {
  ExpectedShares(context).visit(plan);
}

}  // namespace basalt::sql
