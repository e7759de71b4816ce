// One statement: execute, show in the chosen format, report on stderr.
#include "cli/statement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "basalt/file/ipc.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/text_target.h"

namespace basalt::cli {
namespace {

void to_stderr(const std::string& text) { std::fputs((printable_lines(text) + "\n").c_str(), stderr); }

std::string without_semicolon(std::string sql) {
  while (!sql.empty() && (std::isspace(static_cast<unsigned char>(sql.back())) || sql.back() == ';')) sql.pop_back();
  return sql;
}

void show_arrow(QueryResult& result, const ShowOptions& options) {
  ArrowArrayStream stream;
  result.to_arrow(&stream);
  if (options.output.empty())
    write_ipc(&stream, STDOUT_FILENO, "standard output", IpcKind::kStream);
  else
    write_ipc(&stream, options.output, options.format == "arrows" ? IpcKind::kStream : IpcKind::kFile);
}

// Formats that a statement is written to as a whole. Other statements than queries just run.
bool is_written_whole(const std::string& format) { return format == "parquet" || format == "basalt"; }

void write_whole(Session& session, const std::string& sql, const ShowOptions& options) {
  const std::string query = without_semicolon(sql);
  if (options.format == "basalt") {
    session.convert(query, options.output, WriteOptions{});
  } else {
    session.copy_to_parquet(query, options.output.empty() ? kStandardOutput : options.output);
  }
}

void show_text(QueryResult& result, const ShowOptions& options, ProgressBar& bar) {
  TextTarget target(options.output);
  const TextSink sink = [&](std::string_view text) {
    bar.stop();  // which may stand where the text goes
    target.write(text);
  };
  if (options.format == "csv" || options.format == "tsv") {
    result.write_csv(sink, true, options.format == "tsv" ? '\t' : ',', options.null_text);
  } else if (options.format == "markdown") {
    result.write_markdown([&](std::string_view text) { sink(printable_lines(std::string(text))); }, options.null_text);
  } else if (options.format == "line") {
    result.write_lines([&](std::string_view text) { sink(printable_lines(std::string(text))); }, options.null_text);
  } else if (options.format == "json" || options.format == "ndjson") {
    result.write_json(sink, options.format == "ndjson");
  } else {
    RenderOptions render;
    render.max_rows = options.max_rows;
    if (!options.null_text.empty()) render.null_text = options.null_text;
    render.max_width = options.output.empty() && is_terminal(STDOUT_FILENO) ? terminal_width() : 0;
    sink(printable_lines(result.to_box(render)));
  }
  target.finish();
}

void show_timing(const QueryReport& report) {
  std::string line = fmt::format("time: {:.2f} ms total", report.total_ms);
  if (report.ran_on == Device::kCuda)
    line += fmt::format(" · compile {:.2f} ms · transfer {:.2f} ms ({}) · kernel {:.3f} ms", report.compile_ms,
                        report.transfer_ms, human_bytes(report.bytes_transferred), report.kernel_ms);
  to_stderr(line);
  const TileCounts& tiles = report.tiles;
  if (tiles.total > 0)
    to_stderr(
        fmt::format("tiles: {} in all · {} skipped and {} taken whole by statistics · {} decided by bounds, {} by "
                    "models · {} decoded",
                    human_count(tiles.total), human_count(tiles.skipped), human_count(tiles.all_true),
                    human_count(tiles.by_bounds), human_count(tiles.by_model), human_count(tiles.decoded)));
  if (tiles.texts_in_place + tiles.texts_decoded > 0)
    to_stderr(fmt::format("strings: tested as they are stored in {} tiles · decoded for a test in {}",
                          human_count(tiles.texts_in_place), human_count(tiles.texts_decoded)));
}

void show_kernel(const QueryReport& report) {
  if (!report.kernel_source.empty()) return print(printable_lines(report.kernel_source) + "\n");
  std::string reason;
  for (const std::string& part : report.in_duckdb) reason += "\n  " + part;
  for (const std::string& part : report.notes) reason += "\n  " + part;
  if (gpu().backend == nullptr) reason += "\n  CUDA is not available: " + gpu().reason;
  throw Error(ErrorCode::kDevice,
              "no kernel was generated for this statement:" + (reason.empty() ? " it ran on the CPU" : reason));
}

void show_report(const QueryReport& report, const ShowOptions& options) {
  if (options.footer) print_notices(report.notices);
  if (options.timing) show_timing(report);
  if (options.footer) std::fputs((dim(report.summary(), STDERR_FILENO) + "\n").c_str(), stderr);
}

ResultRows show_rows(QueryResult& result, const ShowOptions& options, ProgressBar& bar) {
  if (!result.has_rows()) return ResultRows::kNone;
  if (options.format == "arrow" || options.format == "arrows") {
    show_arrow(result, options);
    return ResultRows::kWritten;
  }
  if (const std::string plan = result.explain_text(); !plan.empty()) {
    bar.stop();
    print(printable_lines(plan) + (plan.back() == '\n' ? "" : "\n"));
    return ResultRows::kNone;
  }
  if (is_written_whole(options.format)) {
    result.write_csv([](std::string_view) {});  // it runs as its rows are fetched
    return ResultRows::kNotKept;
  }
  show_text(result, options, bar);
  return ResultRows::kWritten;
}

}  // namespace

std::vector<std::string> quoted_texts(const std::string& sql) {
  std::vector<std::string> texts;
  for (size_t begin = sql.find('\''); begin != std::string::npos;) {
    const size_t end = sql.find('\'', begin + 1);
    if (end == std::string::npos) break;
    texts.push_back(sql.substr(begin + 1, end - begin - 1));
    begin = sql.find('\'', end + 1);
  }
  return texts;
}

ResultRows run_statement(Session& session, const std::string& sql, const ShowOptions& options) {
  const InterruptGuard interrupt([&] { session.interrupt(); });
  if (options.explain) {
    QueryResult result = session.execute("explain " + sql);
    std::string text = result.explain_text();
    if (text.empty() || text.back() != '\n') text += "\n";
    print(printable_lines(text));
    return ResultRows::kNone;
  }
  ProgressBar bar("", !options.footer, 0, [&] { return session.progress(); });
  if (is_written_whole(options.format) && !options.explain_kernel && session.is_query(sql)) {
    write_whole(session, sql, options);
    bar.stop();
    if (options.footer) print_notices(session.notices());
    return ResultRows::kWritten;
  }
  QueryResult result = session.execute(sql);
  if (options.explain_kernel) {
    while (result.next() != nullptr) {
    }
    bar.stop();
    show_kernel(result.report());
    return ResultRows::kNone;
  }
  const ResultRows rows = show_rows(result, options, bar);
  bar.stop();
  show_report(result.report(), options);
  return rows;
}

}  // namespace basalt::cli
