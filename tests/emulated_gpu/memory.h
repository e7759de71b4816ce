// Memory of the emulated device, as its tests see it: what is there, and a word in every allocation.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace basalt::testing {

struct EmulatedMemory {
  std::atomic<int64_t> blocks{0};  // that nobody gave back yet
  std::atomic<uint64_t> allocations{0};
  // Asked at each allocation, with its number; where it says no, the device has no memory. Set between statements.
  std::function<bool(uint64_t number)> grants;
};

}  // namespace basalt::testing

// The library's own, which tests find by this name: it is there even where all calls are inlined.
extern "C" __attribute__((visibility("default"), used)) inline basalt::testing::EmulatedMemory*
basalt_emulated_memory() {
  static basalt::testing::EmulatedMemory memory;
  return &memory;
}
