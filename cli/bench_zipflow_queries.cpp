// The 22 queries of TPC-H from end to end, for `basalt bench zipflow`: their data in files for transfer, none of it on
// the device when a query begins. What the link needs for the bytes that are copied is the time that no order of copies
// and kernels can beat.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "basalt/core/error.h"
#include "basalt/sql/session.h"
#include "cli/bench.h"
#include "cli/bench_zipflow.h"
#include "cli/terminal.h"
#include "core/output_file.h"
#include "core/private_folder.h"

namespace basalt::cli {
namespace {

constexpr int kQueries = 22;

struct QueryRun {
  double seconds = 0;
  double kernels = 0;
  uint64_t copied = 0;
};

QueryRun run_query(Session& session, const std::string& text) {
  const auto start = Clock::now();
  QueryResult result = session.execute(text);
  while (result.next() != nullptr) {
  }
  const QueryReport& report = result.report();
  return {seconds_since(start), report.kernel_ms / 1e3, report.bytes_transferred};
}

// The tables of TPC-H as DuckDB's own, and as files for transfer.
class TpchTables {
 public:
  TpchTables(double scale, uint32_t threads)
      : folder_(PrivateFolder::unused_name(temporary_folder(), "basalt-zipflow")),
        native_(options_of(Device::kCpu, threads)) {
    native_.generate_tpch(scale);
    WriteOptions options;
    options.threads = threads;
    options.purpose = Purpose::kTransfer;
    options.durable = false;
    for (const TableInfo& table : native_.tables()) native_.convert("from " + table.name, path_of(table.name), options);
  }

  static SessionOptions options_of(Device device, uint32_t threads) {
    SessionOptions options;
    options.device = device;
    options.threads = threads;
    return options;
  }

  Session& native() { return native_; }
  // A session in which the files have the names of the tables, and that leaves nothing to DuckDB.
  std::unique_ptr<Session> over_files(Device device, uint32_t threads) {
    auto session = std::make_unique<Session>(options_of(device, threads));
    for (const TableInfo& table : native_.tables()) {
      session->execute(fmt::format("create view {} as from {}", table.name, quote_literal(path_of(table.name))));
    }
    session->execute("set basalt_strict = true");
    return session;
  }

 private:
  std::string path_of(const std::string& table) const { return fmt::format("{}/{}.basalt", folder_.path(), table); }

  PrivateFolder folder_;
  Session native_;
};

std::string milliseconds(double seconds) { return fmt::format("{:.2f}", seconds * 1e3); }

}  // namespace

std::string bench_queries(ZipflowBench& bench, double scale, uint32_t threads, int rounds) {
  TpchTables tables(scale, threads);
  const std::unique_ptr<Session> on_cpu = tables.over_files(Device::kCpu, threads);
  const std::unique_ptr<Session> on_gpu = bench.gpu() != nullptr ? tables.over_files(Device::kCuda, threads) : nullptr;
  // The first run of a query compiles its kernels and brings its files into the page cache. The fastest of the others.
  const auto fastest = [&](Session& session, const std::string& text, bool from_host) {
    QueryRun best = run_query(session, text);
    best.seconds = 1e300;
    for (int round = 0; round < rounds; ++round) {
      if (from_host) bench.gpu()->drop_cache();
      const QueryRun run = run_query(session, text);
      if (run.seconds < best.seconds) best = run;
    }
    return best;
  };

  using Align = TextTable::Align;
  TextTable table({{"query", Align::kRight},
                   {"DuckDB ms", Align::kRight},
                   {"CPU ms", Align::kRight},
                   {"GPU ms", Align::kRight},
                   {"copied", Align::kRight},
                   {"copy ms", Align::kRight},
                   {"kernels ms", Align::kRight},
                   {"of the larger", Align::kRight}});
  double duckdb = 0, cpu = 0, gpu = 0, copies = 0, kernels = 0, bounds = 0;
  uint64_t copied = 0;
  const auto add = [&](const std::string& name, double duckdb_seconds, double cpu_seconds, const QueryRun& run,
                       double copy, double bound) {
    std::vector<std::string> cells = {name, milliseconds(duckdb_seconds), milliseconds(cpu_seconds)};
    if (on_gpu != nullptr) {
      cells.insert(cells.end(), {milliseconds(run.seconds), human_bytes(run.copied), milliseconds(copy),
                                 milliseconds(run.kernels), fmt::format("{:.2f}", run.seconds / bound)});
    } else {
      cells.insert(cells.end(), 5, "-");
    }
    table.add(std::move(cells));
  };
  for (int number = 1; number <= kQueries; ++number) {
    const std::string text = Session::tpch_query(number);
    const double duckdb_seconds = fastest(tables.native(), text, false).seconds;
    const double cpu_seconds = fastest(*on_cpu, text, false).seconds;
    const QueryRun run = on_gpu != nullptr ? fastest(*on_gpu, text, true) : QueryRun{};
    const double copy = on_gpu != nullptr ? bench.copy_seconds(run.copied) : 0;
    const double bound = std::max(copy, run.kernels);
    add(fmt::format("Q{}", number), duckdb_seconds, cpu_seconds, run, copy, bound);
    std::string fields = fmt::format("\"query\":{},\"duckdb_seconds\":{:.9f},\"cpu_seconds\":{:.9f}", number,
                                     duckdb_seconds, cpu_seconds);
    if (on_gpu != nullptr) {
      fields +=
          fmt::format(",\"gpu_seconds\":{:.9f},\"copied_bytes\":{},\"copy_seconds\":{:.9f},\"kernel_seconds\":{:.9f}",
                      run.seconds, run.copied, copy, run.kernels);
    }
    bench.keep("queries", fields);
    duckdb += duckdb_seconds;
    cpu += cpu_seconds;
    gpu += run.seconds;
    copies += copy;
    kernels += run.kernels;
    copied += run.copied;
    bounds += bound;
  }
  table.add_rule();
  add("all", duckdb, cpu, {gpu, kernels, copied}, copies, bounds);
  const std::string why = on_gpu == nullptr ? "queries: copies and kernels are not measured without a GPU\n" : "";
  return table.render(STDOUT_FILENO) + why;
}

}  // namespace basalt::cli
