// Count and sum of the rows of packed tiles between two literals, in generated kernels: the packed bits are compared
// and added as they are, the reference as often as rows passed. Lanes work out for 32 tiles at once where the literals
// lie.
#pragma once

#include "codec/packed/gpu/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/filter_sum.h"

namespace basalt::device {

// Packed values of a lane from first to first + span, whatever their width, of the given rows.
__device__ __noinline__ inline TileSum sum_within(const uint32_t* words, uint32_t width, uint64_t first, uint64_t span,
                                                  uint32_t rows) {
  TileSum sums{};
#pragma unroll 4
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    const uint64_t raw = raw_whole(words, width, k);
    if (raw - first > span || (rows >> k & 1) == 0) continue;
    sums.sum += raw;
    ++sums.count;
  }
  return sums;
}

template <typename T, typename UnrolledWidths = Widths<>>
class PackedFilterSum {
  struct Tile {
    const uint32_t* words;  // of lane 0
    uint64_t reference;     // sign extended
    uint64_t first, last;   // packed values that pass
    uint32_t width;
    uint32_t none;
    uint32_t mark;
  };

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = Packed<T>::kDescriptorWords;
  static constexpr uint32_t kTiles = kLanes;  // that are described at once
  struct alignas(16) Scratch {
    Tile tiles[kTiles];
  };

  // By each lane for a tile of its own.
  __device__ __forceinline__ static void describe(const uint64_t* descriptor, uint32_t tile, Scratch& scratch,
                                                  const SumRange<T>& range) {
    Packed<T> reader;
    reader.open(descriptor, tile, nullptr);
    reader.rebase(static_cast<T>(0 - range.top));
    const RawRange raw = reader.template range<false>(range.first, range.last);
    scratch.tiles[lane_id()] = {reader.words() - (reader.width() == 0 ? 0 : lane_id()),
                                range.number(reader.reference()),
                                raw.first,
                                raw.last,
                                reader.width(),
                                raw.none ? 1u : 0u,
                                mark_of(reader.width())};
  }

  // Of the lane's rows of the tile that was described as number i. kLow: the range has a first value.
  template <bool kLow>
  __device__ __forceinline__ static TileSum sum(const uint64_t* descriptor, uint32_t tile, uint32_t i, bool,
                                                Scratch& scratch, const SumRange<T>&) {
    const Tile& here = scratch.tiles[i];
    TileSum sums{};
    if (here.none != 0) return sums;
    constexpr uint32_t kWidest = sizeof(T) >= 8 ? 64 : 8 * sizeof(T);
    const uint32_t* words = here.words + (here.width == 0 ? 0 : lane_id());
    const uint32_t rows = rows_of_tile(row_count(descriptor), tile);
    const bool unrolled =
        rows == kTileRows && for_width<kWidest>(UnrolledWidths{}, here.width, [&](auto width) {
          sums = sum_tile<decltype(width)::value, kLow, false>(words, here.first, here.last, here.mark, 0);
        });
    if (!unrolled) {
      sums = sum_within(words, here.width, here.first, here.last - here.first, rows_mask(rows, lane_id()));
    }
    sums.sum += here.reference * sums.count;
    sums.how = here.first == 0 && here.last >= low_bits(here.width) ? kByBounds : kByRows;
    return sums;
  }

  // What marks numbers of a width, below which the sum of some of them stays.
  __device__ __forceinline__ static constexpr uint32_t mark_of(uint32_t width) { return 1u << (width <= 21 ? 26 : 28); }

  // Count and sum of a lane's packed values from first to last, of a whole tile. `mark`: that of the width, from
  // memory. kUnless: but for rows whose bits are set in `without`.
  template <uint32_t W, bool kLow, bool kUnless>
  __device__ __forceinline__ static TileSum sum_tile(const uint32_t* words, uint64_t first, uint64_t last,
                                                     uint32_t mark, uint32_t without) {
    const PackedTile<T, W> tile(words, T{0});
    TileSum sums{};
    if constexpr (W <= 24) {
      // As many rows at a time as keep their sum below the marks.
      constexpr uint32_t kRows = W <= 21 ? kRowsPerLane : kRowsPerLane / 4;
      using Marked = MarkedSum<W <= 21 ? 26 : 28>;
      static_assert(Marked::kMark == mark_of(W));
      const auto low = static_cast<uint32_t>(first);
      const auto span = static_cast<uint32_t>(last - first) + 1;
      uint32_t sum = 0;
#pragma unroll
      for (uint32_t begin = 0; begin < kRowsPerLane; begin += kRows) {
        Marked marked;
#pragma unroll
        for (uint32_t k = begin; k < begin + kRows; ++k) {
          const uint32_t raw = tile.template marked_at<Marked::kMark>(k, mark);
          if constexpr (kUnless) {
            marked.template add_unless<kLow>(without, 1u << k, raw, low, span);
          } else {
            marked.template add<kLow>(raw, low, span);
          }
        }
        sums.count += marked.count();
        sum += marked.sum();
      }
      sums.sum = sum;
    } else {
      using Raw = typename PackedTile<T, W>::raw_type;
      const auto low = static_cast<Raw>(first);
      const auto span = static_cast<Raw>(last - first);
      for_each_k([&](uint32_t k) {
        const Raw raw = tile.raw_at(k);
        if (static_cast<Raw>(raw - low) > span || (kUnless && (without >> k & 1) != 0)) return;
        sums.sum += raw;
        ++sums.count;
      });
    }
    return sums;
  }
};

}  // namespace basalt::device
