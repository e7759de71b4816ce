// What filter sums of floats of four and of eight bytes share: tiles of decimals as they are described in groups, with
// their exceptions, and tiles read row by row. The order of additions is that of exec/aggregate.h.
#pragma once

#include "codec/galp/gpu/kernels_listed.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/filter_sum.h"
#include "core/float_key.h"

namespace basalt::device {

constexpr uint32_t kShortSums = 22;  // bits of packed values of which 1024 fit 32 bits
static_assert(kTileRows * ((uint64_t{1} << kShortSums) - 1) < uint64_t{1} << 32);

// What is known of a tile: whether it is one of decimals at all, and which of its integers pass.
enum class GalpTile : uint32_t { kSomePass, kAllPass, kNonePasses, kNoDecimals };

// A whole tile of decimals with few exceptions, by one lane. `Factors`: what makes values of its integers.
template <typename T, typename Factors>
struct alignas(16) DecimalTile {
  Factors factors;
  const uint32_t* words;  // of lane 0
  T first, last;          // packed values that pass, if some do
  double others;          // what exceptions that pass add up to
  uint16_t others_count;  // that pass
  uint16_t exceptions;    // that there are
  uint32_t width;
  GalpTile kind;

  // Where the integers begin … end − 1, numbers of those from −most to most, lie in the tile.
  __device__ __forceinline__ void place(const Packed<T>& integers, uint64_t begin, uint64_t end, uint64_t most) {
    const RawRange range = integers.template range<true>(static_cast<T>(begin - most), static_cast<T>(end - 1 - most));
    const bool none = range.none || begin >= end;
    kind = none ? GalpTile::kNonePasses : range.all ? GalpTile::kAllPass : GalpTile::kSomePass;
    width = integers.width();
    words = integers.words() - (width == 0 ? 0 : lane_id());
    first = static_cast<T>(range.first);
    last = static_cast<T>(range.last);
  }

  __device__ __forceinline__ const uint32_t* lane_words() const { return words + (width == 0 ? 0 : lane_id()); }
};

// Row by row, with keys from first to last, exceptions in their places.
template <typename T>
__device__ __noinline__ FloatTileSum sum_galp_rows(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                   int64_t first, int64_t last) {
  const uint32_t rows = rows_mask(rows_of_tile(row_count(descriptor), tile), lane_id());
  Galp<T, Packed<T>> reader;
  reader.open(descriptor, tile, scratch);
  FloatTileSum sums{};
#pragma unroll 2
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    const T bits = reader.at(k);
    const int64_t key = float_key_of_bits(bits);
    if ((rows >> k & 1) == 0 || key < first || key > last) continue;
    sums.sum = sums.sum + static_cast<double>(galp::float_of(bits));
    ++sums.count;
  }
  sums.sum = sum_of_lanes(sums.sum);
  sums.bad = reader.bad ? 1 : 0;
  return sums;
}

}  // namespace basalt::device
