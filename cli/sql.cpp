// `basalt sql`: one statement, a file of statements, or the shell.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>

#include "basalt/core/error.h"
#include "cli/command.h"
#include "cli/statement.h"
#include "cli/terminal.h"

namespace basalt::cli {
namespace {

struct SqlOptions {
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

void check(const SqlOptions& options) {
  if (!options.query.empty() && !options.file.empty()) throw UsageError("give a statement or -f FILE, not both");
  const bool binary = options.show.format == "arrow" || options.show.format == "parquet";
  if (binary && options.show.output.empty() && is_terminal(STDOUT_FILENO))
    throw UsageError(options.show.format + " is binary: send it to a pipe, or to a file with --output");
  require_device(options.session.device);
}

int run_sql(SqlOptions options, bool quiet) {
  check(options);
  options.show.footer = !quiet;
  Session session(options.session);
  if (options.query.empty() && options.file.empty() && is_terminal(STDIN_FILENO))
    return run_shell(session, options.show);
  const std::string text = !options.query.empty() ? options.query : read_all(options.file.empty() ? "-" : options.file);
  const std::vector<std::string> statements = session.split(text);
  if (statements.empty()) throw UsageError("there is no statement to run");
  // Hardly anything is read twice in one statement.
  if (statements.size() == 1) session.execute("set basalt_cache_memory = 0");
  for (const std::string& statement : statements) run_statement(session, statement, options.show);
  return kSuccess;
}

}  // namespace

void add_sql(Program& program) {
  auto options = std::make_shared<SqlOptions>();
  CLI::App* command = add_command(program, "sql", "Run SQL over .basalt, Parquet, CSV and JSON files, or open a shell",
                                  "  basalt sql \"select count(*) from 'lineitem.basalt' where l_quantity < 24\"\n"
                                  "  basalt sql -f report.sql --format csv > report.csv\n"
                                  "  basalt sql --device cuda --timing \"select sum(x) from 'data/*.basalt'\"\n"
                                  "  basalt sql \"copy (select * from 'a.parquet' order by t) to 'a.basalt'\"\n"
                                  "  basalt sql            (opens the shell)");
  command->add_option("QUERY", options->query, "The statements to run; without them the shell opens");
  command->add_option("-f,--file", options->file, "Run the statements of a file; - is standard input")
      ->type_name("FILE");
  command->add_option("--format", options->show.format, "table (default), csv, json, ndjson, arrow or parquet")
      ->check(CLI::IsMember({"table", "csv", "json", "ndjson", "arrow", "parquet"}))
      ->type_name("FORMAT");
  command->add_option("-o,--output", options->show.output, "Write the result to a file")->type_name("FILE");
  add_device_option(command, options->session.device);
  command->add_flag("--timing", options->show.timing, "Also show compile, transfer and kernel times");
  command->add_flag("--explain", options->show.explain, "Show the plan instead of running the statement");
  command->add_flag("--explain-kernel", options->show.explain_kernel,
                    "Run, and show the source of the generated kernel");
  add_threads_option(command, options->session.threads);
  add_bytes_option(command, "--memory-limit", options->session.memory_limit, "Memory for DuckDB's operators");
  add_bytes_option(command, "--gpu-memory", options->session.gpu_memory, "GPU memory for cached and staged data");
  command->add_option("--database", options->session.database, "A DuckDB database file to work in (default: in memory)")
      ->type_name("FILE");
  command->callback(
      [&program, options] { program.run = [&program, options] { return run_sql(*options, program.quiet); }; });
}

}  // namespace basalt::cli
