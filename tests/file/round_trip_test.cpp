// What is written is read back: every type, NULLs, nesting, many shapes of tables.
#include <gtest/gtest.h>

#include <cmath>

#include "basalt/core/error.h"
#include "basalt/file/verify.h"
#include "file/test_files.h"

namespace basalt::test {
namespace {

Table round_trip(const Table& table, const WriteOptions& options = {}) {
  TemporaryFolder folder;
  const std::string path = folder.path("t.basalt");
  write(path, table, options);
  const auto file = File::open(path);
  ThreadPool pool(2);
  verify_file(*file, pool);
  EXPECT_EQ(file->schema(), table.schema);
  return read_table(*file);
}

class EveryType : public testing::TestWithParam<uint64_t> {};

TEST_P(EveryType, ComesBack) {
  const Table table = everything(GetParam());
  expect_equal(table, round_trip(table));
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryType, testing::Values(0, 1, 2, 7, 1023, 1024, 1025, 8192, 8193, 20000));

TEST(RoundTrip, ManyChunks) {
  const Table table = everything(40000);
  WriteOptions options;
  options.chunk_rows = 8192;
  expect_equal(table, round_trip(table, options));
}

}  // namespace
}  // namespace basalt::test
