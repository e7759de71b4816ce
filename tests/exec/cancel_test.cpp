// Cancelled statements end soon, whatever they do at the moment, and leave everything usable.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "basalt/core/error.h"
#include "exec/cpu/sort.h"
#include "exec/tables.h"
#include "support/sanitized.h"

namespace basalt::test {
namespace {

Field integer_field(const std::string& name) {
  Field field;
  field.name = name;
  field.type = {TypeKind::kInt64};
  return field;
}

// A table of distinct numbers: as many groups as rows.
TestTable many_numbers(uint64_t rows) {
  std::vector<int64_t> values(rows);
  for (uint64_t i = 0; i < rows; ++i) values[i] = static_cast<int64_t>(i * 0x9E3779B97F4A7C15ull >> 8);
  std::vector<Column> columns;
  columns.push_back(make_fixed<int64_t>({TypeKind::kInt64}, values));
  return write_table(std::move(columns), {}, 1 << 17);
}

// Groups by the column, then groups of these, then rows in order.
Query three_stages(const TestTable& table) {
  Pipeline groups;
  groups.files = {table.file};
  groups.columns = table.pipeline_columns();
  groups.sink = Sink::kGroups;
  groups.keys = {column_expr(0, Physical::kI64)};
  groups.aggregates.emplace_back();
  groups.output = {integer_field("c0"), integer_field("count")};
  Pipeline again = groups;
  again.files.clear();
  again.columns = {{0, "c0", {TypeKind::kInt64}}, {1, "count", {TypeKind::kInt64}}};
  Pipeline sorted = again;
  sorted.sink = Sink::kRows;
  sorted.keys.clear();
  sorted.aggregates.clear();
  sorted.rows = {column_expr(0, Physical::kI64), column_expr(1, Physical::kI64)};
  sorted.order = {{.column = 0, .descending = true}};
  return {{groups, again, sorted}};
}

RunOptions on_the_cpu(const CancelToken& cancel) {
  RunOptions options;
  options.device = Device::kCpu;
  options.threads = 2;
  options.cancel = &cancel;
  return options;
}

TEST(Cancel, BeforeTheFirstRow) {
  const TestTable table = many_numbers(5000);
  CancelToken cancel;
  cancel.cancel();
  try {
    run_query(three_stages(table), on_the_cpu(cancel));
    FAIL() << "there was no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
    EXPECT_STRNE(error.what(), "");
  }
}

TEST(Cancel, WhileRowsArePutInOrder) {
  Table table;
  table.schema.fields = {integer_field("a")};
  std::vector<int64_t> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * 7919 % 1000);
  table.columns.push_back(make_fixed<int64_t>({TypeKind::kInt64}, values));
  table.rows = values.size();
  CancelToken cancel;
  EXPECT_EQ(exec::first_rows(table, {{.column = 0}}, kAllRows, 0, &cancel).columns[0].values.as<int64_t>()[1], 1);
  cancel.cancel();
  for (const uint64_t limit : {kAllRows, uint64_t{10}}) {
    EXPECT_THROW(exec::first_rows(table, {{.column = 0}}, limit, 0, &cancel), Error);
    EXPECT_THROW(exec::first_rows(table, {}, limit, 0, &cancel), Error);
  }
}

// Wherever the statement is when it is cancelled: within half a second, and the next one gives all rows.
TEST(Cancel, AtAnyMoment) {
  const uint64_t rows = kSanitized ? 100'000 : 500'000;
  const TestTable table = many_numbers(rows);
  const Query query = three_stages(table);
  const auto start = std::chrono::steady_clock::now();
  const CancelToken never;
  EXPECT_EQ(run_query(query, on_the_cpu(never)).rows, rows);
  const auto whole = std::chrono::steady_clock::now() - start;
  int cancelled = 0;
  for (int part = 0; part < 8; ++part) {
    CancelToken cancel;
    std::chrono::steady_clock::time_point asked;
    std::thread other([&] {
      std::this_thread::sleep_for(whole * part / 8);
      asked = std::chrono::steady_clock::now();
      cancel.cancel();
    });
    bool ended_early = false;
    try {
      run_query(query, on_the_cpu(cancel));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled);
      ended_early = true;
    }
    const auto ended = std::chrono::steady_clock::now();
    other.join();
    if (!ended_early) continue;
    ++cancelled;
    EXPECT_LT(ended - asked, std::chrono::milliseconds(kSanitized ? 5000 : 500)) << "part " << part;
  }
  EXPECT_GE(cancelled, 4);
  EXPECT_EQ(run_query(query, on_the_cpu(never)).rows, rows);
}

TEST(Steps, AreReportedForEachStage) {
  const TestTable table = many_numbers(5000);
  const CancelToken never;
  RunReport report;
  run_query(three_stages(table), on_the_cpu(never), &report);
  ASSERT_EQ(report.steps.size(), 3u);
  EXPECT_EQ(report.steps[0].what, "groups by 1 key, 1 aggregate");
  EXPECT_EQ(report.steps[0].rung.substr(0, 23), "a hash table: keys have");
  EXPECT_EQ(report.steps[2].what, "2 columns of rows, in order");
  for (const RunReport& step : report.steps) {
    EXPECT_EQ(step.rows, 5000u);
    EXPECT_EQ(step.rows_out, 5000u);
    EXPECT_EQ(step.ran_on, Device::kCpu);
    EXPECT_EQ(step.device_name, "CPU");
  }
  EXPECT_EQ(report.rows, 5000u);
  EXPECT_EQ(report.rows_out, 5000u);
  EXPECT_GT(report.steps[0].encoded_bytes_read, 0u);
  EXPECT_EQ(report.encoded_bytes_read, report.steps[0].encoded_bytes_read);
  EXPECT_GE(report.total_ms, report.steps[0].total_ms);
}

}  // namespace
}  // namespace basalt::test
