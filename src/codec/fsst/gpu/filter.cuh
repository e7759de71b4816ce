// The filter of `fsst` on the device: symbols are codes. What an escape says of the next byte is a state of its own, so
// that every stored byte is one look-up. Long rows need no care: their pieces' codes follow each other.
#pragma once

#include "codec/fsst/layout.h"
#include "codec/strings/gpu/filter.cuh"

namespace basalt::device {

template <typename CodeLengths>
struct FsstFilter {
  static constexpr uint32_t kParametersWord = 1 + fsst::kStreams;
  static constexpr uint32_t kCodeLengthsWord = kParametersWord + 1;
  static constexpr uint32_t kDescriptorWords = kCodeLengthsWord + CodeLengths::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = CodeLengths::kScratchBytes;

  template <typename Lengths>
  __device__ __forceinline__ static TileAnswer filter(const uint64_t* descriptor, const uint64_t*, uint32_t tile,
                                                      void* scratch, const void* heads, uint32_t alive) {
    CodeLengths lengths;
    lengths.open(descriptor + kCodeLengthsWord, tile, scratch);
    // Byte 1 of the parameters.
    const uint32_t shift = static_cast<uint32_t>(load(descriptor + kParametersWord) >> 8 & 0xFF);
    // All tables of an array have as many states, so they are as large as the first.
    const auto* first = static_cast<const strings::FilterTableHead*>(heads);
    const uint64_t skip = uint64_t{tile >> shift} * load(&first->bytes);
    const FilterTable table(
        reinterpret_cast<const strings::FilterTableHead*>(reinterpret_cast<const unsigned char*>(heads) + skip));
    return filter_tile_of_bytes(lengths, row_count(descriptor), tile, stream<uint64_t>(descriptor, 1 + fsst::kStarts),
                                stream<unsigned char>(descriptor, 1 + fsst::kCodes), table, alive);
  }
};

}  // namespace basalt::device
