#include "exec/stage_source.h"

#include "basalt/exec/expressions.h"

namespace basalt::exec {

void add_columns(const Expr& expr, std::set<uint32_t>& columns) {
  if (expr.op == ExprOp::kColumn) columns.insert(expr.column);
  for (const Expr& arg : expr.args) add_columns(arg, columns);
}

void add_columns_of_sink(const Pipeline& stage, std::set<uint32_t>& columns) {
  for (const Expr& key : stage.keys) add_columns(key, columns);
  for (const Expr& row : stage.rows) add_columns(row, columns);
  for (const Aggregate& aggregate : stage.aggregates) {
    if (aggregate.op != AggregateOp::kCountStar) add_columns(aggregate.arg, columns);
    if (aggregate.filter) add_columns(*aggregate.filter, columns);
  }
}

std::vector<uint32_t> used_behind_filter(const Pipeline& stage) {
  std::set<uint32_t> used;
  for (const PipelineStep& step : stage.steps) {
    if (const auto* filter = std::get_if<FilterStep>(&step)) {
      add_columns(filter->predicate, used);
    } else {
      const auto& probe = std::get<Probe>(step);
      for (const JoinKey& key : probe.keys) add_columns(key.probe, used);
      if (probe.residual) add_columns(*probe.residual, used);
    }
  }
  add_columns_of_sink(stage, used);
  std::vector<uint32_t> out;
  for (const uint32_t column : used) {
    if (column < stage.columns.size()) out.push_back(column);
  }
  return out;
}

Pipeline source_rows(const Pipeline& stage, const std::vector<uint32_t>& used) {
  Pipeline out;
  out.files = stage.files;
  out.columns = stage.columns;
  out.has_filter = stage.has_filter;
  out.filter = stage.filter;
  out.sink = Sink::kRows;
  for (const uint32_t column : used) {
    out.rows.push_back(column_reference(column, physical_of(stage.columns[column].type)));
    Field field;
    field.name = stage.columns[column].name;
    field.type = stage.columns[column].type;
    out.output.push_back(std::move(field));
  }
  if (!used.empty()) return out;
  Expr any;  // rows that are only counted
  any.type = Physical::kI32;
  any.literal = Value::of_integer(Physical::kI32, 0);
  Field field;
  field.name = "row";
  field.type = {TypeKind::kInt32};
  out.rows.push_back(std::move(any));
  out.output.push_back(std::move(field));
  return out;
}

Pipeline before_windows(const Pipeline& stage) {
  Pipeline out = stage;
  if (stage.windows.empty()) return out;
  out.windows.clear();
  out.order.clear();
  out.limit = kAllRows;
  out.offset = 0;
  out.output.resize(stage.rows.size());
  return out;
}

}  // namespace basalt::exec
