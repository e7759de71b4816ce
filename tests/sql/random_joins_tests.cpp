// Random statements over several tables (joins of every kind, subqueries, set operations, CTEs): what Basalt's own
// engine gives must equal what DuckDB gives over the same files. Keys are of every type, with NULLs, with many and few
// equal ones; one table is empty.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <regex>
#include <sstream>

#include "sql/random_statements.h"

namespace basalt::testing {
namespace {

constexpr const char* kColumns = R"(
SELECT i AS id, (hash(i) % 9)::TINYINT AS few, (hash(i * 3) % 400)::SMALLINT AS some, (hash(i * 5) % 3000)::INTEGER AS many,
       (hash(i * 7) % 500)::BIGINT * 1000000007 AS wide, hash(hash(i) % 300) AS unsigned,
       (hash(i) % 200)::HUGEINT * 100000000000000000000 AS huge,
       CASE i % 11 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN -0.0::DOUBLE WHEN 2 THEN 0.0::DOUBLE ELSE (i % 90) / 8 END AS odd,
       (hash(i * 13) % 700 / 100)::DECIMAL(9,2) AS d9, DATE '2023-05-05' + (hash(i) % 200)::INT AS day,
       i % 3 = 0 AS flag, ['red', 'green', 'blue', ''][1 + (hash(i) % 4)::INT] AS colour,
       'a long text that no list holds, number ' || (hash(i * 17) % 900) AS text
FROM range(@FROM, @TO) t(i))";

struct Table {
  const char* name;
  int from;
  int to;
  bool nulls;
};
constexpr Table kTables[] = {
    {"a", 0, 3000, false}, {"b", 1000, 2500, true}, {"c", 5, 45, true}, {"d", 2000, 4000, false}, {"e", 0, 0, false}};

constexpr const char* kKeys[] = {"id", "some", "many", "wide", "unsigned", "huge", "odd", "d9", "day", "text"};
constexpr const char* kCoarseKeys[] = {"few", "flag", "colour"};

class JoinGenerator {
 public:
  explicit JoinGenerator(uint32_t seed) : random_(seed) {}

  RandomStatement statement() {
    RandomStatement out;
    switch (pick(16)) {
      case 0:
      case 1:
      case 2: out.text = aggregates_of(joins()); break;
      case 3: out.text = rows_of_join(); break;
      case 4:
      case 5:
        out.text = "SELECT few, count(*), sum(many) FROM " + table() + " x WHERE " + test() + " GROUP BY few";
        break;
      case 6: out.text = "SELECT id, few FROM " + table() + " x WHERE " + test() + " AND " + test(); break;
      case 7: out.text = "SELECT id, " + scalar() + " AS v FROM " + table() + " x WHERE x.some < 200"; break;
      case 8: out.text = set_operation(); break;
      case 9:
        out.text = "WITH w AS MATERIALIZED (SELECT few, x.some, count(*) AS n FROM " + table() +
                   " x GROUP BY ALL) SELECT u.few, count(*), sum(u.n + v.n) FROM w u JOIN w v ON u.some = v.some" +
                   (pick(2) == 0 ? " AND u.n < v.n" : "") + " GROUP BY 1";
        break;
      case 10:
        out.text = "SELECT count(*) FILTER (m), count(*) FILTER (NOT m), count(m) FROM (SELECT " + mark() +
                   " AS m FROM " + table() + " x)";
        break;
      case 11: out.text = aggregates_of(joins() + " WHERE " + filter("x")); break;
      case 12: out.text = groupings(); break;
      // Few rows are looked up by many.
      case 13:
        out.text = std::string("SELECT id, few FROM c x WHERE ") + (pick(2) == 0 ? "NOT " : "") + "EXISTS (" +
                   subquery("1") + ")";
        break;
      default: out.text = windows(); break;
    }
    return out;
  }

 private:
  int pick(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  std::string table() { return kTables[pick(std::size(kTables))].name; }
  std::string key() { return kKeys[pick(std::size(kKeys))]; }

  // x.k = y.k for some keys, at least one of which has many values.
  std::string on(const std::string& x, const std::string& y) {
    std::string k = key();
    const char* op = pick(6) == 0 ? " IS NOT DISTINCT FROM " : " = ";
    std::string text = x + "." + k + op + y + "." + k;
    if (pick(3) == 0) {
      k = pick(2) == 0 ? key() : kCoarseKeys[pick(std::size(kCoarseKeys))];
      text += " AND " + x + "." + k + " = " + y + "." + k;
    }
    if (pick(4) == 0) text += " AND " + residual(x, y);
    return text;
  }
  std::string residual(const std::string& x, const std::string& y) {
    switch (pick(4)) {
      case 0: return x + ".few < " + y + ".few";
      case 1: return x + ".some + " + y + ".some > 300";
      case 2: return x + ".day <> " + y + ".day";
      default: return x + ".text > " + y + ".text";
    }
  }
  std::string filter(const std::string& x) {
    static constexpr const char* kFilters[] = {"some < 150",         "few IN (1, 3, 5)", "colour = 'red'", "flag",
                                               "day > '2023-08-01'", "text LIKE '%7%'",  "colour IS NULL", "d9 >= 3"};
    return x + "." + kFilters[pick(std::size(kFilters))];
  }
  std::string kind() {
    static constexpr const char* kKinds[] = {" JOIN ", " JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "};
    return kKinds[pick(std::size(kKinds))];
  }
  std::string joins() {
    std::string text = table() + " x" + kind() + table() + " y ON " + on("x", "y");
    if (pick(2) == 0) text += kind() + table() + " z ON " + on(pick(2) == 0 ? "x" : "y", "z");
    return text;
  }
  std::string aggregates_of(const std::string& from) {
    const std::string list = "count(*), count(x.id), sum(y.many), min(y.text), max(x.d9)";
    return pick(2) == 0 ? "SELECT " + list + " FROM " + from
                        : "SELECT x.few, y.colour, " + list + " FROM " + from + " GROUP BY 1, 2";
  }
  std::string rows_of_join() {
    return "SELECT x.id, y.id, x.text, y.odd, y.huge FROM " + table() + " x" + kind() + table() + " y ON " +
           on("x", "y") + " WHERE x.few < 3 OR y.flag";
  }
  std::string subquery(const std::string& what) {
    std::string text = "SELECT " + what + " FROM " + table() + " y WHERE " + on("x", "y");
    if (pick(3) == 0) text += " AND " + filter("y");
    return text;
  }
  std::string mark() {
    const std::string k = pick(4) == 0 ? kCoarseKeys[pick(std::size(kCoarseKeys))] : key();
    const std::string where = pick(2) == 0 ? " WHERE " + filter("y") : "";
    switch (pick(4)) {
      case 0: return "x.many > ANY (SELECT many FROM " + table() + " y" + where + ")";
      case 1: return "x.some <= ALL (SELECT y.some FROM " + table() + " y" + where + ")";
      case 2: {
        static constexpr const char* kCorrelations[] = {"few", "colour", "text"};
        const std::string same = kCorrelations[pick(std::size(kCorrelations))];
        return "x." + k + " IN (SELECT y." + k + " FROM " + table() + " y WHERE y." + same + " = x." + same + ")";
      }
      default: return "x." + k + " IN (SELECT y." + k + " FROM " + table() + " y" + where + ")";
    }
  }
  std::string test() {
    const std::string no = pick(2) == 0 ? "NOT " : "";
    switch (pick(4)) {
      case 0: return no + "EXISTS (" + subquery("1") + ")";
      case 1: return no + mark();
      case 2: return "x.many > " + scalar();
      default: return filter("x");
    }
  }
  std::string scalar() {
    switch (pick(4)) {
      case 0: return "(SELECT avg(many) FROM " + table() + " y WHERE " + filter("y") + ")";
      case 1: return "(" + subquery("count(*)") + ")";
      case 2: return "(SELECT many FROM " + table() + " y WHERE y.id = x.id)";
      default: return "(" + subquery("max(y.many)") + ")";
    }
  }
  std::string set_operation() {
    static constexpr const char* kOperations[] = {" UNION ",     " UNION ALL ",  " EXCEPT ",
                                                  " INTERSECT ", " EXCEPT ALL ", " INTERSECT ALL "};
    const std::string columns = pick(2) == 0 ? "few, colour" : "x.some, text, odd";
    std::string text = "SELECT " + columns + " FROM " + table() + " x WHERE " + filter("x");
    text += kOperations[pick(std::size(kOperations))];
    text += "SELECT " + columns + " FROM " + table() + " x";
    return text;
  }

  std::string groupings() {
    static constexpr const char* kGroupings[] = {"ROLLUP (x.few, y.colour)", "CUBE (x.few, y.colour)",
                                                 "GROUPING SETS ((x.few), (y.colour), ())",
                                                 "GROUPING SETS ((x.few, y.colour), (x.few))"};
    return "SELECT x.few, y.colour, grouping(x.few, y.colour), count(*), sum(y.many), count(DISTINCT x.some) FROM " +
           joins() + " GROUP BY " + kGroupings[pick(std::size(kGroupings))];
  }
  // Orders that leave no two different rows equal, but where equals are one to the function.
  std::string windows() {
    static constexpr const char* kByPlace[] = {"row_number()",      "lag(many)",         "lead(text, 2, 'none')",
                                               "lag(x.some, 3, 7)", "first_value(text)", "last_value(many)",
                                               "sum(many)",         "count(*)",          "min(text)",
                                               "avg(x.some)",       "max(d9)",           "count(many) FILTER (flag)"};
    static constexpr const char* kByEquals[] = {"rank()",    "dense_rank()", "percent_rank()", "cume_dist()",
                                                "sum(many)", "min(text)",    "count(*)"};
    static constexpr const char* kFrames[] = {
        "", " ROWS BETWEEN 3 PRECEDING AND CURRENT ROW", " ROWS BETWEEN 1 FOLLOWING AND 4 FOLLOWING",
        " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", " ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING"};
    static constexpr const char* kRanges[] = {"", " RANGE BETWEEN 5 PRECEDING AND 10 FOLLOWING",
                                              " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"};
    static constexpr const char* kOrders[] = {"x.some, id", "day DESC, id", "many NULLS FIRST, id", "text, id DESC"};
    const std::string partition = pick(3) == 0 ? "" : pick(2) == 0 ? "PARTITION BY few " : "PARTITION BY colour, flag ";
    std::string over;
    if (pick(2) == 0) {
      over = std::string(kByPlace[pick(std::size(kByPlace))]) + " OVER (" + partition + "ORDER BY " +
             kOrders[pick(std::size(kOrders))] + kFrames[pick(std::size(kFrames))] + ")";
    } else {
      over = std::string(kByEquals[pick(std::size(kByEquals))]) + " OVER (" + partition + "ORDER BY x.some" +
             (pick(2) == 0 ? " DESC" : "") + (pick(2) == 0 ? " NULLS FIRST" : "") + kRanges[pick(std::size(kRanges))] +
             ")";
    }
    return "SELECT id, few, " + over + " AS w FROM " + table() + " x" + (pick(2) == 0 ? " WHERE " + filter("x") : "");
  }

  std::mt19937 random_;
};

// Tables of several chunks and parts, in which few values of `skewed` have many rows: statements give few rows, so that
// time goes into joins.
constexpr const char* kLargeColumns = R"(
SELECT i AS id, (hash(i * 3) % 200000)::INTEGER AS spread, floor(pow(hash(i * 5) / 18446744073709551616, 3) * 200000)::INTEGER AS skewed,
       (hash(i) % 9)::TINYINT AS few, (hash(i * 7) % 1000)::SMALLINT AS n, 'word ' || (hash(i * 11) % 20000) AS word
FROM range(@FROM, @TO) t(i))";
constexpr Table kLargeTables[] = {{"f", 0, 200000, false}, {"g", 50000, 250000, true}, {"h", 0, 3000, true}};

class LargeJoinGenerator {
 public:
  explicit LargeJoinGenerator(uint32_t seed) : random_(seed) {}

  RandomStatement statement() {
    RandomStatement out;
    const std::string x = large();
    const std::string k = key();
    const std::string list = "SELECT count(*), count(x.n), sum(x.n), sum(y.n), min(y.word), max(x.id) FROM ";
    switch (pick(8)) {
      case 0: out.text = list + x + kind() + any() + " y ON " + on(k); break;
      case 1:
        out.text = "SELECT x.few, count(y.id), sum(y.n) FROM " + x + kind() + any() + " y ON " + on(k) + " GROUP BY 1";
        break;
      case 2: out.text = list + x + kind() + any() + " y ON " + on(k) + kind() + "h z ON y.id = z.id"; break;
      case 3:
        out.text = "SELECT count(*), sum(n), min(word) FROM " + x + (pick(2) == 0 ? " SEMI" : " ANTI") + " JOIN " +
                   any() + " y ON " + on(k);
        break;
      case 4:
        out.text = "SELECT count(*) FILTER (m), count(m), sum(n) FROM (SELECT n, x." + k + " IN (SELECT y." + k +
                   " FROM " + any() + " y WHERE y.n < " + std::to_string(pick(1000)) + ") AS m FROM " + x + ")";
        break;
      case 5:
        out.text = "SELECT count(v), sum(v) FROM (SELECT (SELECT y.n FROM " + any() +
                   " y WHERE y.id = x.id) AS v FROM " + x + ")";
        break;
      case 6:
        out.text = "SELECT x.few, count(*), sum(x.n) FROM (FROM f UNION ALL FROM g UNION ALL FROM h) x" + kind() +
                   "h y ON " + on(k) + " GROUP BY 1";
        break;
      default:
        out.text = "SELECT x.id, y.word FROM " + x + kind() + any() + " y ON " + on("skewed") + " LIMIT " +
                   std::to_string(pick(5000));
        out.limited = true;
        break;
    }
    return out;
  }

 private:
  int pick(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  std::string large() { return pick(2) == 0 ? "f x" : "g x"; }
  std::string any() { return kLargeTables[pick(std::size(kLargeTables))].name; }
  std::string key() {
    static constexpr const char* kLargeKeys[] = {"id", "spread", "skewed", "word"};
    return kLargeKeys[pick(std::size(kLargeKeys))];
  }
  std::string on(const std::string& k) { return "x." + k + " = y." + k + (pick(3) == 0 ? " AND x.n < y.n" : ""); }
  std::string kind() {
    static constexpr const char* kLargeKinds[] = {" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "};
    return kLargeKinds[pick(std::size(kLargeKinds))];
  }

  std::mt19937 random_;
};

// The rows of a table in the order of `id`; with NULLs, one row in six has nothing else.
std::string rows_of_table(const Table& table, const char* columns) {
  std::string rows = columns;
  rows.replace(rows.find("@FROM"), 5, std::to_string(table.from));
  rows.replace(rows.find("@TO"), 3, std::to_string(table.to));
  if (!table.nulls) return rows;
  return "SELECT CASE WHEN hash(id, 7) % 6 = 1 THEN NULL ELSE COLUMNS(*) END FROM (" + rows + ")";
}

void make_table(Session& session, const ScratchFolder& folder, const Table& table, const char* columns) {
  const std::string file = folder.file(std::string(table.name) + ".basalt");
  WriteOptions write;
  write.chunk_rows = 131072;
  session.convert(rows_of_table(table, columns), file, write);
  rows_of(session, std::string("CREATE VIEW ") + table.name + " AS FROM " + quote_literal(file));
}

// How many stages had a join of a kind and gave rows, those apart that give one row whatever the join gives.
class JoinKinds {
 public:
  explicit JoinKinds(Session& session) : session_(session) {}

  void add(const std::string& statement) {
    rows_of(session_, "SET basalt_lowering = true; SET basalt_strict = true");
    const std::string plan = session_.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + statement).explain_text();
    bool one_row = false;
    bool gave_rows = false;
    std::istringstream lines(plan);
    for (std::string line; std::getline(lines, line);) {
      std::smatch found;
      if (std::regex_search(line, std::regex("[0-9] joins?, "))) {
        one_row = !has(line, " of rows") && !has(line, "groups by");
      } else if (std::regex_search(line, found, std::regex("rows [0-9]+ -> ([0-9]+)"))) {
        gave_rows = !one_row && found[1] != "0";
      }
      if (gave_rows && std::regex_search(line, found, std::regex("a hash table for a ([a-z ]+):"))) ++seen_[found[1]];
    }
  }
  int of(const std::string& kind) const { return seen_.contains(kind) ? seen_.at(kind) : 0; }

 private:
  static bool has(const std::string& line, const char* words) { return line.find(words) != std::string::npos; }

  Session& session_;
  std::map<std::string, int> seen_;
};

class RandomJoins : public ::testing::TestWithParam<Device> {};

TEST_P(RandomJoins, EqualDuckDB) {
  const ScratchFolder folder;
  Session session(session_options(GetParam()));
  for (const Table& table : kTables) make_table(session, folder, table, kColumns);
  const int statements = statements_of(GetParam());
  JoinKinds kinds(session);
  compare_all_with_duckdb(
      session, statements, statements * 9 / 10, [](uint32_t seed) { return JoinGenerator(seed).statement(); },
      [&](const RandomStatement& statement) { kinds.add(statement.text); });
  if (statements < 500) return;
  for (const char* kind : {"join", "left join", "right join", "full join", "semi join", "anti join", "mark join",
                           "single join", "right semi join", "right anti join"}) {
    EXPECT_GT(kinds.of(kind), 0) << kind;
  }
}

TEST_P(RandomJoins, OfLargeTablesEqualDuckDB) {
  const ScratchFolder folder;
  Session session(session_options(GetParam()));
  for (Table table : kLargeTables) {
    if (kQuick) table.to = table.from + (table.to - table.from) / 20;
    make_table(session, folder, table, kLargeColumns);
  }
  const int statements = statements_of(GetParam()) / 10;
  compare_all_with_duckdb(session, statements, statements * 9 / 10,
                          [](uint32_t seed) { return LargeJoinGenerator(seed).statement(); });
}

INSTANTIATE_TEST_SUITE_P(Sql, RandomJoins, ::testing::ValuesIn(test_devices()), [](const auto& parameter) {
  return std::string(parameter.param == Device::kCuda ? "cuda" : "cpu");
});

}  // namespace
}  // namespace basalt::testing
