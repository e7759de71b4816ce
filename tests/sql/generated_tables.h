// Tables that tests make: of a query, and those of a benchmark, as DuckDB's own and as .basalt files.
#pragma once

#include <functional>
#include <string>

#include "sql/support.h"

namespace basalt::testing {

constexpr uint64_t kSmallChunks = 8192;

// The rows of a query in a file, and a view of the same name.
inline void make_table(Session& session, const ScratchFolder& folder, const std::string& name, const std::string& rows,
                       uint64_t chunk_rows = WriteOptions().chunk_rows) {
  const std::string file = folder.file(name + ".basalt");
  WriteOptions write;
  write.chunk_rows = chunk_rows;
  session.convert(rows, file, write);
  rows_of(session, "create view " + name + " as from " + quote_literal(file));
}

class GeneratedTables {
 public:
  explicit GeneratedTables(const std::function<void(Session&)>& generate) : native_(session_options(Device::kCpu)) {
    generate(native_);
    write({});
  }
  // All files, in place of those that are there.
  void write(const WriteOptions& options) {
    for (const TableInfo& table : native_.tables()) native_.convert("from " + table.name, file_of(table.name), options);
  }

  Session& native() { return native_; }
  std::string file_of(const std::string& table) const { return folder_.file(table + ".basalt"); }

  // A session in which the files have the names of the tables.
  void create_views(Session& session) {
    for (const TableInfo& table : native_.tables()) {
      rows_of(session, "create view " + table.name + " as from " + quote_literal(file_of(table.name)));
    }
  }

 private:
  ScratchFolder folder_;
  Session native_;
};

}  // namespace basalt::testing
