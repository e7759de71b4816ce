// Many threads, one file: readers share what they have opened, files of their own, and both, with equal results. Also
// built and run with ThreadSanitizer (`make tsan`).
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "basalt/core/error.h"
#include "basalt/file/verify.h"
#include "file/test_files.h"

namespace basalt::test {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kRows = 9000;  // many times slower
#else
constexpr uint64_t kRows = 30000;
#endif

struct Fixture {
  TemporaryFolder folder;
  Table table = everything(kRows);
  std::string path = folder.path("t.basalt");
  Fixture() { write(path, table, chunks_of(8192)); }
};

// Runs `body(thread)` in several threads that start together; an exception in one fails the test.
void together(uint32_t threads, const std::function<void(uint32_t)>& body) {
  std::atomic<uint32_t> waiting{threads};
  std::vector<std::thread> running;
  for (uint32_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      --waiting;
      while (waiting.load() != 0) std::this_thread::yield();
      try {
        body(i);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (std::thread& thread : running) thread.join();
}

TEST(Concurrency, ThreadsShareOneOpenFile) {
  const Fixture fixture;
  const auto file = File::open(fixture.path);
  together(6, [&](uint32_t thread) {
    // Every thread begins with another column, so that first uses of metadata meet.
    const size_t columns = fixture.table.columns.size();
    for (size_t i = 0; i < columns; ++i) {
      const auto column = static_cast<uint32_t>((i + thread * 5) % columns);
      Column whole = make_column(fixture.table.schema.fields[column]);
      for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
        const Column part = file->decode_column(column, chunk);
        append_rows(whole, part, 0, part.length);
      }
      EXPECT_TRUE(equal(whole, fixture.table.columns[column])) << file->path(column);
      const uint32_t id = fixture.table.schema.fields[column].id;
      if (!file->column(id).has_dictionary) continue;
      EXPECT_GT(file->read_dictionary(id).root.count, 0u);
      for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) file->read_code_map(id, chunk);
    }
  });
}

TEST(Concurrency, ReadersWithThreadsOfTheirOwn) {
  const Fixture fixture;
  const auto shared = File::open(fixture.path);
  together(4, [&](uint32_t thread) {
    const auto own = thread % 2 == 0 ? shared : File::open(fixture.path);
    const Table back = read_table(*own, {.columns = {}, .first_row = 0, .rows = ~uint64_t{0}, .threads = 3});
    ASSERT_EQ(back.rows, kRows);
    for (size_t i = 0; i < back.columns.size(); ++i) EXPECT_TRUE(equal(back.columns[i], fixture.table.columns[i]));
    ThreadPool pool(2);
    verify_file(*own, pool);
  });
}

TEST(Concurrency, WritersBesideReaders) {
  // One path is replaced again and again: a reader sees one complete file or the other.
  const Fixture fixture;
  const Table other = make_table(10, {integers("x", type_of(TypeKind::kInt8), 10, [](uint64_t) { return 1; })});
  together(4, [&](uint32_t thread) {
    for (int round = 0; round < 4; ++round) {
      if (thread < 2) {
        write(fixture.path, thread == 0 ? fixture.table : other, chunks_of(8192, 2));
        continue;
      }
      const auto file = File::open(fixture.path);
      const Table back = read_table(*file, {.columns = {}, .first_row = 0, .rows = ~uint64_t{0}, .threads = 2});
      EXPECT_TRUE(back.rows == kRows || back.rows == 10u);
    }
  });
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(fixture.folder.folder()), {}), 1);
}

}  // namespace
}  // namespace basalt::test
