// Columns that are decoded before the kernel runs give the rows that the interpreter gives.
#include <gtest/gtest.h>

#include <algorithm>

#include "basalt/core/error.h"
#include "cuda/gpu.h"
#include "cuda/many_encodings.h"

namespace basalt::test {
namespace {

std::string cell_text(const Column& column, uint64_t row) {
  if (!column.is_valid(row)) return "NULL";
  if (physical_of(column.type) == Physical::kBytes) return std::string(column.string_at(row));
  return show(value_at(column, row));
}

std::vector<std::string> rows_on(const Pipeline& stage, Device device, bool in_order) {
  RunOptions options;
  options.device = device;
  RunReport report;
  const Table table = run_query({{stage}}, options, &report);
  EXPECT_EQ(report.ran_on, device);
  std::vector<std::string> out;
  for (uint64_t row = 0; row < table.rows; ++row) {
    std::string text;
    for (const Column& column : table.columns) text += cell_text(column, row) + " | ";
    out.push_back(std::move(text));
  }
  if (!in_order) std::ranges::sort(out);
  return out;
}

void expect_same_on_both(const Pipeline& stage, const std::string& what) {
  ASSERT_EQ(why_not_gpu({{stage}}), "") << what;
  const bool in_order = stage.sink == Sink::kRows;
  const std::vector<std::string> expected = rows_on(stage, Device::kCpu, in_order);
  const std::vector<std::string> rows = rows_on(stage, Device::kCuda, in_order);
  ASSERT_EQ(rows.size(), expected.size()) << what;
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], expected[i]) << what << ", row " << i;
}

TEST(GpuManyEncodings, ColumnsInManyEncodings) {
  BASALT_NEEDS_GPU();
  const ManyEncodings made = many_encodings(9000);
  expect_same_on_both(sums_by(made.pipeline, made.column(0), 2, 3), "a key");
  expect_same_on_both(sums_by(made.pipeline, made.column(1), 0, 1), "strings and a sum");
  expect_same_on_both(rows_of_columns(made.pipeline), "rows");
  Pipeline filtered = made.pipeline;
  filtered.has_filter = true;
  filtered.filter = make_expr(ExprOp::kLess, Physical::kU8, {made.column(0), integer_expr(Physical::kI64, 77)});
  expect_same_on_both(rows_of_columns(filtered), "a filter");
  filtered.filter = make_expr(ExprOp::kLike, Physical::kU8, {made.column(1), bytes_expr("%1%")});
  expect_same_on_both(sums_by(filtered, made.column(0), 2, 3), "a filter of strings");
  Pipeline totals = sums_by(filtered, made.column(0), 0, 1);
  totals.sink = Sink::kTotals;
  totals.keys.clear();
  totals.output.clear();
  EXPECT_EQ(outcome(totals, {}, Device::kCuda), outcome(totals, {}, Device::kCpu));
}

TEST(GpuManyEncodings, ColumnsThatNeedMuchMemory) {
  BASALT_NEEDS_GPU();
  const TestTable table = many_runs(16, 40'000);
  const Subset subset = subset_of(table, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  expect_same_on_both(sums_by(subset.pipeline, column_of(subset, 0), 1, 16), "many sums");
  Pipeline rows = rows_of_columns(subset.pipeline);
  expect_same_on_both(rows, "all rows");
  rows.has_filter = true;
  rows.filter = make_expr(ExprOp::kLess, Physical::kU8, {column_of(subset, 3), integer_expr(Physical::kI64, 200)});
  rows.order = {{1, true, true}, {5, false, false}};
  expect_same_on_both(rows, "some rows in order");
  const Subset few = subset_of(table, {0, 1, 2, 3, 4});
  for (const int64_t keys : {7, 100, 300}) {
    const Expr key =
        make_expr(ExprOp::kModulo, Physical::kI64, {column_of(few, 0), integer_expr(Physical::kI64, keys)});
    expect_same_on_both(sums_by(few.pipeline, key, 1, 5), std::to_string(keys) + " groups");
  }
}

TEST(GpuManyEncodings, RowsOfMoreColumnsThanAKernelTakes) {
  BASALT_NEEDS_GPU();
  const TestTable table = many_runs(100, 6000);
  Pipeline rows = all_columns_of(table);
  expect_same_on_both(rows, "all rows");
  rows.has_filter = true;
  rows.filter =
      make_expr(ExprOp::kLess, Physical::kU8, {column_expr(99, Physical::kI64), integer_expr(Physical::kI64, 700)});
  rows.order = {{50, true, false}, {1, false, true}};
  rows.limit = 2000;
  rows.offset = 17;
  expect_same_on_both(rows, "the first of an order");
  rows.order.clear();
  expect_same_on_both(rows, "a limit");
}

}  // namespace
}  // namespace basalt::test
