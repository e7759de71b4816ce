// Plans that are kept under a statement's text: they are used again as long as everything they depend on is the same,
// and never longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sql/support.h"

namespace basalt::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KeptStatements : public ::testing::TestWithParam<Device> {
 protected:
  KeptStatements() : writer_(session_options(Device::kCpu)), session_(session_options(GetParam())) {}

  // Another session writes, so that only the file tells the one under test.
  std::string make_file(const std::string& name, uint64_t rows) {
    const std::string path = folder_.file(name);
    writer_.convert("select i as id, i % 7 as few from range(" + std::to_string(rows) + ") t(i)", path);
    return path;
  }

  // Whether the text ran by a plan that was kept.
  bool is_kept(const std::string& text) {
    QueryResult result = session_.execute(text);
    while (result.next() != nullptr) {
    }
    return result.report().kept_plan;
  }

  ScratchFolder folder_;
  Session writer_;
  Session session_;
};

TEST_P(KeptStatements, RunAgainWithTheSameRowsAndReport) {
  const std::string file = make_file("a.basalt", 5000);
  const std::string text = "select sum(id), count(*) from '" + file + "' where few < 3";
  QueryResult first = session_.execute(text);
  EXPECT_FALSE(first.report().kept_plan);
  const QueryReport told = first.report();
  EXPECT_THAT(rows_of(std::move(first)), ElementsAre("5357500|2144"));
  for (int i = 0; i < 3; ++i) {
    QueryResult again = session_.execute(text);
    EXPECT_TRUE(again.report().kept_plan);
    EXPECT_EQ(again.report().in_basalt, told.in_basalt);
    EXPECT_EQ(again.report().in_duckdb, told.in_duckdb);
    EXPECT_TRUE(again.report().used_basalt);
    EXPECT_THAT(rows_of(std::move(again)), ElementsAre("5357500|2144"));
  }
}

TEST_P(KeptStatements, AreDroppedWhenTheFileChanges) {
  const std::string file = make_file("a.basalt", 1000);
  const std::string sum = "select sum(id) from '" + file + "' where few < 7";
  const std::string count = "select count(*) from '" + file + "'";  // from the footer alone
  rows_of(session_, sum);
  rows_of(session_, count);
  EXPECT_TRUE(is_kept(sum));
  EXPECT_TRUE(is_kept(count));
  make_file("a.basalt", 2000);
  EXPECT_THAT(rows_of(session_, sum), ElementsAre("1999000"));
  EXPECT_THAT(rows_of(session_, count), ElementsAre("2000"));
  EXPECT_TRUE(is_kept(sum));
  std::filesystem::remove(file);
  EXPECT_THROW(session_.execute(sum), Error);
  make_file("a.basalt", 10);
  EXPECT_THAT(rows_of(session_, sum), ElementsAre("45"));
}

// DuckDB plans them anew for every run.
TEST_P(KeptStatements, WhatSqlPreparesSeesTheFilesOfTheMoment) {
  const std::string file = make_file("a.basalt", 1000);
  rows_of(session_, "prepare sums as select sum(id) from '" + file + "' where few < 7");
  EXPECT_THAT(rows_of(session_, "execute sums"), ElementsAre("499500"));
  make_file("a.basalt", 2000);
  EXPECT_THAT(rows_of(session_, "execute sums"), ElementsAre("1999000"));
}

TEST_P(KeptStatements, AreDroppedWhenAPatternFindsOtherFiles) {
  make_file("part1.basalt", 10);
  const std::string text = "select sum(id) from '" + folder_.file("part*.basalt") + "' where few < 7";
  EXPECT_THAT(rows_of(session_, text), ElementsAre("45"));
  EXPECT_TRUE(is_kept(text));
  make_file("part2.basalt", 100);
  EXPECT_THAT(rows_of(session_, text), ElementsAre("4995"));
  std::filesystem::remove(folder_.file("part1.basalt"));
  EXPECT_THAT(rows_of(session_, text), ElementsAre("4950"));
  EXPECT_TRUE(is_kept(text));
}

TEST_P(KeptStatements, AreDroppedByStatementsThatMayChangeTheirMeaning) {
  const std::string small = make_file("small.basalt", 10);
  const std::string large = make_file("large.basalt", 100);
  session_.execute("create view v as from '" + small + "'");
  session_.execute("set variable least = 5");
  const std::string text = "select sum(id) from v where id >= getvariable('least')";
  EXPECT_THAT(rows_of(session_, text), ElementsAre("35"));
  EXPECT_TRUE(is_kept(text));
  session_.execute("set variable least = 9");
  EXPECT_THAT(rows_of(session_, text), ElementsAre("9"));
  session_.execute("create or replace view v as from '" + large + "'");
  EXPECT_THAT(rows_of(session_, text), ElementsAre("4914"));
  EXPECT_TRUE(is_kept(text));
  session_.execute("set basalt_lowering = false");
  QueryResult in_duckdb = session_.execute(text);
  EXPECT_TRUE(in_duckdb.report().in_basalt.empty());
  EXPECT_FALSE(in_duckdb.report().kept_plan);
}

TEST_P(KeptStatements, AreNotKeptWhereAnotherRunMayBePlannedOtherwise) {
  const std::string file = make_file("a.basalt", 1000);
  session_.execute("create table t as select 5 as least");
  const std::string from = " from '" + file + "' where few < 3";
  for (const std::string& text : {
           "select sum(id), now()" + from,
           "select sum(id)" + from + " and current_date > date '2020-01-01'",
           "select sum(id)" + from + " limit extract(year from now())",
           "select sum(id)" + from + " and id > (select max(least) from t)",
           "select sum(id), (select count(*) from range(3))" + from,
       }) {
    rows_of(session_, text);
    EXPECT_FALSE(is_kept(text)) << text;
  }
}

TEST_P(KeptStatements, AreForgottenOldestFirst) {
  const std::string file = make_file("a.basalt", 10);
  const auto text = [&](int i) { return "select sum(id) + " + std::to_string(i) + " from '" + file + "'"; };
  for (int i = 0; i <= 256; ++i) rows_of(session_, text(i));
  EXPECT_FALSE(is_kept(text(0)));
  EXPECT_TRUE(is_kept(text(256)));
  EXPECT_THAT(rows_of(session_, text(256)), ElementsAre("301"));
}

TEST_P(KeptStatements, GiveTheirErrorEachTime) {
  const std::string file = make_file("a.basalt", 10);
  const std::string text = "select max(id * 9000000000000000000) from '" + file + "'";
  for (int i = 0; i < 3; ++i) {
    try {
      rows_of(session_, text);
      ADD_FAILURE() << "there was no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("verflow"));
    }
  }
  EXPECT_THAT(rows_of(session_, "select sum(id) from '" + file + "'"), ElementsAre("45"));
}

INSTANTIATE_TEST_SUITE_P(Devices, KeptStatements, ::testing::ValuesIn(test_devices()),
                         [](const auto& device) { return device.param == Device::kCpu ? "Cpu" : "Cuda"; });

}  // namespace
}  // namespace basalt::testing
