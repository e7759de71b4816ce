// What tests of random statements share: a statement runs in Basalt's own engine and in DuckDB, and both give the same
// rows, as a multiset and in order by the sort keys; or both fail.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "sql/random_seeds.h"
#include "sql/support.h"

namespace basalt::testing {

struct RandomStatement {
  std::string text;
  std::vector<int> order;  // columns that the rows are sorted by
  bool limited = false;    // several answers are right: only sort keys and the number of rows are compared
};

using Row = std::vector<std::string>;
struct Outcome {
  std::vector<Row> rows;
  std::vector<bool> is_float;
  std::string error;
  std::string refused;  // why the engine does not run it
};

inline Outcome run(Session& session, const std::string& query) {
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
inline bool near(const std::string& a, const std::string& b) {
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
inline std::set<int> compared_keys(const Outcome& outcome, const RandomStatement& statement) {
  std::set<int> keys;
  for (const int key : statement.order) {
    keys.insert(key);
    if (static_cast<size_t>(key) < outcome.is_float.size() && outcome.is_float[static_cast<size_t>(key)]) break;
  }
  return keys;
}

// `keep_order`: only those columns, in the order of the rows.
inline std::vector<Comparable> comparable(const Outcome& outcome, const RandomStatement& statement, bool keep_order) {
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

inline void expect_equal(const std::vector<Comparable>& ours, const std::vector<Comparable>& theirs) {
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

// Gives what Basalt's engine gave.
inline Outcome compare_with_duckdb(Session& session, const RandomStatement& statement) {
  rows_of(session, "SET basalt_lowering = true; SET basalt_strict = true");
  Outcome ours = run(session, statement.text);
  rows_of(session, "SET basalt_strict = false; SET basalt_lowering = false");
  if (!ours.refused.empty()) return ours;
  const Outcome theirs = run(session, statement.text);
  EXPECT_EQ(ours.error.empty(), theirs.error.empty()) << ours.error << theirs.error;
  EXPECT_EQ(ours.rows.size(), theirs.rows.size());
  if (::testing::Test::HasFailure()) return ours;
  if (!statement.limited) expect_equal(comparable(ours, statement, false), comparable(theirs, statement, false));
  if (!statement.order.empty()) expect_equal(comparable(ours, statement, true), comparable(theirs, statement, true));
  return ours;
}

using MakeStatement = std::function<RandomStatement(uint32_t seed)>;
using SeeStatement = std::function<void(const RandomStatement& statement)>;

// Statements of the seeds from first_seed() on, until one differs. Of those that Basalt's engine does not refuse there
// are more than `least`; `see` is called for each that gives no error.
inline void compare_all_with_duckdb(Session& session, int statements, int least, const MakeStatement& make,
                                    const SeeStatement& see = {}) {
  int ran = 0;
  std::map<std::string, int> refusals;
  for (int i = 0; i < statements; ++i) {
    const RandomStatement statement = make(first_seed() + static_cast<uint32_t>(i));
    SCOPED_TRACE(statement.text);
    const Outcome ours = compare_with_duckdb(session, statement);
    if (::testing::Test::HasFailure()) return;
    if (!ours.refused.empty()) {
      ++refusals[ours.refused];
      continue;
    }
    ++ran;
    if (see && ours.error.empty()) see(statement);
  }
  for (const auto& [reason, count] : refusals) std::cerr << count << " refused: " << reason << "\n";
  EXPECT_GT(ran, least);
}

}  // namespace basalt::testing
