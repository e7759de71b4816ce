// Predicates over rows that come from no file: which rows are left, which are unknown, and whose errors count.
#include "exec/cpu/conjuncts.h"

#include <gtest/gtest.h>

#include <optional>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "exec/cpu/column_builder.h"
#include "exec/cpu/table_tiles.h"

namespace basalt::test {
namespace {

using Values = std::vector<std::optional<int32_t>>;

Table table_of(const std::vector<Values>& columns) {
  Table table;
  table.rows = columns.front().size();
  for (const Values& values : columns) {
    Field field;
    field.type = {TypeKind::kInt32};
    exec::ColumnBuilder column(field);
    for (const std::optional<int32_t>& value : values) value ? column.add_integer(*value) : column.add_null();
    table.columns.push_back(column.take());
  }
  return table;
}

Expr place(uint32_t column) { return column_reference(column, Physical::kI32); }

Expr sum_above(int64_t least) {
  Expr sum;
  sum.op = ExprOp::kAdd;
  sum.type = Physical::kI32;
  sum.args = {place(0), place(1)};
  return greater(std::move(sum), literal(least));
}

// "+" for a row that is left, "~" for one that is unknown, "-" for one that is dropped.
std::string run(const Expr& predicate, const Table& table) {
  exec::TableTiles tiles(table);
  tiles.begin(0);
  exec::Conjuncts conjuncts(predicate);
  conjuncts.open(exec::StatisticsList(table.columns.size(), nullptr));
  std::vector<uint8_t> unknown(kTileRows);
  const uint8_t* live = conjuncts.run_with_nulls(tiles, unknown.data());
  std::string text;
  for (uint32_t i = 0; i < tiles.rows(); ++i) {
    text += live == nullptr || live[i] == 0 ? '-' : unknown[i] != 0 ? '~' : '+';
  }
  live = conjuncts.run(tiles);
  for (uint32_t i = 0; i < tiles.rows(); ++i) EXPECT_EQ(live != nullptr && live[i] != 0, text[i] == '+') << "row " << i;
  return text;
}

TEST(Conjuncts, AreTrueFalseOrUnknown) {
  const Table table = table_of({{1, 1, 1, {}, {}, {}, 9, 9, 9}, {1, {}, 9, 1, {}, 9, 1, {}, 9}});
  const Expr both = all_of({less(place(0), literal(int64_t{5})), less(place(1), literal(int64_t{5}))});
  EXPECT_EQ(run(both, table), "+~-~~----");
  EXPECT_EQ(run(less(place(0), literal(int64_t{5})), table), "+++~~~---");
  EXPECT_EQ(run(all_of({both, is_not_null(place(0))}), table), "+~-------");
  EXPECT_EQ(run(all_of({both, is_null(place(1))}), table), "-~--~----");
}

TEST(Conjuncts, RaiseErrorsOnlyForRowsThatAreLeft) {
  constexpr int32_t kMost = INT32_MAX;
  const Table table = table_of({{1, kMost, kMost, {}}, {1, kMost, {}, kMost}});
  // Whichever was written first.
  EXPECT_EQ(run(all_of({less(place(0), literal(int64_t{5})), sum_above(1)}), table), "+--~");
  EXPECT_EQ(run(all_of({all_of({sum_above(1)}), less(place(0), literal(int64_t{5}))}), table), "+--~");
  EXPECT_THROW(run(all_of({sum_above(1), less(literal(int64_t{0}), place(0))}), table), Error);
}

}  // namespace
}  // namespace basalt::test
