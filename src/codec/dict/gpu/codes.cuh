// A dictionary's codes as values: what kernels group strings by. The table of a chunk says which number each of its
// codes has among those of all chunks.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/dict/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename Codes>
class DictCodes : public Codes {
 public:
  static constexpr uint32_t kCodesWord = 1;
  static constexpr uint32_t kDescriptorWords = kCodesWord + Codes::kDescriptorWords;  // then the entries'

  __device__ __forceinline__ void bind(const uint64_t* descriptor) { Codes::bind(descriptor + kCodesWord); }
  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    Codes::open(descriptor + kCodesWord, tile, scratch);
  }
};

}  // namespace basalt::device
