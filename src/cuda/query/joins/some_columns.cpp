#include "cuda/query/joins/some_columns.h"

#include <algorithm>
#include <utility>

#include "basalt/exec/expressions.h"
#include "exec/stage_source.h"

namespace basalt::cuda {

namespace {

Field field_of(const PipelineColumn& column) {
  Field field;
  field.name = column.name;
  field.type = column.type;
  return field;
}

}  // namespace

uint32_t SomeColumns::place_of(uint32_t column) const {
  if (column >= all_) return static_cast<uint32_t>(used_.size()) + column - all_;
  return static_cast<uint32_t>(std::ranges::lower_bound(used_, column) - used_.begin());
}

Expr SomeColumns::over(Expr expr) const {
  if (expr.op == ExprOp::kColumn) expr.column = place_of(expr.column);
  for (Expr& arg : expr.args) arg = over(std::move(arg));
  return expr;
}

Pipeline sink_over(const Pipeline& stage, const SomeColumns& columns) {
  Pipeline sink = stage;
  sink.files.clear();
  sink.constants.reset();
  sink.sources.clear();
  sink.steps.clear();
  sink.has_filter = false;
  const std::vector<PipelineColumn> all = columns_behind_steps(stage);
  sink.columns.clear();
  for (const uint32_t column : columns.used()) {
    sink.columns.push_back({static_cast<uint32_t>(sink.columns.size()), all[column].name, all[column].type});
  }
  exec::for_each_expression(sink, [&](Expr& expr) { expr = columns.over(std::move(expr)); });
  return sink;
}

Pipeline rows_before_sink(const Pipeline& stage, const SomeColumns& columns) {
  Pipeline rows = stage;
  rows.sink = Sink::kRows;
  rows.keys.clear();
  rows.aggregates.clear();
  rows.first = {};
  rows.rows.clear();
  rows.windows.clear();
  rows.order.clear();
  rows.limit = kAllRows;
  rows.offset = 0;
  rows.at_most_one = false;
  rows.output.clear();
  const std::vector<PipelineColumn> all = columns_behind_steps(stage);
  for (const uint32_t column : columns.used()) {
    rows.rows.push_back(column_reference(column, physical_of(all[column].type)));
    rows.output.push_back(field_of(all[column]));
  }
  if (rows.rows.empty()) {
    rows.rows.push_back(literal(Value::of_integer(Physical::kI32, 0)));
    rows.output.push_back(field_of({0, "row", {TypeKind::kInt32}}));
  }
  return rows;
}

}  // namespace basalt::cuda
