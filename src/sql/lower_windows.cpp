// Lowering of window functions. What they are given is columns: expressions among partitions, orders and arguments are
// added behind the input's columns first.
#include "basalt/exec/expressions.h"
#include "duckdb/function/aggregate_function.hpp"
#include "duckdb/planner/expression/list.hpp"
#include "duckdb/planner/operator/logical_window.hpp"
#include "sql/lower_aggregate.h"
#include "sql/lowering.h"
#include "sql/query_lowering.h"

namespace basalt::sql {

using duckdb::BoundWindowExpression;
using duckdb::ExpressionType;
using duckdb::WindowBoundary;

namespace {

WindowOp window_op(const BoundWindowExpression& window) {
  switch (window.GetExpressionType()) {
    case ExpressionType::WINDOW_AGGREGATE: return WindowOp::kAggregate;
    case ExpressionType::WINDOW_ROW_NUMBER: return WindowOp::kRowNumber;
    case ExpressionType::WINDOW_RANK: return WindowOp::kRank;
    case ExpressionType::WINDOW_RANK_DENSE: return WindowOp::kDenseRank;
    case ExpressionType::WINDOW_PERCENT_RANK: return WindowOp::kPercentRank;
    case ExpressionType::WINDOW_CUME_DIST: return WindowOp::kCumeDist;
    case ExpressionType::WINDOW_LAG: return WindowOp::kLag;
    case ExpressionType::WINDOW_LEAD: return WindowOp::kLead;
    case ExpressionType::WINDOW_FIRST_VALUE: return WindowOp::kFirstValue;
    case ExpressionType::WINDOW_LAST_VALUE: return WindowOp::kLastValue;
    default: throw NotLowered("the window function " + window.ToString());
  }
}

Physical type_of_window(const WindowFunction& function, const std::vector<Expr>& columns) {
  switch (function.op) {
    case WindowOp::kRowNumber:
    case WindowOp::kRank:
    case WindowOp::kDenseRank: return Physical::kI64;
    case WindowOp::kPercentRank:
    case WindowOp::kCumeDist: return Physical::kF64;
    case WindowOp::kAggregate: return result_type(function.aggregate);
    default: return columns.at(function.arguments.front()).type;
  }
}

void refuse_rare(const BoundWindowExpression& window) {
  if (window.ignore_nulls) throw NotLowered("a window function with IGNORE NULLS");
  if (window.distinct) throw NotLowered("DISTINCT in a window function");
  if (!window.arg_orders.empty()) throw NotLowered("ORDER BY inside a window function's arguments");
  if (window.exclude_clause != duckdb::WindowExcludeMode::NO_OTHER) throw NotLowered("EXCLUDE in a window's frame");
}

bool counts_rows(WindowBoundary boundary) {
  return boundary == WindowBoundary::CURRENT_ROW_ROWS || boundary == WindowBoundary::EXPR_PRECEDING_ROWS ||
         boundary == WindowBoundary::EXPR_FOLLOWING_ROWS;
}

// Functions that do not look at frames.
bool ignores_frame(WindowOp op) {
  return op != WindowOp::kAggregate && op != WindowOp::kFirstValue && op != WindowOp::kLastValue;
}

}  // namespace

// Columns that functions refer to: those of the input, and expressions over them.
class QueryLowering::WindowColumns {
 public:
  WindowColumns(const QueryLowering& lowering, const QueryNode& input) : lowering_(lowering), input_(input) {
    for (size_t i = 0; i < input.output.size(); ++i) exprs.push_back(reference_to(input, i));
    fields = input.output;
  }
  uint32_t add(const duckdb::Expression& expression) {
    Expr expr = lowering_.lower_over(expression, input_);
    if (expr.op == ExprOp::kColumn) return expr.column;
    fields.push_back(result_field(expression.GetName(), expression.return_type, expr.type));
    exprs.push_back(std::move(expr));
    return static_cast<uint32_t>(exprs.size() - 1);
  }
  uint32_t add_constant(const duckdb::Value& value) { return add(duckdb::BoundConstantExpression(value)); }
  // An argument or filter as the column that holds it.
  Expr column(const duckdb::Expression& expression) {
    const uint32_t place = add(expression);
    return column_reference(place, exprs[place].type);
  }

  std::vector<Expr> exprs;
  std::vector<Field> fields;

 private:
  const QueryLowering& lowering_;
  const QueryNode& input_;
};

FrameBound QueryLowering::frame_bound(WindowBoundary boundary, const duckdb::Expression* value,
                                      WindowColumns& columns) const {
  FrameBound bound;
  switch (boundary) {
    case WindowBoundary::UNBOUNDED_PRECEDING:
    case WindowBoundary::UNBOUNDED_FOLLOWING: bound.kind = FrameBound::Kind::kUnbounded; return bound;
    case WindowBoundary::CURRENT_ROW_ROWS:
    case WindowBoundary::CURRENT_ROW_RANGE: bound.kind = FrameBound::Kind::kCurrent; return bound;
    case WindowBoundary::EXPR_PRECEDING_ROWS:
    case WindowBoundary::EXPR_FOLLOWING_ROWS: {
      const int64_t rows = constant_number(*value, "a window's frame");
      if (rows < 0) throw NotLowered("a frame of less than no rows");
      bound.kind = FrameBound::Kind::kDistance;
      bound.distance = boundary == WindowBoundary::EXPR_PRECEDING_ROWS ? -rows : rows;
      return bound;
    }
    case WindowBoundary::EXPR_PRECEDING_RANGE:
    case WindowBoundary::EXPR_FOLLOWING_RANGE:
      bound.kind = FrameBound::Kind::kDistance;
      bound.column = columns.add(*value);
      return bound;
    default: throw NotLowered("GROUPS in a window's frame");
  }
}

WindowFunction QueryLowering::window_function(const BoundWindowExpression& window, WindowColumns& columns) const {
  refuse_rare(window);
  WindowFunction function;
  function.op = window_op(window);
  for (const auto& partition : window.partitions) {
    refuse_collations(*partition);
    function.partition.push_back(columns.add(*partition));
  }
  for (const duckdb::BoundOrderByNode& order : window.orders) {
    refuse_collations(*order.expression);
    function.order.push_back({columns.add(*order.expression), order.type == duckdb::OrderType::DESCENDING,
                              order.null_order == duckdb::OrderByNullType::NULLS_FIRST});
  }
  if (function.op == WindowOp::kAggregate) {
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> children;
    for (const auto& child : window.children) children.push_back(child->Copy());
    const duckdb::BoundAggregateExpression bound(
        *window.aggregate, std::move(children), window.filter_expr ? window.filter_expr->Copy() : nullptr,
        window.bind_info ? window.bind_info->Copy() : nullptr, duckdb::AggregateType::NON_DISTINCT);
    function.aggregate =
        lower_aggregate(bound, [&](const duckdb::Expression& expression) { return columns.column(expression); });
    if (function.aggregate.op > AggregateOp::kAvg) throw NotLowered("the window function " + bound.function.name);
  } else {
    if (window.filter_expr) throw NotLowered("FILTER of a window function that is no aggregate");
    for (const auto& child : window.children) function.arguments.push_back(columns.add(*child));
  }
  if (function.op == WindowOp::kLag || function.op == WindowOp::kLead) {
    function.arguments.resize(1);
    function.arguments.push_back(window.offset_expr ? columns.add(*window.offset_expr)
                                                    : columns.add_constant(duckdb::Value::BIGINT(1)));
    function.arguments.push_back(window.default_expr
                                     ? columns.add(*window.default_expr)
                                     : columns.add_constant(duckdb::Value(window.children.at(0)->return_type)));
  }
  if (ignores_frame(function.op)) return function;
  function.unit = counts_rows(window.start) || counts_rows(window.end) ? FrameUnit::kRows : FrameUnit::kRange;
  for (const duckdb::Expression* value : {window.start_expr.get(), window.end_expr.get()}) {
    const bool is_bound = value != nullptr && function.unit == FrameUnit::kRange;
    if (is_bound && value->return_type != window.orders.at(0).expression->return_type) {
      throw NotLowered("a window's frame of another type than its order");
    }
  }
  function.start = frame_bound(window.start, window.start_expr.get(), columns);
  function.end = frame_bound(window.end, window.end_expr.get(), columns);
  return function;
}

QueryNode QueryLowering::window(duckdb::LogicalWindow& node) {
  require_whole_plans(operator_text(node));
  QueryNode input = lower(*node.children.at(0));
  WindowColumns columns(*this, input);
  QueryNode out;
  out.op = QueryOp::kWindow;
  std::vector<Field> added;
  for (const auto& expression : node.expressions) {
    const auto& bound = expression->Cast<BoundWindowExpression>();
    out.windows.push_back(window_function(bound, columns));
    const Physical type = type_of_window(out.windows.back(), columns.exprs);
    added.push_back(result_field(bound.GetName(), bound.return_type, type));
  }
  QueryNode rows = node_over(QueryOp::kProject, std::move(input));
  rows.exprs = std::move(columns.exprs);
  rows.output = std::move(columns.fields);
  out.output = rows.output;
  for (size_t i = 0; i < added.size(); ++i) bind(node.window_index, i, out.output.size() + i);
  out.output.insert(out.output.end(), added.begin(), added.end());
  out.inputs.push_back(std::move(rows));
  add_word("OVER");
  return out;
}

}  // namespace basalt::sql
