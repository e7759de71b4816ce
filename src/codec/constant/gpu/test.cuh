// Tests of `constant` bytes on the device: the one text was tested by the host.
#pragma once

#include "codec/strings/gpu/test.cuh"

namespace basalt::device {

struct ConstantTest {
  static constexpr uint32_t kDescriptorWords = 1;
  static constexpr uint32_t kScratchBytes = 0;

  template <typename Lengths>
  __device__ __forceinline__ static TileAnswer test(const uint64_t*, const uint64_t*, uint32_t, void*, const void* head,
                                                    uint32_t alive) {
    const TestTable table(static_cast<const strings::TestTableHead*>(head));
    return {table.accepts(table.start()) ? alive : 0, kByBounds, 0};
  }
};

}  // namespace basalt::device
