// Which chunks have wanted rows, and which of them are worked on together.
#include "exec/wanted_chunks.h"

#include <gtest/gtest.h>

#include "basalt/core/error.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

using exec::WantedChunk;

TEST(WantedChunks, HaveTheirRowsByColumnFileAndChunk) {
  std::vector<Column> columns;
  columns.push_back(make_strings(std::vector<std::string>(20'000, "a")));
  columns.push_back(make_strings(std::vector<std::string>(20'000, "b")));
  const TestTable table = write_table(std::move(columns), {}, 8192);
  const exec::FileList files = {table.file, table.file};
  const std::vector<uint64_t> firsts = exec::first_rows_of(files);
  ASSERT_EQ(firsts.size(), 7u);
  // Of the first file's chunks: two rows, none, all but one; of the second's: none, none, one.
  const std::vector<uint64_t> below = {0, 2, 2, 3617, 3617, 3617, 3618};
  const std::vector<WantedChunk> wanted = exec::wanted_chunks(files, {1, 0}, firsts, below);
  ASSERT_EQ(wanted.size(), 6u);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const WantedChunk& chunk = wanted[i];
    const size_t place = std::vector<size_t>{0, 2, 5}[i % 3];
    EXPECT_EQ(chunk.column, i / 3);
    EXPECT_EQ(chunk.at.field_id, i < 3 ? 1u : 0u);
    EXPECT_EQ(chunk.at.chunk, place % 3);
    EXPECT_EQ(chunk.first_row, firsts[place]);
    EXPECT_EQ(chunk.begin, below[place]);
    EXPECT_EQ(chunk.count, below[place + 1] - below[place]);
    EXPECT_EQ(chunk.at.info().rows, place % 3 == 2 ? 20'000 - 2 * 8192u : 8192u);
    EXPECT_NE(chunk.at.name().find(i < 3 ? "column c1: chunk" : "column c0: chunk"), std::string::npos);
  }
  EXPECT_TRUE(exec::wanted_chunks(files, {0, 1}, firsts, std::vector<uint64_t>(7, 0)).empty());
  EXPECT_TRUE(exec::wanted_chunks(files, {}, firsts, below).empty());
}

TEST(WantedChunks, BatchesHoldWhatFitsAndAtLeastOneItem) {
  EXPECT_TRUE(exec::batch_ends({}, 10).empty());
  EXPECT_EQ(exec::batch_ends({3, 4, 3}, 10), std::vector<size_t>{3});
  EXPECT_EQ(exec::batch_ends({3, 4, 4, 6, 1}, 10), (std::vector<size_t>{2, 4, 5}));
  EXPECT_EQ(exec::batch_ends({30, 1, 40, 2}, 10), (std::vector<size_t>{1, 2, 3, 4}));
  EXPECT_EQ(exec::batch_ends({1, 2}, 0), (std::vector<size_t>{1, 2}));
}

}  // namespace
}  // namespace basalt::test
