// The 22 TPC-H queries over .basalt files must give the rows that DuckDB gives over its own tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sql/generated_tables.h"

namespace basalt::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::Not;

class TpchTest : public ::testing::TestWithParam<Device> {
 protected:
  static void SetUpTestSuite() {
    tables_ = new GeneratedTables([](Session& session) { session.generate_tpch(kQuick ? 0.01 : 0.1); });
  }
  static void TearDownTestSuite() { delete tables_; }

  static GeneratedTables* tables_;
};

GeneratedTables* TpchTest::tables_ = nullptr;

TEST_P(TpchTest, AllQueriesMatchNativeTables) {
  Session session(session_options(GetParam()));
  tables_->create_views(session);
  for (int number = 1; number <= 22; ++number) {
    SCOPED_TRACE("query " + std::to_string(number));
    const std::string query = Session::tpch_query(number);
    EXPECT_EQ(rows_of(session, query), rows_of(tables_->native(), query));
  }
}

// No part is left to DuckDB.
TEST_P(TpchTest, AllQueriesRunWhollyInBasalt) {
  Session session(session_options(GetParam()));
  tables_->create_views(session);
  rows_of(session, "set basalt_strict = true");
  for (int number = 1; number <= 22; ++number) {
    SCOPED_TRACE("query " + std::to_string(number));
    const std::string query = Session::tpch_query(number);
    EXPECT_EQ(rows_of(session, query), rows_of(tables_->native(), query));
  }
}

// Trees differ by purpose, answers do not: under `disk` columns are sums, products and functions of others, and zones
// are units of 64 tiles.
TEST_P(TpchTest, AnswersDoNotDependOnWhatFilesAreFor) {
  GeneratedTables tables([](Session& session) { session.generate_tpch(0.01); });
  for (const Purpose purpose : {Purpose::kBalanced, Purpose::kResident, Purpose::kTransfer, Purpose::kDisk}) {
    WriteOptions options;
    options.purpose = purpose;
    options.chunk_rows = 2 * kZoneRows;
    options.link_gbs = 8;  // slow enough for `ans` in many columns
    tables.write(options);
    Session session(session_options(GetParam()));
    tables.create_views(session);
    for (const bool strict : {false, true}) {
      rows_of(session, std::string("set basalt_strict = ") + (strict ? "true" : "false"));
      for (int number = 1; number <= 22; ++number) {
        SCOPED_TRACE("query " + std::to_string(number) + ", purpose " + std::to_string(static_cast<int>(purpose)));
        const std::string query = Session::tpch_query(number);
        EXPECT_EQ(rows_of(session, query), rows_of(tables.native(), query));
      }
    }
  }
}

TEST_P(TpchTest, Query6RunsWhollyInBasalt) {
  Session session(session_options(GetParam()));
  rows_of(session, "create view lineitem as from " + quote_literal(tables_->file_of("lineitem")));
  QueryResult result = session.execute(Session::tpch_query(6));
  const std::vector<std::string> expected = rows_of(tables_->native(), Session::tpch_query(6));
  std::string text;
  result.write_csv([&](std::string_view part) { text += part; }, false);
  EXPECT_EQ(text, expected.at(0) + "\n");
  EXPECT_EQ(result.report().in_basalt.size(), 1u) << result.report().summary();
  EXPECT_TRUE(result.report().in_duckdb.empty()) << result.report().summary();
  EXPECT_EQ(result.report().ran_on, GetParam());
}

// Q22 asks for the first two digits of a number. Q14 asks its LIKE in an aggregate: no filter of its tests strings.
// Both joins of Q17 that read lineitem only ask for parts: no table of keys is made for them.
TEST_P(TpchTest, ScansOnTheDeviceAskForKeysOfJoins) {
  Session session(session_options(GetParam()));
  tables_->create_views(session);
  rows_of(session, "set basalt_strict = true");
  std::string plan;
  for (const std::string& line : rows_of(session, "explain (analyze, format json) " + Session::tpch_query(17)))
    plan += line;
  const auto count = [&](const std::string& words) {
    size_t found = 0;
    for (size_t at = plan.find(words); at != std::string::npos; at = plan.find(words, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("keys of joins asked where rows are read"), GetParam() == Device::kCuda ? 2u : 0u) << plan;
}

TEST_P(TpchTest, StringFiltersDecodeNoStrings) {
  Session session(session_options(GetParam()));
  tables_->create_views(session);
  for (const int number : {2, 9, 13, 14, 16, 20, 22}) {
    QueryResult result = session.execute(Session::tpch_query(number));
    while (result.next() != nullptr) {
    }
    const TileCounts& tiles = result.report().tiles;
    EXPECT_EQ(tiles.texts_in_place > 0, number != 14) << "query " << number;
    EXPECT_EQ(tiles.texts_decoded, 0u) << "query " << number;
    const std::string plan =
        session.execute("explain (analyze, format json) " + Session::tpch_query(number)).explain_text();
    if (number != 14) {
      EXPECT_THAT(plan, ContainsRegex("\"Strings Tested In Place\": \"[1-9]")) << "query " << number;
    }
    EXPECT_THAT(plan, Not(ContainsRegex("\"Strings Decoded\": \"[1-9]"))) << "query " << number;
  }
}

INSTANTIATE_TEST_SUITE_P(Sql, TpchTest, ::testing::ValuesIn(test_devices()), [](const auto& parameter) {
  return std::string(parameter.param == Device::kCuda ? "cuda" : "cpu");
});

}  // namespace
}  // namespace basalt::testing
