// What a stage with steps reads, for backends that bring its source's rows together before they take the steps.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// Calls f with the filter of a stage and every expression of its sink; `Stage`: a Pipeline or a const one.
template <typename Stage, typename F>
void for_each_expression(Stage& stage, const F& f) {
  if (stage.has_filter) f(stage.filter);
  for (auto& key : stage.keys) f(key);
  for (auto& row : stage.rows) f(row);
  for (auto& aggregate : stage.aggregates) {
    if (aggregate.filter) f(*aggregate.filter);
    if (aggregate.op != AggregateOp::kCountStar) f(aggregate.arg);
  }
}

void add_columns(const Expr& expr, std::set<uint32_t>& columns);
// Those that keys, rows and aggregates of its sink are computed from.
void add_columns_of_sink(const Pipeline& stage, std::set<uint32_t>& columns);

// Columns of its source that a stage needs behind its filter, ascending.
std::vector<uint32_t> used_behind_filter(const Pipeline& stage);
// A stage that gives these columns of the files' rows that pass the filter; of none, a number for each row.
Pipeline source_rows(const Pipeline& stage, const std::vector<uint32_t>& used);

// The rows that a stage's window functions look at; itself where it has none.
Pipeline before_windows(const Pipeline& stage);

}  // namespace basalt::exec
