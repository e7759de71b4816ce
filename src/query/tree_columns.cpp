#include "query/tree_columns.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "exec/evaluate.h"

namespace basalt {

namespace {

using Places = std::vector<uint32_t>;

Places unchanged(size_t count) {
  Places places(count);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

// Keeps the elements that are wanted.
template <typename T>
void keep(std::vector<T>& elements, const std::vector<bool>& wanted) {
  size_t kept = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!wanted[i]) continue;
    if (kept != i) elements[kept] = std::move(elements[i]);
    ++kept;
  }
  elements.resize(kept);
}

Places places_of(const std::vector<bool>& wanted) {
  Places places;
  uint32_t next = 0;
  for (const bool one : wanted) places.push_back(one ? next++ : kLeftOut);
  return places;
}

Places keep_columns_of_scan(QueryNode& scan, const std::vector<bool>& wanted) {
  keep(scan.columns, wanted);
  keep(scan.output, wanted);
  return places_of(wanted);
}

Places keep_columns_of_projection(QueryNode& projection, const std::vector<bool>& wanted) {
  keep(projection.exprs, wanted);
  keep(projection.output, wanted);
  QueryNode& input = projection.inputs[0];
  std::vector<bool> below(input.output.size());
  for (const Expr& expr : projection.exprs) mark_columns(expr, below);
  const Places places = keep_columns(input, std::move(below));
  for (Expr& expr : projection.exprs) move_columns(expr, places);
  return places_of(wanted);
}

Places keep_columns_of_filter(QueryNode& filter, std::vector<bool> wanted) {
  mark_columns(filter.predicate, wanted);
  Places places = keep_columns(filter.inputs[0], std::move(wanted));
  move_columns(filter.predicate, places);
  filter.output = filter.inputs[0].output;
  return places;
}

// How many columns of its second input a join gives.
size_t columns_of_second(const QueryNode& join) {
  const bool answers = join.join == JoinKind::kSemi || join.join == JoinKind::kAnti || join.join == JoinKind::kMark;
  return answers ? 0 : join.inputs[1].output.size();
}

Places keep_columns_of_join(QueryNode& join, const std::vector<bool>& wanted) {
  const size_t of_first = join.inputs[0].output.size();
  const size_t of_second = join.inputs[1].output.size();
  std::vector<bool> all(of_first + of_second);
  const size_t shown = of_first + columns_of_second(join);
  for (size_t i = 0; i < shown; ++i) all[i] = wanted[i];
  if (join.residual) mark_columns(*join.residual, all);
  std::vector<bool> first(all.begin(), all.begin() + static_cast<ptrdiff_t>(of_first));
  std::vector<bool> second(all.begin() + static_cast<ptrdiff_t>(of_first), all.end());
  for (const JoinKey& key : join.join_keys) {
    mark_columns(key.probe, first);
    mark_columns(key.build, second);
  }
  Places places = keep_columns(join.inputs[0], std::move(first));
  const Places places_of_second = keep_columns(join.inputs[1], std::move(second));
  for (JoinKey& key : join.join_keys) {
    move_columns(key.probe, places);
    move_columns(key.build, places_of_second);
  }
  const auto kept_of_first = static_cast<uint32_t>(join.inputs[0].output.size());
  for (const uint32_t place : places_of_second) {
    places.push_back(place == kLeftOut ? kLeftOut : kept_of_first + place);
  }
  if (join.residual) move_columns(*join.residual, places);
  const std::vector<Field> before = std::exchange(join.output, {});
  places.resize(shown);
  join.output.resize(kept_of_first + columns_of_second(join));
  for (size_t i = 0; i < shown; ++i) {
    if (places[i] != kLeftOut) join.output[places[i]] = before[i];
  }
  for (size_t i = shown; i < before.size(); ++i) {  // a mark
    places.push_back(static_cast<uint32_t>(join.output.size()));
    join.output.push_back(before[i]);
  }
  return places;
}

}  // namespace

void mark_columns(const Expr& expr, std::vector<bool>& columns) {
  for (const uint32_t column : exec::columns_of(expr)) columns.at(column) = true;
}

void move_columns(Expr& expr, const std::vector<uint32_t>& places) {
  if (expr.op == ExprOp::kColumn) expr.column = places.at(expr.column);
  for (Expr& arg : expr.args) move_columns(arg, places);
}

std::vector<uint32_t> keep_columns(QueryNode& node, std::vector<bool> wanted) {
  // Rows without columns could not be counted.
  if (!wanted.empty() && std::ranges::find(wanted, true) == wanted.end()) wanted.front() = true;
  switch (node.op) {
    case QueryOp::kScan: return keep_columns_of_scan(node, wanted);
    case QueryOp::kProject: return keep_columns_of_projection(node, wanted);
    case QueryOp::kFilter: return keep_columns_of_filter(node, std::move(wanted));
    case QueryOp::kJoin: return keep_columns_of_join(node, wanted);
    default: return unchanged(node.output.size());
  }
}

}  // namespace basalt
