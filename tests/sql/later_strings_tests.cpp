// Strings in stages behind the first: whatever a statement does with them there gives DuckDB's rows, and on the GPU no
// stage that reads many rows leaves it.
#include <gtest/gtest.h>

#include "sql/support.h"

namespace basalt::testing {
namespace {

constexpr uint64_t kFewRows = 1024;  // which the host may take over

// Strings without and with a dictionary, some of them NULL; more groups of everything than the host takes over.
constexpr const char* kTable = R"(
  SELECT i, CASE WHEN i % 11 = 0 THEN NULL ELSE 'http://Site' || (i * 7919 % 4001) || '.com/' || (i % 3) END AS url,
         ['red', 'Green', 'blue', NULL, 'http://Site77.com/1', ''][1 + i * 31 % 6] AS colour, i % 2003 AS g
  FROM range(30000) t(i))";

// Of the text of EXPLAIN ANALYZE: how many rows the largest stage read that ran on the CPU.
uint64_t most_rows_on_cpu(const std::string& text) {
  std::istringstream lines(text);
  uint64_t most = 0;
  bool on_cpu = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("on CPU") != std::string::npos) on_cpu = true;
    const size_t at = line.find("rows ");
    if (!on_cpu || at == std::string::npos || line.find("->") == std::string::npos) continue;
    most = std::max<uint64_t>(most, std::strtoull(line.c_str() + at + 5, nullptr, 10));
    on_cpu = false;
  }
  return most;
}

class LaterStrings : public ::testing::TestWithParam<Device> {
 protected:
  LaterStrings() : session_(session_options(GetParam())) {
    session_.convert(kTable, folder_.file("t.basalt"), {});
    rows_of(session_, "CREATE VIEW t AS FROM '" + folder_.file("t.basalt") + "'");
  }

  void expect_same(const std::string& statement) {
    SCOPED_TRACE(statement);
    rows_of(session_, "SET basalt_lowering = true; SET basalt_strict = true");
    std::vector<std::string> ours;
    std::string explained;
    try {
      ours = rows_of(session_, statement);
      explained = session_.execute("EXPLAIN ANALYZE " + statement).explain_text();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    rows_of(session_, "SET basalt_strict = false; SET basalt_lowering = false");
    const std::vector<std::string> theirs = rows_of(session_, statement);
    ASSERT_GT(theirs.size(), 0u);
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) ASSERT_EQ(ours[i], theirs[i]) << "row " << i << " of " << ours.size();
    if (GetParam() == Device::kCuda) {
      EXPECT_LE(most_rows_on_cpu(explained), kFewRows) << explained;
    }
  }

  ScratchFolder folder_;
  Session session_;
};

// What is known of one file's chunks is not taken for another's.
TEST_P(LaterStrings, OfFilesThatDifferInTheirChunksOnly) {
  for (const char* rows : {"8192", "16384", "8192"}) {
    const std::string path = folder_.file(std::string("chunks") + rows + ".basalt");
    rows_of(session_, "COPY (" + std::string(kTable) + ") TO '" + path + "' (chunk_rows " + rows + ")");
    expect_same("SELECT url, count(*) FROM '" + path + "' GROUP BY url ORDER BY url");
    expect_same("SELECT count(*), min(url) FROM '" + path + "' WHERE length(url) > 5");
  }
}

TEST_P(LaterStrings, AreKeysAndFunctionsOfThem) {
  const std::string urls = "(SELECT url, i % 7 AS j, count(*) AS n FROM t GROUP BY 1, 2)";
  expect_same("SELECT url, sum(n), count(*) FROM " + urls + " GROUP BY 1 ORDER BY 1");
  expect_same("SELECT lower(url) AS k, sum(n), count(*) FROM " + urls + " GROUP BY 1 ORDER BY 1");
  expect_same("SELECT split_part(url, '/', 4) AS k, length(url), count(*) FROM " + urls +
              " GROUP BY 1, 2 ORDER BY 1, 2");
  expect_same("SELECT substr(url, 8, 7) AS k, min(url), max(url), count(DISTINCT url), count(url) FROM " + urls +
              " GROUP BY 1 ORDER BY 1 NULLS FIRST");
  // A list that the host has.
  expect_same(
      "SELECT colour, upper(colour), count(*), max(url), min(colour) FROM (SELECT colour, g, max(url) AS url "
      "FROM t GROUP BY 1, 2) GROUP BY 1, 2 ORDER BY 1, 2");
}

TEST_P(LaterStrings, AreFilteredAndCompared) {
  const std::string extremes = "(SELECT g, max(url) AS a, min(url) AS b, max(colour) AS c FROM t GROUP BY g)";
  for (const char* predicate : {"a LIKE '%7%'", "a = 'http://Site77.com/1' OR b < 'http://Site2'", "a <> b", "c >= b",
                                "c IN ('red', 'blue', 'none')", "a IS NULL OR c IS NOT NULL", "length(a) > 20",
                                "starts_with(b, 'http://Site1') AND NOT a LIKE '%2'"}) {
    expect_same("SELECT g, a, b, c FROM " + extremes + " WHERE " + predicate + " ORDER BY g");
    expect_same(std::string("SELECT count(*), max(a), min(c) FROM ") + extremes + " WHERE " + predicate);
  }
}

// Sums of 128 bits are known to be small by what the first stage read.
TEST_P(LaterStrings, LieBesideSumsOfSums) {
  expect_same(
      "SELECT url, sum(n), min(n), count(DISTINCT n) FROM (SELECT url, i % 7 AS j, sum(i) AS n FROM t GROUP BY ALL) "
      "GROUP BY 1 ORDER BY 1");
  expect_same(
      "SELECT n, max(url), sum(n) FROM (SELECT url, i % 7 AS j, sum(g) AS n FROM t GROUP BY ALL) GROUP BY n ORDER BY "
      "n");
}

TEST_P(LaterStrings, AreOrdered) {
  expect_same("SELECT DISTINCT url FROM t ORDER BY url DESC NULLS LAST LIMIT 2000");
  expect_same("SELECT g, max(url) AS m FROM t GROUP BY g ORDER BY m, g DESC");
  expect_same(
      "SELECT g, max(url) AS m, max(colour) AS c FROM t GROUP BY g ORDER BY c, m DESC NULLS FIRST, g LIMIT 1500 "
      "OFFSET 20");
  expect_same("SELECT upper(m) AS u, m || '!' AS v, g FROM (SELECT g, max(url) AS m FROM t GROUP BY g) ORDER BY v, g");
}

TEST_P(LaterStrings, AreChosen) {
  expect_same(
      "SELECT CASE WHEN c > 3 THEN 'many' ELSE 'few' END AS k, count(*) FROM (SELECT url, i % 7 AS j, count(*) AS "
      "c FROM t GROUP BY ALL) GROUP BY 1 ORDER BY 1");
  expect_same(
      "SELECT CASE WHEN a < 'http://Site3' THEN a ELSE c END AS k, coalesce(b, c, 'nothing') AS l, count(*) FROM "
      "(SELECT g, max(url) AS a, min(url) AS b, max(colour) AS c FROM t GROUP BY g) GROUP BY ALL ORDER BY ALL");
  expect_same(
      "SELECT g, CASE WHEN n > 14 THEN 'many' ELSE NULL END AS k FROM (SELECT g, count(*) AS n FROM t GROUP BY g) "
      "ORDER BY k, g");
}

// Rows behind a limit bring their strings with them, some of them more than once.
TEST_P(LaterStrings, OfRowsMayLieTwiceInTheirList) {
  expect_same(
      "SELECT url, count(*), max(colour) FROM (SELECT url, colour FROM t ORDER BY i DESC LIMIT 6000) GROUP BY url "
      "ORDER BY url");
  expect_same(
      "SELECT lower(url) AS l, count(*) FROM (SELECT url FROM t WHERE i % 2 = 0 LIMIT 9000) GROUP BY l ORDER BY l");
}

// Also in the first stage.
TEST_P(LaterStrings, OfSeveralColumnsArePutTogether) {
  for (const char* from : {"t", "(SELECT g, max(url) AS url, max(colour) AS colour FROM t GROUP BY g)"}) {
    expect_same(std::string("SELECT url || '-' || colour AS k, count(*) FROM ") + from + " GROUP BY 1 ORDER BY 1");
    expect_same(std::string("SELECT concat(colour, '<', url, '>') AS k, count(*) FROM ") + from +
                " GROUP BY 1 ORDER BY 1");
    expect_same(std::string("SELECT length(url || colour) AS k, max(coalesce(colour, 'none') || url), count(*) FROM ") +
                from + " GROUP BY 1 ORDER BY 1");
    expect_same(std::string("SELECT g, upper(colour || url) AS k, url || colour LIKE '%1red' AS l FROM ") + from +
                " WHERE colour || url <> url ORDER BY k, g, l");
  }
}

TEST_P(LaterStrings, AreChosenBeforeTheirFunctions) {
  for (const char* from : {"t", "(SELECT g, max(url) AS url, max(colour) AS colour FROM t GROUP BY g)"}) {
    expect_same(
        std::string("SELECT upper(CASE WHEN g % 3 = 0 THEN url WHEN g % 3 = 1 THEN colour ELSE 'None' END) AS k, "
                    "count(*) FROM ") +
        from + " GROUP BY 1 ORDER BY 1");
    expect_same(std::string("SELECT length(coalesce(url, colour, 'nothing')) AS k, count(*), "
                            "max(substr(coalesce(colour, url), 2, 3)) FROM ") +
                from + " GROUP BY 1 ORDER BY 1");
  }
}

TEST_P(LaterStrings, OfTheFirstStageMayAllBeLiterals) {
  expect_same(
      "SELECT CASE WHEN i % 3 = 0 THEN 'three' WHEN i % 2 = 0 THEN 'even' END AS k, count(*) FROM t GROUP BY 1 "
      "ORDER BY 1");
  expect_same("SELECT i, CASE WHEN i % 3 = 0 THEN 'three' ELSE 'other' END AS k FROM t WHERE i % 2 = 0 ORDER BY i");
}

INSTANTIATE_TEST_SUITE_P(Sql, LaterStrings, ::testing::ValuesIn(test_devices()), [](const auto& parameter) {
  return std::string(parameter.param == Device::kCuda ? "cuda" : "cpu");
});

}  // namespace
}  // namespace basalt::testing
