// Two tile readers side by side: what readers of two children of the same rows are made of. The scratch of the second
// lies behind that of the first.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::device {

// kFirstWord: where the first one's descriptor begins in that of both.
template <typename First, typename Second, uint32_t kFirstWord>
class ReaderPair {
 public:
  static constexpr uint32_t kSecondWord = kFirstWord + First::kDescriptorWords;
  static constexpr uint32_t kDescriptorWords = kSecondWord + Second::kDescriptorWords;
  static constexpr uint32_t kSecondScratch = (First::kScratchBytes + 15) / 16 * 16;
  static constexpr uint32_t kScratchBytes = kSecondScratch + Second::kScratchBytes;
  static constexpr bool kPointAccess = First::kPointAccess && Second::kPointAccess;

  First first;
  Second second;

  __device__ __forceinline__ bool bad() const { return first.bad || second.bad; }
  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    first.bind(descriptor + kFirstWord);
    second.bind(descriptor + kSecondWord);
  }
  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    first.seek(tile, scratch);
    second.seek(tile, behind_first(scratch));
  }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    first.open(descriptor + kFirstWord, tile, scratch);
    second.open(descriptor + kSecondWord, tile, behind_first(scratch));
  }

 private:
  __device__ __forceinline__ static void* behind_first(void* scratch) {
    return static_cast<unsigned char*>(scratch) + kSecondScratch;
  }
};

}  // namespace basalt::device
