// Trees of queries, as tests write them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "basalt/exec/expressions.h"
#include "basalt/query/tree.h"

namespace basalt::test {

inline Field field(const std::string& name, DataType type = DataType::bigint()) {
  Field out;
  out.name = name;
  out.type = type;
  return out;
}

inline Expr place(uint32_t column, Physical type = Physical::kI64) {
  Expr expr;
  expr.op = ExprOp::kColumn;
  expr.type = type;
  expr.column = column;
  return expr;
}

inline Expr binary(ExprOp op, Expr a, Expr b, Physical type = Physical::kI64) {
  Expr expr;
  expr.op = op;
  expr.type = type;
  expr.args = {std::move(a), std::move(b)};
  return expr;
}

inline Expr more_than(uint32_t column, int64_t bound) {
  return binary(ExprOp::kGreater, place(column), literal(bound), Physical::kU8);
}

inline QueryNode scan() {
  QueryNode node;
  node.files.push_back(nullptr);  // never opened
  for (const char* name : {"a", "b", "c", "d"}) {
    node.columns.push_back({static_cast<uint32_t>(node.columns.size()), name, DataType::bigint()});
    node.output.push_back(field(name));
  }
  return node;
}

inline QueryNode over(QueryOp op, QueryNode input) {
  QueryNode node;
  node.op = op;
  node.output = input.output;
  node.inputs.push_back(std::move(input));
  return node;
}

inline QueryNode filter(QueryNode input, Expr predicate) {
  QueryNode node = over(QueryOp::kFilter, std::move(input));
  node.predicate = std::move(predicate);
  return node;
}

inline QueryNode project(QueryNode input, std::vector<Expr> exprs, const std::vector<std::string>& names) {
  QueryNode node = over(QueryOp::kProject, std::move(input));
  node.exprs = std::move(exprs);
  node.output.clear();
  for (const std::string& name : names) node.output.push_back(field(name));
  return node;
}

inline QueryNode groups(QueryNode input, std::vector<Expr> keys, std::vector<Aggregate> aggregates) {
  QueryNode node = over(QueryOp::kAggregate, std::move(input));
  node.output.clear();
  for (size_t i = 0; i < keys.size(); ++i) node.output.push_back(field("key" + std::to_string(i)));
  for (size_t i = 0; i < aggregates.size(); ++i) node.output.push_back(field("value" + std::to_string(i)));
  node.keys = std::move(keys);
  node.aggregates = std::move(aggregates);
  return node;
}

inline QueryNode sorted(QueryNode input, std::vector<SortKey> order, uint64_t limit = kAllRows) {
  QueryNode node = over(QueryOp::kSort, std::move(input));
  node.order = std::move(order);
  node.limit = limit;
  return node;
}

inline QueryNode limited(QueryNode input, uint64_t limit, uint64_t offset = 0) {
  QueryNode node = over(QueryOp::kLimit, std::move(input));
  node.limit = limit;
  node.offset = offset;
  return node;
}

inline QueryNode joined(JoinKind kind, QueryNode first, QueryNode second, std::vector<JoinKey> keys) {
  QueryNode node;
  node.op = QueryOp::kJoin;
  node.join = kind;
  node.output = first.output;
  if (kind == JoinKind::kMark) {
    node.output.push_back(field("mark", DataType{TypeKind::kBool}));
  } else if (kind != JoinKind::kSemi && kind != JoinKind::kAnti) {
    node.output.insert(node.output.end(), second.output.begin(), second.output.end());
  }
  node.inputs.push_back(std::move(first));
  node.inputs.push_back(std::move(second));
  node.join_keys = std::move(keys);
  return node;
}

inline JoinKey same(uint32_t first, uint32_t second, bool nulls_equal = false) {
  return {place(first), place(second), nulls_equal};
}

inline QueryNode shared(const std::shared_ptr<const QueryNode>& what) {
  QueryNode node;
  node.op = QueryOp::kShared;
  node.output = what->output;
  node.shared = what;
  return node;
}

}  // namespace basalt::test
