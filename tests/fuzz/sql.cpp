// Fuzzes SQL over damaged files: the input is that of `structure`, and the file is read by the scan, by Basalt's own
// operators with their pruning, and by DuckDB's operators that lean on statistics.
#include <unistd.h>

#include <fmt/format.h>

#include "basalt/sql/session.h"
#include "support/mutated_file.h"
#include "support/untrusted.h"

namespace {

using basalt::quote_identifier;
using basalt::quote_literal;
using basalt::test::refusing;

std::string scratch_path() {
  static const std::string folder = [] {
    std::string pattern = (std::filesystem::temp_directory_path() / "basalt-fuzz-XXXXXX").string();
    return std::string(::mkdtemp(pattern.data()));
  }();
  static const bool registered = [] {
    return std::atexit([] { std::filesystem::remove_all(std::filesystem::path(scratch_path()).parent_path()); }) == 0;
  }();
  (void)registered;
  return folder + "/a.basalt";
}

basalt::Session& session() {
  static basalt::Session instance([] {
    basalt::SessionOptions options;
    options.device = basalt::Device::kCpu;
    options.threads = 1;
    options.memory_limit = 256 << 20;
    return options;
  }());
  return instance;
}

void run(const std::string& sql) {
  refusing([&] { session().execute(sql).write_csv([](std::string_view) {}); });
}

void query(const std::string& path) {
  const std::string table = quote_literal(path);
  run(fmt::format("select * from {}", table));
  run(fmt::format("select count(*) from {}", table));
  std::vector<basalt::ResultColumn> columns;
  refusing([&] { columns = session().describe("select * from " + table); });
  for (size_t i = 0; i < std::min<size_t>(columns.size(), 6); ++i) {
    const std::string name = quote_identifier(columns[i].name);
    run(fmt::format("select count({0}), min({0}), max({0}) from {1}", name, table));
    run(fmt::format("select {0}, count(*) from {1} group by {0}", name, table));
    run(fmt::format("select * from {1} where {0} > (select min({0}) from {1}) order by {0} limit 3", name, table));
    run(fmt::format("select count(*) from {1} a join {1} b using ({0})", name, table));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto& files = basalt::test::golden_files();
  const std::vector<std::byte> bytes = basalt::test::mutated(files[data[0] % files.size()], data + 1, size - 1);
  // A file of the same name and size is a new one to the caches only if it is a new file.
  const std::string path = scratch_path();
  ::unlink(path.c_str());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  query(path);
  return 0;
}
