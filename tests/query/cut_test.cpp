// Trees as text, and the stages that they are cut into. No file is read: what a scan gives is its columns' names.
#include <gtest/gtest.h>

#include "basalt/exec/expressions.h"
#include "basalt/query/tree.h"

namespace basalt {
namespace {

Field field(const std::string& name, DataType type = DataType::bigint()) {
  Field out;
  out.name = name;
  out.type = type;
  return out;
}

Expr place(uint32_t column, Physical type = Physical::kI64) {
  Expr expr;
  expr.op = ExprOp::kColumn;
  expr.type = type;
  expr.column = column;
  return expr;
}

Expr binary(ExprOp op, Expr a, Expr b, Physical type = Physical::kI64) {
  Expr expr;
  expr.op = op;
  expr.type = type;
  expr.args = {std::move(a), std::move(b)};
  return expr;
}

Expr more_than(uint32_t column, int64_t bound) {
  return binary(ExprOp::kGreater, place(column), literal(bound), Physical::kU8);
}

QueryNode scan() {
  QueryNode node;
  node.files.push_back(nullptr);  // never opened
  for (const char* name : {"a", "b", "c", "d"}) {
    node.columns.push_back({static_cast<uint32_t>(node.columns.size()), name, DataType::bigint()});
    node.output.push_back(field(name));
  }
  return node;
}

QueryNode over(QueryOp op, QueryNode input) {
  QueryNode node;
  node.op = op;
  node.output = input.output;
  node.inputs.push_back(std::move(input));
  return node;
}

QueryNode filter(QueryNode input, Expr predicate) {
  QueryNode node = over(QueryOp::kFilter, std::move(input));
  node.predicate = std::move(predicate);
  return node;
}

QueryNode project(QueryNode input, std::vector<Expr> exprs, const std::vector<std::string>& names) {
  QueryNode node = over(QueryOp::kProject, std::move(input));
  node.exprs = std::move(exprs);
  node.output.clear();
  for (const std::string& name : names) node.output.push_back(field(name));
  return node;
}

QueryNode groups(QueryNode input, std::vector<Expr> keys, std::vector<Aggregate> aggregates) {
  QueryNode node = over(QueryOp::kAggregate, std::move(input));
  node.output.clear();
  for (size_t i = 0; i < keys.size(); ++i) node.output.push_back(field("key" + std::to_string(i)));
  for (size_t i = 0; i < aggregates.size(); ++i) node.output.push_back(field("value" + std::to_string(i)));
  node.keys = std::move(keys);
  node.aggregates = std::move(aggregates);
  return node;
}

QueryNode sorted(QueryNode input, std::vector<SortKey> order, uint64_t limit = kAllRows) {
  QueryNode node = over(QueryOp::kSort, std::move(input));
  node.order = std::move(order);
  node.limit = limit;
  return node;
}

QueryNode limited(QueryNode input, uint64_t limit, uint64_t offset = 0) {
  QueryNode node = over(QueryOp::kLimit, std::move(input));
  node.limit = limit;
  node.offset = offset;
  return node;
}

TEST(Tree, PrintsTheLastOperationFirst) {
  const QueryNode tree = sorted(groups(filter(scan(), more_than(1, 5)), {place(0)}, {count_rows(), sum(place(2))}),
                                {{1, true, false}}, 10);
  EXPECT_EQ(to_string(tree),
            "sort by value0 desc limit 10\n"
            "  groups by a: count(*), sum(c)\n"
            "    filter b > 5\n"
            "      scan a, b, c, d\n");
}

TEST(Cut, MergesFiltersAndProjectionsIntoTheStageThatNeedsThem) {
  QueryNode tree = filter(scan(), more_than(1, 5));
  tree = project(std::move(tree), {binary(ExprOp::kAdd, place(0), place(1)), place(2)}, {"s", "c"});
  tree = filter(std::move(tree), more_than(0, 7));
  tree = groups(std::move(tree), {place(1)}, {sum(place(0))});
  EXPECT_EQ(to_string(cut(tree)), "groups by c: sum(a + b) where (b > 5) AND ((a + b) > 7)\n");
}

TEST(Cut, ReadsOnlyColumnsThatAreUsed) {
  const Query query = cut(groups(scan(), {place(3)}, {max(place(1))}));
  ASSERT_EQ(query.stages.size(), 1u);
  ASSERT_EQ(query.stages[0].columns.size(), 2u);
  EXPECT_EQ(query.stages[0].columns[0].name, "b");
  EXPECT_EQ(query.stages[0].columns[1].name, "d");
  EXPECT_EQ(to_string(query), "groups by d: max(b)\n");
}

TEST(Cut, EndsAStageAtEveryAggregateAndOrder) {
  QueryNode tree = groups(scan(), {place(0)}, {count_rows()});
  tree = filter(std::move(tree), more_than(1, 100));
  tree = sorted(std::move(tree), {{1, true, true}}, 3);
  tree = project(std::move(tree), {place(1)}, {"n"});
  EXPECT_EQ(to_string(cut(tree)),
            "groups by a: count(*)\n"
            "rows of key0, value0 sorted by value0 desc nulls first limit 3 where value0 > 100\n"
            "rows of value0\n");
}

TEST(Cut, GroupsAreToldWhichOfThemAreWanted) {
  QueryNode tree = groups(scan(), {place(0)}, {count_rows()});
  EXPECT_EQ(to_string(cut(sorted(tree, {{1, true, false}, {0, false, false}}, 10))),
            "groups by a: count(*), only the first 10 by value0 desc and their equals\n"
            "rows of key0, value0 sorted by value0 desc, key0 limit 10\n");
  EXPECT_EQ(to_string(cut(limited(tree, 5, 2))),
            "groups by a: count(*), only the first 7\n"
            "rows of key0, value0 limit 5 offset 2\n");
  // An expression raises errors for groups behind the limit, too.
  EXPECT_EQ(
      to_string(cut(sorted(project(tree, {place(0), binary(ExprOp::kAdd, place(1), literal(int64_t{1}))}, {"a", "n"}),
                           {{0, false, false}}, 10))),
      "groups by a: count(*)\n"
      "rows of key0, value0 + 1 sorted by a limit 10\n");
  // A filter may drop the first ones.
  EXPECT_EQ(to_string(cut(sorted(filter(tree, more_than(0, 3)), {{1, true, false}}, 10))),
            "groups by a: count(*)\n"
            "rows of key0, value0 sorted by value0 desc limit 10 where key0 > 3\n");
}

TEST(Cut, ALimitEndsTheOrderBelowIt) {
  EXPECT_EQ(to_string(cut(limited(sorted(scan(), {{0, false, false}}), 5, 2))),
            "rows of a, b, c, d sorted by a limit 5 offset 2\n");
  EXPECT_EQ(to_string(cut(limited(scan(), 5))), "rows of a, b, c, d limit 5\n");
  // Not where something lies between.
  EXPECT_EQ(to_string(cut(limited(filter(sorted(scan(), {{0, false, false}}), more_than(0, 1)), 5))),
            "rows of a, b, c, d sorted by a\nrows of a, b, c, d limit 5 where a > 1\n");
}

TEST(Cut, DistinctIsGroupsWithoutAggregates) {
  EXPECT_EQ(to_string(cut(groups(project(scan(), {place(2), place(0)}, {"x", "y"}), {place(0), place(1)}, {}))),
            "groups by c, a\n");
}

TEST(Cut, KeepsWhatAnAggregateCounts) {
  Aggregate some = count(place(1));
  some.distinct = true;
  some.filter = more_than(2, 0);
  EXPECT_EQ(to_string(cut(groups(scan(), {}, {some}))), "totals: count(DISTINCT b) FILTER (c > 0)\n");
}

}  // namespace
}  // namespace basalt
