// Statements over a file that may be damaged: the scan, Basalt's own operators with their pruning, and DuckDB's
// operators that lean on statistics. For the fuzz target and the tests of SQL.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "basalt/sql/session.h"
#include "support/untrusted.h"

namespace basalt::test {

inline void run_untrusted(Session& session, const std::string& sql) {
  refusing([&] { session.execute(sql).write_csv([](std::string_view) {}); });
}

// Writes the bytes to `path`, as a new file even where one of that name was there, and asks about each of its columns.
inline void query_untrusted(Session& session, const std::string& path, const std::vector<std::byte>& bytes) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const std::string table = quote_literal(path);
  run_untrusted(session, "select * from " + table);
  run_untrusted(session, "select count(*) from " + table);
  std::vector<ResultColumn> columns;
  refusing([&] { columns = session.describe("select * from " + table); });
  for (size_t i = 0; i < std::min<size_t>(columns.size(), 6); ++i) {
    const std::string name = quote_identifier(columns[i].name);
    run_untrusted(session, "select count(" + name + "), min(" + name + "), max(" + name + ") from " + table);
    run_untrusted(session, "select " + name + ", count(*) from " + table + " group by " + name);
    run_untrusted(session, "select * from " + table + " where " + name + " > (select min(" + name + ") from " + table +
                               ") order by " + name + " limit 3");
    run_untrusted(session, "select count(*) from " + table + " a join " + table + " b using (" + name + ")");
  }
}

}  // namespace basalt::test
