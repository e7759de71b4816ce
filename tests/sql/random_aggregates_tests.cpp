// Random ungrouped aggregates: what Basalt runs must equal what DuckDB runs over the same file, value by value, or fail
// where DuckDB fails.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "sql/random_seeds.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

constexpr const char* kTable = R"(
SELECT (i % 128)::TINYINT AS i8, (i % 30000 - 15000)::SMALLINT AS i16, (i * 7 % 100000 - 50000)::INTEGER AS i32,
       i * 1000000007 - 3000000000 AS i64, (i % 200)::UTINYINT AS u8, (i * 3)::UINTEGER AS u32, (i * 99991)::UBIGINT AS u64,
       i::HUGEINT * 1000000000000000000000 AS i128, (i % 1000 - 500)::FLOAT AS f32, (i % 5000 - 700)::DOUBLE AS f64,
       ((i % 99) / 10)::DECIMAL(4,1) AS d4, ((i % 9999) / 100)::DECIMAL(9,2) AS d9, (i * 3.25)::DECIMAL(15,2) AS d15,
       (i % 777)::DECIMAL(18,3) AS d18, (i * 12345.5)::DECIMAL(38,4) AS d38, DATE '2023-05-05' + (i % 700)::INT AS day,
       TIMESTAMP '2023-01-01' + to_minutes(i) AS ts, i % 3 = 0 AS flag, i AS id,
       'text ' || (i * 7919 % 1000) AS word
FROM range(@ROWS) t(i))";

constexpr const char* kNumbers[] = {"i8",  "i16", "i32", "i64", "u8",  "u32", "u64", "i128",
                                    "f32", "f64", "d4",  "d9",  "d15", "d18", "d38"};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  std::string statement() {
    std::string text = "SELECT ";
    const int count = 1 + pick(4);
    for (int i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + aggregate();
    text += " FROM t";
    if (pick(4) > 0) text += " WHERE " + predicate(2);
    return text;
  }

 private:
  int pick(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }
  std::string number_column() { return kNumbers[pick(std::size(kNumbers))]; }

  std::string constant() {
    switch (pick(4)) {
      case 0: return std::to_string(pick(10));
      case 1: return std::to_string(pick(100000) - 50000);
      case 2: return std::to_string(pick(100)) + ".5";
      default: return std::to_string(pick(1000)) + "." + std::to_string(10 + pick(90));
    }
  }

  std::string expression(int depth) {
    if (depth == 0 || pick(3) == 0) return pick(4) == 0 ? constant() : number_column();
    static constexpr const char* kOps[] = {" + ", " - ", " * "};
    if (pick(8) == 0) return "(-" + number_column() + ")";
    if (pick(10) == 0) return number_column() + "::DOUBLE";
    return "(" + expression(depth - 1) + kOps[pick(3)] + expression(depth - 1) + ")";
  }

  std::string type() {
    static constexpr const char* kTypes[] = {"TINYINT",      "SMALLINT",      "INTEGER",      "BIGINT", "HUGEINT",
                                             "UTINYINT",     "UINTEGER",      "UBIGINT",      "FLOAT",  "DOUBLE",
                                             "DECIMAL(5,1)", "DECIMAL(18,4)", "DECIMAL(38,2)"};
    return kTypes[pick(std::size(kTypes))];
  }

  std::string date_part() {
    static constexpr const char* kParts[] = {"year",    "month",  "day",         "quarter",     "week",
                                             "isoyear", "dow",    "isodow",      "doy",         "hour",
                                             "minute",  "second", "millisecond", "microsecond", "decade"};
    return kParts[pick(std::size(kParts))];
  }
  std::string date() { return pick(2) == 0 ? "day" : "ts"; }

  // A number of dates or strings.
  std::string count_of_something() {
    switch (pick(9)) {
      case 0: return "date_diff('" + date_part() + "', day, DATE '2024-03-01')";
      case 1: return "date_diff('" + date_part() + "', ts, TIMESTAMP '2024-03-01 11:59:59')";
      case 2: return "(day - DATE '2020-02-29')";
      case 3: return "strpos(word, '" + std::to_string(pick(30)) + "')";
      case 4: return "length(replace(word, 't', '" + std::to_string(pick(9)) + "' || word))";
      case 5: return "date_part('epoch', " + date() + ")";
      case 6: return "length(trim(right(word, " + std::to_string(pick(8)) + "), ' 0'))";
      default: return "extract(" + date_part() + " FROM " + date() + ")";
    }
  }

  // One of the functions of numbers; may be an error for some rows.
  std::string function(int depth) {
    const std::string a = depth > 0 && pick(2) == 0 ? function(depth - 1) : number_column();
    const std::string b = pick(3) == 0 ? constant() : number_column();
    switch (pick(16)) {
      case 0: return "(" + a + " // " + b + ")";
      case 1: return "(" + a + " % " + b + ")";
      case 2: return "(" + a + " / " + b + ")";
      case 3: return "abs(" + a + ")";
      case 4: return "sign(" + a + ")";
      case 5: return "round(" + a + ", " + std::to_string(pick(6) - 2) + ")";
      case 6: return std::string(pick(2) == 0 ? "floor(" : "ceil(") + a + ")";
      case 7: return "greatest(" + a + ", " + b + ", " + number_column() + ")";
      case 8: return "least(" + a + ", " + b + ")";
      case 9:
        return "CASE WHEN " + predicate(1) + " THEN " + a + " WHEN " + predicate(0) + " THEN " + b + " ELSE " +
               number_column() + " END";
      case 10: return "coalesce(" + a + ", " + b + ")";
      case 11: return "nullif(" + a + ", " + b + ")";
      case 12: return "CAST(" + a + " AS " + type() + ")";
      case 13: return count_of_something();
      case 14: return "round(" + a + ")";
      default: return "TRY_CAST(" + a + " AS " + type() + ")";
    }
  }

  std::string interval() {
    switch (pick(8)) {
      case 0: return "to_years(i8)";
      case 1: return "to_quarters(i8)";
      case 2: return "to_months(i16)";
      case 3: return "to_weeks(i16)";
      case 4: return "to_hours(i32)";
      case 5: return "to_seconds(f64 / 7)";
      case 6: return "INTERVAL (i16) MINUTE";
      default: return "i16 * INTERVAL '2 days 3 hours'";
    }
  }

  std::string date_value() {
    switch (pick(9)) {
      case 5: return "(" + date() + (pick(2) == 0 ? " + " : " - ") + interval() + ")";
      case 6: return "TRY_CAST(day + i32 AS TIMESTAMP)";
      case 7: return "TRY_CAST(" + date() + " AS " + (pick(2) == 0 ? "DATE)" : "TIMESTAMP)");
      case 8: return "(ts::TIMESTAMPTZ + INTERVAL '" + std::to_string(pick(30)) + " months 3 days 5 hours')";
      case 0: return "date_trunc('" + date_part() + "', " + date() + ")";
      case 1:
        return "(" + date() + " + INTERVAL '" + std::to_string(pick(20)) + " months " + std::to_string(pick(90)) +
               " days 7 hours')";
      case 2: return "(" + date() + " - INTERVAL " + std::to_string(pick(40)) + " HOUR)";
      case 3: return "(day + i16)";
      default: return pick(2) == 0 ? "CAST(ts AS DATE)" : "CAST(day AS TIMESTAMP)";
    }
  }

  std::string aggregate() {
    switch (pick(12)) {
      case 8: return "min(" + function(1) + ")";
      case 9: return "max(" + function(2) + ")";
      case 10: return "count(" + function(1) + ")";
      case 11: return (pick(2) == 0 ? "min(" : "max(") + date_value() + ")";
      case 0: return "count(*)";
      case 1: return "count(" + number_column() + ")";
      case 2: return "min(" + expression(1) + ")";
      case 3: return "max(" + expression(1) + ")";
      case 4: return "avg(" + number_column() + ")";
      case 5: return pick(2) == 0 ? "min(day)" : "max(ts)";
      default: return "sum(" + expression(2) + ")";
    }
  }

  std::string predicate(int depth) {
    if (depth > 0 && pick(2) == 0) {
      if (pick(5) == 0) return "NOT (" + predicate(depth - 1) + ")";
      return "(" + predicate(depth - 1) + (pick(2) == 0 ? " AND " : " OR ") + predicate(depth - 1) + ")";
    }
    static constexpr const char* kComparisons[] = {"=", "<>", "<", "<=", ">", ">="};
    switch (pick(14)) {
      case 9: return text_predicate();
      case 10: return number_column() + " IS " + (pick(2) == 0 ? "" : "NOT ") + "DISTINCT FROM " + constant();
      case 11:
        return "extract(" + date_part() + " FROM " + date() + ") " + kComparisons[pick(6)] + " " +
               std::to_string(pick(12));
      case 12:
        return number_column() + (pick(2) == 0 ? " IN (" : " NOT IN (") + std::to_string(pick(50)) + ", NULL, " +
               std::to_string(pick(90)) + ")";
      case 13:
        return "coalesce(i8, i16) " + std::string(kComparisons[pick(6)]) + " TRY_CAST(" + number_column() +
               " AS SMALLINT)";
      case 0: return number_column() + (pick(2) == 0 ? " IS NULL" : " IS NOT NULL");
      case 1: return number_column() + " BETWEEN " + constant() + " AND " + constant();
      case 2:
        return number_column() + (pick(2) == 0 ? " IN (" : " NOT IN (") + std::to_string(pick(50)) + ", " +
               std::to_string(pick(90)) + ")";
      case 3:
        return "day " + std::string(kComparisons[pick(6)]) + " DATE '2024-01-" + std::to_string(10 + pick(20)) + "'";
      case 4: return "day < DATE '2023-10-01' + INTERVAL " + std::to_string(pick(9)) + " MONTH";
      case 5: return "ts >= TIMESTAMP '2023-02-" + std::to_string(10 + pick(18)) + " 12:30:00'";
      case 6: return pick(2) == 0 ? "flag" : "NOT flag";
      case 7: return number_column() + " " + kComparisons[pick(6)] + " " + number_column();
      default: return number_column() + " " + kComparisons[pick(6)] + " " + constant();
    }
  }

  std::string text_predicate() {
    const std::string text = "'text " + std::to_string(pick(1000)) + "'";
    switch (pick(8)) {
      case 5: return "word || '!' > " + text;
      case 6: return "right(word, 2) = '" + std::to_string(10 + pick(90)) + "'";
      case 7: return "CASE WHEN flag THEN word ELSE 'text 5' END < " + text;
      case 0: return "word LIKE '%" + std::to_string(pick(30)) + "%'";
      case 1: return "word NOT LIKE '%" + std::to_string(pick(10)) + "_'";
      case 2: return pick(2) == 0 ? "word >= " + text : text + " > word";
      case 3: return "word IN (" + text + ", 'text 7', 'none')";
      default: return pick(2) == 0 ? "word IS NULL" : "word <> " + text;
    }
  }

  std::mt19937 random_;
};

// One row; floats apart, whose sums depend on their order in the last bits.
struct Outcome {
  std::vector<std::string> exact;
  std::vector<double> floats;
  std::string error;
  bool lowered = false;
};

Outcome run(Session& session, const std::string& query) {
  Outcome outcome;
  try {
    QueryResult result = session.execute(query);
    std::string text;
    result.write_csv([&](std::string_view part) { text += part; }, false, '|');
    std::istringstream fields(text.substr(0, text.find('\n')) + "|");
    for (const ResultColumn& column : result.columns()) {
      std::string field;
      std::getline(fields, field, '|');
      const bool is_float = (column.type == "DOUBLE" || column.type == "FLOAT") && !field.empty();
      outcome.exact.push_back(is_float ? "float" : field);
      if (is_float) outcome.floats.push_back(std::stod(field));
    }
    outcome.lowered = !result.report().in_basalt.empty();
  } catch (const Error& error) {
    outcome.error = error.what();
    EXPECT_EQ(error.code(), ErrorCode::kOutOfRange) << query << "\n" << error.what();
  }
  return outcome;
}

class RandomAggregates : public ::testing::TestWithParam<std::tuple<Device, bool>> {};

TEST_P(RandomAggregates, EqualDuckDB) {
  const auto& [device, nulls] = GetParam();
  const ScratchFolder folder;
  Session session(session_options(device));
  std::string table = kTable;
  table.replace(table.find("@ROWS"), 5, kQuick ? "9000" : "70000");
  if (nulls) {
    table = "SELECT CASE WHEN hash(id) % 5 = 1 THEN NULL ELSE COLUMNS(*) END FROM (" + table + ")";
  }
  WriteOptions write;
  write.chunk_rows = 32768;
  session.convert(table, folder.file("t.basalt"), write);
  rows_of(session, "CREATE VIEW t AS FROM " + quote_literal(folder.file("t.basalt")));
  int lowered = 0;
  const int statements = statements_of(device, 250);
  const uint32_t end = first_seed() + static_cast<uint32_t>(statements);
  for (uint32_t seed = first_seed(); seed < end; ++seed) {
    const std::string query = Generator(seed * 2 + (nulls ? 1 : 0)).statement();
    SCOPED_TRACE(query);
    rows_of(session, "SET basalt_lowering = true");
    const Outcome ours = run(session, query);
    rows_of(session, "SET basalt_lowering = false");
    const Outcome theirs = run(session, query);
    EXPECT_EQ(ours.exact, theirs.exact) << ours.error << theirs.error;
    ASSERT_EQ(ours.floats.size(), theirs.floats.size());
    for (size_t i = 0; i < ours.floats.size(); ++i) {
      if (ours.floats[i] == theirs.floats[i] || (std::isnan(ours.floats[i]) && std::isnan(theirs.floats[i]))) continue;
      EXPECT_NEAR(ours.floats[i], theirs.floats[i], 1e-10 * std::abs(theirs.floats[i]) + 1e-9);
    }
    EXPECT_EQ(ours.error.empty(), theirs.error.empty()) << ours.error << theirs.error;
    lowered += ours.lowered ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(lowered, statements / 4);
}

INSTANTIATE_TEST_SUITE_P(Sql, RandomAggregates,
                         ::testing::Combine(::testing::ValuesIn(test_devices()), ::testing::Bool()),
                         [](const auto& parameter) {
                           return std::string(std::get<0>(parameter.param) == Device::kCuda ? "cuda" : "cpu") +
                                  (std::get<1>(parameter.param) ? "_nulls" : "_dense");
                         });

}  // namespace
}  // namespace basalt::testing
