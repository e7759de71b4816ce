// Results of many rows, which all threads take batches of: their order, their values and their errors do not depend on
// how many there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sql/support.h"

namespace basalt::testing {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kRows = kQuick ? 400'000 : 3'000'000;

class ParallelRows : public ::testing::TestWithParam<uint32_t> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new ScratchFolder();
    Session session(session_options(Device::kCpu));
    rows_of(session,
            "copy (select i as id, case when i % 7 <> 0 then i * 3 end as n, 'text number ' || (i % 1000) as s, "
            "case when i % 5 <> 0 then 's' || i end as short, i % 2 = 0 as b, (i % 9999)::decimal(9, 2) as d, "
            "date '2000-01-01' + (i % 5000)::int as day, i::hugeint * 1000000000000 as h from range(" +
                std::to_string(kRows) + ") t(i)) to " + file());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string file() { return quote_literal(folder_->file("rows.basalt")); }

  // What holds for every row of a table with the file's columns that has them in the order of the file.
  static std::string check(const std::string& order) {
    return "select count(*), count(*) filter (where id <> " + order +
           "), count(*) filter (where n is distinct from case when id % 7 <> 0 then id * 3 end), "
           "count(*) filter (where s <> 'text number ' || (id % 1000)), "
           "count(*) filter (where short is distinct from case when id % 5 <> 0 then 's' || id end), "
           "count(*) filter (where b <> (id % 2 = 0) or d <> id % 9999 or h <> id::hugeint * 1000000000000), "
           "count(*) filter (where day <> date '2000-01-01' + (id % 5000)::int) from ";
  }
  static std::string all_hold(uint64_t rows) { return std::to_string(rows) + "|0|0|0|0|0|0"; }

  Session strict_session() const {
    SessionOptions options = session_options(Device::kCpu);
    options.threads = GetParam();
    options.strict = true;
    return Session(options);
  }

  static ScratchFolder* folder_;
};
ScratchFolder* ParallelRows::folder_ = nullptr;

TEST_P(ParallelRows, KeepTheOrderOfTheFile) {
  Session session = strict_session();
  rows_of(session, "create table copied as select * from " + file());
  EXPECT_THAT(rows_of(session, check("rowid") + "copied"), ElementsAre(all_hold(kRows)));
  const std::string parquet = quote_literal(folder_->file("rows.parquet"));
  rows_of(session, "copy (select * from " + file() + ") to " + parquet);
  EXPECT_THAT(rows_of(session, check("file_row_number") + "read_parquet(" + parquet + ", file_row_number = true)"),
              ElementsAre(all_hold(kRows)));
}

TEST_P(ParallelRows, KeepAnOrderThatWasAskedFor) {
  Session session = strict_session();
  rows_of(session, "create table backwards as select * from " + file() + " where b order by id desc");
  EXPECT_THAT(rows_of(session, check(std::to_string(kRows - 2) + " - 2 * rowid") + "backwards"),
              ElementsAre(all_hold(kRows / 2)));
}

TEST_P(ParallelRows, ReachTheOneWhoAskedInOrder) {
  Session session = strict_session();
  QueryResult result = session.execute("select id, short from " + file());
  uint64_t rows = 0;
  while (const auto table = result.next()) {
    for (uint64_t i = 0; i < table->rows; ++i, ++rows) {
      ASSERT_EQ(table->columns[0].values.as<int64_t>()[i], static_cast<int64_t>(rows));
      ASSERT_EQ(table->columns[1].is_valid(i), rows % 5 != 0) << rows;
      if (rows % 5 != 0) {
        ASSERT_EQ(table->columns[1].string_at(i), "s" + std::to_string(rows));
      }
    }
  }
  EXPECT_EQ(rows, kRows);
}

TEST_P(ParallelRows, OfManyGroups) {
  Session session = strict_session();
  rows_of(session, "create table groups as select n, count(*) as c from " + file() +
                       " where n is not null group by n order by n");
  EXPECT_THAT(rows_of(session,
                      "select count(*), min(c), max(c), count(*) filter (where n <= before) from "
                      "(select *, lag(n) over (order by rowid) as before from groups)"),
              ElementsAre(std::to_string(kRows - (kRows + 6) / 7) + "|1|1|0"));
}

TEST_P(ParallelRows, ThatFewAreWantedOf) {
  Session session = strict_session();
  QueryResult result = session.execute("select id from " + file() + " where n > 30");
  const auto first = result.next();  // and no more of them
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->columns[0].values.as<int64_t>()[0], 11);
}

TEST_P(ParallelRows, ErrorsReachEveryThread) {
  Session session = strict_session();
  EXPECT_THROW(rows_of(session, "create table failed as select id * 9223372036854775807 from " + file()), Error);
  EXPECT_THAT(rows_of(session, "select count(*) from " + file()), ElementsAre(std::to_string(kRows)));
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelRows, ::testing::Values(1u, 2u, 8u));

}  // namespace
}  // namespace basalt::testing
