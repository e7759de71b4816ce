// Random statements over one table (filters, groups, orders, limits, DISTINCT): what Basalt's own engine gives must
// equal what DuckDB gives over the same file, as a multiset of rows, and in order by the sort keys; or fail where
// DuckDB fails.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "sql/support.h"

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

  struct Statement {
    std::string text;
    std::vector<int> order;  // columns that the rows are sorted by
    bool limited = false;    // several answers are right: only sort keys and the number of rows are compared
  };
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

using Row = std::vector<std::string>;
struct Outcome {
  std::vector<Row> rows;
  std::vector<bool> is_float;
  std::string error;
  std::string refused;  // why the engine does not run it
};

Outcome run(Session& session, const std::string& query) {
  Outcome outcome;
  try {
    QueryResult result = session.execute(query);
    for (const ResultColumn& column : result.columns()) {
      outcome.is_float.push_back(column.type == "DOUBLE" || column.type == "FLOAT");
    }
    std::string text;
    result.write_csv([&](std::string_view part) { text += part; }, false, '|', "NULL");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      Row row;
      std::istringstream fields(line + "|");
      for (std::string field; std::getline(fields, field, '|');) row.push_back(field);
      outcome.rows.push_back(std::move(row));
    }
  } catch (const Error& error) {
    (error.code() == ErrorCode::kUnsupported ? outcome.refused : outcome.error) = error.what();
  }
  return outcome;
}

// Floats are compared with a tolerance: sums and variances depend on the order of rows in their last digits.
bool near(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char* end = nullptr;
  const double x = std::strtod(a.c_str(), &end);
  if (end == a.c_str()) return false;
  const double y = std::strtod(b.c_str(), &end);
  if (end == b.c_str()) return false;
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 1e-9 * std::abs(y) + 1e-9;
}

// Rows by what is exact in them, then by their floats: rows that are equal but for last digits lie at the same place.
struct Comparable {
  Row exact;
  std::vector<std::string> floats;
  bool operator<(const Comparable& other) const {
    if (exact != other.exact) return exact < other.exact;
    for (size_t i = 0; i < floats.size(); ++i) {
      if (near(floats[i], other.floats[i])) continue;
      const double a = std::strtod(floats[i].c_str(), nullptr);
      const double b = std::strtod(other.floats[i].c_str(), nullptr);
      return std::isnan(b) ? !std::isnan(a) : a < b;
    }
    return false;
  }
};

// The columns that rows are sorted by, up to the first of floats: where these are equal but for last digits, those
// behind it may come in any order.
std::set<int> compared_keys(const Outcome& outcome, const Generator::Statement& statement) {
  std::set<int> keys;
  for (const int key : statement.order) {
    keys.insert(key);
    if (static_cast<size_t>(key) < outcome.is_float.size() && outcome.is_float[static_cast<size_t>(key)]) break;
  }
  return keys;
}

// `keep_order`: only those columns, in the order of the rows.
std::vector<Comparable> comparable(const Outcome& outcome, const Generator::Statement& statement, bool keep_order) {
  std::vector<Comparable> rows;
  const std::set<int> keys = compared_keys(outcome, statement);
  for (const Row& row : outcome.rows) {
    Comparable out;
    for (size_t i = 0; i < row.size(); ++i) {
      if (keep_order && !keys.contains(static_cast<int>(i))) continue;
      const bool is_float = i < outcome.is_float.size() && outcome.is_float[i] && row[i] != "NULL";
      (is_float ? out.floats : out.exact).push_back(row[i]);
    }
    rows.push_back(std::move(out));
  }
  if (!keep_order) std::sort(rows.begin(), rows.end());
  return rows;
}

void expect_equal(const std::vector<Comparable>& ours, const std::vector<Comparable>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(ours[i].exact, theirs[i].exact) << "row " << i;
    ASSERT_EQ(ours[i].floats.size(), theirs[i].floats.size());
    for (size_t f = 0; f < ours[i].floats.size(); ++f) {
      ASSERT_TRUE(near(ours[i].floats[f], theirs[i].floats[f]))
          << "row " << i << ": " << ours[i].floats[f] << " and " << theirs[i].floats[f];
    }
  }
}

int statements_of(Device device) {
  const char* wanted = std::getenv("BASALT_RANDOM_STATEMENTS");
  if (wanted != nullptr) return std::atoi(wanted);
  // On the GPU each takes about a second to compile.
  return kQuick || device == Device::kCuda ? 60 : 500;
}

uint32_t first_seed() {
  const char* wanted = std::getenv("BASALT_RANDOM_SEED");
  return wanted == nullptr ? 0 : static_cast<uint32_t>(std::atoi(wanted));
}

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
  int ran = 0;
  const int statements = statements_of(device);
  std::map<std::string, int> refusals;
  for (int i = 0; i < statements; ++i) {
    const uint32_t seed = (first_seed() + static_cast<uint32_t>(i)) * 2 + (nulls ? 1 : 0);
    const Generator::Statement statement = Generator(seed).statement();
    SCOPED_TRACE(statement.text);
    rows_of(session, "SET basalt_lowering = true; SET basalt_strict = true");
    const Outcome ours = run(session, statement.text);
    rows_of(session, "SET basalt_strict = false; SET basalt_lowering = false");
    if (!ours.refused.empty()) {
      ++refusals[ours.refused];
      continue;
    }
    const Outcome theirs = run(session, statement.text);
    ++ran;
    EXPECT_EQ(ours.error.empty(), theirs.error.empty()) << ours.error << theirs.error;
    ASSERT_EQ(ours.rows.size(), theirs.rows.size());
    if (!statement.limited) {
      expect_equal(comparable(ours, statement, false), comparable(theirs, statement, false));
    }
    if (!statement.order.empty()) {
      expect_equal(comparable(ours, statement, true), comparable(theirs, statement, true));
    }
    if (HasFailure()) return;
  }
  for (const auto& [reason, count] : refusals) std::cerr << count << " refused: " << reason << "\n";
  EXPECT_GT(ran, device == Device::kCpu ? statements * 3 / 4 : statements / 5);
}

INSTANTIATE_TEST_SUITE_P(Sql, RandomGroups, ::testing::Combine(::testing::ValuesIn(test_devices()), ::testing::Bool()),
                         [](const auto& parameter) {
                           return std::string(std::get<0>(parameter.param) == Device::kCuda ? "cuda" : "cpu") +
                                  (std::get<1>(parameter.param) ? "_nulls" : "_dense");
                         });

}  // namespace
}  // namespace basalt::testing
