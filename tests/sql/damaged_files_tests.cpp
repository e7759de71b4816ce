// Statements over files that are damaged by their structure, with checksums that fit, on every device there is: an
// error or rows, and sound files give right rows afterwards.
#include <gtest/gtest.h>

#include <random>

#include "sql/support.h"
#include "support/hostile_files.h"
#include "support/mutated_file.h"
#include "support/untrusted_sql.h"

namespace basalt::testing {

namespace {

void query_damaged(Device device, uint64_t seed, int files_each) {
  ScratchFolder folder;
  SessionOptions options = session_options(device);
  options.memory_limit = 256 << 20;
  Session session(options);
  std::mt19937_64 random(seed);
  for (const std::vector<std::byte>& sound : test::golden_files()) {
    for (int i = 0; i < files_each; ++i) {
      std::vector<uint8_t> choices(8 + random() % 40);
      for (uint8_t& choice : choices) choice = static_cast<uint8_t>(random());
      SCOPED_TRACE(i);
      test::query_untrusted(session, folder.file("a.basalt"), test::mutated(sound, choices.data(), choices.size()));
    }
  }
  const std::string good = folder.file("good.basalt");
  session.convert("select i, i % 7 as k from range(100000) t(i)", good);
  EXPECT_EQ(rows_of(session, "select count(*), sum(i), max(k) from " + quote_literal(good) + " where k < 5"),
            std::vector<std::string>{"71430|3571464285|4"});
}

// On the CPU, the tests of the program do the same and measure it.
TEST(DamagedFiles, HostileFilesOnTheDevice) {
  for (const Device device : test_devices()) {
    if (device == Device::kCpu) continue;
    ScratchFolder folder;
    Session session(session_options(device));
    for (const test::HostileFile& hostile : test::hostile_files()) {
      SCOPED_TRACE(hostile.name);
      const std::vector<std::byte> bytes = hostile.make();
      const std::string path = folder.file(hostile.name + ".basalt");
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      const std::string from = " from " + quote_literal(path) + " t(c)";
      for (const char* asked : {"select count(c)", "select min(c), max(c)", "select sum(c)", "select sum(strlen(c))"}) {
        test::run_untrusted(session, asked + from);
      }
      test::run_untrusted(session, "select count(*)" + from + " where c like '%q%'");
      test::run_untrusted(session, "select sum(c)" + from + " where c > 5");
    }
  }
}

TEST(DamagedFiles, EndInAnErrorOrInRows) {
  for (const Device device : test_devices()) query_damaged(device, 3, device != Device::kCpu ? 1 : kQuick ? 6 : 15);
}

}  // namespace

}  // namespace basalt::testing
