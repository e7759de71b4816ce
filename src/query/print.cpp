// Trees and stages as text.
#include "basalt/query/tree.h"
#include "exec/join_kind.h"

namespace basalt {

namespace {

using Names = std::vector<std::string>;

Names names_of(const std::vector<Field>& fields) {
  Names names;
  for (const Field& field : fields) names.push_back(field.name);
  return names;
}

Names names_of(const std::vector<PipelineColumn>& columns) {
  Names names;
  for (const PipelineColumn& column : columns) names.push_back(column.name);
  return names;
}

std::string list(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string list(const std::vector<Expr>& exprs, const Names& names) {
  std::vector<std::string> parts;
  for (const Expr& expr : exprs) parts.push_back(to_string(expr, names));
  return list(parts);
}

std::string text(const Aggregate& aggregate, const Names& names) {
  std::string out = std::string(to_string(aggregate.op)) + "(";
  if (aggregate.distinct) out += "DISTINCT ";
  out += aggregate.op == AggregateOp::kCountStar ? "*" : to_string(aggregate.arg, names);
  out += ")";
  if (aggregate.filter) out += " FILTER (" + to_string(*aggregate.filter, names) + ")";
  return out;
}

std::string list(const std::vector<Aggregate>& aggregates, const Names& names) {
  std::vector<std::string> parts;
  for (const Aggregate& aggregate : aggregates) parts.push_back(text(aggregate, names));
  return list(parts);
}

std::string order_text(const std::vector<SortKey>& order, const Names& names) {
  std::vector<std::string> parts;
  for (const SortKey& key : order) {
    parts.push_back(names.at(key.column) + (key.descending ? " desc" : "") + (key.nulls_first ? " nulls first" : ""));
  }
  return list(parts);
}

std::string limit_text(uint64_t limit, uint64_t offset) {
  std::string out;
  if (limit != kAllRows) out += " limit " + std::to_string(limit);
  if (offset != 0) out += " offset " + std::to_string(offset);
  return out;
}

const char* text(WindowOp op) {
  switch (op) {
    case WindowOp::kRowNumber: return "row_number";
    case WindowOp::kRank: return "rank";
    case WindowOp::kDenseRank: return "dense_rank";
    case WindowOp::kPercentRank: return "percent_rank";
    case WindowOp::kCumeDist: return "cume_dist";
    case WindowOp::kLag: return "lag";
    case WindowOp::kLead: return "lead";
    case WindowOp::kFirstValue: return "first_value";
    case WindowOp::kLastValue: return "last_value";
    case WindowOp::kAggregate: return "aggregate";
  }
  return "?";
}

// "sum(a) over (partition by b order by c desc)"
std::string text(const WindowFunction& function, const Names& names) {
  std::vector<std::string> arguments;
  for (const uint32_t column : function.arguments) arguments.push_back(names.at(column));
  std::string out = function.op == WindowOp::kAggregate ? text(function.aggregate, names)
                                                        : std::string(text(function.op)) + "(" + list(arguments) + ")";
  std::vector<std::string> partition;
  for (const uint32_t column : function.partition) partition.push_back(names.at(column));
  out += " over (";
  if (!partition.empty()) out += "partition by " + list(partition);
  if (!function.order.empty()) {
    out += (partition.empty() ? "order by " : " order by ") + order_text(function.order, names);
  }
  return out + ")";
}

std::string list(const std::vector<WindowFunction>& functions, const Names& names) {
  std::vector<std::string> parts;
  for (const WindowFunction& function : functions) parts.push_back(text(function, names));
  return list(parts);
}

std::string groups_text(const std::vector<Expr>& keys, const std::vector<Aggregate>& aggregates, const Names& names) {
  std::string out = keys.empty() ? "totals" : "groups by " + list(keys, names);
  if (!aggregates.empty()) out += ": " + list(aggregates, names);
  return out;
}

// " on a = x and b is y if c > z": keys that match where both are NULL, too, are the one what the other is.
std::string conditions_text(const std::vector<JoinKey>& keys, const std::optional<Expr>& residual, const Names& first,
                            const Names& second, const Names& all) {
  std::string out;
  for (const JoinKey& key : keys) {
    out += (out.empty() ? " on " : " and ") + to_string(key.probe, first) + (key.nulls_equal ? " is " : " = ") +
           to_string(key.build, second);
  }
  if (residual) out += " if " + to_string(*residual, all);
  return out;
}

Names joined(Names first, const Names& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string line(const QueryNode& node) {
  const Names names = node.inputs.empty() ? Names{} : names_of(node.inputs[0].output);
  switch (node.op) {
    case QueryOp::kScan: return "scan " + list(names_of(node.columns));
    case QueryOp::kFilter: return "filter " + to_string(node.predicate, names);
    case QueryOp::kProject: return "project " + list(node.exprs, names);
    case QueryOp::kAggregate: return groups_text(node.keys, node.aggregates, names);
    case QueryOp::kSort: return "sort by " + order_text(node.order, names) + limit_text(node.limit, node.offset);
    case QueryOp::kLimit: return "rows" + limit_text(node.limit, node.offset);
    case QueryOp::kJoin: {
      const Names second = names_of(node.inputs.at(1).output);
      return exec::name_of(node.join) +
             conditions_text(node.join_keys, node.residual, names, second, joined(names, second));
    }
    case QueryOp::kUnion: return "union";
    case QueryOp::kShared: return "shared " + list(names_of(node.shared->output));
    case QueryOp::kWindow: return "windows " + list(node.windows, names);
    case QueryOp::kConstants: return "constants " + list(names_of(node.output));
    case QueryOp::kOnlyRow: return "the only row";
  }
  return "?";
}

void print(const QueryNode& node, size_t depth, std::string& out) {
  out += std::string(2 * depth, ' ') + line(node) + "\n";
  for (const QueryNode& input : node.inputs) print(input, depth + 1, out);
  if (node.shared != nullptr) print(*node.shared, depth + 1, out);
}

std::string line(const Query& query, size_t place) {
  const Pipeline& stage = query.stages[place];
  const Names names = names_of(columns_behind_steps(stage));
  std::string out = stage.sink == Sink::kRows ? "rows of " + list(stage.rows, names)
                                              : groups_text(stage.keys, stage.aggregates, names);
  if (stage.first.count != kAllRows) {
    out += ", only the first " + std::to_string(stage.first.count);
    if (stage.first.by) out += " by " + order_text({*stage.first.by}, names_of(stage.output));
    if (stage.first.ties) out += " and their equals";
  }
  if (!stage.windows.empty()) out += ", then " + list(stage.windows, names_of(stage.output));
  if (stage.at_most_one) out += ", one at most";
  if (!stage.order.empty()) out += " sorted by " + order_text(stage.order, names_of(stage.output));
  out += limit_text(stage.limit, stage.offset);
  std::vector<std::string> sources;
  for (const uint32_t source : stage.sources) sources.push_back(std::to_string(source));
  if (!sources.empty()) out += " from " + list(sources);
  if (stage.has_filter) out += " where " + to_string(stage.filter, names_of(stage.columns));
  for (size_t i = 0; i < stage.steps.size(); ++i) {
    const Names before = names_of(columns_behind(stage, i));
    if (const auto* filter = std::get_if<FilterStep>(&stage.steps[i])) {
      out += ", then where " + to_string(filter->predicate, before);
      continue;
    }
    const Probe& probe = std::get<Probe>(stage.steps[i]);
    const Names second = names_of(query.stages.at(probe.stage).output);
    out += std::string(", then ") + exec::name_of(probe.kind) + " " + std::to_string(probe.stage) +
           conditions_text(probe.keys, probe.residual, before, second, joined(before, names_of(probe.fetched)));
  }
  return out;
}

}  // namespace

std::string to_string(const QueryNode& root) {
  std::string out;
  print(root, 0, out);
  return out;
}

std::string to_string(const Query& query) {
  const bool chain = is_chain(query);
  std::string out;
  for (size_t i = 0; i < query.stages.size(); ++i) {
    out += (chain ? "" : std::to_string(i) + ": ") + line(query, i) + "\n";
  }
  return out;
}

}  // namespace basalt
