// Scans and pipelines over one open file from many threads at once, each with threads of its own. Also built and run
// with ThreadSanitizer (`make tsan`).
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "basalt/codec/string_test.h"
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

// All threads get the same automaton, whoever built it. There are fewer tests than are kept.
TEST(Concurrency, AutomataAreSharedByThreads) {
  constexpr size_t kThreads = 4;
  constexpr size_t kTests = 8;
  std::vector<std::vector<std::shared_ptr<const Automaton>>> made(kThreads);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&made, i] {
      for (size_t asked = 0; asked < 5 * kTests; ++asked) {
        const std::string number = std::to_string(asked % kTests);
        made[i].push_back(make_automaton(StringTest::like("%shared" + number + "%by_threads%")).automaton);
        EXPECT_EQ(make_automaton(StringTest::regexp("a.{14}b")).automaton, nullptr);
        const std::string own = std::to_string(i) + " asks for " + number;
        EXPECT_TRUE(make_automaton(StringTest::in({own})).automaton->matches(own));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kThreads; ++i) {
    for (size_t asked = 0; asked < made[i].size(); ++asked) {
      EXPECT_EQ(made[i][asked], made[0][asked % kTests]);
      EXPECT_TRUE(made[i][asked]->matches("shared" + std::to_string(asked % kTests) + " by threads"));
    }
  }
}

// What a chunk's scans give together: rows and the tiles they looked at.
struct Scanned {
  Table rows;
  ScanCounters counters;
};

Scanned scan_part(const TestTable& table, const Expr& filter, ChunkPart part) {
  std::vector<uint32_t> columns(table.file->schema().fields.size());
  std::iota(columns.begin(), columns.end(), 0);
  ChunkScan scan(table.file, 0, columns, &filter, table.pipeline_columns(), true, 2048, std::move(part));
  Scanned out;
  Table batch;
  while (scan.next(batch)) {
    if (out.rows.columns.empty()) {
      for (const Field& field : batch.schema.fields) out.rows.columns.push_back(make_column(field));
    }
    for (size_t i = 0; i < batch.columns.size(); ++i) append_rows(out.rows.columns[i], batch.columns[i], 0, batch.rows);
    out.rows.rows += batch.rows;
  }
  out.counters = scan.counters();
  return out;
}

TEST(Concurrency, PartsOfChunksGiveTheSameRows) {
  Random random(7);
#if defined(__SANITIZE_THREAD__)
  const uint32_t most = 2;  // many times slower
#else
  const uint32_t most = 4;
#endif
  const uint64_t rows = uint64_t{64} * kTileRows * most + 777;
  const TestTable table = random_table(random, rows, kMaxChunkRows);
  ASSERT_EQ(table.file->chunks().size(), 1u);
  EXPECT_EQ(split_chunk(*table.file, 0, 1).size(), 1u);
  EXPECT_EQ(split_chunk(*table.file, 0, 1)[0].shared, nullptr);
  EXPECT_EQ(split_chunk(*table.file, 0, 100).size(), most);
  std::vector<PipelineColumn> columns = table.pipeline_columns();
  uint32_t number = 0;
  while (columns[number].type.kind != TypeKind::kInt64) ++number;
  const Expr filter = is_not_null(column_expr(number, Physical::kI64));
  const Scanned whole = scan_part(table, filter, {});
  for (uint32_t wanted = 2; wanted <= most; ++wanted) {
    std::vector<ChunkPart> parts = split_chunk(*table.file, 0, wanted);
    ASSERT_EQ(parts.size(), wanted);
    std::vector<Scanned> scanned(parts.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < parts.size(); ++i) {
      threads.emplace_back([&, i] { scanned[i] = scan_part(table, filter, std::move(parts[i])); });
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t tiles = 0;
    Table all;
    for (Scanned& part : scanned) {
      tiles += part.counters.tiles.total;
      all.rows += part.rows.rows;
      if (all.columns.empty()) {
        all.columns = std::move(part.rows.columns);
        continue;
      }
      for (size_t i = 0; i < all.columns.size(); ++i)
        append_rows(all.columns[i], part.rows.columns[i], 0, part.rows.rows);
    }
    EXPECT_EQ(tiles, whole.counters.tiles.total);
    ASSERT_EQ(all.rows, whole.rows.rows);
    for (size_t i = 0; i < all.columns.size(); ++i) EXPECT_TRUE(equal(all.columns[i], whole.rows.columns[i])) << i;
  }
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
