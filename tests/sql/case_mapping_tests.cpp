// upper() and lower() of every code point, in Basalt and in DuckDB.
#include <gtest/gtest.h>

#include "sql/support.h"

namespace basalt::testing {
namespace {

TEST(CaseMapping, EqualsDuckDBForEveryCodePoint) {
  const ScratchFolder folder;
  Session session(session_options(Device::kCpu));
  // Each beside what DuckDB makes of it.
  session.convert(
      "SELECT chr(i::INT) || 'aZ' AS c, upper(chr(i::INT) || 'aZ') AS u, lower(chr(i::INT) || 'aZ') AS l "
      "FROM range(1, 1114112) t(i) WHERE i < 55296 OR i > 57343",
      folder.file("c.basalt"), {});
  const std::string query = "SELECT count(*), count(CASE WHEN upper(c) <> u OR lower(c) <> l THEN 1 END) FROM " +
                            quote_literal(folder.file("c.basalt"));
  QueryResult result = session.execute(query);
  std::string text;
  result.write_csv([&](std::string_view part) { text += part; }, false, '|');
  EXPECT_EQ(text, "1112063|0\n");
  EXPECT_FALSE(result.report().in_basalt.empty());
}

}  // namespace
}  // namespace basalt::testing
