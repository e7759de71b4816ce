// The parts of lowering plans (see lower.h): one class whose functions lie in a file per family of operators.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sql/expressions.h"
#include "sql/lower.h"

namespace duckdb {
struct BoundLimitNode;
struct BoundOrderByNode;
class LogicalAggregate;
class LogicalAnyJoin;
class LogicalCTERef;
class LogicalColumnDataGet;
class LogicalComparisonJoin;
class LogicalDelimGet;
class LogicalDistinct;
class LogicalDummyScan;
class LogicalEmptyResult;
class LogicalExpressionGet;
class LogicalGet;
class LogicalJoin;
class LogicalLimit;
class LogicalMaterializedCTE;
class LogicalProjection;
class LogicalSetOperation;
class LogicalWindow;
class BoundWindowExpression;
enum class WindowBoundary : uint8_t;
struct MultiFileBindData;
}  // namespace duckdb

namespace basalt::sql {

// The word for an operator in a refusal.
std::string operator_text(const duckdb::LogicalOperator& node);

Expr reference_to(const QueryNode& node, size_t place);

// The field that a column of this type has in a result.
Field result_field(const std::string& name, const duckdb::LogicalType& type, Physical physical);

// A node over one input, with its columns.
QueryNode node_over(QueryOp op, QueryNode input);

// Throws NotLowered where strings are compared by other rules than their bytes.
void refuse_collations(const duckdb::Expression& expression);

// What `shared` gives, computed once for all who refer to it.
QueryNode reference_to_shared(const std::shared_ptr<const QueryNode>& shared);

class QueryLowering {
 public:
  // `parameters`: what $1, $2, … stand for, as long as this lives.
  QueryLowering(duckdb::ClientContext& context, const std::vector<ShapeLiteral>& parameters);

  std::shared_ptr<const LoweredQuery> run(duckdb::LogicalOperator& root);

 private:
  using LogicalOperator = duckdb::LogicalOperator;

  // Where a column binding of the plan lies among a node's columns.
  struct Place {
    size_t place = 0;
    std::string reason;  // why it cannot be read; empty: it can
  };
  using Scope = std::map<std::pair<duckdb::idx_t, duckdb::idx_t>, Place>;

  QueryNode lower(LogicalOperator& node);

  // Columns: lower.cpp
  Expr resolve(const duckdb::Expression& reference, const QueryNode& input) const;
  size_t place_of(const duckdb::ColumnBinding& binding) const;
  Expr lower_over(const duckdb::Expression& expression, const QueryNode& input) const;
  void bind(duckdb::idx_t table, duckdb::idx_t column, size_t place, std::string reason = {});
  QueryNode with_columns_of(LogicalOperator& node, QueryNode input);
  // An operator that does not see the columns in sight here, with the columns that it gives.
  QueryNode lower_apart(LogicalOperator& node);

  // Operators over one input: lower.cpp
  QueryNode filter(LogicalOperator& node);
  QueryNode project(duckdb::LogicalProjection& node);
  QueryNode sort(const duckdb::vector<duckdb::BoundOrderByNode>& orders, QueryNode input);
  QueryNode limit(duckdb::LogicalLimit& node);
  uint64_t rows_of(const duckdb::BoundLimitNode& node, uint64_t unset) const;
  // Scans of files: lower_scan.cpp
  struct FileColumns;
  QueryNode scan(duckdb::LogicalGet& get);
  void add_table_filter(FileColumns& columns, duckdb::idx_t column, const duckdb::TableFilter& table_filter,
                        std::vector<Expr>& filters);

  // Groups: lower_groups.cpp
  QueryNode aggregate(duckdb::LogicalAggregate& node, QueryNode input);
  QueryNode grouping_sets(duckdb::LogicalAggregate& node, QueryNode groups);
  // Window functions: lower_windows.cpp
  class WindowColumns;
  QueryNode window(duckdb::LogicalWindow& node);
  WindowFunction window_function(const duckdb::BoundWindowExpression& window, WindowColumns& columns) const;
  FrameBound frame_bound(duckdb::WindowBoundary boundary, const duckdb::Expression* value,
                         WindowColumns& columns) const;

  // Joins: lower_joins.cpp
  struct Side {
    QueryNode node;
    Scope scope;
  };
  // A side whose columns are those that the operator gives.
  Side lower_side(LogicalOperator& node);
  QueryNode long_list(duckdb::LogicalComparisonJoin& join);
  QueryNode comparison_join(duckdb::LogicalComparisonJoin& join);
  QueryNode delim_join(duckdb::LogicalComparisonJoin& join);
  QueryNode delim_get(duckdb::LogicalDelimGet& get);
  QueryNode any_join(duckdb::LogicalAnyJoin& join);
  QueryNode cross_product(LogicalOperator& node);
  QueryNode join_on(duckdb::LogicalComparisonJoin& join, Side first, Side second);
  QueryNode joined(JoinKind kind, Side first, Side second);
  void add_condition(QueryNode& join, Expr condition) const;
  void leave_columns(const duckdb::LogicalJoin& join, QueryNode& node);
  void require_whole_plans(const std::string& what) const;

  // Whole tables: lower_tables.cpp
  QueryNode constants(duckdb::LogicalColumnDataGet& get);
  QueryNode constants(duckdb::LogicalDummyScan& scan);
  QueryNode constants(duckdb::LogicalEmptyResult& empty);
  QueryNode constants(duckdb::LogicalExpressionGet& get);
  QueryNode cte(duckdb::LogicalMaterializedCTE& node);
  QueryNode cte_reference(duckdb::LogicalCTERef& reference);
  QueryNode set_operation(duckdb::LogicalSetOperation& node);
  QueryNode distinct(duckdb::LogicalDistinct& node);
  QueryNode distinct_on(duckdb::LogicalDistinct& node);

  // Words
  void add_filter_text(const std::string& text);
  void add_word(const std::string& word);
  void describe();

  duckdb::ClientContext& context_;
  SessionRules rules_;
  bool whole_plans_;  // joins and what belongs to them are taken, too
  std::shared_ptr<LoweredQuery> result_ = std::make_shared<LoweredQuery>();
  Scope scope_;
  std::map<duckdb::idx_t, std::shared_ptr<const QueryNode>> ctes_;
  std::vector<std::shared_ptr<const QueryNode>> delims_;  // what a DELIM_GET stands for, the innermost last
};

}  // namespace basalt::sql
