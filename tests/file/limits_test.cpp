// The ends of the scale: nothing, very much, very long, very far, and counts that nobody can mean.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <set>

#include "basalt/core/error.h"
#include "basalt/file/verify.h"
#include "core/peak_memory.h"
#include "file/format.h"
#include "file/test_files.h"
#include "support/sanitized.h"

namespace basalt::test {
namespace {

void verify(const File& file) {
  ThreadPool pool(2);
  verify_file(file, pool);
}

TEST(Limits, NoRowsAndNoColumns) {
  TemporaryFolder folder;
  for (const uint64_t rows : {uint64_t{0}, uint64_t{1}, uint64_t{5}, uint64_t{3000000}}) {
    const Table nothing = make_table(rows, {});
    write(folder.path("t.basalt"), nothing);
    const auto file = File::open(folder.path("t.basalt"));
    EXPECT_EQ(file->rows(), rows);
    verify(*file);
    const Table back = read_table(*file);
    EXPECT_EQ(back.rows, rows);
    EXPECT_TRUE(back.columns.empty());
  }
  const Table empty = everything(0);
  write(folder.path("e.basalt"), empty);
  const auto file = File::open(folder.path("e.basalt"));
  verify(*file);
  expect_equal(empty, read_table(*file));
  EXPECT_TRUE(file->chunks().empty());
}

TEST(Limits, TenThousandColumns) {
  std::vector<NamedColumn> columns;
  for (uint64_t c = 0; c < 10000; ++c) {
    columns.push_back(integers("ç" + std::to_string(c), type_of(TypeKind::kInt16), 3,
                               [c](uint64_t i) { return static_cast<int64_t>((c * 7 + i) % 1000); }));
  }
  const Table table = make_table(3, std::move(columns));
  TemporaryFolder folder;
  write(folder.path("wide.basalt"), table);
  const auto file = File::open(folder.path("wide.basalt"));
  EXPECT_EQ(file->find_column("ç9999"), 9999u);
  expect_equal(table, read_table(*file));
  verify(*file);
}

TEST(Limits, NamesInAnyScript) {
  const std::vector<std::string> names = {"plain",
                                          "with space",
                                          "Ünïcödé",
                                          "列",
                                          "\U0001F30B",
                                          "quote\"'`",
                                          "a.b",
                                          std::string("nul\0x", 5),
                                          "",
                                          "\xEF\xBB\xBF"
                                          "bom",
                                          std::string(5000, 'n')};
  std::vector<NamedColumn> columns;
  for (const std::string& name : names) {
    columns.push_back(integers(name, type_of(TypeKind::kInt32), 4, [](uint64_t i) { return static_cast<int64_t>(i); }));
  }
  columns.push_back(struct_of("Straße", 4, {strings("内", TypeKind::kUtf8, 4, [](uint64_t) { return "x"; })}));
  const Table table = make_table(4, std::move(columns));
  TemporaryFolder folder;
  write(folder.path("ñ 列.basalt"), table);
  const auto file = File::open(folder.path("ñ 列.basalt"));
  EXPECT_EQ(file->schema(), table.schema);
  EXPECT_EQ(file->path(12), "Straße.内");
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(file->find_column(names[i]), i);
  expect_equal(table, read_table(*file));
}

TEST(Limits, AStringOfAHundredMegabytes) {
  const uint64_t size = 100'000'000;
  TemporaryFolder folder;
  const std::string path = folder.path("long.basalt");
  const PeakMemory memory;
  {
    const Table table = make_table(4, {strings("s", TypeKind::kUtf8, 4, [&](uint64_t i) {
                                     return i == 2 ? std::string(size, 'x') : std::string("short");
                                   })});
    write(path, table);
  }
  const auto file = File::open(path);
  const Table back = read_table(*file, {.columns = {}, .first_row = 1, .rows = 2, .threads = 1});
  ASSERT_EQ(back.columns[0].string_at(1).size(), size);
  EXPECT_EQ(back.columns[0].string_at(0), "short");
  EXPECT_EQ(back.columns[0].string_at(1).find_first_not_of('x'), std::string_view::npos);
  // The rows, the chunk built from them, its encoding; the region, the tile, the rows given back: a few copies each.
  if (!kSanitized) {
    EXPECT_LT(memory.bytes(), 8 * size);
  }
}

TEST(Limits, ManyLongStringsInLittleMemory) {
  // 600 MB of them pass through a writer that may hold 64 MiB.
  const uint64_t rows_per_table = 20;
  const uint64_t tables = kSanitized ? 30 : 300;
  const Table table = make_table(rows_per_table, {strings("s", TypeKind::kUtf8, rows_per_table, [](uint64_t i) {
                                   return std::string(100000, static_cast<char>('a' + i));
                                 })});
  TemporaryFolder folder;
  const std::string path = folder.path("many.basalt");
  WriteOptions options;
  options.memory_limit = 64 << 20;
  options.threads = 2;
  const PeakMemory memory;
  {
    Writer writer(path, table.schema, options);
    for (uint64_t i = 0; i < tables; ++i) writer.append(table);
    const WriteSummary summary = writer.finish();
    EXPECT_EQ(summary.rows, tables * rows_per_table);
    EXPECT_GT(summary.chunks, tables / 20);
  }
  const auto file = File::open(path);
  for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
    const Column column = file->decode_column(0, chunk);
    EXPECT_EQ(column.string_at(0).size(), 100000u);
  }
  // A writer that held them all would take 600 MB. What threads have freed and keep counts, too: at most 347 MiB were
  // seen, on a machine with ten times as many threads as cores.
  if (!kSanitized) {
    EXPECT_LT(memory.bytes(), uint64_t{400} << 20);
  }
}

TEST(Limits, ASparseFileBeyondFourGigabytes) {
  // A real file with its bytes behind 5 GiB of nothing; the disk holds only what was written.
  const Table table = everything(3000);
  TemporaryFolder folder;
  write(folder.path("t.basalt"), table);
  std::vector<std::byte> bytes = read_bytes(folder.path("t.basalt"));
  const uint64_t shift = uint64_t{5} << 30;
  shift_offsets(bytes, shift);
  const std::string path = folder.path("sparse.basalt");
  const int descriptor = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(descriptor, 0);
  // The header stays where it is.
  bool written = ::pwrite(descriptor, bytes.data(), format_v1::kHeaderBytes, 0) == format_v1::kHeaderBytes;
  written = written && ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(shift)) ==
                           static_cast<ssize_t>(bytes.size());
  ::close(descriptor);
  ASSERT_TRUE(written);
  const auto file = File::open(path);
  EXPECT_GT(file->column(0).chunks[0].region.offset, uint64_t{5} << 30);
  expect_equal(table, read_table(*file));
  EXPECT_THROW(verify(*file), Error);  // 5 GiB that belong to nothing
}

TEST(Limits, WritingBeyondFourGigabytes) {
  // Noise, so that the file has its size on the disk, too.
  const uint64_t rows = 1 << 20;
  const Table table = make_table(rows, {integers("a", type_of(TypeKind::kInt64), rows,
                                                 [](uint64_t i) { return static_cast<int64_t>(scramble(i)); })});
  TemporaryFolder folder;
  WriteOptions options;
  options.encodings["a"] = {"plain", {}};
  Writer writer(folder.path("large.basalt"), table.schema, options);
  for (int i = 0; i < 520; ++i) writer.append(table);
  EXPECT_GT(writer.finish().file_bytes, uint64_t{1} << 32);
  const auto file = File::open(folder.path("large.basalt"));
  for (const uint32_t chunk : {0u, 511u, 513u, 519u}) {
    EXPECT_TRUE(equal(file->decode_column(0, chunk), table.columns[0])) << chunk;
  }
}

// Numbers nobody can mean in place of every number of the metadata, under checksums that fit: an error or a result, in
// little memory. A failed allocation would leave the reader as std::bad_alloc.
TEST(Limits, AbsurdCountsAllocateNothing) {
  const uint64_t rows = 3000;
  const auto word = [](uint64_t i) { return "w" + std::to_string(scramble(i) % 6); };
  const Table table = make_table(
      rows, {integers("n", type_of(TypeKind::kInt64), rows, [](uint64_t i) { return static_cast<int64_t>(i / 9); }),
             strings("s", TypeKind::kUtf8, rows, word),
             list_of(
                 "l", rows, [](uint64_t i) { return i % 3; },
                 [&](uint64_t n) { return strings("element", TypeKind::kUtf8, n, word); })});
  WriteOptions options;
  options.encodings["n"] = parse_tree("rle(delta(packed), packed)");
  options.encodings["s"] = parse_tree("dict(packed, strings(packed, plain))");
  TemporaryFolder folder;
  write(folder.path("t.basalt"), table, options);
  const std::vector<std::byte> bytes = read_bytes(folder.path("t.basalt"));
  uint64_t metadata = 0;
  {
    const auto file = open_bytes(bytes);
    for (const Field* field : file->fields()) {
      for (const ColumnChunkInfo& chunk : file->column(field->id).chunks) {
        metadata = std::max(metadata, chunk.region.offset + chunk.region.length);
      }
    }
  }
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  if (!kSanitized) {
    const rlimit tight{status_bytes("VmSize:") + (uint64_t{512} << 20), before.rlim_max};
    ::setrlimit(RLIMIT_AS, &tight);
  }
  std::set<std::string> sentences;
  ThreadPool pool(1);
  for (size_t at = metadata / 4 * 4; at + 8 <= bytes.size(); at += 4) {
    for (const uint64_t absurd : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 40, uint64_t{0x7FFFFFFF}}) {
      std::vector<std::byte> damaged = bytes;
      std::memcpy(damaged.data() + at, &absurd, absurd == 0x7FFFFFFF ? 4 : 8);
      reseal(damaged);
      try {
        const auto file = open_bytes(damaged);
        read_table(*file, {.columns = {}, .first_row = 0, .rows = 10, .threads = 1});
        verify_file(*file, pool);
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kOutOfMemory) << at << ": " << error.what();
        sentences.insert(error.what());
      } catch (const std::bad_alloc&) {
        ADD_FAILURE() << "byte " << at << " with " << absurd << " made the reader ask for too much memory";
      }
    }
  }
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_GT(sentences.size(), 30u);
}

}  // namespace
}  // namespace basalt::test
