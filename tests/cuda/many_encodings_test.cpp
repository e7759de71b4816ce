// Columns that one kernel cannot read as they are stored, as kernels see them: arrays that are decoded before.
#include "cuda/many_encodings.h"

#include <gtest/gtest.h>

#include "exec/device/generate/generate.h"

namespace basalt::test {
namespace {

uint64_t decoded_in(const device::DevicePipeline& device) {
  return static_cast<uint64_t>(std::ranges::count_if(
      device.texts.arrays, [](const auto& array) { return array.has_value() && array->is_decoded(); }));
}

TEST(ManyEncodings, ColumnsWithTooManyAreDecodedBefore) {
  const ManyEncodings made = many_encodings(2000);
  Pipeline groups = sums_by(made.pipeline, made.column(0), 2, 3);
  const device::DevicePipeline device = device::plan_stage(device::to_device(groups));
  EXPECT_EQ(device.reason, "");
  EXPECT_EQ(decoded_in(device), 1u);
  const uint32_t place = device.pipeline.keys[0].column;
  ASSERT_TRUE(device.arrays[place]);
  EXPECT_EQ(device.arrays[place]->type, Physical::kI64);
  EXPECT_TRUE(device.arrays[place]->nullable);
  EXPECT_EQ(device.arrays[place]->stats.max.integer, 499);
  EXPECT_FALSE(device.arrays[device.pipeline.aggregates[0].arg.column]);
  // Few of them stay as they are.
  groups.files.resize(8);
  EXPECT_EQ(decoded_in(device::to_device(groups)), 0u);
  EXPECT_EQ(device::why_not(groups), "");
}

TEST(ManyEncodings, StringsAreNumbered) {
  const ManyEncodings made = many_encodings(2000);
  Pipeline groups = sums_by(made.pipeline, made.column(1), 2, 3);
  groups.has_filter = true;
  groups.filter = make_expr(ExprOp::kLike, Physical::kU8, {made.column(1), bytes_expr("%1%")});
  const device::DevicePipeline device = device::plan_stage(device::to_device(groups));
  EXPECT_EQ(device.reason, "");
  EXPECT_EQ(device.pipeline.filter.op, ExprOp::kColumn);  // of a test of each distinct string
  EXPECT_FALSE(device.texts.arrays[device.pipeline.keys[0].column]->is_decoded());
  EXPECT_EQ(device::why_not(rows_of_columns(made.pipeline)), "");
}

TEST(ManyEncodings, ColumnsThatNeedTooMuchTogetherAreDecodedBefore) {
  const TestTable table = many_runs(16, 5000);
  const Subset subset = subset_of(table, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  const Pipeline groups = sums_by(subset.pipeline, column_of(subset, 0), 1, 16);
  const device::DevicePipeline device = device::plan_stage(device::to_device(groups));
  EXPECT_EQ(device.reason, "");
  EXPECT_GT(decoded_in(device), 4u);
  EXPECT_LT(decoded_in(device), 16u);
  ASSERT_NE(device.plan, nullptr);
  EXPECT_LE(device.plan->scratch_bytes, device::kMostScratch);
  // Totals have one column open at a time.
  Pipeline totals = groups;
  totals.sink = Sink::kTotals;
  totals.keys.clear();
  EXPECT_EQ(decoded_in(device::to_device(totals)), 0u);
  EXPECT_EQ(device::why_not(totals), "");
}

// How many kernels write the rows; 0: none can.
uint32_t kernels_of(const Pipeline& stage) {
  const device::DevicePipeline device = device::plan_stage(device::to_device(stage));
  if (device.reason.empty()) return 1;
  const auto halves = device.too_large ? device::halves_of(stage) : std::nullopt;
  if (!halves) return 0;
  const uint32_t first = kernels_of(halves->first);
  const uint32_t second = kernels_of(halves->second);
  return first == 0 || second == 0 ? 0 : first + second;
}

TEST(ManyEncodings, RowsOfManyColumnsAreWrittenBySeveralKernels) {
  const TestTable runs = many_runs(16, 3000);
  Pipeline rows = all_columns_of(runs);
  EXPECT_EQ(kernels_of(rows), 4u);
  rows.order = {{1, true, true}, {15, false, false}};
  EXPECT_GE(kernels_of(rows), 4u);
  const device::RowsHalves halves = *device::halves_of(rows);
  EXPECT_EQ(halves.first_columns, 8u);
  EXPECT_EQ(halves.first.rows.size(), 9u);  // and a key of the order
  EXPECT_EQ(halves.first.order[0].column, 1u);
  EXPECT_EQ(halves.first.order[1].column, 8u);
  EXPECT_EQ(halves.second.rows.size(), 9u);
  EXPECT_EQ(halves.second.order[0].column, 8u);
  EXPECT_EQ(halves.second.order[1].column, 7u);
  // Sums of all of them are one column, which cannot be halved.
  Expr sum = column_expr(0, Physical::kI64);
  for (uint32_t i = 1; i < 16; ++i) {
    sum = make_expr(ExprOp::kAdd, Physical::kI64, {sum, column_expr(i, Physical::kI64)});
  }
  Pipeline added = all_columns_of(runs);
  added.rows = {sum};
  added.output.resize(1);
  EXPECT_EQ(kernels_of(added), 1u);
  EXPECT_GT(decoded_in(device::to_device(added)), 4u);

  const TestTable wide = many_runs(100, 1100);
  EXPECT_GT(kernels_of(all_columns_of(wide)), 2u);
}

// States of groups share a block's memory with what readers take.
TEST(ManyEncodings, GroupsFindRoomBesideReaders) {
  const TestTable table = many_runs(5, 5000);
  const Subset subset = subset_of(table, {0, 1, 2, 3, 4});
  const Expr few = make_expr(ExprOp::kModulo, Physical::kI64, {column_of(subset, 0), integer_expr(Physical::kI64, 7)});
  for (const int64_t keys : {7, 100, 300}) {
    Pipeline stage = sums_by(subset.pipeline, few, 1, 5);
    stage.keys[0].args[1] = integer_expr(Physical::kI64, keys);
    const device::DevicePipeline device = device::plan_stage(device::to_device(stage));
    ASSERT_EQ(device.reason, "") << keys;
    const device::GroupsPlan& groups = *device.plan->groups;
    const uint64_t states = groups.slots * groups.words() * sizeof(uint64_t);
    const uint64_t block = groups.rung == device::GroupRung::kBlock ? states : 0;
    EXPECT_LE(device.plan->scratch_bytes + block, device::kMostScratch) << keys << " " << to_string(groups.rung);
  }
}

}  // namespace
}  // namespace basalt::test
