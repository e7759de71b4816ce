// Arrow IPC: tables written as stream and as file come back equal, from paths and from pipes; damaged input is an error
// that names the input.
#include "basalt/file/ipc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "arrow/tables.h"
#include "basalt/core/error.h"

namespace basalt {
namespace {

using test::random_table;

class Ipc : public testing::TestWithParam<IpcKind> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("basalt_ipc_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // Three batches; the middle one is empty.
  static ArrowArrayStream three_batches(const Schema& schema = test::every_type()) {
    auto count = std::make_shared<int>(0);
    ArrowArrayStream stream;
    export_stream(
        schema,
        [count, schema]() -> std::unique_ptr<Table> {
          if (*count == 3) return nullptr;
          const uint64_t rows[] = {100, 0, 33};
          const int i = (*count)++;
          auto table = std::make_unique<Table>(random_table(rows[i], 0.2, static_cast<uint64_t>(i), schema));
          for (Column& column : table->columns) make_canonical(column);
          return table;
        },
        &stream);
    return stream;
  }

  std::filesystem::path folder_;
};

std::vector<Table> read_all(ArrowArrayStream& stream) {
  std::vector<Table> tables;
  const auto check = [&](int code) {
    if (code == 0) return;
    const std::string text = stream.get_last_error(&stream);
    stream.release(&stream);
    throw Error(ErrorCode::kCorrupt, text);
  };
  ArrowSchema schema;
  check(stream.get_schema(&stream, &schema));
  const Schema imported = import_schema(schema);
  for (;;) {
    ArrowArray array;
    const int code = stream.get_next(&stream, &array);
    if (code != 0) schema.release(&schema);
    check(code);
    if (array.release == nullptr) break;
    tables.push_back(import_batch(array, schema, imported));
    array.release(&array);
  }
  schema.release(&schema);
  stream.release(&stream);
  return tables;
}

void expect_three_batches(const std::vector<Table>& tables, const Schema& schema = test::every_type()) {
  ASSERT_EQ(tables.size(), 3u);
  const uint64_t rows[] = {100, 0, 33};
  for (size_t t = 0; t < 3; ++t) {
    Table expected = random_table(rows[t], 0.2, t, schema);
    for (Column& column : expected.columns) make_canonical(column);
    EXPECT_EQ(tables[t].schema, expected.schema);
    for (size_t i = 0; i < expected.columns.size(); ++i)
      EXPECT_TRUE(equal(tables[t].columns[i], expected.columns[i])) << expected.schema.fields[i].name;
  }
}

TEST_P(Ipc, WrittenBatchesComeBack) {
  ArrowArrayStream stream = three_batches();
  const IpcSummary summary = write_ipc(&stream, path("x.arrow"), GetParam());
  EXPECT_EQ(summary.rows, 133u);
  EXPECT_EQ(summary.bytes, std::filesystem::file_size(path("x.arrow")));
  EXPECT_EQ(stream.release, nullptr);
  ArrowArrayStream back;
  open_ipc(path("x.arrow"), &back);
  expect_three_batches(read_all(back));
}

TEST_P(Ipc, MapsArraysIntervalsAndNullsComeBack) {
  ArrowArrayStream stream = three_batches(test::every_meaning());
  write_ipc(&stream, path("x.arrow"), GetParam());
  ArrowArrayStream back;
  open_ipc(path("x.arrow"), &back);
  expect_three_batches(read_all(back), test::every_meaning());
}

TEST_P(Ipc, ReadsFromASourceThatGivesFewBytesAtATime) {
  ArrowArrayStream stream = three_batches();
  write_ipc(&stream, path("x.arrow"), GetParam());
  auto file = std::make_shared<std::ifstream>(path("x.arrow"), std::ios::binary);
  ArrowArrayStream back;
  open_ipc(
      [file](void* out, size_t size) {
        file->read(static_cast<char*>(out), static_cast<std::streamsize>(std::min<size_t>(size, 5)));
        return static_cast<size_t>(file->gcount());
      },
      "standard input", &back);
  expect_three_batches(read_all(back));
}

TEST_P(Ipc, EveryTruncationIsAnErrorOrAPrefix) {
  ArrowArrayStream stream = three_batches();
  write_ipc(&stream, path("x.arrow"), GetParam());
  std::stringstream bytes;
  bytes << std::ifstream(path("x.arrow"), std::ios::binary).rdbuf();
  const std::string whole = bytes.str();
  uint64_t prefixes = 0;
  for (size_t length = 0; length < whole.size(); length += 211) {
    std::ofstream(path("cut.arrow"), std::ios::binary) << whole.substr(0, length);
    try {
      ArrowArrayStream back;
      open_ipc(path("cut.arrow"), &back);
      EXPECT_LE(read_all(back).size(), 3u);
      ++prefixes;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("cut.arrow"));
    }
  }
  if (GetParam() == IpcKind::kFile) {
    EXPECT_EQ(prefixes, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Ipc, testing::Values(IpcKind::kStream, IpcKind::kFile));

TEST(IpcErrors, ForeignBytesAndMissingFilesAreNamed) {
  ArrowArrayStream stream;
  EXPECT_THROW(open_ipc("/nowhere/x.arrow", &stream), Error);
  std::string text = "a,b,c\n1,2,3\n";
  size_t at = 0;
  try {
    open_ipc(
        [&](void* out, size_t size) {
          const size_t count = std::min(size, text.size() - at);
          std::memcpy(out, text.data() + at, count);
          at += count;
          return count;
        },
        "some.csv", &stream);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("some.csv"));
  }
}

TEST(IpcErrors, FailedWriteLeavesNoFile) {
  ArrowArrayStream stream;
  export_stream(
      Schema{}, []() -> std::unique_ptr<Table> { throw Error(ErrorCode::kIo, "source broke"); }, &stream);
  const std::string path = (std::filesystem::temp_directory_path() / "basalt_failed.arrow").string();
  EXPECT_THROW(write_ipc(&stream, path, IpcKind::kFile), Error);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace basalt
