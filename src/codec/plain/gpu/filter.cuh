// The filter of plain bytes below `strings` on the device: symbols are bytes.
#pragma once

#include "codec/plain/layout.h"
#include "codec/strings/gpu/filter.cuh"

namespace basalt::device {

struct PlainFilter {
  static constexpr uint32_t kDescriptorWords = 1 + plain::kBytesStreams;
  static constexpr uint32_t kScratchBytes = 0;

  template <typename Lengths>
  __device__ __forceinline__ static TileAnswer filter(const uint64_t* descriptor, const uint64_t* lengths_descriptor,
                                                      uint32_t tile, void* scratch, const void* head, uint32_t alive) {
    Lengths lengths;
    lengths.open(lengths_descriptor, tile, scratch);
    const FilterTable table(static_cast<const strings::FilterTableHead*>(head));
    return filter_tile_of_bytes(lengths, row_count(descriptor), tile,
                                stream<uint64_t>(descriptor, 1 + plain::kTileStarts),
                                stream<unsigned char>(descriptor, 1 + plain::kBytes), table, alive);
  }
};

}  // namespace basalt::device
