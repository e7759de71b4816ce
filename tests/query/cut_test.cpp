// Trees as text, and the stages that they are cut into. No file is read: what a scan gives is its columns' names.
#include <gtest/gtest.h>

#include "query/trees.h"

namespace basalt::test {
namespace {

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

TEST(Cut, AJoinGoesOnWithTheStageOfItsFirstInput) {
  QueryNode tree = joined(JoinKind::kInner, filter(scan(), more_than(1, 5)), filter(scan(), more_than(2, 7)),
                          {same(0, 0), same(3, 1, true)});
  tree = groups(std::move(tree), {place(6)}, {sum(place(2))});
  EXPECT_EQ(to_string(tree),
            "groups by c: sum(c)\n"
            "  join on a = a and d is b\n"
            "    filter b > 5\n"
            "      scan a, b, c, d\n"
            "    filter c > 7\n"
            "      scan a, b, c, d\n");
  const Query query = cut(tree);
  EXPECT_EQ(to_string(query),
            "0: rows of a, b, c, d where c > 7\n"
            "1: groups by c: sum(c) where b > 5, then join 0 on a = a and d is b\n");
  EXPECT_FALSE(is_chain(query));
  EXPECT_EQ(inputs_of(query, 1), std::vector<uint32_t>{0});
  // Of four columns that are looked up, one is needed.
  const Probe& probe = std::get<Probe>(query.stages[1].steps.front());
  ASSERT_EQ(probe.fetched.size(), 1u);
  EXPECT_EQ(probe.fetched[0].field_id, 2u);
}

TEST(Cut, FiltersBehindAJoinAreStepsOfTheirOwn) {
  QueryNode tree = joined(JoinKind::kLeft, scan(), scan(), {same(0, 0)});
  tree.residual = binary(ExprOp::kLess, place(1), place(5), Physical::kU8);
  tree = filter(std::move(tree), more_than(7, 3));
  tree = joined(JoinKind::kAnti, std::move(tree), scan(), {same(6, 2)});
  EXPECT_EQ(to_string(cut(project(std::move(tree), {place(4)}, {"x"}))),
            "0: rows of a, b, c, d\n"
            "1: rows of a, b, c, d\n"
            "2: rows of a, then left join 0 on a = a if b < b, then where d > 3, then anti join 1 on c = c\n");
}

TEST(Cut, AMarkIsAColumn) {
  QueryNode tree = joined(JoinKind::kMark, scan(), groups(scan(), {place(1)}, {}), {same(0, 0)});
  Expr mark = place(4, Physical::kU8);
  EXPECT_EQ(to_string(cut(groups(filter(std::move(tree), mark), {}, {count_rows()}))),
            "0: groups by b\n"
            "1: totals: count(*), then mark join 0 on a = key0, then where mark\n");
}

// Rows of the second input that stand alone have NULLs for the columns of the first, whatever these are made of.
TEST(Cut, ExpressionsBelowARightJoinAreRows) {
  QueryNode first = project(scan(), {binary(ExprOp::kAdd, place(0), literal(int64_t{1}))}, {"next"});
  EXPECT_EQ(to_string(cut(joined(JoinKind::kRight, std::move(first), scan(), {same(0, 0)}))),
            "0: rows of a + 1\n"
            "1: rows of a, b, c, d\n"
            "2: rows of next, a, b, c, d from 0, then right join 1 on next = a\n");
}

TEST(Cut, WhatIsSharedIsComputedOnce) {
  const auto sums = std::make_shared<const QueryNode>(groups(scan(), {place(0)}, {sum(place(1))}));
  QueryNode largest = groups(shared(sums), {}, {max(place(1))});
  const QueryNode tree = joined(JoinKind::kInner, shared(sums), std::move(largest), {same(1, 0)});
  EXPECT_EQ(to_string(cut(tree)),
            "0: groups by a: sum(b)\n"
            "1: totals: max(value0)\n"
            "2: rows of key0, value0, value0 from 0, then join 1 on value0 = value0\n");
  // A limit of what is shared is not one of all who read it.
  EXPECT_EQ(to_string(cut(joined(JoinKind::kInner, shared(sums), limited(shared(sums), 5), {same(0, 0)}))),
            "0: groups by a: sum(b)\n"
            "1: rows of key0, value0 limit 5\n"
            "2: rows of key0, value0, key0, value0 from 0, then join 1 on key0 = key0\n");
}

QueryNode united(std::vector<QueryNode> inputs) {
  QueryNode tree;
  tree.op = QueryOp::kUnion;
  tree.output = inputs.front().output;
  tree.inputs = std::move(inputs);
  return tree;
}

TEST(Cut, AUnionReadsStagesOneAfterTheOther) {
  EXPECT_EQ(to_string(cut(groups(united({scan(), filter(scan(), more_than(0, 1))}), {place(0)}, {}))),
            "0: rows of a, b, c, d\n"
            "1: rows of a, b, c, d where a > 1\n"
            "2: groups by a from 0, 1\n");
}

TEST(Cut, ALimitOfAUnionIsOneOfItsInputs) {
  const auto few = std::make_shared<const QueryNode>(filter(scan(), more_than(0, 1)));
  EXPECT_EQ(
      to_string(cut(limited(united({scan(), limited(scan(), 3), united({scan(), shared(few)}), shared(few)}), 5, 2))),
      "0: rows of a, b, c, d limit 7\n"
      "1: rows of a, b, c, d limit 3\n"
      "2: rows of a, b, c, d limit 7\n"
      "3: rows of a, b, c, d where a > 1\n"
      "4: rows of a, b, c, d limit 7 from 2, 3\n"
      "5: rows of a, b, c, d limit 5 offset 2 from 0, 1, 4, 3\n");
  // Which of its rows pass the filter, the limit does not know.
  EXPECT_EQ(to_string(cut(limited(filter(united({scan(), scan()}), more_than(0, 1)), 5))),
            "0: rows of a, b, c, d\n"
            "1: rows of a, b, c, d\n"
            "2: rows of a, b, c, d limit 5 from 0, 1 where a > 1\n");
}

TEST(Cut, WindowsEndAStage) {
  QueryNode tree = over(QueryOp::kWindow, filter(scan(), more_than(1, 5)));
  WindowFunction number;
  number.partition = {2};
  number.order = {{0, true, false}};
  WindowFunction total;
  total.op = WindowOp::kAggregate;
  total.aggregate = sum(place(3));
  tree.windows = {number, total};
  tree.output.push_back(field("number"));
  tree.output.push_back(field("total"));
  EXPECT_EQ(
      to_string(cut(filter(std::move(tree), more_than(4, 3)))),
      "0: rows of a, b, c, d, then row_number() over (partition by c order by a desc), sum(d) over () where b > 5\n"
      "1: rows of a, b, c, d, number, total where number > 3\n");
}

TEST(Cut, TheOnlyRowIsAStage) {
  QueryNode value = groups(over(QueryOp::kOnlyRow, project(scan(), {place(1)}, {"b"})), {}, {max(place(0))});
  EXPECT_EQ(to_string(cut(joined(JoinKind::kInner, scan(), std::move(value), {}))),
            "0: rows of b, one at most limit 2\n"
            "1: totals: max(b)\n"
            "2: rows of a, b, c, d, value0, then join 1\n");
}

}  // namespace
}  // namespace basalt::test
