// How much memory this process has needed at once, for tests of limits and for benchmarks. Linux only; elsewhere 0.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "core/large_memory.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace basalt {

// A line of /proc/self/status that counts in kB: "VmRSS:".
inline uint64_t status_bytes(const char* key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key, 0) == 0) return std::stoull(line.substr(std::strlen(key))) * 1024;
  }
  return 0;
}

// The most memory in use since the start, above what was in use then. Writing 5 to clear_refs forgets the old peak.
class PeakMemory {
 public:
  PeakMemory() {
#ifdef __GLIBC__
    ::malloc_trim(0);  // what was freed before would hide what is taken now
#endif
    give_up_waiting();
    std::ofstream("/proc/self/clear_refs") << '5';
    start_ = status_bytes("VmRSS:");
  }
  uint64_t bytes() const {
    const uint64_t peak = status_bytes("VmHWM:");
    return peak > start_ ? peak - start_ : 0;  // memory that was given back since may leave it below the start
  }

 private:
  uint64_t start_;
};

}  // namespace basalt
