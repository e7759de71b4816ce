// Cutting a tree into stages, from the scan upwards. What lies between two ends of stages is kept as expressions over
// the stage's columns, one for each column that the last node gives: filters and projections cost nothing of their own.
#include <algorithm>
#include <utility>

#include "basalt/exec/expressions.h"
#include "basalt/query/tree.h"

namespace basalt {

namespace {

Expr substitute(const Expr& expr, const std::vector<Expr>& columns) {
  if (expr.op == ExprOp::kColumn) return columns.at(expr.column);
  Expr out = expr;
  for (Expr& arg : out.args) arg = substitute(arg, columns);
  return out;
}

// body(expr) for every expression of a stage.
template <typename Body>
void for_each_expression(Pipeline& stage, const Body& body) {
  if (stage.has_filter) body(stage.filter);
  for (Expr& key : stage.keys) body(key);
  for (Aggregate& aggregate : stage.aggregates) {
    if (aggregate.op != AggregateOp::kCountStar) body(aggregate.arg);
    if (aggregate.filter) body(*aggregate.filter);
  }
  for (Expr& expr : stage.rows) body(expr);
}

template <typename Body>
void for_each_column(Expr& expr, const Body& body) {
  if (expr.op == ExprOp::kColumn) body(expr);
  for (Expr& arg : expr.args) for_each_column(arg, body);
}

// Columns that nothing refers to are not read.
void leave_out_unused_columns(Pipeline& stage) {
  constexpr uint32_t kUnused = ~0u;
  std::vector<uint32_t> places(stage.columns.size(), kUnused);
  for_each_expression(
      stage, [&](Expr& expr) { for_each_column(expr, [&](const Expr& column) { places.at(column.column) = 0; }); });
  std::vector<PipelineColumn> used;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] == kUnused) continue;
    places[i] = static_cast<uint32_t>(used.size());
    used.push_back(stage.columns[i]);
  }
  for_each_expression(
      stage, [&](Expr& expr) { for_each_column(expr, [&](Expr& column) { column.column = places[column.column]; }); });
  stage.columns = std::move(used);
}

// What can raise no error, whatever the row.
bool is_plain(const Expr& expr) { return expr.op == ExprOp::kColumn || expr.op == ExprOp::kLiteral; }

// Groups that are sorted and limited next need not all be brought there, unless those that are dropped could still
// raise an error.
void tell_groups_of_limits(Query& query) {
  for (size_t i = 0; i + 1 < query.stages.size(); ++i) {
    const Pipeline& next = query.stages[i + 1];
    const bool keeps_few = next.sink == Sink::kRows && !next.has_filter && next.limit != kAllRows &&
                           next.limit <= kAllRows - next.offset && std::ranges::all_of(next.rows, is_plain);
    if (query.stages[i].sink != Sink::kGroups || !keeps_few) continue;
    FirstGroups& first = query.stages[i].first;
    if (!next.order.empty()) {
      const Expr& key = next.rows.at(next.order.front().column);
      if (key.op != ExprOp::kColumn) continue;
      first.by = next.order.front();
      first.by->column = key.column;
      first.ties = next.order.size() > 1;
    }
    first.count = next.limit + next.offset;
  }
}

class Cutter {
 public:
  Query run(const QueryNode& root) {
    add(root);
    if (!is_empty() || query_.stages.empty()) end_with_rows(root.output);
    tell_groups_of_limits(query_);
    return std::move(query_);
  }

 private:
  void add(const QueryNode& node) {
    for (const QueryNode& input : node.inputs) add(input);
    switch (node.op) {
      case QueryOp::kScan:
        stage_.files = node.files;
        stage_.columns = node.columns;
        refer_to_columns();
        break;
      case QueryOp::kFilter: add_filter(substitute(node.predicate, columns_)); break;
      case QueryOp::kProject: {
        std::vector<Expr> next;
        for (const Expr& expr : node.exprs) next.push_back(substitute(expr, columns_));
        columns_ = std::move(next);
        break;
      }
      case QueryOp::kAggregate: add_aggregate(node); break;
      case QueryOp::kSort:
      case QueryOp::kLimit: add_order(node); break;
    }
  }

  void add_filter(Expr predicate) {
    if (!stage_.has_filter) {
      stage_.filter = std::move(predicate);
    } else if (stage_.filter.op == ExprOp::kAnd) {
      stage_.filter.args.push_back(std::move(predicate));
    } else {
      Expr both;
      both.op = ExprOp::kAnd;
      both.type = Physical::kU8;
      both.args = {std::move(stage_.filter), std::move(predicate)};
      stage_.filter = std::move(both);
    }
    stage_.has_filter = true;
  }

  void add_aggregate(const QueryNode& node) {
    stage_.sink = Sink::kGroups;
    for (const Expr& key : node.keys) stage_.keys.push_back(substitute(key, columns_));
    for (Aggregate aggregate : node.aggregates) {
      if (aggregate.op != AggregateOp::kCountStar) aggregate.arg = substitute(aggregate.arg, columns_);
      if (aggregate.filter) aggregate.filter = substitute(*aggregate.filter, columns_);
      stage_.aggregates.push_back(std::move(aggregate));
    }
    end(node.output);
  }

  void add_order(const QueryNode& node) {
    // A limit of rows that the stage before has put in order ends that stage earlier.
    if (node.op == QueryOp::kLimit && is_empty() && !query_.stages.empty()) {
      Pipeline& last = query_.stages.back();
      if (last.sink == Sink::kRows && last.limit == kAllRows && last.offset == 0) {
        last.limit = node.limit;
        last.offset = node.offset;
        return;
      }
    }
    stage_.order = node.order;
    stage_.limit = node.limit;
    stage_.offset = node.offset;
    end_with_rows(node.output);
  }

  void end_with_rows(const std::vector<Field>& output) {
    stage_.sink = Sink::kRows;
    stage_.rows = columns_;
    end(output);
  }

  void end(const std::vector<Field>& output) {
    stage_.output = output;
    if (!stage_.files.empty()) leave_out_unused_columns(stage_);
    query_.stages.push_back(std::exchange(stage_, Pipeline{}));
    for (size_t i = 0; i < output.size(); ++i) {
      stage_.columns.push_back({static_cast<uint32_t>(i), output[i].name, output[i].type});
    }
    refer_to_columns();
  }

  void refer_to_columns() {
    columns_.clear();
    for (size_t i = 0; i < stage_.columns.size(); ++i) {
      columns_.push_back(column_reference(static_cast<uint32_t>(i), physical_of(stage_.columns[i].type)));
    }
  }

  // Whether the stage that was begun would give back what it reads.
  bool is_empty() const {
    if (!stage_.files.empty() || stage_.has_filter || columns_.size() != stage_.columns.size()) return false;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].op != ExprOp::kColumn || columns_[i].column != i) return false;
    }
    return true;
  }

  Query query_;
  Pipeline stage_;
  std::vector<Expr> columns_;  // what the last node gives, over the stage's columns
};

}  // namespace

Query cut(const QueryNode& root) { return Cutter().run(root); }

}  // namespace basalt
