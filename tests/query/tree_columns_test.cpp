// Columns that nobody asks for, taken out of trees.
#include "query/tree_columns.h"

#include <gtest/gtest.h>

#include "query/trees.h"

namespace basalt::test {
namespace {

constexpr uint32_t kGone = kLeftOut;

struct Kept {
  std::string tree;
  std::vector<uint32_t> places;
};
Kept keep(QueryNode tree, const std::vector<uint32_t>& wanted) {
  std::vector<bool> columns(tree.output.size());
  for (const uint32_t column : wanted) columns[column] = true;
  std::vector<uint32_t> places = keep_columns(tree, columns);
  for (const uint32_t column : wanted) EXPECT_LT(places.at(column), tree.output.size());
  return {to_string(tree), std::move(places)};
}

TEST(TreeColumns, FiltersAndProjectionsAskForMore) {
  QueryNode tree = filter(scan(), more_than(1, 5));
  EXPECT_EQ(keep(tree, {3}).tree, "filter b > 5\n  scan b, d\n");
  EXPECT_EQ(keep(tree, {3}).places, (std::vector<uint32_t>{kGone, 0, kGone, 1}));
  tree = project(std::move(tree), {place(3), binary(ExprOp::kAdd, place(0), place(3)), place(2)}, {"x", "y", "z"});
  EXPECT_EQ(keep(tree, {1}).tree, "project a + d\n  filter b > 5\n    scan a, b, d\n");
  EXPECT_EQ(keep(tree, {1}).places, (std::vector<uint32_t>{kGone, 0, kGone}));
  EXPECT_EQ(keep(scan(), {}).tree, "scan a\n");
}

TEST(TreeColumns, JoinsNeedTheirKeysAndConditions) {
  QueryNode tree = joined(JoinKind::kInner, scan(), scan(), {same(0, 1)});
  EXPECT_EQ(keep(tree, {2, 7}).tree, "join on a = b\n  scan a, c\n  scan b, d\n");
  EXPECT_EQ(keep(tree, {2, 7}).places, (std::vector<uint32_t>{0, kGone, 1, kGone, kGone, 2, kGone, 3}));
  tree.residual = binary(ExprOp::kLess, place(3), place(6), Physical::kU8);
  EXPECT_EQ(keep(tree, {2}).tree, "join on a = b if d < c\n  scan a, c, d\n  scan b, c\n");
  for (const JoinKind kind : {JoinKind::kLeft, JoinKind::kRight, JoinKind::kFull, JoinKind::kSingle}) {
    QueryNode other = joined(kind, scan(), scan(), {same(0, 1)});
    EXPECT_EQ(keep(other, {6}).places, (std::vector<uint32_t>{0, kGone, kGone, kGone, kGone, 1, 2, kGone}));
  }
}

TEST(TreeColumns, AnswersOfJoinsStayBehindTheFirstInputsColumns) {
  QueryNode tree = joined(JoinKind::kMark, scan(), scan(), {same(2, 3)});
  EXPECT_EQ(keep(tree, {1, 4}).tree, "mark join on c = d\n  scan b, c\n  scan d\n");
  EXPECT_EQ(keep(tree, {1, 4}).places, (std::vector<uint32_t>{kGone, 0, 1, kGone, 2}));
  tree = joined(JoinKind::kSemi, scan(), scan(), {same(2, 3)});
  tree.residual = binary(ExprOp::kLess, place(0), place(5), Physical::kU8);
  EXPECT_EQ(keep(tree, {1}).tree, "semi join on c = d if a < b\n  scan a, b, c\n  scan b, d\n");
}

TEST(TreeColumns, GroupsStayAsTheyAre) {
  const QueryNode tree = groups(scan(), {place(1), place(2)}, {sum(place(3))});
  EXPECT_EQ(keep(tree, {2}).tree, to_string(tree));
  EXPECT_EQ(keep(tree, {2}).places, (std::vector<uint32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace basalt::test
