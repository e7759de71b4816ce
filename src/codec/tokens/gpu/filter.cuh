// The filter of `tokens` on the device: symbols are ids. Ids are read one by one, wherever they lie in the tiles of
// their own array, which packed ids allow.
#pragma once

#include "codec/strings/gpu/filter.cuh"
#include "codec/tokens/layout.h"

namespace basalt::device {

template <typename Ids, typename Counts>
struct TokensFilter {
  static constexpr uint32_t kIdsWord = 1 + tokens::kStreams;
  static constexpr uint32_t kCountsWord = kIdsWord + Ids::kDescriptorWords;
  static constexpr uint32_t kDescriptorWords = kCountsWord + Counts::kDescriptorWords;  // then the entries'
  static constexpr uint32_t kScratchBytes = Counts::kScratchBytes;
  static_assert(Ids::kPointAccess && Ids::kScratchBytes == 0, "ids are read one by one");

  template <typename Lengths>
  __device__ __forceinline__ static TileAnswer filter(const uint64_t* descriptor, const uint64_t*, uint32_t tile,
                                                      void* scratch, const void* head, uint32_t alive) {
    Ids ids;
    ids.bind(descriptor + kIdsWord);
    Counts counts;
    counts.open(descriptor + kCountsWord, tile, scratch);
    const FilterTable table(static_cast<const strings::FilterTableHead*>(head));
    const uint32_t symbols = table.symbols();
    const uint64_t* starts = stream<uint64_t>(descriptor, 1 + tokens::kTileStarts);
    const uint64_t first = load(starts + tile);
    const uint32_t rows = rows_of_tile(row_count(descriptor), tile);
    // A tile has at most 2^24 ids.
    RowPlaces<Counts, uint32_t> places(counts, rows, load(starts + tile + 1) - first);
    TileAnswer answer{0, kByRows, 0};
#pragma unroll 1
    for (uint32_t k = 0; k * kLanes < rows; ++k) {
      const auto place = places.next(k);
      uint32_t at = static_cast<uint32_t>(first + place.begin);
      uint32_t left = (alive >> k & 1) != 0 ? place.length : 0;
      uint32_t state = table.start();
      uint32_t following = left > 0 ? ids.row(at) : 0;
#pragma unroll 1
      while (left > 0 && !table.settled(state)) {
        const uint32_t id = following;
        --left;
        ++at;
        if (left > 0) following = ids.row(at);  // asked for while this one is looked up
        answer.bad |= static_cast<uint32_t>(id >= symbols);
        state = table.next(state * symbols + (id < symbols ? id : 0));
      }
      answer.mask |= static_cast<uint32_t>(table.accepts(state)) << k;
    }
    answer.mask &= alive;
    answer.bad |= static_cast<uint32_t>(places.bad() || counts.bad || ids.bad);
    return answer;
  }
};

}  // namespace basalt::device
