// The 13 queries of the Star Schema Benchmark run wholly in the plain engine and give the rows that DuckDB gives over
// the same files.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "basalt/file/writer.h"
#include "gen/ssb.h"
#include "sql/support.h"
#include "support/source_path.h"

namespace basalt::testing {
namespace {

struct SsbQuery {
  std::string name;
  std::string text;
};

// A line "-- Q1.1" stands before each query.
std::vector<SsbQuery> read_ssb_queries() {
  std::vector<SsbQuery> queries;
  std::ifstream file(source_path("bench/ssb.sql"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("-- Q")) {
      queries.push_back({line.substr(4), ""});
    } else if (!queries.empty()) {
      queries.back().text += line + "\n";
    }
  }
  return queries;
}

class SsbTest : public ::testing::TestWithParam<Device> {};

TEST_P(SsbTest, AllQueriesRunWhollyInBasalt) {
  const ScratchFolder folder;
  Session session(session_options(GetParam()));
  const SsbGenerator generator(kQuick ? 0.01 : 0.05);
  for (const SsbTable table : ssb_tables()) {
    const std::string file = folder.file(std::string(to_string(table)) + ".basalt");
    write_table(file, generator.generate(table, 0, generator.rows(table)));
    rows_of(session, std::string("create view ") + to_string(table) + " as from " + quote_literal(file));
  }
  const std::vector<SsbQuery> queries = read_ssb_queries();
  ASSERT_EQ(queries.size(), 13u);
  for (const SsbQuery& query : queries) {
    SCOPED_TRACE(query.name);
    rows_of(session, "set basalt_lowering = true; set basalt_strict = true");
    const std::vector<std::string> ours = rows_of(session, query.text);
    rows_of(session, "set basalt_strict = false; set basalt_lowering = false");
    EXPECT_EQ(ours, rows_of(session, query.text));
  }
}

INSTANTIATE_TEST_SUITE_P(Sql, SsbTest, ::testing::ValuesIn(test_devices()), [](const auto& parameter) {
  return std::string(parameter.param == Device::kCuda ? "cuda" : "cpu");
});

}  // namespace
}  // namespace basalt::testing
