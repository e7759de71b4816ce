// What the parts of `columns` share: options, and where figures go. Text tables, the progress bar and the clock are the
// program's own.
#pragma once

#include <string>
#include <vector>

#include "cli/bench.h"
#include "cli/progress.h"
#include "cli/terminal.h"

namespace basalt::bench {

using basalt::human_bytes;
using basalt::human_count;
using cli::best_of;
using cli::dim;
using cli::escape_json;
using cli::human_rate;
using cli::memcpy_ceiling;
using cli::print;
using cli::ProgressBar;
using cli::TextTable;

struct Options {
  uint64_t bytes = 0;  // plain, per array
  uint32_t threads = 1;
  int rounds = 3;
  uint64_t rows = 2'000'000;
  std::vector<std::string> sets;
  std::vector<std::string> files;
  std::string tree;  // empty: the chosen one
  bool sweep = false;
  std::string json;
};

// To the file that --json names, if there is one.
void write_json(const Options& options, const std::string& text);

void run_l3(const Options& options);
void run_galp(const Options& options);
void run_strings(const Options& options);

}  // namespace basalt::bench
