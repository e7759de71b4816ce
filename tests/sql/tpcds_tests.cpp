// The 99 TPC-DS queries over .basalt files must give the rows that DuckDB gives over its own tables, and those that ran
// wholly in Basalt before must do so again.
#include <gtest/gtest.h>

#include <set>

#include "sql/generated_tables.h"

namespace basalt::testing {
namespace {

// Sanitized builds take some of the 99.
constexpr int kStep = kQuick ? 5 : 1;

// A GPU may refuse these: windows over sums of 128 bits, where statistics do not bound them, and a list of 400 strings,
// whose automaton has too many states.
const std::set<int> kRefusedOnDevice = {8, 12, 20, 36, 47, 51, 57, 63, 67, 86, 89, 98};

class TpcdsTest : public ::testing::TestWithParam<Device> {
 protected:
  static void SetUpTestSuite() {
    tables_ = new GeneratedTables([](Session& session) { session.generate_tpcds(0.01); });
  }
  static void TearDownTestSuite() { delete tables_; }

  static GeneratedTables* tables_;
};

GeneratedTables* TpcdsTest::tables_ = nullptr;

TEST_P(TpcdsTest, AllQueriesMatchNativeTables) {
  Session session(session_options(GetParam()));
  tables_->create_views(session);
  for (int number = 1; number <= 99; number += kStep) {
    SCOPED_TRACE("query " + std::to_string(number));
    const std::string query = Session::tpcds_query(number);
    EXPECT_EQ(rows_of(session, query), rows_of(tables_->native(), query));
  }
}

TEST_P(TpcdsTest, QueriesRunWhollyInBasalt) {
  Session session(session_options(GetParam()));
  tables_->create_views(session);
  rows_of(session, "set basalt_strict = true");
  for (int number = 1; number <= 99; number += kStep) {
    SCOPED_TRACE("query " + std::to_string(number));
    const std::string query = Session::tpcds_query(number);
    try {
      EXPECT_EQ(rows_of(session, query), rows_of(tables_->native(), query));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
      EXPECT_TRUE(GetParam() == Device::kCuda && kRefusedOnDevice.count(number) == 1) << error.what();
    }
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
