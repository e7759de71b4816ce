#include "query/unused_columns.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace basalt {

namespace {

// A column that expressions may refer to: one that is read, fetched, or a mark.
struct Seen {
  bool used = false;
  // Another column in sight that has the same value in every row.
  std::optional<uint32_t> same;
};
using InSight = std::vector<Seen*>;

template <typename Body>
void for_each_column(Expr& expr, const Body& body) {
  if (expr.op == ExprOp::kColumn) body(expr);
  for (Expr& arg : expr.args) for_each_column(arg, body);
}

class Columns {
 public:
  explicit Columns(Pipeline& stage) : stage_(stage) {
    for (size_t i = 0; i < stage.columns.size(); ++i) read_.push_back({stage.files.empty(), {}});
    for (PipelineStep& step : stage.steps) {
      auto* probe = std::get_if<Probe>(&step);
      fetched_.emplace_back(probe == nullptr ? 0 : probe->fetched.size());
      if (probe != nullptr) find_keys(*probe, fetched_.back());
    }
  }

  void leave_out_unused() {
    walk([](Expr& column, const InSight& in_sight) {
      while (const std::optional<uint32_t> same = in_sight.at(column.column)->same) column.column = *same;
    });
    walk([](Expr& column, const InSight& in_sight) { in_sight.at(column.column)->used = true; });
    const std::vector<uint32_t> order = order_of_read();
    walk([&](Expr& column, const InSight& in_sight) {
      if (column.column < read_.size()) {
        column.column = static_cast<uint32_t>(std::ranges::find(order, column.column) - order.begin());
      } else {
        const auto end = in_sight.begin() + column.column;
        const auto used = std::count_if(in_sight.begin(), end, [](Seen* one) { return one->used; });
        column.column = static_cast<uint32_t>(used);
      }
    });
    std::vector<PipelineColumn> read;
    for (const uint32_t place : order) read.push_back(stage_.columns[place]);
    stage_.columns = std::move(read);
    for (size_t i = 0; i < stage_.steps.size(); ++i) {
      if (auto* probe = std::get_if<Probe>(&stage_.steps[i])) keep_used(fetched_[i], probe->fetched);
    }
  }

 private:
  // Keys that are fetched from the second side, which the first one has. Floats that are equal may still differ.
  static void find_keys(const Probe& probe, std::vector<Seen>& fetched) {
    if (probe.kind != JoinKind::kInner) return;
    for (const JoinKey& key : probe.keys) {
      const bool columns = key.probe.op == ExprOp::kColumn && key.build.op == ExprOp::kColumn;
      if (!columns || is_float(key.build.type)) continue;
      for (size_t i = 0; i < fetched.size(); ++i) {
        if (probe.fetched[i].field_id == key.build.column) fetched[i].same = key.probe.column;
      }
    }
  }

  // Columns that are read and used; of files as these have them, in whatever order a planner came across them.
  std::vector<uint32_t> order_of_read() const {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < read_.size(); ++i) {
      if (read_[i].used) order.push_back(i);
    }
    if (stage_.files.empty()) return order;
    std::ranges::stable_sort(order, {}, [&](uint32_t place) { return stage_.columns[place].field_id; });
    return order;
  }

  static void keep_used(const std::vector<Seen>& seen, std::vector<PipelineColumn>& columns) {
    std::vector<PipelineColumn> used;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (seen[i].used) used.push_back(columns[i]);
    }
    columns = std::move(used);
  }

  static void add(std::vector<Seen>& seen, InSight& in_sight) {
    for (Seen& one : seen) in_sight.push_back(&one);
  }

  // body(column, in_sight) for every reference to a column in every expression of the stage.
  template <typename Body>
  void walk(const Body& body) {
    InSight in_sight;
    add(read_, in_sight);
    const auto visit = [&](Expr& expr) { for_each_column(expr, [&](Expr& column) { body(column, in_sight); }); };
    if (stage_.has_filter) visit(stage_.filter);
    for (size_t i = 0; i < stage_.steps.size(); ++i) {
      if (auto* filter = std::get_if<FilterStep>(&stage_.steps[i])) visit(filter->predicate);
      if (auto* probe = std::get_if<Probe>(&stage_.steps[i])) walk_probe(*probe, fetched_[i], in_sight, visit);
    }
    for (Expr& key : stage_.keys) visit(key);
    for (Aggregate& aggregate : stage_.aggregates) {
      if (aggregate.op != AggregateOp::kCountStar) visit(aggregate.arg);
      if (aggregate.filter) visit(*aggregate.filter);
    }
    for (Expr& expr : stage_.rows) visit(expr);
  }

  template <typename Visit>
  void walk_probe(Probe& probe, std::vector<Seen>& fetched, InSight& in_sight, const Visit& visit) {
    for (JoinKey& key : probe.keys) visit(key.probe);
    const size_t before = in_sight.size();
    add(fetched, in_sight);
    if (probe.residual) visit(*probe.residual);
    const bool marks = probe.kind == JoinKind::kMark;
    if (marks || probe.kind == JoinKind::kSemi || probe.kind == JoinKind::kAnti) in_sight.resize(before);
    if (marks) in_sight.push_back(&mark_);
  }

  Pipeline& stage_;
  std::vector<Seen> read_;
  std::deque<std::vector<Seen>> fetched_;  // of each step
  Seen mark_{true, {}};
};

}  // namespace

void leave_out_unused_columns(Pipeline& stage) { Columns(stage).leave_out_unused(); }

}  // namespace basalt
