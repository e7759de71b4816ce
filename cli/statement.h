// Running statements and showing their results, shared by `basalt sql` and its shell.
#pragma once

#include <string>
#include <vector>

#include "basalt/sql/session.h"

namespace basalt::cli {

struct ShowOptions {
  std::string format = "table";  // table, csv, tsv, markdown, line, json, ndjson, arrow, arrows, parquet, basalt
  std::string output;            // empty = standard output
  bool timing = false;
  bool explain = false;
  bool explain_kernel = false;
  uint64_t max_rows = 40;  // of a table; 0 = all
  std::string null_text;   // for NULL; empty: as the format has it
  bool footer = true;      // the last line: rows, time, where it ran, what fell back
};

// What became of a statement's rows. Formats that only queries can be written in (parquet, basalt) keep no others'.
enum class ResultRows { kNone, kWritten, kNotKept };

// Runs one statement. Ctrl-C stops it with Error(kCancelled).
ResultRows run_statement(Session& session, const std::string& sql, const ShowOptions& options);

// What stands in single quotes: names of files, among others.
std::vector<std::string> quoted_texts(const std::string& sql);

// The interactive shell; ends at end of input or .quit.
int run_shell(Session& session, ShowOptions options);

}  // namespace basalt::cli
