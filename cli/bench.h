// What `basalt bench` and its parts share: the best of several rounds, beside what memcpy moves in the same run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>

#include "basalt/core/buffer.h"
#include "basalt/core/threads.h"
#include "cli/command.h"

namespace basalt::cli {

void add_bench_zipflow(Program& program, CLI::App* parent);

using Clock = std::chrono::steady_clock;

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
inline double memcpy_ceiling(uint64_t bytes, ThreadPool& pool, int rounds) {
  Buffer from(bytes), to(bytes);
  std::memset(from.data(), 1, bytes);
  std::memset(to.data(), 2, bytes);
  const uint64_t pieces = pool.size();
  const uint64_t piece = bytes / pieces;
  const double seconds = best_of(rounds, [&] {
    pool.parallel_for(pieces, [&](uint64_t i) { std::memcpy(to.data() + i * piece, from.data() + i * piece, piece); });
  });
  return 2.0 * static_cast<double>(piece * pieces) / seconds / 1e9;
}

}  // namespace basalt::cli
