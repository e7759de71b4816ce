// Joins that only look something up are done by the kernel that reads the first side's files, where facts allow that:
// keys that are numbers which lie close to each other, each once, and values without NULLs. Where one of these does not
// hold, the stage joins as any other; the rows are DuckDB's in any case.
#include <gtest/gtest.h>

#include "sql/generated_tables.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

constexpr const char* kLookedUp = "joins looked up there";

class LookedUpJoins : public ::testing::TestWithParam<Device> {
 protected:
  LookedUpJoins() : session_(session_options(GetParam())) {
    // Keys that are NULL, that nobody has, that lie before and behind all others.
    table("fact",
          "select i as id, case i % 17 when 0 then null when 1 then -40 when 2 then 1000000 else (hash(i) % 3000)::int "
          "end as k, (hash(i * 3) % 50)::smallint as s, (i % 1000)::decimal(15,2) as price, 'f' || (i % 7) as word "
          "from range(20000) t(i)");
    const std::string values =
        "i::int as id, (i % 100 - 50)::tinyint as tiny, (i * 7 - 9000)::smallint as small, i * -70000 as whole, "
        "(i::bigint - 1000) * 10000000000 as big, date '2001-02-03' + i::int as day, 'text ' || (i % 900) as text, "
        "(i % 40)::smallint as other, i / 4.0::double as real";
    table("dim", "select " + values + " from range(3, 2500) t(i)");
    table("twice", "select " + values +
                       " from (select unnest([i, case i when 77 then 78 else i end]) as i from "
                       "range(3, 2500) t(i) where i = 77 union all select i from range(3, 2500) t(i) where i <> 77)");
    table("holes", "select id, case when id = 99 then null else whole end as whole from dim");
    table("far", "select id * 1000000000::bigint as id, whole from dim");
    table("next", "select i::smallint as id, i * 3 as three, 'next ' || i as name from range(40) t(i)");
  }

  void table(const std::string& name, const std::string& rows) { make_table(session_, scratch_, name, rows); }

  // The same rows as DuckDB's, and whether a kernel looked something up.
  void expect(const std::string& query, bool looks_up) {
    SCOPED_TRACE(query);
    rows_of(session_, "set basalt_lowering = false");
    const std::vector<std::string> expected = rows_of(session_, query + " order by all");
    EXPECT_FALSE(expected.empty());
    rows_of(session_, "set basalt_lowering = true");
    rows_of(session_, "set basalt_strict = true");
    EXPECT_EQ(rows_of(session_, query + " order by all"), expected);
    std::string plan;
    for (const std::string& line : rows_of(session_, "explain (analyze, format json) " + query)) plan += line;
    rows_of(session_, "set basalt_strict = false");
    const bool found = plan.find(kLookedUp) != std::string::npos;
    EXPECT_EQ(found, looks_up && GetParam() == Device::kCuda) << plan;
  }

  ScratchFolder scratch_;
  Session session_;
};

TEST_P(LookedUpJoins, NumbersOfEveryWidth) {
  expect("select dim.tiny, count(*), sum(price) from fact join dim on k = dim.id group by 1", true);
  expect("select s, sum(small), min(whole), max(big), min(day) from fact join dim on k = dim.id group by 1", true);
  expect("select fact.id, tiny, small, whole, big, day from fact join dim on k = dim.id where s < 45", true);
  expect("select big % 7 as b, count(*) from fact join dim on k = dim.id where whole < -70000 * 1000 group by 1", true);
}

TEST_P(LookedUpJoins, StringsThatLeave) {
  expect("select text, count(*), sum(price) from fact join dim on k = dim.id group by 1", true);
  expect("select word, text, day, max(s) from fact join dim on k = dim.id where s < 45 group by all", true);
  expect("select fact.id, text, word from fact join dim on k = dim.id where s < 45", true);
  expect("select name, count(*) from fact join next on s = next.id group by 1", true);  // few rows
}

TEST_P(LookedUpJoins, KeysThatWereLookedUp) {
  expect("select three, count(*), sum(price) from fact join dim on k = dim.id join next on other = next.id group by 1",
         true);
  expect("select name, text, count(*) from fact join dim on k = dim.id join next on other = next.id group by 1, 2",
         true);
}

// Few rows leave: the host, which evaluates what else is few, cannot see what was looked up.
TEST_P(LookedUpJoins, Limits) {
  expect("select * from (select fact.id, tiny, text from fact join dim on k = dim.id order by fact.id limit 5)", true);
  expect("select * from (select fact.id, big, day from fact join dim on k = dim.id order by big, fact.id limit 7)",
         true);
  expect("select count(*), min(tiny) is null from (select tiny from fact join dim on k = dim.id limit 50)", true);
  expect("select fact.id, (select max(whole) from dim where dim.id = fact.k) as most from fact where fact.id < 30",
         false);
}

TEST_P(LookedUpJoins, OtherStepsBetweenJoins) {
  expect(
      "select name, count(*) from fact join dim on k = dim.id join next on other = next.id where small > s group by 1",
      true);
  expect(
      "select small, count(*) from fact join dim on k = dim.id where k in (select id from holes where whole < -9) "
      "group by small",
      true);
  expect("select a.tiny, b.small, count(*) from fact join dim a on k = a.id join dim b on s = b.id group by all", true);
  expect("select text as one, text as two, count(*) from fact join dim on k = dim.id group by all", true);
}

// Keys and values that have no sign, and strings of the first side that have no list.
TEST_P(LookedUpJoins, OtherTypes) {
  table("bytes",
        "select i::utinyint as id, (255 - i)::utinyint as small, (65535 - i)::usmallint as short, "
        "(4294967295 - i)::uinteger as whole, i % 3 = 0 as flag from range(256) t(i)");
  table("asks", "select (hash(i) % 200)::utinyint as k, 'a text of row ' || i as text, i from range(9000) t(i)");
  expect("select small, short, whole, flag, count(*), sum(i) from asks join bytes on k = bytes.id group by all", true);
  expect("select text, whole, flag from asks join bytes on k = bytes.id where text like '%7%'", true);
  expect("select text, max(whole) from asks join bytes on k = bytes.id group by text", true);
  table("long", "select i::ubigint as id, i * 2 as whole from range(256) t(i)");
  expect("select sum(whole) from (select k::ubigint as k from asks) join long on k = long.id", false);
}

// A kept plan, with keys that lie elsewhere and values of another range.
TEST_P(LookedUpJoins, TheSameStatementOverOthers) {
  for (const int least : {-2000, 0, 700, 2400}) {
    const std::string number = std::to_string(least);
    expect("select s, count(*), sum(whole) from fact join (select id, whole, text from dim where id > " + number +
               ") d on k = d.id group by s, text having count(*) > 0",
           true);
  }
}

TEST_P(LookedUpJoins, FactsThatDoNotHold) {
  expect("select count(*), sum(price), sum(whole) from fact join twice on k = twice.id where s < 40 group by s", false);
  expect("select s, sum(price), sum(whole) from fact join holes on k = holes.id group by s", false);
  expect("select s, sum(price), sum(whole) from fact join far on k * 1000000000::bigint = far.id group by s", false);
  expect("select s, sum(real) from fact join dim on k = dim.id group by s", false);
  // Strings that are more than handed on.
  expect("select s, max(text) from fact join dim on k = dim.id group by s", false);
  expect("select s, count(*) from fact join dim on k = dim.id where text <> word group by s", false);
}

// A table without rows.
TEST_P(LookedUpJoins, NobodyToLookUp) {
  expect("select count(*), max(whole) from fact join (select * from dim where tiny > 100) d on k = d.id", true);
}

INSTANTIATE_TEST_SUITE_P(Sql, LookedUpJoins, ::testing::ValuesIn(test_devices()), [](const auto& parameter) {
  return std::string(parameter.param == Device::kCuda ? "cuda" : "cpu");
});

}  // namespace
}  // namespace basalt::testing
