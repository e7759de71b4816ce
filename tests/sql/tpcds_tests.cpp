// The 99 TPC-DS queries over .basalt files must give the rows that DuckDB gives over its own tables, also where Basalt
// runs them wholly.
#include <gtest/gtest.h>

#include <vector>

#include "sql/generated_tables.h"

namespace basalt::testing {
namespace {

// Sanitized builds take some of the 99.
constexpr int kStep = kQuick ? 5 : 1;

// Kernels of a GPU are compiled by all cores at once, not query after query.
void prepare_kernels(Session& session) {
  std::vector<std::string> queries;
  for (int number = 1; number <= 99; number += kStep) queries.push_back(Session::tpcds_query(number));
  session.prepare(queries);
}

class TpcdsTest : public ::testing::TestWithParam<Device> {
 protected:
  static void SetUpTestSuite() {
    tables_ = new GeneratedTables([](Session& session) { session.generate_tpcds(0.01); });
  }
  static void TearDownTestSuite() { delete tables_; }

  static GeneratedTables* tables_;
};

GeneratedTables* TpcdsTest::tables_ = nullptr;

TEST_P(TpcdsTest, AllQueriesRunWhollyInBasalt) {
  Session session(session_options(GetParam()));
  tables_->create_views(session);
  rows_of(session, "set basalt_strict = true");
  if (GetParam() == Device::kCuda) prepare_kernels(session);
  for (int number = 1; number <= 99; number += kStep) {
    SCOPED_TRACE("query " + std::to_string(number));
    const std::string query = Session::tpcds_query(number);
    EXPECT_EQ(rows_of(session, query), rows_of(tables_->native(), query));
  }
}

TEST_P(TpcdsTest, AllQueriesMatchNativeTables) {
  Session session(session_options(GetParam()));
  tables_->create_views(session);
  for (int number = 1; number <= 99; number += kStep) {
    SCOPED_TRACE("query " + std::to_string(number));
    const std::string query = Session::tpcds_query(number);
    EXPECT_EQ(rows_of(session, query), rows_of(tables_->native(), query));
  }
}

TEST(TpcdsLimits, OtherQueriesAndScalesAreRefused) {
  EXPECT_THROW(Session::tpcds_query(0), Error);
  EXPECT_THROW(Session::tpcds_query(100), Error);
  Session session(session_options(Device::kCpu));
  EXPECT_THROW(session.generate_tpcds(0.001), Error);
}

INSTANTIATE_TEST_SUITE_P(Sql, TpcdsTest, ::testing::ValuesIn(test_devices()), [](const auto& parameter) {
  return std::string(parameter.param == Device::kCuda ? "cuda" : "cpu");
});

}  // namespace
}  // namespace basalt::testing
