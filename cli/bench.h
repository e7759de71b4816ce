// What the parts of `basalt bench` share: options, the clock, the ceiling.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "basalt/core/threads.h"
#include "basalt/exec/pipeline.h"

namespace basalt::cli {

using Clock = std::chrono::steady_clock;

struct BenchOptions {
  std::string what = "all";
  uint64_t bytes = 0;  // 0: the benchmark's default
  bool all_widths = false;
  Device device = Device::kAuto;
  uint32_t threads = 1;
  int rounds = 3;
  uint64_t rows = 2'000'000;
  std::vector<std::string> sets;
  std::vector<std::string> files;
  std::string tree;  // empty: the chosen one
  bool sweep = false;
  std::string json;
};

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename Body>
double best_of(int rounds, Body body) {
  double best = 1e300;
  for (int i = 0; i < rounds; ++i) {
    const auto start = Clock::now();
    body();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

// Read + written bytes per second, in GB, over arrays of this size.
double memcpy_ceiling(uint64_t bytes, ThreadPool& pool, int rounds);

// To the file that --json names, if there is one.
void write_json(const BenchOptions& options, const std::string& text);

int bench_l3(const BenchOptions& options);
int bench_galp(const BenchOptions& options);
int bench_strings(const BenchOptions& options);

}  // namespace basalt::cli
