// Writing: the same bytes whatever the threads, nothing left behind when it fails, refusals before anything is created.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "basalt/core/error.h"
#include "basalt/file/verify.h"
#include "core/output_file.h"
#include "file/test_files.h"

namespace basalt::test {
namespace {

using testing::HasSubstr;

size_t files_in(const TemporaryFolder& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder.folder()), {}));
}

std::string message_of(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

NamedColumn counting(const std::string& name, uint64_t rows) {
  return integers(name, type_of(TypeKind::kInt64), rows,
                  [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 1000); });
}

TEST(Writing, ThreadsAndTableBordersDoNotChangeTheBytes) {
  const Table table = everything(50000);
  TemporaryFolder folder;
  std::vector<std::byte> first;
  for (const uint32_t threads : {1u, 2u, 5u}) {
    WriteOptions options;
    options.threads = threads;
    options.chunk_rows = 16384;
    const std::string path = folder.path(std::to_string(threads));
    Writer writer(path, table.schema, options);
    const uint64_t step = threads == 1 ? table.rows : 997 * threads;
    for (uint64_t begin = 0; begin < table.rows; begin += step) {
      Table part;
      part.schema = table.schema;
      part.rows = std::min(step, table.rows - begin);
      for (size_t c = 0; c < table.columns.size(); ++c) {
        part.columns.push_back(make_column(table.schema.fields[c]));
        append_rows(part.columns.back(), table.columns[c], begin, begin + part.rows);
      }
      writer.append(part);
    }
    const WriteSummary summary = writer.finish();
    EXPECT_EQ(summary.chunks, 4u);
    EXPECT_EQ(summary.rows, table.rows);
    const std::vector<std::byte> bytes = read_bytes(path);
    EXPECT_EQ(summary.file_bytes, bytes.size());
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first) << threads << " threads";
  }
}

TEST(Writing, RefusesBeforeAnythingIsCreated) {
  TemporaryFolder folder;
  const std::string path = folder.path("t.basalt");
  Schema schema = make_table(0, {counting("good", 0), counting("bad", 0), counting("worse", 0)}).schema;
  schema.fields[1].type = type_of(TypeKind::kDecimal, 40, 2);
  schema.fields[2].type.kind = static_cast<TypeKind>(99);
  const std::string message = message_of([&] { Writer writer(path, schema); }, ErrorCode::kUnsupported);
  EXPECT_THAT(message, HasSubstr("bad (decimal(40,2))"));
  EXPECT_THAT(message, HasSubstr("worse"));
  EXPECT_THAT(message, testing::Not(HasSubstr("good")));

  const Schema twice = make_table(0, {counting("a", 0), counting("a", 0)}).schema;
  EXPECT_THAT(message_of([&] { Writer writer(path, twice); }, ErrorCode::kUnsupported),
              HasSubstr("a (the name is used twice)"));
  const Schema plain = make_table(0, {counting("a", 0)}).schema;
  WriteOptions options;
  options.encodings["b"] = {"plain", {}};
  EXPECT_THAT(message_of([&] { Writer writer(path, plain, options); }, ErrorCode::kInvalidArgument),
              HasSubstr("column b"));
  options.encodings = {{"a", {"strings", {}}}};
  EXPECT_THAT(message_of([&] { Writer writer(path, plain, options); }, ErrorCode::kInvalidArgument),
              HasSubstr("column a"));
  options.encodings = {};
  options.chunk_rows = 1000;
  message_of([&] { Writer writer(path, plain, options); }, ErrorCode::kInvalidArgument);
  options.chunk_rows = 8192;
  options.sort_columns = {"z"};
  EXPECT_THAT(message_of([&] { Writer writer(path, plain, options); }, ErrorCode::kInvalidArgument),
              HasSubstr("column z"));
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(Writing, AnUnfinishedWriterLeavesNothing) {
  TemporaryFolder folder;
  const Table table = make_table(100000, {counting("a", 100000)});
  {
    Writer writer(folder.path("t.basalt"), table.schema, chunks_of(8192));
    writer.append(table);
    EXPECT_LE(files_in(folder), 1u);  // none where files can be without a name
    EXPECT_FALSE(std::filesystem::exists(folder.path("t.basalt")));
  }
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(Writing, AnOldFileStaysUntilTheNewOneIsComplete) {
  TemporaryFolder folder;
  const std::string path = folder.path("t.basalt");
  const Table first = make_table(10, {counting("a", 10)});
  write(path, first);
  const Table second = make_table(20000, {counting("b", 20000)});
  {
    Writer writer(path, second.schema);
    writer.append(second);
  }
  expect_equal(first, read_table(*File::open(path)));
  write(path, second);
  expect_equal(second, read_table(*File::open(path)));
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(Writing, CancellationStopsAndCleansUp) {
  TemporaryFolder folder;
  const Table table = make_table(100000, {counting("a", 100000)});
  CancelToken token;
  WriteOptions options;
  options.chunk_rows = 8192;
  options.cancel = &token;
  Writer writer(folder.path("t.basalt"), table.schema, options);
  writer.append(table);
  token.cancel();
  message_of(
      [&] {
        writer.append(table);
        writer.finish();
      },
      ErrorCode::kCancelled);
  EXPECT_EQ(files_in(folder), 0u);
  message_of([&] { writer.finish(); }, ErrorCode::kInvalidArgument);
}

TEST(Writing, ErrorsOfEncodersNameTheColumnAndLeaveNothing) {
  TemporaryFolder folder;
  const Table table = make_table(50000, {counting("a", 50000), counting("b", 50000)});
  WriteOptions options;
  options.chunk_rows = 8192;
  options.encodings = {{"b", {"plain", {}}}};
  std::atomic<int> calls{0};
  options.encoder = [&](const Values& values, const Tree& tree) {
    if (tree.codec == "plain" && ++calls == 3) throw Error(ErrorCode::kDevice, "the device is gone");
    return encode_tree(values, tree);
  };
  const std::string message = message_of([&] { write(folder.path("t.basalt"), table, options); }, ErrorCode::kDevice);
  EXPECT_THAT(message, HasSubstr("column b, chunk"));
  EXPECT_THAT(message, HasSubstr("the device is gone"));
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(Writing, RefusedTreesFallBack) {
  // Forced to `constant`, which holds one value only: chunks that have several take the universal tree.
  const uint64_t rows = 20000;
  const Table table = make_table(rows, {integers("a", type_of(TypeKind::kInt32), rows,
                                                 [](uint64_t i) { return i < 9000 ? 5 : static_cast<int64_t>(i); })});
  TemporaryFolder folder;
  WriteOptions options;
  options.chunk_rows = 8192;
  options.encodings = {{"a", {"constant", {}}}};
  const WriteSummary summary = write(folder.path("t.basalt"), table, options);
  EXPECT_EQ(summary.columns[0].trees.size(), 2u);
  const auto file = File::open(folder.path("t.basalt"));
  EXPECT_EQ(to_string(file->column(0).shapes[0]), "constant");
  expect_equal(table, read_table(*file));
}

TEST(Writing, ADiskThatIsFullIsAnError) {
  TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    // A limit on the size of files stands for the full disk: write() fails in the middle of a chunk.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Table table = make_table(500000, {integers("a", type_of(TypeKind::kInt64), 500000,
                                                     [](uint64_t i) { return static_cast<int64_t>(scramble(i)); })});
    try {
      write(folder.path("t.basalt"), table, chunks_of(8192, 1));
    } catch (const Error& error) {
      ::_exit(error.code() == ErrorCode::kIo && std::string(error.what()).find("cannot write") != std::string::npos
                  ? 7
                  : 8);
    }
    ::_exit(9);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(files_in(folder), 0u);
}

// Whether files of this folder can be without a name until they are complete.
bool has_nameless_files(const TemporaryFolder& folder) {
  const int descriptor = ::open(folder.folder().c_str(), O_WRONLY | O_TMPFILE, 0600);
  if (descriptor >= 0) ::close(descriptor);
  return descriptor >= 0;
}

TEST(Writing, AKilledWriterLeavesNothing) {
  TemporaryFolder folder;
  const bool nameless = has_nameless_files(folder);
  const Table table = make_table(200000, {counting("a", 200000), counting("b", 200000)});
  for (int attempt = 0; attempt < 8; ++attempt) {
    const std::string path = folder.path("killed.basalt");
    const pid_t child = ::fork();
    if (child == 0) {
      write(path, table, chunks_of(8192, 2));
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * attempt));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (std::filesystem::exists(path)) {
      expect_equal(table, read_table(*File::open(path)));
      std::filesystem::remove(path);
    }
    if (nameless) {
      EXPECT_EQ(files_in(folder), 0u);
    }
  }
}

TEST(Writing, BothWaysToPutAFileInItsPlace) {
  const std::string text = "twelve bytes";
  const ByteView bytes{reinterpret_cast<const std::byte*>(text.data()), text.size()};
  for (const bool nameless : {true, false}) {
    TemporaryFolder folder;
    const std::string path = folder.path("out");
    for (int round = 0; round < 2; ++round) {  // a new file, then one that replaces it
      OutputFile file(path, {.may_be_nameless = nameless});
      EXPECT_EQ(files_in(folder), (nameless && has_nameless_files(folder) ? 0u : 1u) + round);
      file.write(bytes);
      if (round == 1) file.write(bytes);
      file.commit();
      EXPECT_EQ(files_in(folder), 1u);
      EXPECT_EQ(read_bytes(path).size(), text.size() * (round + 1));
    }
    { OutputFile given_up(path, {.may_be_nameless = nameless}); }
    EXPECT_EQ(files_in(folder), 1u);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
  }
}

TEST(Writing, WhatKilledWritersLeftIsRemovedByTheNext) {
  for (const bool nameless : {true, false}) {
    TemporaryFolder folder;
    const std::string path = folder.path("out");
    const pid_t child = ::fork();
    if (child == 0) {
      OutputFile file(path, {.may_be_nameless = false});
      ::kill(::getpid(), SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    ASSERT_EQ(files_in(folder), 1u);
    std::ofstream(path) << "old";
    for (const char* other : {"out.tmp-12-zz345678", "out.tmp-x", "other.tmp-12-12345678", "out.tmp-12-123456789"}) {
      std::ofstream(folder.path(other)) << "not ours";
    }
    const OutputFile alive(path, {.may_be_nameless = false});  // in use: must stay
    EXPECT_EQ(files_in(folder), 6u);
    {
      OutputFile next(path, {.may_be_nameless = nameless});
      next.commit();
    }
    EXPECT_EQ(files_in(folder), 6u);
    EXPECT_TRUE(read_bytes(path).empty());
  }
}

// More than is written at a time, so that the regions of columns take turns.
TEST(Writing, LargeFilesAreTheSameWhateverTheThreads) {
  const uint64_t rows = 5'000'000;
  const auto noise = [](uint64_t salt) {
    return [salt](uint64_t i) { return static_cast<int64_t>(scramble(i + salt)); };
  };
  const Table table = make_table(rows, {integers("a", type_of(TypeKind::kInt64), rows, noise(1)),
                                        integers("b", type_of(TypeKind::kInt64), rows, noise(2))});
  TemporaryFolder folder;
  for (const uint32_t threads : {1, 9}) {
    WriteOptions options;
    options.threads = threads;
    write(folder.path(std::to_string(threads)), table, options);
  }
  EXPECT_TRUE(read_bytes(folder.path("1")) == read_bytes(folder.path("9")));
}

TEST(Writing, RowsKeepWhatTheirMeaningPromises) {
  TemporaryFolder folder;
  Field key;
  key.name = "key";
  Field value = key;
  value.name = "value";
  Field entries;
  entries.name = "entries";
  entries.type.kind = TypeKind::kStruct;
  entries.children = {key, value};
  Field map;
  map.name = "map";
  map.type.kind = TypeKind::kList;
  map.meaning = Meaning::kMap;
  map.children = {entries};
  Field array = map;
  array.meaning = Meaning::kArray;
  array.array_size = 2;
  array.children = {key};
  for (const Field& field : {map, array}) {
    Table table;
    table.rows = 1;
    table.schema.fields = {field};
    table.columns.push_back(make_column(field));
    Column& column = table.columns[0];
    column.length = 1;
    column.offsets.push<int64_t>(1);
    append_nulls(column.children[0], 1);  // one entry whose key is NULL, or one element of two
    message_of([&] { write(folder.path("t.basalt"), table); }, ErrorCode::kInvalidArgument);
    // Another type altogether has no lengths to look at.
    table.columns[0] = make_column(key);
    append_nulls(table.columns[0], 1);
    EXPECT_THAT(message_of([&] { write(folder.path("t.basalt"), table); }, ErrorCode::kInvalidArgument),
                HasSubstr("another type or length"));
  }
}

TEST(Writing, LongStringsCloseChunksEarly) {
  const uint64_t rows = 400;
  const auto text = [](uint64_t i) { return std::string(100000 + i, static_cast<char>('a' + scramble(i) % 26)); };
  const Table table = make_table(
      rows, {strings("text", TypeKind::kUtf8, rows, text, [](uint64_t i) { return i % 7 == 3; }), counting("n", rows)});
  TemporaryFolder folder;
  WriteOptions options;
  options.memory_limit = 24 << 20;
  const WriteSummary summary = write(folder.path("t.basalt"), table, options);
  EXPECT_GE(summary.chunks, 4u);
  const auto file = File::open(folder.path("t.basalt"));
  ThreadPool pool(2);
  verify_file(*file, pool);
  expect_equal(table, read_table(*file));
  // NULLs cost next to nothing, long strings are not repeated below them.
  EXPECT_LT(summary.columns[0].encoded_bytes, summary.columns[0].plain_bytes + (1 << 20));
}

// Files that are to be small have larger chunks; each can still be decoded within the usual limit.
TEST(Writing, ChunksAreLargerForDisk) {
  const uint64_t rows = 150'000;
  const Table table = make_table(rows, {strings("s", TypeKind::kUtf8, rows, [](uint64_t i) {
                                   return std::string(1000, static_cast<char>('a' + i / 9000));
                                 })});
  const auto chunks = [&](Purpose purpose) {
    TemporaryFolder folder;
    WriteOptions options;
    options.purpose = purpose;
    const uint64_t count = write_table(folder.path("t.basalt"), table, options).chunks;
    expect_equal(table, read_table(*File::open(folder.path("t.basalt"))));
    return count;
  };
  EXPECT_EQ(chunks(Purpose::kTransfer), 4u);
  EXPECT_EQ(chunks(Purpose::kDisk), 2u);
}

TEST(Writing, HugeConstantStringsDoNotGoToTheMetadata) {
  const std::string text(3 << 20, 'q');
  const Table table = make_table(3, {strings("text", TypeKind::kBinary, 3, [&](uint64_t) { return text; })});
  TemporaryFolder folder;
  write(folder.path("t.basalt"), table);
  const auto file = File::open(folder.path("t.basalt"));
  EXPECT_LT(file->column(0).chunks[0].nodes[0].params.size(), 100u);
  expect_equal(table, read_table(*file));
}

TEST(Writing, ElementsUnderNullListsAreDropped) {
  Table table =
      make_table(3, {list_of(
                        "l", 3, [](uint64_t) { return 2; }, [](uint64_t n) { return counting("element", n); })});
  Column& list = table.columns[0];
  list.validity.resize(1);
  list.validity.as<uint8_t>()[0] = 0b101;
  list.null_count = 1;
  TemporaryFolder folder;
  write(folder.path("t.basalt"), table);
  const Table back = read_table(*File::open(folder.path("t.basalt")));
  expect_equal(table, back);
  EXPECT_EQ(back.columns[0].children[0].length, 4u);
}

TEST(Writing, NamesMayBeAnyUtf8) {
  const Table table = make_table(2, {counting("", 2), counting("a.b", 2), counting("naïve \n 漢 \"x\"", 2),
                                     counting(std::string("nul\0in", 6), 2)});
  TemporaryFolder folder;
  write(folder.path("t.basalt"), table);
  const auto file = File::open(folder.path("t.basalt"));
  EXPECT_EQ(file->schema(), table.schema);
  expect_equal(table, read_table(*file));
}

TEST(Writing, RefusesWhatIsNotUtf8) {
  TemporaryFolder folder;
  const std::string path = folder.path("t.basalt");
  const Schema schema = make_table(0, {counting("a\xFF", 0)}).schema;
  EXPECT_THAT(message_of([&] { Writer writer(path, schema); }, ErrorCode::kUnsupported), HasSubstr("not UTF-8"));
  const Table table =
      make_table(9, {strings("s", TypeKind::kUtf8, 9, [](uint64_t i) { return i == 5 ? "\xE9t\xE9" : "x"; })});
  const std::string message = message_of([&] { write(path, table); }, ErrorCode::kInvalidArgument);
  EXPECT_THAT(message, HasSubstr("column s, chunk 0"));
  EXPECT_THAT(message, HasSubstr("row 5 is not valid UTF-8"));
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(Writing, ProgressCountsUp) {
  const Table table = make_table(100000, {counting("a", 100000)});
  TemporaryFolder folder;
  WriteOptions options;
  options.chunk_rows = 8192;
  uint64_t last = 0;
  options.progress = [&](const WriteProgress& progress) {
    EXPECT_GE(progress.rows, last);
    last = progress.rows;
  };
  write(folder.path("t.basalt"), table, options);
  EXPECT_EQ(last, 100000u);
}

TEST(Writing, AlignmentAndOrderOfRegions) {
  const uint64_t rows = 65536;
  const auto noise = [](uint64_t i) { return static_cast<int64_t>(scramble(i)); };
  const Table table = make_table(rows, {integers("large", type_of(TypeKind::kInt64), rows, noise),
                                        integers("small", type_of(TypeKind::kInt8), rows,
                                                 [](uint64_t i) { return static_cast<int64_t>(i % 3); })});
  TemporaryFolder folder;
  write(folder.path("t.basalt"), table, chunks_of(16384));
  const auto file = File::open(folder.path("t.basalt"));
  uint64_t last = 0;
  for (uint32_t field = 0; field < 2; ++field) {
    for (const ColumnChunkInfo& chunk : file->column(field).chunks) {
      EXPECT_GE(chunk.region.offset, last);
      EXPECT_EQ(chunk.region.offset % (chunk.region.length >= 65536 ? 4096 : 128), 0u);
      last = chunk.region.offset + chunk.region.length;
    }
  }
  EXPECT_GE(file->column(0).chunks[0].region.length, 65536u);
}

}  // namespace
}  // namespace basalt::test
