// Stages that the device's memory does not hold at once run in parts, and give DuckDB's rows: joins of every kind,
// groups and orders over what they leave, and the queries of TPC-H.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <optional>

#include "sql/generated_tables.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

// Of memory for joins, while it lives.
class JoinMemory {
 public:
  explicit JoinMemory(const char* bytes) { setenv("BASALT_JOIN_MEMORY", bytes, 1); }
  ~JoinMemory() { unsetenv("BASALT_JOIN_MEMORY"); }
  JoinMemory(const JoinMemory&) = delete;
  JoinMemory& operator=(const JoinMemory&) = delete;
};

std::string analyzed(Session& session, const std::string& query) {
  std::string plan;
  for (const std::string& line : rows_of(session, "explain (analyze, format json) " + query)) plan += line;
  return plan;
}

bool ran_in_parts(const std::string& plan) { return plan.find("parts, for want of memory") != std::string::npos; }

class PartedJoins : public ::testing::TestWithParam<Device> {
 protected:
  PartedJoins() : session_(session_options(GetParam())) {
    // Keys that are NULL, negative, that nobody has and that many have.
    table(
        "fact",
        "select i as id, case i % 19 when 0 then null when 1 then -5000 - i else (hash(i) % 24000)::int - 2000 end as "
        "k, (hash(i * 3) % 3000)::bigint * 1000003 as spread, (i % 1000)::decimal(15,2) as price, 'f' || (i % 7) as "
        "word, (i % 300)::smallint as few from range(60000) t(i)");
    table("dim",
          "select case when i % 31 = 0 then null else (i - 2000)::int end as id, i * 3 as three, i % 10 as digit, "
          "'text ' || (i % 900) as text, (i % 3000)::bigint * 1000003 as spread, (i % 400)::smallint as few, "
          "i / 8.0::double as real from range(20000) t(i)");
  }

  void table(const std::string& name, const std::string& rows) {
    make_table(session_, scratch_, name, rows, kSmallChunks);
  }

  // The same rows as DuckDB's; on a device, of too little memory in parts.
  void expect(const std::string& query, const char* memory = "1000000") {
    SCOPED_TRACE(query);
    rows_of(session_, "set basalt_lowering = false");
    const std::vector<std::string> expected = rows_of(session_, query + " order by all");
    EXPECT_FALSE(expected.empty());
    rows_of(session_, "set basalt_lowering = true; set basalt_strict = true");
    const JoinMemory little(memory);
    EXPECT_EQ(rows_of(session_, query + " order by all"), expected);
    EXPECT_EQ(ran_in_parts(analyzed(session_, query)), GetParam() == Device::kCuda);
    rows_of(session_, "set basalt_strict = false");
  }

  ScratchFolder scratch_;
  Session session_;
};

TEST_P(PartedJoins, OfEveryKind) {
  const std::string sides = " dim on fact.k = dim.id";
  for (const char* kind : {"join", "left join", "right join", "full join"}) {
    expect(std::string("select fact.id, word, three, text from fact ") + kind + sides);
    expect(std::string("select digit, count(*), count(fact.id), sum(price), min(word) from fact ") + kind + sides +
           " group by 1");
    expect(std::string("select fact.id, digit from fact ") + kind + sides + " and fact.few < dim.few");
  }
  expect("select id, word from fact semi join" + sides);
  expect("select id, word from fact anti join" + sides);
  expect(
      "select few, count(*) from fact where exists (from dim where dim.id = fact.k and dim.few > fact.few) group by 1");
  expect("select id, three from dim where exists (from fact where fact.k = dim.id)");
  expect("select id, three from dim where not exists (from fact where fact.k = dim.id)");
  expect("select fact.id, (select three from dim where dim.id = fact.k) as v from fact");
  // Both sides have the same NULLs.
  expect("select count(*), sum(price) from fact join dim on fact.k is not distinct from dim.id", "1500000");
}

TEST_P(PartedJoins, OfKeysThatManyHave) {
  expect("select fact.few, count(*), sum(three) from fact join dim on fact.few = dim.few group by 1");
  expect(
      "select count(*), sum(price), max(text) from fact join dim on fact.spread = dim.spread and fact.few = dim.few");
  expect("select digit, count(*) from fact left join dim on fact.spread = dim.spread and price < three group by 1");
}

TEST_P(PartedJoins, OneAfterTheOther) {
  expect(
      "select a.digit, b.text, count(*), sum(price) from fact join dim a on fact.k = a.id join dim b on fact.few = "
      "b.few "
      "where b.digit < 2 group by 1, 2");
  expect(
      "select fact.id, a.text, b.three, c.digit from fact join dim a on fact.k = a.id left join dim b on b.id = "
      "a.three "
      "join dim c on c.id = fact.few where fact.price < 900");
}

TEST_P(PartedJoins, SinksThatNeedAllRows) {
  expect(
      "select k % 100 as g, count(distinct text), round(stddev(real), 6), sum(price) from fact join dim on k = dim.id "
      "group by 1");
  expect("select text, word, count(*), avg(real) from fact join dim on k = dim.id group by all");
  expect(
      "select * from (select fact.id, three from fact join dim on k = dim.id order by three desc, fact.id limit 500)");
  expect(
      "select id, r from (select fact.id, row_number() over (partition by digit order by fact.id, three) as r from "
      "fact join dim "
      "on k = dim.id) where r % 20 = 0",
      "3500000");
}

// Rows of earlier stages leave the device where a later one has no room beside them.
TEST_P(PartedJoins, OfLargeGroups) {
  expect(
      "select count(*), sum(n), sum(s) from (select k, spread, count(*) as n, sum(price) as s from fact group by 1, 2) "
      "g "
      "join dim on g.k = dim.id");
  expect(
      "with g as materialized (select spread, few, count(*) as n from fact group by 1, 2) select x.few, count(*), "
      "sum(x.n + y.n) from g x join g y on x.spread = y.spread group by 1");
}

// On a device; the limit is none of the CPU's.
TEST_P(PartedJoins, WhatDoesNotFitIsRefused) {
  const JoinMemory nearly_none("1000");
  const std::string query = "select count(*) from fact join dim on k = dim.id";
  rows_of(session_, "set basalt_strict = true");
  std::optional<ErrorCode> refusal;
  try {
    rows_of(session_, query);
  } catch (const Error& error) {
    refusal = error.code();
  }
  EXPECT_EQ(refusal, GetParam() == Device::kCuda ? std::optional(ErrorCode::kOutOfMemory) : std::nullopt);
  rows_of(session_, "set basalt_strict = false");
  EXPECT_EQ(rows_of(session_, query).size(), 1u);
}

// Rows that have neither memory nor a folder to wait in are the CPU's, which needs none.
TEST_P(PartedJoins, NoFolderToWaitIn) {
  const std::string query =
      "select d.digit, count(*), sum(f.price), count(distinct e.text) from fact f join dim d on f.k = d.id join dim e "
      "on "
      "f.spread = e.spread group by 1 order by all";
  const std::vector<std::string> expected = rows_of(session_, query);
  const char* folder = std::getenv("TMPDIR");
  const std::string before = folder == nullptr ? "/tmp" : folder;
  setenv("TMPDIR", scratch_.file("not there").c_str(), 1);
  const JoinMemory little("300000");
  std::vector<std::string> found;
  std::string refusal;
  try {
    found = rows_of(session_, query);
    rows_of(session_, "set basalt_strict = true");
    rows_of(session_, query);
  } catch (const Error& error) {
    refusal = error.what();
  }
  setenv("TMPDIR", before.c_str(), 1);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(refusal.find("cannot wait in a file") != std::string::npos, GetParam() == Device::kCuda) << refusal;
  EXPECT_EQ(refusal.empty(), GetParam() == Device::kCpu) << refusal;
}

// Of half the memory, a quarter and an eighth; a fifth of the rows needs less of it.
TEST_P(PartedJoins, TpchOfLittleMemory) {
  GeneratedTables tables([](Session& session) { session.generate_tpch(kQuick ? 0.02 : 0.1); });
  Session native(session_options(Device::kCpu));
  tables.create_views(native);
  tables.create_views(session_);
  rows_of(native, "set basalt_lowering = false");
  rows_of(session_, "set basalt_strict = true");
  const auto limits = kQuick ? std::array{"1600000", "1200000", "800000"} : std::array{"4000000", "2000000", "1200000"};
  int parted = 0;
  for (int number = 1; number <= 22; ++number) {
    const std::string query = Session::tpch_query(number);
    const std::vector<std::string> expected = rows_of(native, query);
    for (const char* memory : limits) {
      SCOPED_TRACE("query " + std::to_string(number) + ", " + memory + " bytes");
      const JoinMemory little(memory);
      EXPECT_EQ(rows_of(session_, query), expected);
      parted += ran_in_parts(analyzed(session_, query)) ? 1 : 0;
    }
  }
  // How often depends on the machine, too: 3 of the quick ones on one, at least 5 on another.
  EXPECT_GE(parted, GetParam() == Device::kCpu ? 0 : kQuick ? 2 : 20);
}

INSTANTIATE_TEST_SUITE_P(Sql, PartedJoins, ::testing::ValuesIn(test_devices()), [](const auto& parameter) {
  return std::string(parameter.param == Device::kCuda ? "cuda" : "cpu");
});

}  // namespace
}  // namespace basalt::testing
