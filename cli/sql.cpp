// `basalt sql`: one statement, a file of statements, or the shell.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <set>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/statement.h"
#include "cli/terminal.h"
#include "core/output_file.h"
#include "core/same_file.h"
#include "sql/function_table.h"
#include "sql/operator_table.h"

namespace basalt::cli {
namespace {

struct SqlOptions {
  std::string format;  // empty: by the output's name
  std::string query;
  std::string file;
  std::string prepare;
  bool functions = false;
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
  const std::string by_name = format_by_name(output);
  if (by_name == "basalt" && !options.format.empty() && options.format != "basalt")
    throw UsageError(output + ": a file of this name is a Basalt file; choose another name, or --format basalt");
  if (!options.format.empty()) return options.format;
  const std::string file = output.substr(output.find_last_of('/') + 1);
  if (file.find('.') == std::string::npos) return "table";
  if (by_name.empty()) throw UsageError(output + ": the name does not tell the format; add --format");
  return by_name;
}

// Also before either of them exists.
bool is_same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  if (const auto file = identify_file(a)) return file == identify_file(b);
  std::error_code ignored;
  return std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
}

void refuse_own_files(const SqlOptions& options) {
  const std::string& output = options.show.output;
  if (is_same_file(output, options.session.database)) throw UsageError(output + ": the output is the database");
  if (is_same_file(output, options.file)) throw UsageError(output + ": the output is the file of statements");
}

void check(const SqlOptions& options) {
  if (!options.query.empty() && !options.file.empty()) throw UsageError("give a statement or -f FILE, not both");
  refuse_own_files(options);
  static const std::set<std::string> kBinary = {"arrow", "arrows", "parquet"};
  if (options.show.format == "basalt" && options.show.output.empty())
    throw UsageError("a .basalt file cannot be written to standard output: name a file with --output");
  const bool binary = kBinary.contains(options.show.format);
  if (binary && options.show.output.empty() && is_terminal(STDOUT_FILENO))
    throw UsageError(options.show.format + " is binary: send it to a pipe, or to a file with --output");
}

// Whether a statement looks as if it would run on a GPU: then the device's context is made while DuckDB starts and
// plans. Others do not wait for what they do not need.
bool may_need_device(const SqlOptions& options, std::string text) {
  if (options.session.device != Device::kAuto || text.find(".basalt") == std::string::npos) return false;
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto has = [&](const char* aggregate) { return text.find(aggregate) != std::string::npos; };
  return has("count(") || has("sum(") || has("avg(") || has("min(") || has("max(");
}

std::string listed(const std::vector<size_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ", numbers[i]);
  return text;
}

// Numbers of statements that gave rows.
struct StatementsWithRows {
  std::vector<size_t> written;
  std::vector<size_t> not_kept;
};

// A file holds one result: which one, and what is lost, is said whenever there could be doubt.
void say_what_was_kept(const std::string& output, StatementsWithRows rows, size_t statements, bool quiet) {
  const bool one_result = !output.empty() && !is_written_through(output);
  if (one_result && rows.written.size() > 1) {
    rows.not_kept.insert(rows.not_kept.end(), rows.written.begin(), rows.written.end() - 1);
    std::sort(rows.not_kept.begin(), rows.not_kept.end());
  }
  const bool doubt = one_result && statements > 1 && !(quiet && !rows.written.empty());
  if (rows.not_kept.empty() && !doubt) return;
  const std::string target = output.empty() ? "standard output" : output;
  std::string text =
      rows.written.empty()
          ? fmt::format("{} was not written: no {} gave rows", target, rows.not_kept.empty() ? "statement" : "query")
          : fmt::format("{} holds the rows of statement {} of {}", target, rows.written.back(), statements);
  if (!rows.not_kept.empty())
    text += fmt::format("; those of statement{} {} were not kept", rows.not_kept.size() > 1 ? "s" : "",
                        listed(rows.not_kept));
  std::fputs((printable(text) + "\n").c_str(), stderr);
}

void run_all(Session& session, const std::vector<std::string>& statements, const ShowOptions& show, bool quiet) {
  StatementsWithRows rows;
  try {
    for (size_t i = 0; i < statements.size(); ++i) {
      switch (run_statement(session, statements[i], show)) {
        case ResultRows::kNone: break;
        case ResultRows::kWritten: rows.written.push_back(i + 1); break;
        case ResultRows::kNotKept: rows.not_kept.push_back(i + 1); break;
      }
    }
  } catch (...) {
    if (!rows.written.empty()) say_what_was_kept(show.output, rows, statements.size(), quiet);
    throw;
  }
  say_what_was_kept(show.output, rows, statements.size(), quiet);
}

void refuse_shell_commands(const std::vector<std::string>& statements) {
  for (const std::string& statement : statements) {
    const size_t start = statement.find_first_not_of(" \t\r\n");
    if (statement[start] != '.') continue;
    const size_t end = statement.find_first_of(" \t\r\n;", start);
    throw UsageError(statement.substr(start, end - start) +
                     ": commands with a dot are for the shell, which opens where standard input is a terminal; here "
                     "are statements only");
  }
}

// Statements that are no queries are run first, for the views that queries read.
void prepare_file(Session& session, const std::string& path, bool quiet) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> queries;
  for (const std::string& statement : session.split(read_all(path))) {
    if (session.is_query(statement)) {
      queries.push_back(statement);
    } else {
      session.execute(statement);
    }
  }
  size_t failed = 0;
  const std::vector<PreparedQuery> prepared = session.prepare(queries);
  for (size_t i = 0; i < prepared.size(); ++i) {
    if (prepared[i].error.empty()) continue;
    ++failed;
    fmt::print(stderr, "{}\n", printable(fmt::format("query {} of {}: {}", i + 1, path, prepared[i].error)));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!quiet)
    fmt::print(stderr, "prepared {} of {} queries in {:.1f} s\n", queries.size() - failed, queries.size(), seconds);
}

int run_sql(SqlOptions options, bool quiet) {
  if (options.functions) {
    print(sql::operator_page() + "\n" + sql::function_page());
    return kSuccess;
  }
  if (options.show.output == "-") options.show.output.clear();
  options.show.format = chosen_format(options);
  options.session.output = options.show.output;
  check(options);
  options.show.footer = !quiet;
  if (options.session.memory_limit > 0) options.session.decoded_limit = decoded_limit_of(options.session.memory_limit);
  const bool only_prepares = !options.prepare.empty() && options.query.empty() && options.file.empty();
  const bool is_shell = !only_prepares && options.query.empty() && options.file.empty() && is_terminal(STDIN_FILENO);
  const std::string text = is_shell || only_prepares ? ""
                           : !options.query.empty()  ? options.query
                                                     : read_all(options.file.empty() ? "-" : options.file);
  std::future<void> context;
  if (may_need_device(options, text)) context = std::async(std::launch::async, [] { gpu(); });
  Session session(options.session);
  if (!options.prepare.empty()) prepare_file(session, options.prepare, quiet);
  if (only_prepares) return kSuccess;
  if (is_shell) return run_shell(session, options.show);
  const std::vector<std::string> statements = session.split(text);
  if (statements.empty()) throw UsageError("there is no statement to run");
  refuse_shell_commands(statements);
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
      ->add_option(
          "--format", options->format,
          "table (default without --output), csv, tsv, markdown, line, json, ndjson, arrow, arrows, parquet or basalt")
      ->check(CLI::IsMember(
          {"table", "csv", "tsv", "markdown", "line", "json", "ndjson", "arrow", "arrows", "parquet", "basalt"}))
      ->type_name("FORMAT");
  command
      ->add_option(
          "-o,--output", options->show.output,
          "Write the rows to a file, in the format that its name tells (.parquet, .csv, .txt, ...) or --format; "
          "of several statements the last one's rows are kept; - is standard output")
      ->type_name("FILE");
  add_device_option(command, options->session.device);
  command->add_flag("--strict", options->session.strict,
                    "Refuse statements over .basalt files that Basalt's own engine cannot run wholly");
  command->add_flag("--timing", options->show.timing, "Also show compile, transfer and kernel times");
  command->add_flag("--explain", options->show.explain, "Show the plan instead of running the statement");
  command->add_flag("--explain-kernel", options->show.explain_kernel,
                    "Run, and show the source of the generated kernel");
  command
      ->add_option("--prepare", options->prepare,
                   "First run the queries of a file all at once, without their rows: their kernels are compiled then")
      ->type_name("FILE");
  command->add_flag("--functions", options->functions,
                    "Print the tables of docs/sql-on-the-gpu.md: what statements are made of, and functions");
  add_threads_option(command, options->session.threads);
  add_bytes_option(command, "--memory-limit", options->session.memory_limit,
                   "Memory for DuckDB's operators; one row may take half of it when decoded (default 128MiB)");
  add_bytes_option(command, "--gpu-memory", options->session.gpu_memory,
                   "GPU memory for data and what statements keep of it; what does not fit runs in parts");
  command->add_option("--database", options->session.database, "A DuckDB database file to work in (default: in memory)")
      ->type_name("FILE");
  command->callback(
      [&program, options] { program.run = [&program, options] { return run_sql(*options, program.quiet); }; });
}

}  // namespace basalt::cli
