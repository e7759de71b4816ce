// The 99 TPC-DS queries over .basalt files must give the rows that DuckDB gives over its own tables, and those that ran
// wholly in Basalt before must do so again.
#include <gtest/gtest.h>

#include <set>

#include "sql/support.h"

namespace basalt::testing {
namespace {

// Sanitized builds take some of the 99.
constexpr int kStep = kQuick ? 5 : 1;

// A GPU may refuse these: windows over sums of 128 bits, where statistics do not bound them.
const std::set<int> kRefusedOnDevice = {12, 20, 36, 47, 51, 57, 63, 67, 86, 89, 98};

class TpcdsTest : public ::testing::TestWithParam<Device> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new ScratchFolder;
    native_ = new Session(session_options(Device::kCpu));
    native_->generate_tpcds(0.01);
    for (const TableInfo& table : native_->tables()) {
      native_->convert("from " + table.name, file_of(table.name));
    }
  }
  static void TearDownTestSuite() {
    delete native_;
    delete folder_;
  }

  static std::string file_of(const std::string& table) { return folder_->file(table + ".basalt"); }

  static void create_views(Session& session) {
    for (const TableInfo& table : native_->tables()) {
      rows_of(session, "create view " + table.name + " as from " + quote_literal(file_of(table.name)));
    }
  }

  static Session* native_;
  static ScratchFolder* folder_;
};

Session* TpcdsTest::native_ = nullptr;
ScratchFolder* TpcdsTest::folder_ = nullptr;

TEST_P(TpcdsTest, AllQueriesMatchNativeTables) {
  Session session(session_options(GetParam()));
  create_views(session);
  for (int number = 1; number <= 99; number += kStep) {
    SCOPED_TRACE("query " + std::to_string(number));
    const std::string query = Session::tpcds_query(number);
    EXPECT_EQ(rows_of(session, query), rows_of(*native_, query));
  }
}

TEST_P(TpcdsTest, QueriesRunWhollyInBasalt) {
  Session session(session_options(GetParam()));
  create_views(session);
  rows_of(session, "set basalt_strict = true");
  for (int number = 1; number <= 99; number += kStep) {
    SCOPED_TRACE("query " + std::to_string(number));
    const std::string query = Session::tpcds_query(number);
    try {
      EXPECT_EQ(rows_of(session, query), rows_of(*native_, query));
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
