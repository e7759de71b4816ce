// What the benchmarks of `basalt gen` share: rows made in parallel, written to a file, and reported line by line.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "basalt/sql/session.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace basalt::cli {

struct GenOptions {
  double scale = 1;
  std::string folder = ".";
  std::string format = "basalt";
  bool clustered = false;
  uint32_t threads = 0;
  Effort effort = Effort::kBalanced;
  Purpose purpose = Purpose::kBalanced;
};

struct TableJob {
  std::string name;
  std::string query;
  std::vector<std::string> sort_columns;  // recorded in the file
};

struct WrittenTable {
  uint64_t rows = 0, plain_bytes = 0;  // 0 where the format does not tell
};

// One line per file, and their sum.
class GenReport {
 public:
  void add(const std::string& path, const WrittenTable& table, double seconds);
  template <typename Body>
  void time(const std::string& path, Body body) {
    const auto start = std::chrono::steady_clock::now();
    const WrittenTable table = body();
    add(path, table, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  void finish(bool quiet);

 private:
  using Align = TextTable::Align;
  TextTable table_{{{"file", Align::kLeft},
                    {"rows", Align::kRight},
                    {"bytes", Align::kRight},
                    {"ratio", Align::kRight},
                    {"time", Align::kRight}}};
  uint64_t total_ = 0;
};

// Rows [begin, end) of a table, or fewer at its end; called from several threads.
using MakeRows = std::function<Table(uint64_t begin, uint64_t end)>;
// The next rows in order, nothing at the end.
using NextRows = std::function<std::unique_ptr<Table>()>;
// All rows in order, some batches at a time made in parallel. `made` counts them, for a progress bar.
NextRows rows_in_rounds(uint64_t rows, MakeRows make, uint32_t threads, std::atomic<uint64_t>* made);
void stream_rows(const Schema& schema, uint64_t rows, MakeRows make, uint32_t threads, std::atomic<uint64_t>* made,
                 ArrowArrayStream* out);

SessionOptions session_options(const GenOptions& options);
std::string path_of(const GenOptions& options, const std::string& table);
// A query's rows, as a .basalt or a Parquet file.
WrittenTable write_table(Session& session, const TableJob& job, const GenOptions& options, const std::string& path,
                         bool quiet);
// Rows that need no SQL go straight from the generator to the writer of .basalt files.
WrittenTable write_stream(ArrowArrayStream* stream, const std::vector<std::string>& sort_columns,
                          const GenOptions& options, const std::string& path, const std::function<double()>& share,
                          bool quiet);
// The same without Arrow in between, whose columns one thread would check and copy.
WrittenTable write_rows(const Schema& schema, const NextRows& next, const std::vector<std::string>& sort_columns,
                        const GenOptions& options, const std::string& path, bool quiet);

int run_tpch(const GenOptions& options, bool quiet);
int run_tpcds(const GenOptions& options, bool quiet);
void add_gen_hits(Program& program, CLI::App* parent);

}  // namespace basalt::cli
