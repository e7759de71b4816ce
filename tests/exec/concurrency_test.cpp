// Scans and pipelines over one open file from many threads at once, each with threads of its own. Also built and run
// with ThreadSanitizer (`make tsan`).
#include <gtest/gtest.h>

#include <thread>

#include "basalt/exec/expressions.h"
#include "basalt/exec/scan.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

TEST(Concurrency, ScansOfOneFile) {
  Random random(5);
  const TestTable table = random_table(random, 30000, 8192);
  std::vector<PipelineColumn> columns = table.pipeline_columns();
  uint32_t number = 0;
  while (columns[number].type.kind != TypeKind::kInt64) ++number;
  const Expr filter = is_not_null(column_expr(number, Physical::kI64));
  uint64_t expected = 0;
  for (uint64_t row = 0; row < table.rows; ++row) expected += table.columns[number].is_valid(row);

  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      ScanOptions options;
      options.threads = 3;
      options.row_numbers = true;
      options.has_filter = i % 2 == 0;
      options.filter = filter;
      options.filter_columns = columns;
      Scan scan({table.file}, options);
      Table rows;
      uint64_t total = 0;
      int64_t last = -1;
      while (scan.next(rows)) {
        total += rows.rows;
        for (const int64_t row : rows.columns.back().values.span<int64_t>()) {
          EXPECT_LT(last, row);
          last = row;
        }
      }
      EXPECT_EQ(total, i % 2 == 0 ? expected : table.rows);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Concurrency, AScanGivenUpEarly) {
  Random random(6);
  const TestTable table = random_table(random, 60000, 8192);
  for (int i = 0; i < 10; ++i) {
    ScanOptions options;
    options.threads = 4;
    Scan scan({table.file}, options);
    Table rows;
    ASSERT_TRUE(scan.next(rows));
  }
}

}  // namespace
}  // namespace basalt::test
