// One statement: execute, show in the chosen format, report on stderr.
#include "cli/statement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "basalt/file/ipc.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/terminal.h"

namespace basalt::cli {
namespace {

void to_stderr(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

std::string without_semicolon(std::string sql) {
  while (!sql.empty() && (std::isspace(static_cast<unsigned char>(sql.back())) || sql.back() == ';')) sql.pop_back();
  return sql;
}

// Text results to standard output, or to a file that appears when it is complete.
class TextTarget {
 public:
  explicit TextTarget(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    temporary_ = path_ + fmt::format(".tmp.{}", ::getpid());
    file_ = std::fopen(temporary_.c_str(), "wbe");
    if (file_ == nullptr) throw Error(ErrorCode::kIo, path_ + ": cannot create: " + std::strerror(errno));
  }
  ~TextTarget() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    ::unlink(temporary_.c_str());
  }
  TextTarget(const TextTarget&) = delete;
  TextTarget& operator=(const TextTarget&) = delete;

  void write(std::string_view text) {
    if (path_.empty()) return output_.write(text);
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail("write");
  }
  void finish() {
    if (path_.empty()) return output_.flush();
    if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) fail("write");
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
    std::fclose(std::exchange(file_, nullptr));
  }

 private:
  [[noreturn]] void fail(const char* doing) {
    throw Error(ErrorCode::kIo, fmt::format("{}: cannot {}: {}", path_, doing, std::strerror(errno)));
  }
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
  Output output_;
};

void show_arrow(QueryResult& result, const ShowOptions& options) {
  ArrowArrayStream stream;
  result.to_arrow(&stream);
  if (options.output.empty())
    write_ipc(&stream, STDOUT_FILENO, "standard output", IpcKind::kStream);
  else
    write_ipc(&stream, options.output, IpcKind::kFile);
}

// DuckDB writes Parquet files; standard output gets a copy of one.
void show_parquet(Session& session, const std::string& sql, const ShowOptions& options) {
  if (!options.output.empty()) return session.copy_to_parquet(without_semicolon(sql), options.output);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("basalt-sql-{}.parquet", ::getpid());
  const std::shared_ptr<void> remover(nullptr, [&](void*) { ::unlink(path.c_str()); });
  session.copy_to_parquet(without_semicolon(sql), path.string());
  const std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rbe"), [](std::FILE* open) {
    if (open != nullptr) std::fclose(open);
  });
  if (file == nullptr) throw Error(ErrorCode::kIo, path.string() + ": cannot read the temporary file back");
  Output output;
  std::string block(1 << 20, 0);
  for (size_t got; (got = std::fread(block.data(), 1, block.size(), file.get())) > 0;)
    output.write({block.data(), got});
  output.flush();
}

void show_text(QueryResult& result, const ShowOptions& options) {
  TextTarget target(options.output);
  const TextSink sink = [&](std::string_view text) { target.write(text); };
  if (options.format == "csv") {
    result.write_csv(sink);
  } else if (options.format == "json" || options.format == "ndjson") {
    result.write_json(sink, options.format == "ndjson");
  } else {
    RenderOptions render;
    render.max_width = options.output.empty() && is_terminal(STDOUT_FILENO) ? terminal_width() : 0;
    sink(result.to_box(render));
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
  if (!report.kernel_source.empty()) return print(report.kernel_source + "\n");
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
  if (options.footer) to_stderr(dim(report.summary(), STDERR_FILENO));
}

}  // namespace

void run_statement(Session& session, const std::string& sql, const ShowOptions& options) {
  const InterruptGuard interrupt([&] { session.interrupt(); });
  if (options.explain) {
    QueryResult result = session.execute("explain " + sql);
    std::string text = result.explain_text();
    if (text.empty() || text.back() != '\n') text += "\n";
    return print(text);
  }
  if (options.format == "parquet" && !options.explain_kernel) {
    show_parquet(session, sql, options);
    if (options.footer) print_notices(session.notices());
    return;
  }
  QueryResult result = session.execute(sql);
  if (options.explain_kernel) {
    while (result.next() != nullptr) {
    }
    show_kernel(result.report());
    return;
  }
  if (result.has_rows()) {
    if (options.format == "arrow") {
      show_arrow(result, options);
    } else if (const std::string plan = result.explain_text(); !plan.empty()) {
      print(plan + (plan.back() == '\n' ? "" : "\n"));
    } else {
      show_text(result, options);
    }
  }
  show_report(result.report(), options);
}

}  // namespace basalt::cli
