// `basalt gen`: benchmark data, the same on every machine. SSB and the columns of the L3 paper come from our own
// generators; TPC-H and TPC-DS are in gen_tpc.cpp, page views in gen_hits.cpp.
#include "cli/gen.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "cli/progress.h"
#include "gen/l3.h"
#include "gen/ssb.h"

namespace basalt::cli {

constexpr uint64_t kBatchRows = 64 << 10;

NextRows rows_in_rounds(uint64_t rows, MakeRows make, uint32_t threads, std::atomic<uint64_t>* made) {
  // One round of batches is made in parallel, then handed out in order.
  struct Round {
    ThreadPool pool;
    std::deque<std::unique_ptr<Table>> ready;
    uint64_t next_row = 0;
    explicit Round(uint32_t count) : pool(count) {}
  };
  auto round = std::make_shared<Round>(threads);
  return [rows, make = std::move(make), made, round]() -> std::unique_ptr<Table> {
    if (round->ready.empty() && round->next_row < rows) {
      const uint64_t left = (rows - round->next_row + kBatchRows - 1) / kBatchRows;
      round->ready.resize(std::min<uint64_t>(left, round->pool.size() * 2));
      round->pool.parallel_for(round->ready.size(), [&](uint64_t i) {
        const uint64_t begin = round->next_row + i * kBatchRows;
        round->ready[i] = std::make_unique<Table>(make(begin, begin + kBatchRows));
      });
      round->next_row += round->ready.size() * kBatchRows;
    }
    if (round->ready.empty()) return nullptr;
    std::unique_ptr<Table> batch = std::move(round->ready.front());
    round->ready.pop_front();
    if (made != nullptr) *made += batch->rows;
    return batch;
  };
}

void stream_rows(const Schema& schema, uint64_t rows, MakeRows make, uint32_t threads, std::atomic<uint64_t>* made,
                 ArrowArrayStream* out) {
  export_stream(schema, rows_in_rounds(rows, std::move(make), threads, made), out);
}

SessionOptions session_options(const GenOptions& options) {
  SessionOptions settings;
  settings.device = Device::kCpu;
  settings.threads = options.threads;
  settings.temp_dir = options.folder;
  return settings;
}

std::string path_of(const GenOptions& options, const std::string& table) {
  return (std::filesystem::path(options.folder) / (table + "." + options.format)).string();
}

namespace {

WriteOptions writer_of(const GenOptions& options, const std::vector<std::string>& sort_columns,
                       const CancelToken& cancel, ProgressBar& bar) {
  WriteOptions write;
  write.threads = options.threads;
  write.effort = options.effort;
  write.purpose = options.purpose;
  write.sort_columns = sort_columns;
  write.cancel = &cancel;
  write.progress = [&bar](const WriteProgress& progress) { bar.update(progress); };
  return write;
}

}  // namespace

WrittenTable write_table(Session& session, const TableJob& job, const GenOptions& options, const std::string& path,
                         bool quiet) {
  ProgressBar bar(path, quiet, 0, [&] { return session.progress(); });
  CancelToken cancel;
  const InterruptGuard interrupt([&] {
    cancel.cancel();
    session.interrupt();
  });
  if (options.format == "parquet") {
    session.copy_to_parquet(job.query, path);
    return {};
  }
  const WriteSummary summary = session.convert(job.query, path, writer_of(options, job.sort_columns, cancel, bar));
  return {summary.rows, summary.plain_bytes};
}

WrittenTable write_stream(ArrowArrayStream* stream, const std::vector<std::string>& sort_columns,
                          const GenOptions& options, const std::string& path, const std::function<double()>& share,
                          bool quiet) {
  ProgressBar bar(path, quiet, 0, share);
  CancelToken cancel;
  const InterruptGuard interrupt([&] { cancel.cancel(); });
  const WriteSummary summary = write_arrow_stream(path, stream, writer_of(options, sort_columns, cancel, bar));
  return {summary.rows, summary.plain_bytes};
}

WrittenTable write_rows(const Schema& schema, const NextRows& next, const std::vector<std::string>& sort_columns,
                        const GenOptions& options, const std::string& path, bool quiet) {
  ProgressBar bar(path, quiet, 0, {});
  CancelToken cancel;
  const InterruptGuard interrupt([&] { cancel.cancel(); });
  Writer writer(path, schema, writer_of(options, sort_columns, cancel, bar));
  while (const std::unique_ptr<Table> batch = next()) {
    cancel.check();
    writer.append(std::move(*batch));
  }
  const WriteSummary summary = writer.finish();
  return {summary.rows, summary.plain_bytes};
}

void GenReport::add(const std::string& path, const WrittenTable& table, double seconds) {
  const uint64_t bytes = std::filesystem::file_size(path);
  total_ += bytes;
  table_.add({path, table.rows == 0 ? "" : human_count(table.rows), human_bytes(bytes),
              table.rows == 0 ? "" : human_ratio(table.plain_bytes, bytes), human_seconds(seconds)});
}

void GenReport::finish(bool quiet) {
  if (quiet) return;
  table_.add_rule();
  table_.add({"total", "", human_bytes(total_)});
  print(table_.render(STDOUT_FILENO));
}

namespace {

constexpr uint64_t kL3DefaultRows = 20'000'000;

int run_ssb(const GenOptions& options, bool quiet) {
  const SsbGenerator generator(options.scale);
  std::filesystem::create_directories(options.folder);
  GenReport report;
  for (const SsbTable table : ssb_tables()) {
    const std::string name = to_string(table);
    const std::string path = path_of(options, name);
    report.time(path, [&] {
      ArrowArrayStream stream;
      const auto make = [&](uint64_t begin, uint64_t end) { return generator.generate(table, begin, end); };
      stream_rows(ssb_schema(table), generator.rows(table), make, options.threads, nullptr, &stream);
      if (options.format == "basalt" && !options.clustered) return write_stream(&stream, {}, options, path, {}, quiet);
      Session session(session_options(options));
      session.register_arrow("generated", &stream);
      const std::vector<std::string> keys = options.clustered ? ssb_sort_columns(table) : std::vector<std::string>{};
      // All other columns that tell rows apart follow, so that equal keys have one order only.
      std::vector<std::string> order = keys;
      if (options.clustered && table == SsbTable::kLineorder)
        order.insert(order.end(), {"lo_orderkey", "lo_linenumber"});
      const std::string query = keys.empty()
                                    ? "select * from generated"
                                    : fmt::format("select * from generated order by {}", fmt::join(order, ", "));
      return write_table(session, {name, query, keys}, options, path, quiet);
    });
  }
  report.finish(quiet);
  return kSuccess;
}

struct L3Options {
  GenOptions common;
  std::vector<std::string> formats = {"basalt"}, sets;
  uint64_t rows = kL3DefaultRows;
};

// `made` counts the rows for the progress bar.
void stream_l3(const L3Set& set, uint64_t rows, std::atomic<uint64_t>& made, ArrowArrayStream* out) {
  auto generator = std::make_shared<L3Generator>(set, rows);
  export_stream(
      l3_schema(set),
      [generator, &made]() -> std::unique_ptr<Table> {
        auto batch = std::make_unique<Table>(generator->next(kBatchRows));
        made += batch->rows;
        return batch->rows == 0 ? nullptr : std::move(batch);
      },
      out);
}

WrittenTable write_l3(const L3Set& set, uint64_t rows, const GenOptions& options, const std::string& path, bool quiet) {
  std::atomic<uint64_t> made{0};
  ArrowArrayStream stream;
  stream_l3(set, rows, made, &stream);
  const std::vector<std::string> sort_columns =
      set.sorted ? std::vector<std::string>{"value"} : std::vector<std::string>{};
  if (options.format == "basalt") {
    const auto share = [&] { return static_cast<double>(made) / static_cast<double>(rows); };
    return write_stream(&stream, sort_columns, options, path, share, quiet);
  }
  Session session(session_options(options));
  session.register_arrow("generated", &stream);
  return write_table(session, {set.name, "select * from generated", sort_columns}, options, path, quiet);
}

int run_l3(const L3Options& options, bool quiet) {
  std::filesystem::create_directories(options.common.folder);
  GenReport report;
  for (const L3Set& set : l3_sets()) {
    const auto& chosen = options.sets;
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), set.name) == chosen.end()) continue;
    for (const std::string& format : options.formats) {
      GenOptions common = options.common;
      common.format = format;
      const std::string path = path_of(common, set.name);
      report.time(path, [&] { return write_l3(set, std::min(options.rows, set.rows), common, path, quiet); });
    }
  }
  report.finish(quiet);
  return kSuccess;
}

void add_l3(Program& program, CLI::App* parent) {
  auto options = std::make_shared<L3Options>();
  CLI::App* command = parent->add_subcommand("l3", "The 20 integer columns of the L3 paper");
  std::string sets = "Sets, one file with one column, `value`, each; rows at most:\n";
  std::vector<std::string> names;
  for (const L3Set& set : l3_sets()) {
    sets += fmt::format("  {:<10}{:>14}  {}\n", set.name, human_count(set.rows), set.description);
    names.emplace_back(set.name);
  }
  command->footer(sets +
                  "\nExamples:\n"
                  "  basalt gen l3 --out l3\n"
                  "  basalt gen l3 --out l3 --rows 1000000 --sets linear,osm\n"
                  "  basalt gen l3 --out l3 --rows 200000000 --format basalt,parquet");
  command->add_flag("-q,--quiet", program.quiet, "No progress bar and no summary");
  command->add_option("--out", options->common.folder, "Folder for the files, one per set (default: here)")
      ->type_name("DIR");
  command
      ->add_option("--rows", options->rows,
                   "Rows per set at most (default 20,000,000); a set never has more than the paper's")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'500'000'000}))
      ->type_name("N");
  CLI::Validator known = CLI::IsMember(names);
  known.description("");  // the names are in the footer
  command->add_option("--sets", options->sets, "Only these sets, separated by commas (default: all)")
      ->delimiter(',')
      ->check(known)
      ->type_name("NAMES");
  command->add_option("--format", options->formats, "basalt (default), parquet, or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"basalt", "parquet"}))
      ->type_name("basalt,parquet");
  add_threads_option(command, options->common.threads);
  command->callback(
      [&program, options] { program.run = [&program, options] { return run_l3(*options, program.quiet); }; });
}

void add_benchmark(Program& program, CLI::App* parent, const std::string& name, const std::string& description,
                   const std::string& examples, const CLI::Range& scales, int (*run)(const GenOptions&, bool)) {
  auto options = std::make_shared<GenOptions>();
  CLI::App* command = parent->add_subcommand(name, description);
  command->footer("Examples:\n" + examples);
  command->add_flag("-q,--quiet", program.quiet, "No progress bar and no summary");
  command->add_option("--scale", options->scale, "Scale factor (default 1)")->check(scales)->type_name("S");
  command->add_option("--out", options->folder, "Folder for the files, one per table (default: here)")
      ->type_name("DIR");
  command->add_option("--format", options->format, "basalt (default) or parquet")
      ->check(CLI::IsMember({"basalt", "parquet"}))
      ->type_name("basalt|parquet");
  command
      ->add_option_function<std::string>(
          "--order", [options](const std::string& order) { options->clustered = order == "clustered"; },
          "natural (default): by key; clustered: the fact tables by date")
      ->check(CLI::IsMember({"natural", "clustered"}))
      ->type_name("natural|clustered");
  add_purpose_option(command, options->purpose);
  add_threads_option(command, options->threads);
  command->callback(
      [&program, options, run] { program.run = [&program, options, run] { return run(*options, program.quiet); }; });
}

}  // namespace

void add_gen(Program& program) {
  CLI::App* command = program.app.add_subcommand(
      "gen", "Generate benchmark data: TPC-H, TPC-DS, SSB, columns of the L3 paper, page views");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  basalt gen tpch --scale 1 --out tpch\n"
      "  basalt gen tpcds --scale 1 --out tpcds\n"
      "  basalt gen ssb --scale 10 --out ssb --order clustered\n"
      "  basalt gen l3 --rows 1000000 --out l3\n"
      "  basalt gen hits --schema create.sql --rows 1000000");
  add_benchmark(program, command, "tpch", "The 8 tables of TPC-H, by DuckDB's generator",
                "  basalt gen tpch --scale 0.1 --out tpch\n"
                "  basalt gen tpch --scale 10 --out tpch10 --order clustered\n"
                "  basalt gen tpch --scale 1 --out parquet --format parquet",
                CLI::Range(0.0001, 10000.0), run_tpch);
  add_benchmark(program, command, "tpcds", "The 24 tables of TPC-DS, by DuckDB's generator",
                "  basalt gen tpcds --scale 1 --out tpcds\n"
                "  basalt gen tpcds --scale 1 --out parquet --format parquet\n"
                "  basalt sql \"select query from tpcds_queries() where query_nr = 3\"",
                CLI::Range(0.01, 777.0), run_tpcds);
  add_benchmark(program, command, "ssb", "The 5 tables of the Star Schema Benchmark",
                "  basalt gen ssb --scale 1 --out ssb\n"
                "  basalt gen ssb --scale 10 --out ssb10 --order clustered",
                CLI::Range(0.0001, 10000.0), run_ssb);
  add_l3(program, command);
  add_gen_hits(program, command);
}

}  // namespace basalt::cli
