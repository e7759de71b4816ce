// The filter of `constant` bytes on the device: the one text was tested by the host.
#pragma once

#include "codec/strings/gpu/filter.cuh"

namespace basalt::device {

struct ConstantFilter {
  static constexpr uint32_t kDescriptorWords = 1;
  static constexpr uint32_t kScratchBytes = 0;

  template <typename Lengths>
  __device__ __forceinline__ static TileAnswer filter(const uint64_t*, const uint64_t*, uint32_t, void*,
                                                      const void* head, uint32_t alive) {
    const FilterTable table(static_cast<const strings::FilterTableHead*>(head));
    return {table.accepts(table.start()) ? alive : 0, kByBounds, 0};
  }
};

}  // namespace basalt::device
