// Rows fetched by their numbers: any of them, in any order, over chunks and files that end within a tile.
#include "exec/cpu/fetch_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "exec/tables.h"

namespace basalt::test {
namespace {

TEST(FetchRows, AnyRowsInAnyOrder) {
  Random random(11);
  const TestTable table = random_table(random, 20'000, 8192);
  const Pipeline pipeline = all_columns_of(table, 2);
  const std::vector<uint64_t> all = exec::row_numbers(pipeline.files, 0, kAllRows);
  ASSERT_EQ(all.size(), 2 * table.rows);
  ThreadPool threads(2);
  std::vector<uint64_t> places = {2 * table.rows - 1, 0, table.rows, table.rows - 1, 7, 7, 1023, 1024, 8191, 8192};
  for (int i = 0; i < 200; ++i) places.push_back(below(random, all.size()));
  std::vector<uint64_t> numbers;
  for (const uint64_t place : places) numbers.push_back(all[place]);
  const Table rows = exec::fetch_rows(pipeline, numbers, threads, {});
  ASSERT_EQ(rows.rows, places.size());
  for (size_t c = 0; c < table.columns.size(); ++c) {
    Column expected = make_column(pipeline.output[c]);
    for (const uint64_t place : places) {
      append_rows(expected, table.columns[c], place % table.rows, place % table.rows + 1);
    }
    EXPECT_TRUE(equal(rows.columns[c], expected)) << "column " << c;
  }
}

TEST(FetchRows, NumbersCountWholeTiles) {
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType::bigint(), std::vector<int64_t>(9000, 5)));
  const TestTable table = write_table(std::move(columns), {}, 8192);
  const exec::FileList files = {table.file, table.file};
  EXPECT_EQ(exec::first_rows_of(files), (std::vector<uint64_t>{0, 8192, 9216, 9216 + 8192, 2 * 9216}));
  EXPECT_EQ(exec::row_numbers(files, 8999, 3), (std::vector<uint64_t>{8999, 9216, 9217}));
  EXPECT_EQ(exec::row_numbers(files, 17'999, 10), (std::vector<uint64_t>{9216 + 8999}));
  EXPECT_TRUE(exec::row_numbers(files, 18'000, 10).empty());
  EXPECT_TRUE(exec::row_numbers({}, 0, 10).empty());
}

}  // namespace
}  // namespace basalt::test
