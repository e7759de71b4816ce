// Cutting a tree into stages, from the scans upwards. What lies between two ends of stages is kept as expressions over
// the columns in sight, one for each column that the last node gives: filters and projections cost nothing of their
// own. A join goes on with the stage of its first input; its second one ends a stage, whose rows are looked up.
#include <algorithm>
#include <map>
#include <utility>

#include "basalt/exec/expressions.h"
#include "basalt/query/tree.h"
#include "exec/join_kind.h"
#include "query/comparisons.h"
#include "query/unused_columns.h"

namespace basalt {

namespace {

Expr substitute(const Expr& expr, const std::vector<Expr>& columns) {
  if (expr.op == ExprOp::kColumn) return columns.at(expr.column);
  Expr out = expr;
  for (Expr& arg : out.args) arg = substitute(arg, columns);
  return out;
}

// What can raise no error, whatever the row.
bool is_plain(const Expr& expr) { return expr.op == ExprOp::kColumn || expr.op == ExprOp::kLiteral; }

// Whether nobody but the next stage reads a stage, and that one nothing else.
bool only_next_reads(const Query& query, size_t place) {
  for (size_t i = place + 1; i < query.stages.size(); ++i) {
    const std::vector<uint32_t> inputs = inputs_of(query, i);
    const bool reads = std::ranges::find(inputs, place) != inputs.end();
    if (reads != (i == place + 1) || (reads && inputs.size() > 1)) return false;
  }
  return true;
}

// Groups that are sorted and limited next need not all be brought there, unless those that are dropped could still
// raise an error.
void tell_groups_of_limits(Query& query) {
  for (size_t i = 0; i + 1 < query.stages.size(); ++i) {
    const Pipeline& next = query.stages[i + 1];
    const bool keeps_few = next.sink == Sink::kRows && !next.has_filter && next.steps.empty() &&
                           next.limit != kAllRows && next.limit <= kAllRows - next.offset &&
                           std::ranges::all_of(next.rows, is_plain);
    if (query.stages[i].sink != Sink::kGroups || !keeps_few || !only_next_reads(query, i)) continue;
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

bool is_read_once(const Query& query, uint32_t place) {
  size_t readers = 0;
  for (size_t i = place + 1; i < query.stages.size(); ++i) {
    const std::vector<uint32_t> inputs = inputs_of(query, i);
    readers += std::ranges::find(inputs, place) != inputs.end() ? 1 : 0;
  }
  return readers == 1;
}

// Where rows are limited as they come, no stage that they come from need give more.
void tell_sources_of_limits(Query& query) {
  for (size_t i = query.stages.size(); i-- > 0;) {
    const Pipeline& stage = query.stages[i];
    const bool takes_first = stage.sink == Sink::kRows && stage.order.empty() && stage.windows.empty() &&
                             !stage.has_filter && stage.steps.empty() && stage.limit <= kAllRows - stage.offset;
    if (!takes_first) continue;
    for (const uint32_t source : inputs_of(query, i)) {
      Pipeline& from = query.stages[source];
      if (from.sink != Sink::kRows || from.at_most_one || !is_read_once(query, source)) continue;
      from.limit = std::min(from.limit, stage.limit + stage.offset);
    }
  }
}

std::vector<Expr> references(const std::vector<PipelineColumn>& columns, size_t first = 0) {
  std::vector<Expr> out;
  for (size_t i = 0; i < columns.size(); ++i) {
    out.push_back(column_reference(static_cast<uint32_t>(first + i), physical_of(columns[i].type)));
  }
  return out;
}

std::vector<PipelineColumn> columns_of_rows(const std::vector<Field>& fields) {
  std::vector<PipelineColumn> columns;
  for (const Field& field : fields) {
    columns.push_back({static_cast<uint32_t>(columns.size()), field.name, field.type});
  }
  return columns;
}

Expr both(Expr a, Expr b) {
  if (a.op == ExprOp::kAnd) {
    a.args.push_back(std::move(b));
    return a;
  }
  Expr out;
  out.op = ExprOp::kAnd;
  out.type = Physical::kU8;
  out.args = {std::move(a), std::move(b)};
  return out;
}

// A stage that has not ended yet.
struct OpenStage {
  Pipeline stage;
  std::vector<Expr> columns;  // what the last node gives, over the columns in sight
  bool shares_source = false;

  // Whether it would give back what it reads.
  bool is_empty() const {
    if (stage.sources.size() != 1 || stage.has_filter || !stage.steps.empty()) return false;
    if (columns.size() != stage.columns.size()) return false;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].op != ExprOp::kColumn || columns[i].column != i) return false;
    }
    return true;
  }
};

class Cutter {
 public:
  Query run(const QueryNode& root) {
    OpenStage last = open(root);
    if (!last.is_empty() || last.stage.sources.front() + 1 != stages_.size()) end_with_rows(last, root.output);
    Query query;
    query.stages = std::move(stages_);
    for (size_t i = 1; i < query.stages.size(); ++i) {
      std::vector<uint32_t>& sources = query.stages[i].sources;
      if (sources.size() == 1 && sources.front() + 1 == i) sources.clear();
    }
    tell_sources_of_limits(query);
    tell_groups_of_limits(query);
    return query;
  }

 private:
  OpenStage open(const QueryNode& node) {
    switch (node.op) {
      case QueryOp::kScan: {
        OpenStage out;
        out.stage.files = node.files;
        return with_columns(std::move(out), node.columns);
      }
      case QueryOp::kConstants: {
        OpenStage out;
        out.stage.constants = node.constants;
        return with_columns(std::move(out), columns_of_rows(node.output));
      }
      case QueryOp::kFilter: {
        OpenStage out = open(node.inputs.at(0));
        add_filter(out.stage, substitute(node.predicate, out.columns));
        return out;
      }
      case QueryOp::kProject: {
        OpenStage out = open(node.inputs.at(0));
        std::vector<Expr> next;
        for (const Expr& expr : node.exprs) next.push_back(substitute(expr, out.columns));
        out.columns = std::move(next);
        return out;
      }
      case QueryOp::kAggregate: return aggregate(node);
      case QueryOp::kSort:
      case QueryOp::kLimit: return order(node);
      case QueryOp::kJoin: return join(node);
      case QueryOp::kUnion: {
        std::vector<uint32_t> sources;
        for (const QueryNode& input : node.inputs) sources.push_back(rows_of(open(input), input.output));
        return read(std::move(sources), node.output);
      }
      case QueryOp::kShared: return shared(node);
      case QueryOp::kWindow: {
        OpenStage out = open(node.inputs.at(0));
        out.stage.windows = node.windows;
        return read({end_with_rows(out, node.output)}, node.output);
      }
      case QueryOp::kOnlyRow: {
        OpenStage out = open(node.inputs.at(0));
        out.stage.at_most_one = true;
        out.stage.limit = std::min<uint64_t>(out.stage.limit, 2);  // two are enough for the error
        return read({end_with_rows(out, node.output)}, node.output);
      }
    }
    return {};
  }

  static OpenStage with_columns(OpenStage out, std::vector<PipelineColumn> columns) {
    out.columns = references(columns);
    out.stage.columns = std::move(columns);
    return out;
  }

  static OpenStage read(std::vector<uint32_t> sources, const std::vector<Field>& output) {
    OpenStage out;
    out.stage.sources = std::move(sources);
    return with_columns(std::move(out), columns_of_rows(output));
  }

  static void add_filter(Pipeline& stage, Expr predicate) {
    if (!stage.steps.empty()) {
      auto* last = std::get_if<FilterStep>(&stage.steps.back());
      if (last == nullptr) {
        stage.steps.emplace_back(FilterStep{std::move(predicate)});
      } else {
        last->predicate = both(std::move(last->predicate), std::move(predicate));
      }
      return;
    }
    stage.filter = stage.has_filter ? both(std::move(stage.filter), std::move(predicate)) : std::move(predicate);
    stage.has_filter = true;
  }

  OpenStage aggregate(const QueryNode& node) {
    OpenStage out = open(node.inputs.at(0));
    out.stage.sink = Sink::kGroups;
    for (const Expr& key : node.keys) out.stage.keys.push_back(substitute(key, out.columns));
    for (Aggregate aggregate : node.aggregates) {
      if (aggregate.op != AggregateOp::kCountStar) aggregate.arg = substitute(aggregate.arg, out.columns);
      if (aggregate.filter) aggregate.filter = substitute(*aggregate.filter, out.columns);
      out.stage.aggregates.push_back(std::move(aggregate));
    }
    return read({end(out, node.output)}, node.output);
  }

  OpenStage order(const QueryNode& node) {
    OpenStage out = open(node.inputs.at(0));
    // A limit of rows that the stage before has put in order ends that stage earlier.
    if (node.op == QueryOp::kLimit && out.is_empty() && !out.shares_source) {
      Pipeline& last = stages_.at(out.stage.sources.front());
      if (last.sink == Sink::kRows && last.limit == kAllRows && last.offset == 0 && !last.at_most_one &&
          last.windows.empty()) {
        last.limit = node.limit;
        last.offset = node.offset;
        return out;
      }
    }
    out.stage.order = node.order;
    out.stage.limit = node.limit;
    out.stage.offset = node.offset;
    return read({end_with_rows(out, node.output)}, node.output);
  }

  OpenStage join(const QueryNode& node) {
    const QueryNode& first = node.inputs.at(0);
    const QueryNode& second = node.inputs.at(1);
    OpenStage out = open(first);
    // Rows that stand alone have NULLs for columns: not what expressions would make of these.
    if (exec::keeps_second(node.join) && !std::ranges::all_of(out.columns, is_column)) {
      out = read({end_with_rows(out, first.output)}, first.output);
    }
    Probe probe;
    probe.kind = node.join;
    probe.stage = rows_of(open(second), second.output);
    probe.fetched = columns_of_rows(second.output);
    for (JoinKey key : node.join_keys) {
      key.probe = substitute(key.probe, out.columns);
      probe.keys.push_back(std::move(key));
    }
    const size_t before = columns_behind_steps(out.stage).size();
    const std::vector<Expr> fetched = references(probe.fetched, before);
    if (node.residual) {
      std::vector<Expr> columns = out.columns;
      columns.insert(columns.end(), fetched.begin(), fetched.end());
      probe.residual = substitute(*node.residual, columns);
    }
    switch (node.join) {
      case JoinKind::kSemi:
      case JoinKind::kAnti: break;
      case JoinKind::kMark:
        out.columns.push_back(column_reference(static_cast<uint32_t>(before), Physical::kU8));
        break;
      default: out.columns.insert(out.columns.end(), fetched.begin(), fetched.end());
    }
    out.stage.steps.emplace_back(std::move(probe));
    return out;
  }

  OpenStage shared(const QueryNode& node) {
    const auto [known, added] = shared_.try_emplace(node.shared.get(), 0);
    if (added) known->second = rows_of(open(*node.shared), node.shared->output);
    OpenStage out = read({known->second}, node.output);
    out.shares_source = true;
    return out;
  }

  static bool is_column(const Expr& expr) { return expr.op == ExprOp::kColumn; }

  // The stage that gives the rows of one that was begun: itself, or the one that it would only repeat.
  uint32_t rows_of(OpenStage open, const std::vector<Field>& output) {
    return open.is_empty() ? open.stage.sources.front() : end_with_rows(open, output);
  }

  uint32_t end_with_rows(OpenStage& open, const std::vector<Field>& output) {
    open.stage.sink = Sink::kRows;
    open.stage.rows = std::move(open.columns);
    return end(open, output);
  }

  uint32_t end(OpenStage& open, const std::vector<Field>& output) {
    open.stage.output = output;
    unite_comparisons(open.stage);
    leave_out_unused_columns(open.stage);
    stages_.push_back(std::move(open.stage));
    return static_cast<uint32_t>(stages_.size() - 1);
  }

  std::vector<Pipeline> stages_;
  std::map<const QueryNode*, uint32_t> shared_;  // by what is shared: the stage that gives it
};

}  // namespace

Query cut(const QueryNode& root) { return Cutter().run(root); }

}  // namespace basalt
