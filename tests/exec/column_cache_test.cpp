// Columns kept in memory: what is found again without reading the file, what leaves, and what a limit means.
#include "basalt/exec/column_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "basalt/core/error.h"
#include "basalt/exec/scan.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

constexpr uint64_t kChunks = 8;
constexpr uint64_t kChunkRows = 64 * kTileRows;
constexpr uint64_t kChunkBytes = kChunkRows * sizeof(int32_t);

TestTable make_table() {
  std::vector<int32_t> values(kChunks * kChunkRows);
  std::iota(values.begin(), values.end(), 0);
  return write_table({make_fixed({TypeKind::kInt32}, values)}, {"plain"}, kChunkRows);
}

int128_t sum(const TestTable& table, ColumnCache& cache, uint32_t threads) {
  Pipeline pipeline;
  pipeline.files = {table.file};
  pipeline.columns = table.pipeline_columns();
  pipeline.aggregates.resize(1);
  pipeline.aggregates[0].op = AggregateOp::kSum;
  pipeline.aggregates[0].arg = column_expr(0, Physical::kI32);
  RunOptions options;
  options.device = Device::kCpu;
  options.threads = threads;
  options.cache = &cache;
  return run_pipeline(pipeline, options)[0].integer;
}

constexpr int128_t kSum = int128_t{kChunks * kChunkRows} * (kChunks * kChunkRows - 1) / 2;

// Nothing can be read from the open file any more.
void empty_file(const TestTable& table) { std::filesystem::resize_file(table.path, 0); }

TEST(ColumnCache, WhatWasReadIsNotReadAgain) {
  for (const uint32_t threads : {1u, 8u}) {  // whole chunks, and parts of chunks that threads share
    const TestTable table = make_table();
    ColumnCache cache(1 << 30);
    EXPECT_EQ(sum(table, cache, threads), kSum);
    EXPECT_GE(cache.bytes(), kChunks * kChunkBytes);
    empty_file(table);
    EXPECT_EQ(sum(table, cache, threads), kSum);
    cache.set_limit(0);
    EXPECT_EQ(cache.bytes(), 0u);
    EXPECT_THROW(sum(table, cache, threads), Error);
  }
}

uint64_t scanned_rows(const TestTable& table, ColumnCache& cache) {
  uint64_t rows = 0;
  ColumnCache::Use use(cache, {});
  use.add(table.file);
  Table batch;
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    ChunkScan scan(table.file, chunk, {0}, nullptr, {});
    scan.use_cache(&use);
    while (scan.next(batch)) {
      EXPECT_EQ(batch.columns[0].values.span<int32_t>()[0], static_cast<int32_t>(rows));
      rows += batch.rows;
    }
  }
  return rows;
}

TEST(ColumnCache, ScansFindAndLeaveColumns) {
  const TestTable table = make_table();
  ColumnCache cache(1 << 30);
  EXPECT_EQ(scanned_rows(table, cache), kChunks * kChunkRows);
  empty_file(table);
  EXPECT_EQ(scanned_rows(table, cache), kChunks * kChunkRows);
  EXPECT_EQ(sum(table, cache, 1), kSum);
  cache.set_limit(0);
  EXPECT_THROW(scanned_rows(table, cache), Error);
}

TEST(ColumnCache, AStatementThatReadsMoreThanFitsKeepsItsBeginning) {
  const TestTable table = make_table();
  ColumnCache cache(3 * kChunkBytes + kChunkBytes / 2);
  EXPECT_EQ(sum(table, cache, 1), kSum);
  EXPECT_EQ(cache.bytes(), 3 * kChunkBytes);
  ColumnCache::Use use(cache, {table.file});
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    EXPECT_EQ(use.find(*table.file, 0, chunk) != nullptr, chunk < 3) << chunk;
  }
}

TEST(ColumnCache, OtherStatementsColumnsMakeRoomOldestFirst) {
  const TestTable first = make_table();
  const TestTable second = make_table();
  ColumnCache cache((kChunks + 2) * kChunkBytes);
  EXPECT_EQ(sum(first, cache, 1), kSum);
  EXPECT_EQ(sum(second, cache, 1), kSum);
  EXPECT_EQ(cache.bytes(), (kChunks + 2) * kChunkBytes);
  ColumnCache::Use use(cache, {first.file, second.file});
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    EXPECT_EQ(use.find(*first.file, 0, chunk) != nullptr, chunk >= kChunks - 2) << chunk;
    EXPECT_NE(use.find(*second.file, 0, chunk), nullptr) << chunk;
  }
}

TEST(ColumnCache, FilesThatNobodyHasOpenAreForgotten) {
  ColumnCache cache(1 << 30);
  {
    const TestTable table = make_table();
    sum(table, cache, 1);
  }
  EXPECT_GT(cache.bytes(), 0u);
  const ColumnCache::Use use(cache, {});
  EXPECT_EQ(cache.bytes(), 0u);
}

}  // namespace
}  // namespace basalt::test
