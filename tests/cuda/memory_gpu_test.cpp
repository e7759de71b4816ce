// How much device memory statements take at most, and that they end when they are cancelled.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "basalt/core/error.h"
#include "cuda/gpu.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

// 32 MB that no encoding makes smaller.
TestTable large_table() {
  std::vector<int64_t> values(4 << 20);
  Random random(5);
  for (int64_t& value : values) value = static_cast<int64_t>(random() >> 8);
  std::vector<Column> columns;
  columns.push_back(make_fixed<int64_t>({TypeKind::kInt64}, values));
  return write_table(std::move(columns), {"plain"}, 1 << 17);
}

Field count_field() {
  Field field;
  field.name = "count";
  field.type = {TypeKind::kInt64};
  return field;
}

// Rows in 16 groups by the column's low bits.
Query few_groups(const TestTable& table) {
  Pipeline groups;
  groups.files = {table.file};
  groups.columns = table.pipeline_columns();
  groups.sink = Sink::kGroups;
  groups.keys = {
      make_expr(ExprOp::kModulo, Physical::kI64, {column_expr(0, Physical::kI64), integer_expr(Physical::kI64, 16)})};
  groups.aggregates.emplace_back();
  groups.output = {count_field(), count_field()};
  return {{groups}};
}

RunOptions on_the_gpu(uint64_t memory) {
  RunOptions options;
  options.device = Device::kCuda;
  options.gpu_memory = memory;
  return options;
}

TEST(DeviceMemory, StaysBelowItsLimit) {
  BASALT_NEEDS_GPU();
  const TestTable table = large_table();
  for (const uint64_t limit : {uint64_t{8} << 20, uint64_t{24} << 20, uint64_t{256} << 20}) {
    gpu().backend->drop_cache();
    for (int run = 0; run < 2; ++run) {
      RunReport report;
      const Table groups = run_query(few_groups(table), on_the_gpu(limit), &report);
      EXPECT_EQ(groups.rows, 16u);
      EXPECT_EQ(report.ran_on, Device::kCuda);
      EXPECT_GT(report.device_bytes, uint64_t{1} << 20) << "limit " << limit << ", run " << run;
      EXPECT_LE(report.device_bytes, limit) << "limit " << limit << ", run " << run;
    }
  }
  gpu().backend->drop_cache();
}

// Half a million groups of two rows each, whose table would take twice the limit and more.
TEST(DeviceMemory, GroupsThatDoNotFitAreFoundInPartitions) {
  BASALT_NEEDS_GPU();
  constexpr uint64_t kGroups = 500'000;
  std::vector<int64_t> keys(2 * kGroups);
  for (uint64_t i = 0; i < keys.size(); ++i) {
    keys[i] = static_cast<int64_t>((i % kGroups * 0x9E3779B97F4A7C15ull) >> 1);
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed<int64_t>({TypeKind::kInt64}, keys));
  const TestTable table = write_table(std::move(columns), {"plain"}, 1 << 16);
  Query query = few_groups(table);
  query.stages[0].keys = {column_expr(0, Physical::kI64)};
  for (const uint64_t limit : {uint64_t{8} << 20, uint64_t{32} << 20}) {
    gpu().backend->drop_cache();
    for (int run = 0; run < 2; ++run) {
      RunReport report;
      const Table groups = run_query(query, on_the_gpu(limit), &report);
      EXPECT_EQ(report.ran_on, Device::kCuda) << report.why_cpu;
      EXPECT_NE(report.steps.at(0).rung.find("partitions"), std::string::npos) << report.steps.at(0).rung;
      ASSERT_EQ(groups.rows, kGroups) << "limit " << limit << ", run " << run;
      std::vector<int64_t> found(groups.columns[0].values.as<int64_t>(),
                                 groups.columns[0].values.as<int64_t>() + kGroups);
      std::vector<int64_t> expected(keys.begin(), keys.begin() + kGroups);
      std::ranges::sort(found);
      std::ranges::sort(expected);
      EXPECT_EQ(found, expected) << "limit " << limit << ", run " << run;
      const auto* counts = groups.columns[1].values.as<int64_t>();
      EXPECT_EQ(std::count(counts, counts + kGroups, 2), static_cast<int64_t>(kGroups)) << "limit " << limit;
    }
  }
  gpu().backend->drop_cache();
}

// Keys of few bits, whose array would take too much: a hash table in partitions has them.
TEST(DeviceMemory, ArraysThatDoNotFitBecomeTables) {
  BASALT_NEEDS_GPU();
  const TestTable table = large_table();
  Query query = few_groups(table);
  query.stages[0].keys[0].args[1] = integer_expr(Physical::kI64, 600'000);
  const auto counts_of = [](const Table& groups) {
    std::map<int64_t, int64_t> counts;
    for (uint64_t i = 0; i < groups.rows; ++i) {
      counts[groups.columns[0].values.as<int64_t>()[i]] += groups.columns[1].values.as<int64_t>()[i];
    }
    return counts;
  };
  RunOptions cpu;
  cpu.device = Device::kCpu;
  const auto expected = counts_of(run_query(query, cpu));
  gpu().backend->drop_cache();
  for (const uint64_t limit : {uint64_t{0}, uint64_t{8} << 20, uint64_t{0}}) {
    RunReport report;
    const Table groups = run_query(query, on_the_gpu(limit), &report);
    EXPECT_EQ(report.ran_on, Device::kCuda) << report.why_cpu;
    EXPECT_EQ(groups.rows, expected.size()) << "limit " << limit;
    EXPECT_TRUE(counts_of(groups) == expected) << "limit " << limit << ", " << report.steps.at(0).rung;
    if (limit != 0) {
      EXPECT_NE(report.steps.at(0).rung.find("partitions"), std::string::npos) << report.steps.at(0).rung;
    }
  }
  gpu().backend->drop_cache();
}

// Between batches: what was begun is waited for, and the next run gives everything.
TEST(DeviceMemory, CancelledStatementsEndSoonAndLeaveTheDeviceUsable) {
  BASALT_NEEDS_GPU();
  const TestTable table = large_table();
  const Query query = few_groups(table);
  run_query(query, on_the_gpu(uint64_t{8} << 20));  // compiles
  for (int wait_us = 0; wait_us <= 8000; wait_us += 1000) {
    gpu().backend->drop_cache();
    CancelToken cancel;
    RunOptions options = on_the_gpu(uint64_t{8} << 20);
    options.cancel = &cancel;
    std::chrono::steady_clock::time_point asked;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
      asked = std::chrono::steady_clock::now();
      cancel.cancel();
    });
    bool ended_early = false;
    try {
      EXPECT_EQ(run_query(query, options).rows, 16u);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled) << error.what();
      ended_early = true;
    }
    const auto ended = std::chrono::steady_clock::now();
    other.join();
    if (ended_early) {
      EXPECT_LT(ended - asked, std::chrono::milliseconds(500)) << "after " << wait_us << " us";
    }
    EXPECT_EQ(run_query(query, on_the_gpu(uint64_t{8} << 20)).rows, 16u) << "after " << wait_us << " us";
  }
  CancelToken cancelled;
  cancelled.cancel();
  RunOptions options = on_the_gpu(0);
  options.cancel = &cancelled;
  EXPECT_THROW(run_query(query, options), Error);
}

TEST(DeviceMemory, StepsSayWhatTheGpuDid) {
  BASALT_NEEDS_GPU();
  const TestTable table = large_table();
  gpu().backend->drop_cache();
  RunReport report;
  run_query(few_groups(table), on_the_gpu(0), &report);
  ASSERT_EQ(report.steps.size(), 1u);
  const RunReport& step = report.steps[0];
  EXPECT_EQ(step.ran_on, Device::kCuda);
  EXPECT_EQ(step.rows, uint64_t{4} << 20);
  EXPECT_EQ(step.rows_out, 16u);
  EXPECT_NE(step.rung.find("groups by the bounds of their keys"), std::string::npos) << step.rung;
  EXPECT_GE(step.bytes_transferred, uint64_t{32} << 20);
  EXPECT_GT(step.kernel_ms, 0);
  EXPECT_GT(step.device_bytes, step.bytes_transferred);
}

}  // namespace
}  // namespace basalt::test
