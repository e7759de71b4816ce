#include "query/late_keys.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "basalt/exec/expressions.h"
#include "exec/join_kind.h"
#include "query/table_facts.h"
#include "query/tree_columns.h"

namespace basalt {

namespace {

// More groups than that are as well fetched with their texts.
constexpr uint64_t kFewGroups = 1 << 16;
// What is worth one more stage: texts of a group, on average, and of all rows of their tables.
constexpr double kLongTexts = 64;
constexpr double kMuchText = 1 << 20;
// A table of so few rows is looked up, a larger one looks up the groups.
constexpr uint64_t kSmallTable = 1 << 16;

// A column of a table, by one scan of it.
struct Origin {
  const QueryNode* scan = nullptr;
  uint32_t column = 0;

  auto operator<=>(const Origin&) const = default;
};

// Where a node's columns come from, and which of the columns below it are equal in all of its rows. Every row of the
// node has one row of each scan that occurs here.
struct Origins {
  std::vector<std::optional<Origin>> columns;
  std::vector<std::pair<Origin, Origin>> equal;
};

std::optional<Origin> origin_of(const Expr& expr, const Origins& origins) {
  return expr.op == ExprOp::kColumn ? origins.columns.at(expr.column) : std::nullopt;
}

Origins origins_of(const QueryNode& node) {
  Origins out;
  if (node.op == QueryOp::kScan) {
    for (uint32_t i = 0; i < node.columns.size(); ++i) out.columns.emplace_back(Origin{&node, i});
    return out;
  }
  if (node.inputs.empty() || node.op == QueryOp::kUnion) {
    out.columns.resize(node.output.size());
    return out;
  }
  out = origins_of(node.inputs[0]);
  switch (node.op) {
    case QueryOp::kProject: {
      std::vector<std::optional<Origin>> columns;
      for (const Expr& expr : node.exprs) columns.push_back(origin_of(expr, out));
      out.columns = std::move(columns);
      break;
    }
    case QueryOp::kAggregate: {
      std::vector<std::optional<Origin>> columns;
      for (const Expr& key : node.keys) columns.push_back(origin_of(key, out));
      // Groups are of many rows of the scans that no key comes from.
      out.columns = std::move(columns);
      out.equal.clear();
      break;
    }
    case QueryOp::kJoin: {
      if (exec::keeps_second(node.join)) {
        out = {};
      } else if (node.join == JoinKind::kInner) {
        const Origins second = origins_of(node.inputs[1]);
        for (const JoinKey& key : node.join_keys) {
          const auto a = origin_of(key.probe, out);
          const auto b = origin_of(key.build, second);
          if (a && b) out.equal.emplace_back(*a, *b);
        }
        out.columns.insert(out.columns.end(), second.columns.begin(), second.columns.end());
        out.equal.insert(out.equal.end(), second.equal.begin(), second.equal.end());
      }
      break;
    }
    default: break;
  }
  out.columns.resize(node.output.size());
  return out;
}

// A table of which each group has one row: that where the column `unique` is what a key is, or a column of a table that
// is known by then.
struct KnownTable {
  const QueryNode* scan = nullptr;
  uint32_t unique = 0;
  size_t key = 0;              // unless `from` says otherwise
  std::optional<Origin> from;  // of another such table
};

bool is_text(const Expr& key) { return key.type == Physical::kBytes; }

// Whether a table can be found by the column: joins by floats and texts cost more than they save.
bool is_found_by(const Origin& origin) {
  const Physical type = physical_of(origin.scan->columns[origin.column].type);
  return width_of(type) != 0 && !is_float(type) && is_unique(*origin.scan, origin.column);
}

// Which keys of groups others decide. `asked`: the columns of the groups that something asks for before few are left.
class DecidedKeys {
 public:
  DecidedKeys(const QueryNode& groups, const std::vector<bool>& asked)
      : groups_(groups), origins_(origins_of(groups.inputs[0])) {
    for (const Expr& key : groups.keys) keys_.push_back(origin_of(key, origins_));
    find_known_tables();
    late_.resize(keys_.size());
    double of_group = 0;
    double of_tables = 0;
    for (size_t i = 0; i < keys_.size(); ++i) {
      const KnownTable* table = is_text(groups.keys[i]) && keys_[i] && !asked[i] ? known(keys_[i]->scan) : nullptr;
      if (table == nullptr) continue;
      late_[i] = true;
      const double bytes = bytes_of_value(*keys_[i]->scan, keys_[i]->column);
      of_group += bytes;
      of_tables += bytes * static_cast<double>(rows_of(*keys_[i]->scan));
      need(*table);
    }
    is_worth_it_ = of_group >= kLongTexts && of_tables >= kMuchText;
    // What else the tables have that are read again anyway.
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] && needed_.contains(keys_[i]->scan) && !deciding_.contains(i) && !asked[i]) late_[i] = true;
    }
  }

  bool is_worth_it() const { return is_worth_it_; }
  bool is_late(size_t key) const { return late_[key]; }
  bool decides(size_t key) const { return deciding_.contains(key); }
  const Origin& origin(size_t key) const { return *keys_[key]; }

  // Those that are read again, each behind the one that it is found by.
  std::vector<KnownTable> tables() const {
    std::vector<KnownTable> out;
    for (const KnownTable& table : known_) {
      if (needed_.contains(table.scan)) out.push_back(table);
    }
    return out;
  }

 private:
  struct KnownColumn {
    Origin origin;
    size_t key = 0;
    bool of_table = false;
  };

  void find_known_tables() {
    std::vector<KnownColumn> columns;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] && !is_text(groups_.keys[i])) columns.push_back({*keys_[i], i, false});
    }
    for (size_t next = 0; next < columns.size(); ++next) {
      const KnownColumn column = columns[next];
      for (const Origin& same : equals_of(column.origin)) {
        if (known(same.scan) != nullptr || !is_found_by(same)) continue;
        KnownTable table{same.scan, same.column, column.key, {}};
        if (column.of_table) table.from = column.origin;
        known_.push_back(table);
        for (uint32_t i = 0; i < same.scan->columns.size(); ++i) columns.push_back({{same.scan, i}, 0, true});
      }
    }
  }

  // A column and those that are equal to it in every row.
  std::vector<Origin> equals_of(const Origin& column) const {
    std::vector<Origin> out{column};
    const auto add = [&](const Origin& one) {
      if (std::ranges::find(out, one) == out.end()) out.push_back(one);
    };
    for (size_t next = 0; next < out.size(); ++next) {
      for (const auto& [a, b] : origins_.equal) {
        const Origin one = out[next];
        if (a == one) add(b);
        if (b == one) add(a);
      }
    }
    return out;
  }

  const KnownTable* known(const QueryNode* scan) const {
    const auto found = std::ranges::find(known_, scan, &KnownTable::scan);
    return found == known_.end() ? nullptr : &*found;
  }

  void need(const KnownTable& table) {
    if (!needed_.insert(table.scan).second) return;
    if (table.from) {
      need(*known(table.from->scan));
    } else {
      deciding_.insert(table.key);
    }
  }

  const QueryNode& groups_;
  Origins origins_;
  std::vector<std::optional<Origin>> keys_;
  std::vector<KnownTable> known_;
  std::set<const QueryNode*> needed_;
  std::set<size_t> deciding_;
  std::vector<bool> late_;
  bool is_worth_it_ = false;
};

// A scan of some columns of a table that a tree has read already.
QueryNode scan_again(const QueryNode& table, const std::vector<uint32_t>& columns) {
  QueryNode scan;
  scan.files = table.files;
  for (const uint32_t column : columns) {
    scan.columns.push_back(table.columns[column]);
    scan.output.push_back(table.output[column]);
  }
  return scan;
}

Expr reference(const QueryNode& node, uint32_t place) {
  return column_reference(place, physical_of(node.output[place].type));
}

QueryNode inner_join(QueryNode first, uint32_t first_key, QueryNode second, uint32_t second_key) {
  QueryNode join;
  join.op = QueryOp::kJoin;
  join.join_keys.push_back({reference(first, first_key), reference(second, second_key)});
  join.output = first.output;
  join.output.insert(join.output.end(), second.output.begin(), second.output.end());
  for (Field& field : join.output) field.nullable = true;
  join.inputs.push_back(std::move(first));
  join.inputs.push_back(std::move(second));
  return join;
}

// The path from groups upwards to their order, without the keys that others decide; then these are joined to it.
class LateKeys {
 public:
  LateKeys(const QueryNode& groups, const DecidedKeys& keys) : keys_(keys), tables_(keys.tables()), node_(groups) {
    std::vector<bool> wanted(groups.inputs[0].output.size());
    QueryNode& node = node_;
    node.keys.clear();
    node.output.clear();
    for (size_t i = 0; i < groups.output.size(); ++i) {
      if (i < groups.keys.size() && keys.is_late(i)) {
        places_.push_back(kLeftOut);
        late_.push_back(keys.origin(i));
        continue;
      }
      if (i < groups.keys.size() && keys.decides(i)) deciding_[i] = static_cast<uint32_t>(node.output.size());
      places_.push_back(static_cast<uint32_t>(node.output.size()));
      late_.emplace_back();
      node.output.push_back(groups.output[i]);
      if (i < groups.keys.size()) node.keys.push_back(groups.keys[i]);
    }
    for (const Expr& key : node.keys) mark_columns(key, wanted);
    for (const Aggregate& aggregate : node.aggregates) {
      if (aggregate.op != AggregateOp::kCountStar) mark_columns(aggregate.arg, wanted);
      if (aggregate.filter) mark_columns(*aggregate.filter, wanted);
    }
    const std::vector<uint32_t> places = keep_columns(node.inputs[0], std::move(wanted));
    for (Expr& key : node.keys) move_columns(key, places);
    for (Aggregate& aggregate : node.aggregates) {
      if (aggregate.op != AggregateOp::kCountStar) move_columns(aggregate.arg, places);
      if (aggregate.filter) move_columns(*aggregate.filter, places);
    }
  }

  // Goes on with what lies over the path and asks for no late key.
  void take(const QueryNode& next) {
    switch (next.op) {
      case QueryOp::kFilter: return take_filter(next);
      case QueryOp::kProject: return take_projection(next);
      default: return take_order(next);
    }
  }

  // With all columns, in the order that was asked for.
  QueryNode joined(const QueryNode& order) && {
    for (const KnownTable& table : tables_) join(table);
    QueryNode rows;
    rows.op = QueryOp::kProject;
    rows.output = order.output;
    for (uint32_t i = 0; i < order.output.size(); ++i) rows.exprs.push_back(reference(node_, place_of(i)));
    rows.inputs.push_back(std::move(node_));
    QueryNode sorted;
    sorted.op = QueryOp::kSort;
    sorted.order = order.order;
    sorted.output = order.output;
    sorted.inputs.push_back(std::move(rows));
    return sorted;
  }

 private:
  bool is_late(const Expr& expr) const { return expr.op == ExprOp::kColumn && places_.at(expr.column) == kLeftOut; }

  QueryNode over_path(const QueryNode& next) {
    QueryNode node;
    node.op = next.op;
    node.output = node_.output;
    node.inputs.push_back(std::move(node_));
    return node;
  }

  void take_filter(const QueryNode& next) {
    QueryNode filter = over_path(next);
    filter.predicate = next.predicate;
    move_columns(filter.predicate, places_);
    node_ = std::move(filter);
  }

  void take_projection(const QueryNode& next) {
    QueryNode projection;
    projection.op = QueryOp::kProject;
    std::vector<uint32_t> places;
    std::vector<std::optional<Origin>> late;
    for (size_t i = 0; i < next.exprs.size(); ++i) {
      Expr expr = next.exprs[i];
      if (is_late(expr)) {
        places.push_back(kLeftOut);
        late.push_back(late_[expr.column]);
        continue;
      }
      move_columns(expr, places_);
      places.push_back(static_cast<uint32_t>(projection.exprs.size()));
      late.emplace_back();
      projection.exprs.push_back(std::move(expr));
      projection.output.push_back(next.output[i]);
    }
    for (auto& [key, place] : deciding_) {
      projection.exprs.push_back(reference(node_, place));
      projection.output.push_back(node_.output[place]);
      place = static_cast<uint32_t>(projection.exprs.size() - 1);
    }
    projection.inputs.push_back(std::move(node_));
    node_ = std::move(projection);
    places_ = std::move(places);
    late_ = std::move(late);
  }

  void take_order(const QueryNode& next) {
    QueryNode order = over_path(next);
    order.order = next.order;
    for (SortKey& key : order.order) key.column = places_.at(key.column);
    order.limit = next.limit;
    order.offset = next.offset;
    node_ = std::move(order);
  }

  // The columns of a table that leave, or that another one is found by.
  std::vector<uint32_t> wanted_of(const KnownTable& table) const {
    std::set<uint32_t> columns{table.unique};
    for (const std::optional<Origin>& origin : late_) {
      if (origin && origin->scan == table.scan) columns.insert(origin->column);
    }
    for (const KnownTable& other : tables_) {
      if (other.from && other.from->scan == table.scan) columns.insert(other.from->column);
    }
    return {columns.begin(), columns.end()};
  }

  void join(const KnownTable& table) {
    const std::vector<uint32_t> columns = wanted_of(table);
    QueryNode scan = scan_again(*table.scan, columns);
    const uint32_t known = table.from ? fetched_.at(*table.from) : before_ + deciding_.at(table.key);
    const auto unique = static_cast<uint32_t>(std::ranges::find(columns, table.unique) - columns.begin());
    const bool small = rows_of(scan) <= kSmallTable;
    const auto of_path = static_cast<uint32_t>(node_.output.size());
    const auto of_scan = static_cast<uint32_t>(columns.size());
    if (small) {
      node_ = inner_join(std::move(node_), known, std::move(scan), unique);
    } else {
      node_ = inner_join(std::move(scan), unique, std::move(node_), known);
      before_ += of_scan;
      for (auto& [origin, place] : fetched_) place += of_scan;
    }
    for (uint32_t i = 0; i < of_scan; ++i) fetched_[{table.scan, columns[i]}] = (small ? of_path : 0) + i;
  }

  // Where a column of the order lies behind the joins.
  uint32_t place_of(uint32_t column) const {
    return late_[column] ? fetched_.at(*late_[column]) : before_ + places_[column];
  }

  const DecidedKeys& keys_;
  std::vector<KnownTable> tables_;
  QueryNode node_;
  std::vector<uint32_t> places_;             // by column of the path as it was: where it is now
  std::vector<std::optional<Origin>> late_;  // or where it comes from
  std::map<size_t, uint32_t> deciding_;      // by key: its place in the path
  uint32_t before_ = 0;                      // columns before those of the path, behind the joins
  std::map<Origin, uint32_t> fetched_;       // places of columns of tables
};

bool has_join(const QueryNode& node) { return node.op == QueryOp::kJoin || std::ranges::any_of(node.inputs, has_join); }

// The columns of the last node that the others ask for, but for handing them on.
std::vector<bool> asked_for(const std::vector<const QueryNode*>& path) {
  std::vector<bool> asked(path.front()->output.size());
  for (const QueryNode* node : path) {
    switch (node->op) {
      case QueryOp::kSort:
        for (const SortKey& key : node->order) asked[key.column] = true;
        break;
      case QueryOp::kFilter: mark_columns(node->predicate, asked); break;
      case QueryOp::kProject: {
        std::vector<bool> below(node->inputs[0].output.size());
        for (size_t i = 0; i < node->exprs.size(); ++i) {
          if (asked[i] || node->exprs[i].op != ExprOp::kColumn) mark_columns(node->exprs[i], below);
        }
        asked = std::move(below);
        break;
      }
      default: break;
    }
  }
  return asked;
}

// The same rows as `order` gives; nothing where they need not be had in another way.
std::optional<QueryNode> with_late_keys(const QueryNode& order) {
  std::vector<const QueryNode*> path{&order};
  do {
    path.push_back(&path.back()->inputs[0]);
  } while (path.back()->op == QueryOp::kProject || path.back()->op == QueryOp::kFilter);
  const QueryNode& groups = *path.back();
  if (groups.op != QueryOp::kAggregate || groups.keys.size() < 2 || !has_join(groups.inputs[0])) return std::nullopt;
  const DecidedKeys keys(groups, asked_for(path));
  if (!keys.is_worth_it()) return std::nullopt;
  LateKeys late(groups, keys);
  path.pop_back();
  for (; !path.empty(); path.pop_back()) late.take(*path.back());
  return std::move(late).joined(order);
}

// Where DuckDB does not know the number of rows, it does not make one operation of the two.
bool limits_order(const QueryNode& node) {
  if (node.op != QueryOp::kLimit || node.inputs[0].op != QueryOp::kSort) return false;
  return node.inputs[0].limit == kAllRows && node.inputs[0].offset == 0;
}

}  // namespace

bool fetch_decided_keys(QueryNode& root) {
  bool changed = false;
  for (QueryNode& input : root.inputs) changed = fetch_decided_keys(input) || changed;
  if (limits_order(root)) {
    QueryNode order = std::move(root.inputs[0]);
    order.limit = root.limit;
    order.offset = root.offset;
    root = std::move(order);
  }
  if (root.op != QueryOp::kSort || root.limit > kFewGroups) return changed;
  std::optional<QueryNode> late = with_late_keys(root);
  if (!late) return changed;
  root = *std::move(late);
  return true;
}

}  // namespace basalt
