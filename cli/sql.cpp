// `basalt sql`: one statement, a file of statements, or the shell.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include "basalt/core/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/statement.h"
#include "cli/terminal.h"

namespace basalt::cli {
namespace {

struct SqlOptions {
  std::string format;  // empty: by the output's name
  std::string query;
  std::string file;
  SessionOptions session;
  ShowOptions show;
};

std::string read_all(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kIo, path + ": cannot open");
  return {std::istreambuf_iterator<char>(file), {}};
}

// --format decides; else the name of the output; results on the screen, and in files without an extension, are tables.
std::string chosen_format(const SqlOptions& options) {
  const std::string& output = options.show.output;
  if (is_compressed_name(output))
    throw UsageError(output +
                     ": sql writes no compressed files; use COPY (...) TO, which does, or leave the ending out");
  if (!options.format.empty()) return options.format;
  const std::string file = output.substr(output.find_last_of('/') + 1);
  if (file.find('.') == std::string::npos) return "table";
  const std::string format = format_by_name(output);
  if (format.empty()) throw UsageError(output + ": the name does not tell the format; add --format");
  return format;
}

void check(const SqlOptions& options) {
  if (!options.query.empty() && !options.file.empty()) throw UsageError("give a statement or -f FILE, not both");
  static const std::set<std::string> kBinary = {"arrow", "arrows", "parquet"};
  if (options.show.format == "basalt" && options.show.output.empty())
    throw UsageError("a .basalt file cannot be written to standard output: name a file with --output");
  const bool binary = kBinary.contains(options.show.format);
  if (binary && options.show.output.empty() && is_terminal(STDOUT_FILENO))
    throw UsageError(options.show.format + " is binary: send it to a pipe, or to a file with --output");
  require_device(options.session.device);
}

std::string listed(const std::vector<size_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ", numbers[i]);
  return text;
}

// An output holds one result: which one, and what is lost, is said whenever there could be doubt.
void say_what_was_kept(const std::string& output, std::vector<size_t> with_rows, size_t statements, bool quiet) {
  if (output.empty() || statements < 2 || (quiet && with_rows.size() == 1)) return;
  std::string text = output + " was not written: no statement gave rows";
  if (!with_rows.empty()) {
    text = fmt::format("{} holds the rows of statement {} of {}", output, with_rows.back(), statements);
    with_rows.pop_back();
    if (!with_rows.empty())
      text +=
          fmt::format("; those of statement{} {} were not kept", with_rows.size() > 1 ? "s" : "", listed(with_rows));
  }
  std::fputs((printable(text) + "\n").c_str(), stderr);
}

void run_all(Session& session, const std::vector<std::string>& statements, const ShowOptions& show, bool quiet) {
  std::vector<size_t> with_rows;
  try {
    for (size_t i = 0; i < statements.size(); ++i)
      if (run_statement(session, statements[i], show)) with_rows.push_back(i + 1);
  } catch (...) {
    if (!with_rows.empty()) say_what_was_kept(show.output, with_rows, statements.size(), quiet);
    throw;
  }
  say_what_was_kept(show.output, with_rows, statements.size(), quiet);
}

int run_sql(SqlOptions options, bool quiet) {
  options.show.format = chosen_format(options);
  options.session.output = options.show.output;
  check(options);
  options.show.footer = !quiet;
  if (options.session.memory_limit > 0) options.session.decoded_limit = decoded_limit_of(options.session.memory_limit);
  Session session(options.session);
  if (options.query.empty() && options.file.empty() && is_terminal(STDIN_FILENO))
    return run_shell(session, options.show);
  const std::string text = !options.query.empty() ? options.query : read_all(options.file.empty() ? "-" : options.file);
  const std::vector<std::string> statements = session.split(text);
  if (statements.empty()) throw UsageError("there is no statement to run");
  // Hardly anything is read twice in one statement.
  if (statements.size() == 1) session.execute("set basalt_cache_memory = 0");
  run_all(session, statements, options.show, quiet);
  return kSuccess;
}

}  // namespace

void add_sql(Program& program) {
  auto options = std::make_shared<SqlOptions>();
  CLI::App* command = add_command(program, "sql", "Run SQL over .basalt, Parquet, CSV and JSON files, or open a shell",
                                  "  basalt sql \"select count(*) from 'lineitem.basalt' where l_quantity < 24\"\n"
                                  "  basalt sql -f report.sql --format csv > report.csv\n"
                                  "  basalt sql -o top.parquet \"select * from 'a.basalt' order by x limit 10\"\n"
                                  "  basalt sql --device cuda --timing \"select sum(x) from 'data/*.basalt'\"\n"
                                  "  basalt sql \"copy (select * from 'a.parquet' order by t) to 'a.basalt'\"\n"
                                  "  basalt sql            (opens the shell)");
  command->add_option("QUERY", options->query, "The statements to run; without them the shell opens");
  command->add_option("-f,--file", options->file, "Run the statements of a file; - is standard input")
      ->type_name("FILE");
  command
      ->add_option("--format", options->format,
                   "table (default without --output), csv, tsv, json, ndjson, arrow, arrows, parquet or basalt")
      ->check(CLI::IsMember({"table", "csv", "tsv", "json", "ndjson", "arrow", "arrows", "parquet", "basalt"}))
      ->type_name("FORMAT");
  command
      ->add_option(
          "-o,--output", options->show.output,
          "Write the rows to a file, in the format that its name tells (.parquet, .csv, .txt, ...) or --format; "
          "of several statements the last one's rows are kept")
      ->type_name("FILE");
  add_device_option(command, options->session.device);
  command->add_flag("--timing", options->show.timing, "Also show compile, transfer and kernel times");
  command->add_flag("--explain", options->show.explain, "Show the plan instead of running the statement");
  command->add_flag("--explain-kernel", options->show.explain_kernel,
                    "Run, and show the source of the generated kernel");
  add_threads_option(command, options->session.threads);
  add_bytes_option(command, "--memory-limit", options->session.memory_limit,
                   "Memory for DuckDB's operators; one row may take half of it when decoded (default 128MiB)");
  add_bytes_option(command, "--gpu-memory", options->session.gpu_memory, "GPU memory for cached and staged data");
  command->add_option("--database", options->session.database, "A DuckDB database file to work in (default: in memory)")
      ->type_name("FILE");
  command->callback(
      [&program, options] { program.run = [&program, options] { return run_sql(*options, program.quiet); }; });
}

}  // namespace basalt::cli
