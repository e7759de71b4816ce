// Runs the SQL behaviour tests in *.test beside this file, on every device there is. A test file is a list of blocks
// with empty lines between them:
//
//   statement                     the lines that follow are SQL that must work
//   error TEXT                    SQL that must fail with TEXT in its sentence
//   query [sorted] [in_place] [lowered] [duckdb TEXT|says TEXT]
//                                 SQL, a line ----, and the rows expected: columns with | between them, NULL as
//                                 nothing, an empty string as "". `sorted` compares without order. `lowered`: a part
//                                 must have run in Basalt; `duckdb TEXT`: nothing may have. TEXT is a part of the
//                                 report. `in_place`: filters tested strings as they are stored and decoded none.
//
// ${DIR} stands for a scratch folder of the file's own.
#include <gtest/gtest.h>

#include <fstream>

#include "sql/support.h"
#include "support/source_path.h"

namespace basalt::testing {
namespace {

struct Block {
  int line = 0;
  std::string head;
  std::string sql;
  std::vector<std::string> rows;
};

std::vector<Block> read_blocks(const std::filesystem::path& path, const std::string& folder) {
  std::ifstream file(path);
  std::vector<Block> blocks;
  Block block;
  bool in_rows = false;
  int number = 0;
  const auto close = [&] {
    if (!block.head.empty()) blocks.push_back(block);
    block = {};
    in_rows = false;
  };
  for (std::string line; std::getline(file, line);) {
    ++number;
    for (size_t at; (at = line.find("${DIR}")) != std::string::npos;) line.replace(at, 6, folder);
    if (line.empty()) {
      close();
    } else if (block.head.empty()) {
      if (line[0] == '#') continue;
      block.head = line;
      block.line = number;
    } else if (line == "----") {
      in_rows = true;
    } else if (in_rows) {
      block.rows.push_back(line);
    } else {
      block.sql += line + "\n";
    }
  }
  close();
  return blocks;
}

void run_error(Session& session, const Block& block) {
  const std::string expected = block.head.substr(6);
  try {
    rows_of(session, block.sql);
    FAIL() << "succeeded instead of failing with: " << expected;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << "failed with: " << error.what();
  }
}

void run_query(Session& session, const Block& block) {
  const bool sorted = block.head.find(" sorted") != std::string::npos;
  const bool lowered = block.head.find(" lowered") != std::string::npos;
  const bool in_place = block.head.find(" in_place") != std::string::npos;
  const size_t duckdb = block.head.find(" duckdb ");
  const size_t says = block.head.find(" says ");
  QueryResult result = session.execute(block.sql);
  std::string text;
  result.write_csv([&](std::string_view part) { text += part; }, false, '|');
  std::vector<std::string> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  std::vector<std::string> expected = block.rows;
  if (sorted) {
    std::sort(rows.begin(), rows.end());
    std::sort(expected.begin(), expected.end());
  }
  EXPECT_EQ(rows, expected);
  const QueryReport& report = result.report();
  // Some functions the GPU leaves to the CPU.
  if (lowered && session.device() == Device::kCpu) {
    EXPECT_FALSE(report.in_basalt.empty()) << report.summary();
    EXPECT_EQ(report.ran_on, Device::kCpu) << report.summary();
  }
  if (in_place) {
    EXPECT_GT(report.tiles.texts_in_place, 0u) << report.summary();
    EXPECT_EQ(report.tiles.texts_decoded, 0u) << report.summary();
  }
  if (report.ran_on == Device::kCuda) return;  // which takes more
  if (duckdb != std::string::npos) {
    EXPECT_TRUE(report.in_basalt.empty()) << report.summary();
    EXPECT_NE(report.summary().find(block.head.substr(duckdb + 8)), std::string::npos) << report.summary();
  }
  if (says != std::string::npos) {
    EXPECT_NE(report.summary().find(block.head.substr(says + 6)), std::string::npos) << report.summary();
  }
}

class TextTest : public ::testing::TestWithParam<std::tuple<std::filesystem::path, Device>> {};

TEST_P(TextTest, GivesTheExpectedRows) {
  const auto& [path, device] = GetParam();
  const ScratchFolder folder;
  Session session(session_options(device));
  for (const Block& block : read_blocks(path, folder.path())) {
    SCOPED_TRACE(path.filename().string() + ":" + std::to_string(block.line) + "\n" + block.sql);
    try {
      if (block.head == "statement") {
        rows_of(session, block.sql);
      } else if (block.head.starts_with("error ")) {
        run_error(session, block);
      } else if (block.head.starts_with("query")) {
        run_query(session, block);
      } else {
        FAIL() << "unknown block: " << block.head;
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

std::vector<std::filesystem::path> test_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/sql"))) {
    if (entry.path().extension() == ".test") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Sql, TextTest,
                         ::testing::Combine(::testing::ValuesIn(test_files()), ::testing::ValuesIn(test_devices())),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param).stem().string() +
                                  (std::get<1>(parameter.param) == Device::kCuda ? "_cuda" : "_cpu");
                         });

}  // namespace
}  // namespace basalt::testing
