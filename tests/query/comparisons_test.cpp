// Comparisons with literals in one form, as text.
#include "query/comparisons.h"

#include <gtest/gtest.h>

#include "basalt/exec/expressions.h"

namespace basalt {
namespace {

const std::vector<std::string> kNames = {"a", "b"};

Expr a() { return column_reference(0, Physical::kI64); }
Expr b() { return column_reference(1, Physical::kI64); }
Expr n(int64_t number) { return literal(number); }

Expr null() { return literal(Value::of_null(Physical::kI64)); }

std::string united(Expr predicate) {
  Pipeline stage;
  stage.has_filter = true;
  stage.filter = std::move(predicate);
  unite_comparisons(stage);
  return to_string(stage.filter, kNames);
}

TEST(Comparisons, ValuesThatMayBeEqualAreAList) {
  EXPECT_EQ(united(any_of({equal(a(), n(1)), equal(a(), n(2)), equal(a(), n(3))})), "a IN (1, 2, 3)");
  EXPECT_EQ(united(any_of({equal(n(1), a()), in_list(a(), {n(2), n(3)})})), "a IN (1, 2, 3)");
  // Where the value is first asked for.
  EXPECT_EQ(united(any_of({equal(a(), n(1)), less(b(), n(7)), equal(a(), n(2))})), "(a IN (1, 2)) OR (b < 7)");
}

TEST(Comparisons, ValuesThatMustNotBeEqualAreAList) {
  EXPECT_EQ(united(all_of({not_equal(a(), n(1)), not_equal(a(), n(2)), negation(in_list(a(), {n(3)}))})),
            "NOT (a IN (1, 2, 3))");
}

TEST(Comparisons, OtherValuesAndConnectivesStayApart) {
  EXPECT_EQ(united(any_of({equal(a(), n(1)), equal(b(), n(2))})), "(a = 1) OR (b = 2)");
  EXPECT_EQ(united(all_of({equal(a(), n(1)), equal(a(), n(2))})), "(a = 1) AND (a = 2)");
  EXPECT_EQ(united(any_of({not_equal(a(), n(1)), not_equal(a(), n(2))})), "(a <> 1) OR (a <> 2)");
  EXPECT_EQ(united(any_of({equal(a(), n(1)), equal(a(), b())})), "(a = 1) OR (a = b)");
}

// What is unknown of a value that is not in the list would be lost among literals.
TEST(Comparisons, NullIsNoLiteralOfAList) {
  EXPECT_EQ(united(any_of({equal(a(), n(1)), equal(a(), null()), equal(a(), n(2))})), "(a IN (1, 2)) OR (a = NULL)");
}

TEST(Comparisons, NestedConnectivesOfOneKindAreOne) {
  EXPECT_EQ(united(all_of({less(a(), n(1)), all_of({less(b(), n(2)), not_equal(b(), n(0))})})),
            "(a < 1) AND (b < 2) AND (b <> 0)");
  EXPECT_EQ(united(all_of({less(a(), n(9)), any_of({equal(b(), n(2)), any_of({equal(b(), n(3)), equal(b(), n(4))})})})),
            "(a < 9) AND (b IN (2, 3, 4))");
}

TEST(Comparisons, AreUnitedInAllPartsOfAStage) {
  const Expr list = any_of({equal(a(), n(1)), equal(a(), n(2))});
  Pipeline stage;
  stage.steps.emplace_back(FilterStep{list});
  Probe probe;
  probe.residual = list;
  stage.steps.emplace_back(probe);
  stage.keys = {list};
  stage.rows = {list};
  Aggregate aggregate = count_rows();
  aggregate.filter = list;
  stage.aggregates = {aggregate};
  unite_comparisons(stage);
  for (const Expr& expr : {std::get<FilterStep>(stage.steps[0]).predicate, *std::get<Probe>(stage.steps[1]).residual,
                           stage.keys[0], stage.rows[0], *stage.aggregates[0].filter}) {
    EXPECT_EQ(to_string(expr, kNames), "a IN (1, 2)");
  }
}

}  // namespace
}  // namespace basalt
