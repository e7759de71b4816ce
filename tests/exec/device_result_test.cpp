// Rows of a query as Arrow device arrays, on the host: every type, NULLs, no rows at all, and who owns them.
#include "basalt/exec/device_result.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "exec/tables.h"

namespace basalt::test {
namespace {

Query all_columns_query(const TestTable& table) {
  Query query;
  query.stages = {all_columns_of(table)};
  return query;
}

RunOptions on_the_cpu() {
  RunOptions options;
  options.device = Device::kCpu;
  return options;
}

Table imported(const DeviceResult& result) {
  return import_batch(result.array.array, result.schema, import_schema(result.schema));
}

void expect_same_columns(const Table& got, const Table& wanted) {
  ASSERT_EQ(got.rows, wanted.rows);
  ASSERT_EQ(got.columns.size(), wanted.columns.size());
  for (size_t i = 0; i < wanted.columns.size(); ++i) {
    EXPECT_EQ(got.schema.fields[i].name, wanted.schema.fields[i].name);
    EXPECT_TRUE(equal(got.columns[i], wanted.columns[i])) << "column " << wanted.schema.fields[i].name;
  }
}

TEST(DeviceResult, HasEveryTypeAndItsNulls) {
  Random random(5);
  const TestTable table = random_table(random, 20'000, 8192);
  const Query query = all_columns_query(table);
  uint64_t nulls = 0;
  for (const Column& column : table.columns) nulls += column.null_count;
  ASSERT_GT(nulls, 0u);
  RunReport report;
  const DeviceResult result = run_query_on_device(query, on_the_cpu(), &report);
  EXPECT_EQ(result.array.device_type, ARROW_DEVICE_CPU);
  EXPECT_EQ(result.array.device_id, -1);
  EXPECT_EQ(result.array.sync_event, nullptr);
  EXPECT_EQ(report.ran_on, Device::kCpu);
  EXPECT_EQ(report.rows_out, table.rows);
  expect_same_columns(imported(result), run_query(query, on_the_cpu()));
}

TEST(DeviceResult, HasTimesOfDayAndUuids) {
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType{TypeKind::kTime, 0, 0, TimeUnit::kMilli}, std::vector<int64_t>{0, 86'399'999}));
  columns.push_back(make_fixed(DataType{TypeKind::kTime, 0, 0, TimeUnit::kNano}, std::vector<int64_t>{1, 2}));
  columns.push_back(make_fixed(DataType{TypeKind::kTimestampTz, 0, 0, TimeUnit::kSecond}, std::vector<int64_t>{-5, 7}));
  columns.push_back(make_fixed(DataType{TypeKind::kUuid}, std::vector<int128_t>{-1, int128_t{3} << 70}));
  const TestTable table = write_table(std::move(columns));
  const Query query = all_columns_query(table);
  expect_same_columns(imported(run_query_on_device(query, on_the_cpu())), run_query(query, on_the_cpu()));
}

TEST(DeviceResult, OfNoRows) {
  Random random(6);
  const TestTable table = random_table(random, 3000, 8192);
  Query query = all_columns_query(table);
  query.stages.front().limit = 0;
  const DeviceResult result = run_query_on_device(query, on_the_cpu());
  EXPECT_EQ(result.array.array.length, 0);
  expect_same_columns(imported(result), run_query(query, on_the_cpu()));
}

TEST(DeviceResult, OfTotals) {
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType::bigint(), std::vector<int64_t>(9000, 5)));
  const TestTable table = write_table(std::move(columns));
  Query query = all_columns_query(table);
  Pipeline& stage = query.stages.front();
  stage.sink = Sink::kGroups;
  stage.rows.clear();
  stage.aggregates.resize(1);
  const Table rows = imported(run_query_on_device(query, on_the_cpu()));
  ASSERT_EQ(rows.rows, 1u);
  EXPECT_EQ(rows.columns.at(0).values.as<int64_t>()[0], 9000);
}

TEST(DeviceResult, OutlivesTheQueryAndItsFiles) {
  Random random(7);
  std::optional<DeviceResult> result;
  Table wanted;
  {
    const TestTable table = random_table(random, 5000, 8192);
    const Query query = all_columns_query(table);
    result = run_query_on_device(query, on_the_cpu());
    wanted = run_query(query, on_the_cpu());
  }
  DeviceResult moved = *std::move(result);
  result.reset();
  expect_same_columns(imported(moved), wanted);
}

TEST(DeviceResult, IsReleasedOnce) {
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType::bigint(), std::vector<int64_t>{1, 2, 3}));
  columns.push_back(make_strings({"a", "", "a string of more than twelve bytes"}));
  const TestTable table = write_table(std::move(columns));
  DeviceResult result = run_query_on_device(all_columns_query(table), on_the_cpu());
  // A consumer may move a child out and keep it longer than the rest.
  ArrowArray child = *result.array.array.children[0];
  result.array.array.children[0]->release = nullptr;
  result.array.array.release(&result.array.array);
  EXPECT_EQ(result.array.array.release, nullptr);
  EXPECT_EQ(static_cast<const int64_t*>(child.buffers[1])[2], 3);
  child.release(&child);
  EXPECT_EQ(child.release, nullptr);
  result = DeviceResult();
  EXPECT_EQ(result.schema.release, nullptr);
}

}  // namespace
}  // namespace basalt::test
