// Tile reader of `dict` whose codes are `rle`. Looking up commutes with expanding: it is done once for each run of the
// tile, and what waits in shared memory to become rows are values.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/dict/gpu/kernels.cuh"
#include "codec/rle/gpu/kernels.cuh"
#include "core/device/warp.h"

namespace basalt::device {

// For a reader that is bound to the codes of runs alone: the entries come behind the runs' ends.
template <typename RunCodes, typename Ends>
struct RunCodeWords {
  static constexpr uint32_t kCodes = 0;
  static constexpr uint32_t kEntries = RunCodes::kDescriptorWords + Ends::kDescriptorWords;
  static constexpr uint32_t kAll = RunCodes::kDescriptorWords;
};

template <typename T, typename RunCodes, typename Ends, typename Entries>
class RunDict : public OneForm<RunDict<T, RunCodes, Ends, Entries>, T> {
  using Runs = Rle<T, Dict<T, RunCodes, Entries, RunCodeWords<RunCodes, Ends>>, Ends>;

 public:
  using value_type = T;
  static constexpr uint32_t kRunsWord = 1;
  static constexpr uint32_t kDescriptorWords = kRunsWord + Runs::kDescriptorWords + Entries::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = Runs::kScratchBytes;
  static constexpr bool kPointAccess = false;
  static constexpr bool kRowsInShared = true;

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) { runs_.bind(descriptor + kRunsWord); }
  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    runs_.seek(tile, scratch);
    bad = bad || runs_.bad;
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    runs_.open(descriptor + kRunsWord, tile, scratch);
    bad = bad || runs_.bad;
  }

  __device__ __forceinline__ T at(uint32_t k) const { return runs_.at(k); }
  __device__ __forceinline__ T row(uint32_t i) {
    const T value = runs_.row(i);
    bad = bad || runs_.bad;
    return value;
  }

 private:
  Runs runs_;
};

}  // namespace basalt::device
