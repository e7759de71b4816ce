// Random statements over one table (filters, groups, orders, limits, DISTINCT): what Basalt's own engine gives must
// equal what DuckDB gives over the same file, as a multiset of rows, and in order by the sort keys; or fail where
// DuckDB fails.
#include <gtest/gtest.h>

#include <random>

#include "sql/random_statements.h"

namespace basalt::testing {
namespace {

constexpr const char* kTable = R"(
SELECT (i % 7)::TINYINT AS few, (hash(i) % 300)::SMALLINT AS some, (hash(i * 3) % 100000)::INTEGER AS many,
       (hash(i * 7) >> 1)::BIGINT - 4611686018427387904 AS wide, hash(i * 11) AS unsigned, i // 4 AS runs,
       (hash(i) % 50)::HUGEINT * 100000000000000000000 AS huge,
       CASE i % 11 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN -0.0::DOUBLE WHEN 2 THEN 0.0::DOUBLE
         WHEN 3 THEN 'inf'::DOUBLE ELSE (i % 40) / 8 END AS odd,
       (hash(i) % 1000 / 16)::FLOAT AS f32, (hash(i * 5) % 100000)::DOUBLE / 64 AS f64,
       ((hash(i) % 9999) / 100)::DECIMAL(9,2) AS d9, (hash(i) % 1000000 / 100)::DECIMAL(15,2) AS d15,
       DATE '2023-05-05' + (hash(i) % 40)::INT AS day, TIMESTAMP '2023-01-01' + to_minutes((hash(i) % 5000)::BIGINT) AS ts,
       i % 3 = 0 AS flag, ['red', 'green', 'blue', ''][1 + (hash(i) % 4)::INT] AS colour,
       'word ' || (hash(i) % 600) AS word, 'a long text that no list holds, number ' || (hash(i) % 20000) AS text
FROM range(@ROWS) t(i))";

constexpr const char* kKeys[] = {"few", "some", "many", "wide", "unsigned", "runs",   "huge", "odd", "f32",
                                 "d9",  "d15",  "day",  "ts",   "flag",     "colour", "word", "text"};
constexpr const char* kNumbers[] = {"few", "some", "many", "runs", "f32", "f64", "d9", "d15"};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  using Statement = RandomStatement;
  Statement statement() {
    switch (pick(6)) {
      case 0: return rows();
      case 1: return distinct();
      default: return groups();
    }
  }

 private:
  int pick(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  std::string key() {
    static constexpr const char* kExpressions[] = {"few + some",
                                                   "many * 2",
                                                   "few = 3",
                                                   "length(word)",
                                                   "substring(text, 38, 2)",
                                                   "odd * -1",
                                                   "odd / few",
                                                   "abs(odd)",
                                                   "greatest(odd, f64)",
                                                   "round(many, -3)",
                                                   "round(wide, -17)",
                                                   "some // 7",
                                                   "wide % 1000",
                                                   "d15 % d9",
                                                   "d9 // 7",
                                                   "f64 // 3.5",
                                                   "year(day) + few",
                                                   "date_trunc('week', ts)",
                                                   "day + to_months(few)",
                                                   "ts - to_hours(some)",
                                                   "some * INTERVAL '1 day 2 minutes' + ts",
                                                   "TRY_CAST(ts AS DATE)",
                                                   "TRY_CAST(many AS SMALLINT)",
                                                   "CAST(f64 AS DECIMAL(9,1))",
                                                   "coalesce(colour, word)",
                                                   "upper(colour) || few",
                                                   "CASE WHEN few > 3 THEN colour ELSE word END",
                                                   "nullif(colour, 'red')",
                                                   "left(text, 20) || right(word, 1)",
                                                   "replace(word, '1', '')"};
    return pick(3) == 0 ? kExpressions[pick(std::size(kExpressions))] : kKeys[pick(std::size(kKeys))];
  }
  std::string number() { return kNumbers[pick(std::size(kNumbers))]; }

  std::string filter() {
    static constexpr const char* kFilters[] = {"some < 100",
                                               "few IN (1, 3, 5)",
                                               "d9 BETWEEN 10 AND 60",
                                               "colour = 'red'",
                                               "word LIKE '%7%'",
                                               "day > '2023-05-20'",
                                               "flag",
                                               "many % 1 = 0 OR some > 5",
                                               "colour IS NULL",
                                               "f64 >= 100",
                                               "some < 0",
                                               "NOT flag AND few < 4",
                                               "text LIKE '%99'",
                                               "colour IN ('blue', '')",
                                               "wide > 0",
                                               "odd = 0",
                                               "odd > 4",
                                               "odd IS NOT DISTINCT FROM 'NaN'::DOUBLE",
                                               "NOT (odd < 2 OR f32 > 30)",
                                               "ts + to_days(few) < TIMESTAMP '2023-01-04 10:00:00'",
                                               "word NOT LIKE '%_5%' AND length(text) % 2 = 0",
                                               "coalesce(few, some) IN (1, 2, NULL)",
                                               "CASE WHEN flag THEN d9 ELSE d15 END > 50"};
    return kFilters[pick(std::size(kFilters))];
  }
  std::string where() {
    if (pick(3) == 0) return "";
    std::string text = " WHERE " + filter();
    if (pick(4) == 0) text += (pick(3) == 0 ? " OR " : " AND ") + filter();
    return text;
  }

  std::string aggregate() {
    std::string text;
    switch (pick(16)) {
      case 0:
      case 1: text = "count(*)"; break;
      case 2: text = "count(" + std::string(kKeys[pick(std::size(kKeys))]) + ")"; break;
      case 3: text = "count(DISTINCT " + std::string(kKeys[pick(std::size(kKeys))]) + ")"; break;
      case 4: text = "min(" + std::string(kKeys[pick(std::size(kKeys))]) + ")"; break;
      case 5: text = "max(" + std::string(kKeys[pick(std::size(kKeys))]) + ")"; break;
      case 6: text = "avg(" + number() + ")"; break;
      case 7: text = "sum(DISTINCT some)"; break;
      case 8: text = "bool_and(flag)"; break;
      case 9: text = "bool_or(few = 2)"; break;
      case 10: text = std::string(pick(2) == 0 ? "var_samp(" : "stddev_pop(") + number() + ")"; break;
      case 11: text = "sum(" + number() + " * (1 - few))"; break;
      case 12: text = "max(many + some)"; break;
      default: text = "sum(" + number() + ")"; break;
    }
    if (pick(6) == 0) text += " FILTER (" + filter() + ")";
    return text;
  }

  std::string having() {
    const std::string number_of_rows = std::to_string(pick(30));
    switch (pick(5)) {
      case 0: return "max(some) - min(some) > " + number_of_rows;
      case 1: return "count(DISTINCT colour) = 2 OR count(*) < " + number_of_rows;
      case 2: return "sum(d9) FILTER (WHERE flag) > " + number_of_rows;
      case 3: return "min(colour) < 'green' AND NOT bool_and(flag)";
      default: return "count(*) > " + number_of_rows;
    }
  }

  Statement groups() {
    Statement out;
    const int keys = pick(10) == 0 ? 0 : 1 + pick(3);
    const int aggregates = 1 + pick(4);
    std::string list;
    std::string by;
    for (int i = 0; i < keys; ++i) {
      list += (list.empty() ? "" : ", ") + key() + " AS k" + std::to_string(i);
      by += (by.empty() ? "" : ", ") + std::to_string(i + 1);
    }
    for (int i = 0; i < aggregates; ++i) list += (list.empty() ? "" : ", ") + aggregate() + " AS a" + std::to_string(i);
    out.text = "SELECT " + list + " FROM t" + where();
    if (keys > 0) out.text += " GROUP BY " + by;
    if (keys > 0 && pick(4) == 0) out.text += " HAVING " + having();
    add_order(out, keys + aggregates);
    return out;
  }

  Statement distinct() {
    Statement out;
    const int keys = 1 + pick(3);
    std::string list;
    for (int i = 0; i < keys; ++i) list += (list.empty() ? "" : ", ") + key() + " AS k" + std::to_string(i);
    out.text = "SELECT DISTINCT " + list + " FROM t" + where();
    add_order(out, keys);
    return out;
  }

  Statement rows() {
    Statement out;
    const int columns = 1 + pick(4);
    std::string list;
    for (int i = 0; i < columns; ++i) list += (list.empty() ? "" : ", ") + key() + " AS k" + std::to_string(i);
    out.text = "SELECT " + list + " FROM t" + where();
    add_order(out, columns);
    return out;
  }

  void add_order(Statement& out, int columns) {
    if (pick(2) == 0) return;
    std::string by;
    for (int i = 0; i < 1 + pick(2); ++i) {
      const int column = pick(columns);
      out.order.push_back(column);
      by += (by.empty() ? "" : ", ") + std::to_string(column + 1) + (pick(2) == 0 ? " DESC" : "") +
            (pick(4) == 0 ? " NULLS FIRST" : "");
    }
    out.text += " ORDER BY " + by;
    if (pick(2) == 0) return;
    out.limited = true;
    out.text += " LIMIT " + std::to_string(pick(40));
    if (pick(3) == 0) out.text += " OFFSET " + std::to_string(pick(30));
  }

  std::mt19937 random_;
};

class RandomGroups : public ::testing::TestWithParam<std::tuple<Device, bool>> {};

TEST_P(RandomGroups, EqualDuckDB) {
  const auto& [device, nulls] = GetParam();
  const ScratchFolder folder;
  Session session(session_options(device));
  std::string table = kTable;
  table.replace(table.find("@ROWS"), 5, kQuick ? "6000" : "35000");
  if (nulls) table = "SELECT CASE WHEN hash(runs, many) % 5 = 1 THEN NULL ELSE COLUMNS(*) END FROM (" + table + ")";
  WriteOptions write;
  write.chunk_rows = 16384;
  session.convert(table, folder.file("t.basalt"), write);
  rows_of(session, "CREATE VIEW t AS FROM " + quote_literal(folder.file("t.basalt")));
  const int statements = statements_of(device);
  const int least = device == Device::kCpu ? statements * 3 / 4 : statements / 5;
  compare_all_with_duckdb(session, statements, least,
                          [odd = nulls ? 1u : 0u](uint32_t seed) { return Generator(seed * 2 + odd).statement(); });
}

INSTANTIATE_TEST_SUITE_P(Sql, RandomGroups, ::testing::Combine(::testing::ValuesIn(test_devices()), ::testing::Bool()),
                         [](const auto& parameter) {
                           return std::string(std::get<0>(parameter.param) == Device::kCuda ? "cuda" : "cpu") +
                                  (std::get<1>(parameter.param) ? "_nulls" : "_dense");
                         });

}  // namespace
}  // namespace basalt::testing
