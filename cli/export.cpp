// `basalt export`: a .basalt file out as Parquet, CSV, JSON or Arrow, to a file or to standard output.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "basalt/core/error.h"
#include "basalt/file/ipc.h"
#include "basalt/sql/session.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/text_target.h"
#include "core/output_file.h"
#include "core/same_file.h"

namespace basalt::cli {
namespace {

struct ExportOptions {
  std::string file;
  std::string output;
  std::string format;
  std::vector<std::string> columns;
  uint32_t threads = 0;
  uint64_t memory_limit = kDecodedLimit;
};

std::string format_of(const std::string& path) {
  const std::string format = format_by_name(path);
  if (format.empty() || format == "table")
    throw UsageError(
        path + ": the name does not tell the format; add --format parquet, csv, tsv, json, ndjson, arrow or arrows");
  return format;
}

// Whatever --format says: a .basalt file that is none would deceive everybody, and the input would be gone.
void check_output(const ExportOptions& options) {
  if (format_by_name(options.output) == "basalt")
    throw UsageError(options.output + ": export writes other formats; a .basalt file is written by basalt convert");
  if (const auto output = identify_file(options.output); output && output == identify_file(options.file))
    throw UsageError(options.output + ": the output is the input");
}

std::string query_of(const ExportOptions& options) {
  std::string columns;
  for (const std::string& name : options.columns) columns += (columns.empty() ? "" : ", ") + quote_identifier(name);
  // A file's own columns, whatever folders it lies in.
  return "select " + (columns.empty() ? "*" : columns) + " from read_basalt(" + quote_literal(options.file) +
         ", hive_partitioning = false)";
}

void export_to_stdout(Session& session, const std::string& query, const std::string& format) {
  if (format == "parquet") return session.copy_to_parquet(query, kStandardOutput);
  Output output;
  const TextSink sink = [&](std::string_view text) { output.write(text); };
  QueryResult result = session.execute(query);
  if (format == "csv" || format == "tsv")
    result.write_csv(sink, true, format == "tsv" ? '\t' : ',');
  else
    result.write_json(sink, format == "ndjson");
  output.flush();
}

void export_to_file(Session& session, const std::string& query, const std::string& format, const std::string& path) {
  if (format == "parquet")
    session.copy_to_parquet(query, path);
  else if (format == "csv" || format == "tsv")
    session.copy_to_csv(query, path, format == "tsv" ? '\t' : ',');
  else
    // Not DuckDB's writer: what it writes for NaN, infinities and small decimals is no JSON.
    write_lines_to(path, [&](const TextSink& sink) { session.execute(query).write_json(sink, format == "ndjson"); });
}

void export_arrow(const ExportOptions& options, const std::string& format, bool to_stdout) {
  ArrowArrayStream stream;
  stream_file(File::open(options.file), options.columns, &stream, {options.memory_limit, nullptr});
  if (to_stdout)
    write_ipc(&stream, STDOUT_FILENO, "standard output", IpcKind::kStream);
  else
    write_ipc(&stream, options.output, format == "arrows" ? IpcKind::kStream : IpcKind::kFile);
}

int run_export(const ExportOptions& options, bool quiet) {
  const bool to_stdout = options.output == "-";
  const bool through = to_stdout || is_written_through(options.output);
  if (!to_stdout) check_output(options);
  const std::string format = !options.format.empty() ? options.format : to_stdout ? "csv" : format_of(options.output);
  const bool binary = format == "parquet" || format == "arrow" || format == "arrows";
  if (binary && is_compressed_name(options.output))
    throw UsageError(options.output + ": " + format + " is compressed inside, if at all; leave the last ending out");
  if (to_stdout && binary && is_terminal(STDOUT_FILENO))
    throw UsageError(format + " is binary: send it to a file or a pipe");
  const uint64_t rows = File::open(options.file)->rows();  // also: a clear error before anything is created
  if (format == "arrow" || format == "arrows") {
    export_arrow(options, format, to_stdout);
  } else {
    SessionOptions settings;
    settings.threads = options.threads;
    settings.decoded_limit = options.memory_limit;
    settings.device = Device::kCpu;
    Session session(settings);
    ProgressBar bar(options.output, quiet || through, 0, [&] { return session.progress(); });
    const InterruptGuard interrupt([&] { session.interrupt(); });
    if (to_stdout)
      export_to_stdout(session, query_of(options), format);
    else
      export_to_file(session, query_of(options), format, options.output);
    if (!quiet) print_notices(session.notices());
  }
  // Nothing is said amid the data, and nothing fails when all of it is out.
  if (!quiet && !through)
    print(fmt::format("{}: {} rows, {}\n", printable(options.output), human_count(rows),
                      human_bytes(std::filesystem::file_size(options.output))));
  return kSuccess;
}

}  // namespace

void add_export(Program& program) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = add_command(program, "export", "Write a .basalt file as Parquet, CSV, JSON or Arrow",
                                  "  basalt export lineitem.basalt lineitem.parquet\n"
                                  "  basalt export lineitem.basalt - --format csv | head\n"
                                  "  basalt export lineitem.basalt keys.arrow --columns l_orderkey,l_partkey");
  command->add_option("FILE", options->file, "The .basalt file")->required()->check(local_files());
  command
      ->add_option("OUT", options->output, "The file to write; its extension chooses the format; - is standard output")
      ->required()
      ->check(local_files());
  command->add_option("--format", options->format, "Format, if the name does not tell (default for -: csv)")
      ->check(CLI::IsMember({"parquet", "csv", "tsv", "json", "ndjson", "arrow", "arrows"}))
      ->type_name("FORMAT");
  command->add_option("--columns", options->columns, "Only these columns, in this order")
      ->delimiter(',')
      ->type_name("COL[,COL...]");
  add_threads_option(command, options->threads);
  add_bytes_option(command, "--memory-limit", options->memory_limit,
                   "Memory for the decoded rows of a chunk, besides the bytes they are stored in (default: 128 MiB)");
  command->callback(
      [&program, options] { program.run = [&program, options] { return run_export(*options, program.quiet); }; });
}

}  // namespace basalt::cli
