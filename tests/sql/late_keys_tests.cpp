// Texts among group keys that another key decides are fetched for the groups that a limit leaves, where the files'
// footers prove what decides what; the rows are DuckDB's in any case.
#include <gtest/gtest.h>

#include "sql/generated_tables.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

class LateKeys : public ::testing::TestWithParam<Device> {
 protected:
  LateKeys() : session_(session_options(GetParam())) {
    const std::string texts =
        "'customer ' || i as name, repeat('about ' || (i % 77) || ', ', 9) as about, (i % 25)::int as place, "
        "case i % 5 when 0 then null else 'phone ' || i end as phone, (i % 900) / 4.0 as balance";
    table("customers", "select i as id, " + texts + " from range(80000) t(i)");
    table("twice", "select case i when 500 then 499 else i end as id, " + texts + " from range(3000) t(i)");
    table("holes", "select case i when 500 then null else i end as id, " + texts + " from range(3000) t(i)");
    table("places", "select i::int as id, 'place ' || i || repeat('.', 70) as name from range(25) t(i)");
    table(
        "orders",
        "select i as id, case i % 50 when 0 then null else (hash(i) % 5000)::bigint end as customer, i % 90 as price, "
        "i % 3 as kind from range(60000) t(i)");
    // Two files of one table, and two with a value between those of the other.
    for (const auto& [name, rows] : {std::pair("low", "range(0, 6000)"), std::pair("high", "range(6000, 12000)")}) {
      table(name, "select i as id, " + texts + " from " + rows + " t(i)");
    }
  }

  void table(const std::string& name, const std::string& rows) {
    make_table(session_, scratch_, name, rows, kSmallChunks);
  }
  std::string files(const std::vector<std::string>& names) const {
    std::string list;
    for (const std::string& name : names)
      list += (list.empty() ? "" : ", ") + quote_literal(scratch_.file(name + ".basalt"));
    return "read_basalt([" + list + "])";
  }

  // The same rows as DuckDB's, and whether texts were fetched late.
  void expect(const std::string& query, bool late) {
    SCOPED_TRACE(query);
    rows_of(session_, "set basalt_strict = false");
    rows_of(session_, "set basalt_lowering = false");
    const std::vector<std::string> expected = rows_of(session_, query);
    EXPECT_FALSE(expected.empty());
    rows_of(session_, "set basalt_lowering = true");
    rows_of(session_, "set basalt_strict = true");
    EXPECT_EQ(rows_of(session_, query), expected);
    std::string plan;
    for (const std::string& line : rows_of(session_, "explain " + query)) plan += line;
    EXPECT_EQ(plan.find("texts of") != std::string::npos, late) << plan;
  }

  // The first groups by customer of orders joined with a table of customers.
  static std::string first_groups(const std::string& customers, const std::string& rest = "limit 7") {
    return "select c.id, name, sum(price) as total, about, phone, balance from orders o join " + customers +
           " c on o.customer = c.id group by all order by total desc, c.id " + rest;
  }

  ScratchFolder scratch_;
  Session session_;
};

TEST_P(LateKeys, OfATableWithEachKeyOnce) {
  expect(first_groups("customers"), true);
  expect(first_groups("customers", "limit 7 offset 3"), true);
  expect(first_groups("customers", "limit 7 offset 4990"), true);
  expect(first_groups(files({"low", "high"})), true);
  expect(first_groups("(from customers where balance > 100)"), true);
  expect("select * from (" + first_groups("customers") + ") where total % 2 = 0", true);
}

TEST_P(LateKeys, OfTablesThatOthersName) {
  const std::string rows = "from orders o join customers c on o.customer = c.id join places p on c.place = p.id ";
  expect("select c.id, c.name, p.name as place, about, count(*) as orders " + rows +
             "group by all order by orders desc, c.id limit 9",
         true);
  expect("select customer, p.name as place, about, max(price) as most " + rows +
             "group by customer, p.name, about having count(*) > 3 order by most + customer, customer limit 9",
         true);
  expect("select p.id, p.name, count(*) as orders " + rows + "group by all order by orders desc, p.id limit 3",
         false);  // few rows
}

TEST_P(LateKeys, ForOtherKindsOfJoins) {
  expect(
      "select c.id, about, count(*) as n from customers c semi join orders o on o.customer = c.id "
      "group by all order by n desc, c.id limit 5",
      true);
  expect(
      "select c.id, about, count(o.id) as n from customers c left join orders o on o.customer = c.id "
      "group by all order by n desc, c.id limit 5",
      true);
  expect(
      "select c.id, about, count(*) as n from orders o left join customers c on o.customer = c.id "
      "group by all order by n desc, c.id limit 5",
      false);
}

// What the order or HAVING asks for stays a key, whatever decides it.
TEST_P(LateKeys, OtherKeysThatAreAskedFor) {
  const std::string rows = "from orders o join customers c on o.customer = c.id ";
  expect("select o.customer, c.id, about, count(*) as n " + rows + "group by all order by n desc, c.id limit 5", true);
  expect("select c.id, about, balance, count(*) as n " + rows + "group by all order by n desc, balance, c.id limit 5",
         true);
  expect("select c.id, about, balance, count(*) as n " + rows +
             "group by all having balance > 10 order by n desc, c.id limit 5",
         true);
  expect(
      "select c.id, about, about as again, name, count(*) as n " + rows + "group by all order by n desc, c.id limit 5",
      true);
  expect("select about || name as both, count(*) as n " + rows +
             "group by c.id, about, name order by n desc, c.id limit 5",
         false);  // computed before the limit
}

TEST_P(LateKeys, OneTableTwice) {
  expect(
      "select a.id, b.id as other, a.about, b.about as of_other, count(*) as n from orders o join customers a on "
      "o.customer = a.id join customers b on o.price = b.id group by all order by n desc, a.id, b.id limit 6",
      true);
}

TEST_P(LateKeys, KeysOfOtherTypes) {
  for (const char* type : {"hugeint", "utinyint", "usmallint", "smallint", "decimal(9,0)", "decimal(30,0)"}) {
    const std::string id = std::string("::") + type + " as id";
    table("typed", "select i" + id + ", repeat('text ' || i, 2000) as about from range(120) t(i)");
    table("typed_facts", "select (i % 130)" + id + " from range(3000) t(i)");
    expect(
        "select t.id, about, count(*) as n from typed_facts f join typed t on f.id is not distinct from t.id group by "
        "all order by n desc, t.id limit 3",
        true);
    rows_of(session_, "drop view typed");
    rows_of(session_, "drop view typed_facts");
  }
}

TEST_P(LateKeys, OneFactThatFails) {
  expect(first_groups("twice"), false);
  expect(first_groups("holes"), false);
  expect(first_groups(files({"low", "twice"})), false);
  expect(first_groups("customers", ""), false);
  expect(
      "select c.id, name, count(*) as n from orders o join customers c on o.customer = c.id group by all "
      "order by n desc, c.id limit 5",
      false);  // short texts
  expect(
      "select c.id, about, count(*) as n from orders o join customers c on o.customer = c.id group by all "
      "order by about, n desc, c.id limit 5",
      false);  // the order asks for them
}

// With literals that differ, and LIMIT as a parameter.
TEST_P(LateKeys, OtherTextsOfOneShape) {
  for (const int least : {5, 40, 80}) {
    expect(
        "select c.id, name, count(*) as n, about from orders o join customers c on o.customer = c.id where price > " +
            std::to_string(least) + " group by all order by n desc, c.id limit " + std::to_string(least / 5),
        true);
  }
}

INSTANTIATE_TEST_SUITE_P(Sql, LateKeys, ::testing::ValuesIn(test_devices()), [](const auto& parameter) {
  return std::string(parameter.param == Device::kCuda ? "cuda" : "cpu");
});

}  // namespace
}  // namespace basalt::testing
