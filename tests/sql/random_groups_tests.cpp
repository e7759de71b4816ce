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
    switch (pick(12)) {
      case 0: return "few + some";
      case 1: return "many * 2";
      case 2: return "few = 3";
      case 3: return "length(word)";
      case 4: return "substring(text, 38, 2)";
      default: return kKeys[pick(std::size(kKeys))];
    }
  }
  std::string number() { return kNumbers[pick(std::size(kNumbers))]; }

  std::string where() {
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
                                               "wide > 0"};
    if (pick(3) == 0) return "";
    std::string text = " WHERE " + std::string(kFilters[pick(std::size(kFilters))]);
    if (pick(4) == 0) text += " AND " + std::string(kFilters[pick(std::size(kFilters))]);
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
    if (pick(8) == 0) text += " FILTER (some % 1 = 0 AND few > 2)";
    return text;
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
    if (keys > 0 && pick(5) == 0) out.text += " HAVING count(*) > " + std::to_string(pick(30));
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
  table.replace(table.find("@ROWS"), 5, kQuick ? "6000" : "50000");
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
