// Statements and columns whose floats are filtered and summed as they are stored.
#include "exec/filter_sum.h"

#include <algorithm>

#include "codec/trees.h"

namespace basalt::exec {

namespace {

// `column <op> literal`, either way round; also of literals that no value reaches.
bool is_range(const Expr& expr) {
  switch (expr.op) {
    case ExprOp::kEqual:
    case ExprOp::kLess:
    case ExprOp::kLessEqual:
    case ExprOp::kGreater:
    case ExprOp::kGreaterEqual: break;
    default: return false;
  }
  const bool swapped = expr.args[0].op == ExprOp::kLiteral;
  const Expr& column = expr.args[swapped ? 1 : 0];
  const Expr& literal = expr.args[swapped ? 0 : 1];
  return column.op == ExprOp::kColumn && literal.op == ExprOp::kLiteral && !literal.literal.null &&
         literal.type == column.type;
}

bool is_ranges(const Expr& expr) {
  return expr.op == ExprOp::kAnd ? std::ranges::all_of(expr.args, is_ranges) : is_range(expr);
}

// Whether nothing but sums, averages and counts of one column are asked for, under at most ranges of it.
bool sums_one_column(const Pipeline& pipeline) {
  if (pipeline.columns.size() != 1 || !is_float(physical_of(pipeline.columns[0].type))) return false;
  if (pipeline.has_filter && !is_ranges(pipeline.filter)) return false;
  bool sums = false;
  for (const Aggregate& aggregate : pipeline.aggregates) {
    if (aggregate.op == AggregateOp::kCountStar) continue;
    if (aggregate.op == AggregateOp::kMin || aggregate.op == AggregateOp::kMax) return false;
    if (aggregate.arg.op != ExprOp::kColumn) return false;
    sums = sums || aggregate.op != AggregateOp::kCount;
  }
  return sums;
}

}  // namespace

bool is_float_filter_sum(const Pipeline& pipeline) {
  if (!sums_one_column(pipeline)) return false;
  const Tree stored = packed_decimals_tree();
  return std::ranges::all_of(pipeline.files, [&](const std::shared_ptr<const File>& file) {
    const std::vector<Tree>& shapes = file->column(pipeline.columns[0].field_id).shapes;
    return std::ranges::all_of(shapes, [&](const Tree& shape) { return shape == stored; });
  });
}

}  // namespace basalt::exec
