// What is proven of the integers that a stage gives to the next one, and constants that are known before any row.
#include <gtest/gtest.h>

#include "exec/column_facts.h"
#include "exec/constant.h"
#include "exec/random_expr.h"

namespace basalt::test {
namespace {

Statistics between(int64_t low, int64_t high) {
  Statistics stats;
  stats.rows = 100;
  stats.min = Value::of_integer(Physical::kI64, low);
  stats.max = Value::of_integer(Physical::kI64, high);
  return stats;
}

Aggregate aggregate_of(AggregateOp op, const Expr& arg) {
  Aggregate out;
  out.op = op;
  out.arg = arg;
  return out;
}

TEST(StageFacts, SumsAreAsLargeAsTheirRowsAllow) {
  const Statistics small = between(-3, 10);
  const exec::StatisticsList stats{&small};
  const Expr column = column_expr(0, Physical::kI64);
  const auto sum = exec::result_range(aggregate_of(AggregateOp::kSum, column), stats, 1000);
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->low, -3000);
  EXPECT_EQ(sum->high, 10'000);
  const auto largest = exec::result_range(aggregate_of(AggregateOp::kMax, column), stats, 1000);
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->low, -3);
  EXPECT_EQ(largest->high, 10);
  const auto count = exec::result_range(aggregate_of(AggregateOp::kCountStar, {}), stats, 1000);
  ASSERT_TRUE(count);
  EXPECT_EQ(count->high, 1000);
  EXPECT_FALSE(exec::result_range(aggregate_of(AggregateOp::kAvg, column), stats, 1000));
  // A sum that nothing bounds.
  Statistics unknown;
  unknown.rows = 100;
  unknown.min = unknown.max = Value::of_null(Physical::kI128);
  EXPECT_FALSE(exec::result_range(aggregate_of(AggregateOp::kSum, column_expr(0, Physical::kI128)), {&unknown}, 1000));
}

TEST(StageFacts, ConditionsAreZeroOrOne) {
  const Statistics small = between(-3, 10);
  const Expr less =
      make_expr(ExprOp::kLess, Physical::kU8, {column_expr(0, Physical::kI64), integer_expr(Physical::kI64, 5)});
  const auto range = exec::value_range(less, {&small});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, 0);
  EXPECT_EQ(range->high, 1);
}

TEST(StageFacts, ConstantsAreEvaluatedOnce) {
  const Expr upper = make_expr(ExprOp::kUpper, Physical::kBytes, {bytes_expr("Red")});
  EXPECT_EQ(exec::constant_value(upper).bytes, "RED");
  EXPECT_EQ(exec::constant_value(make_expr(ExprOp::kLength, Physical::kI64, {upper})).integer, 3);
  const Expr like = make_expr(ExprOp::kLike, Physical::kU8, {upper, bytes_expr("%E%")});
  EXPECT_EQ(exec::constant_value(like).integer, 1);
  EXPECT_TRUE(exec::constant_value(make_expr(ExprOp::kUpper, Physical::kBytes, {null_expr(Physical::kBytes)})).null);
}

}  // namespace
}  // namespace basalt::test
