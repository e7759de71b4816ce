// The clock of the CPU benchmarks: time this thread has run. On a quiet machine it equals wall time; on a shared one it
// keeps measured rates and the memcpy ceiling comparable.
#pragma once

#include <cstring>
#include <ctime>

#include <benchmark/benchmark.h>

#include "basalt/core/buffer.h"

namespace basalt::bench {

inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Bytes read plus written per second by memcpy of 256 MiB, the best of several runs.
inline double memcpy_rate() {
  static const double rate = [] {
    constexpr size_t kBytes = size_t{256} << 20;
    Buffer from(kBytes);
    Buffer to(kBytes);
    std::memset(from.data(), 1, kBytes);
    std::memset(to.data(), 0, kBytes);
    double best = 0;
    for (int i = 0; i < 7; ++i) {
      const double start = cpu_seconds();
      std::memcpy(to.data(), from.data(), kBytes);
      benchmark::DoNotOptimize(to.data());
      const double bytes_per_second = 2.0 * static_cast<double>(kBytes) / (cpu_seconds() - start);
      best = best < bytes_per_second ? bytes_per_second : best;
    }
    return best;
  }();
  return rate;
}

}  // namespace basalt::bench
