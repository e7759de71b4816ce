// What totals of floats of four and of eight bytes share: tiles that are described ahead, and tiles read row by row.
#pragma once

#include "codec/galp/kernels_listed.cuh"
#include "codec/packed/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/totals.h"
#include "core/float_key.h"

namespace basalt::device {

// T: the bits of the floats.
template <typename T, typename Integers>
class GalpTotals;

// What is known of a tile: whether it is one of decimals at all, and which of its integers pass.
enum class GalpTile : uint32_t { kSomePass, kAllPass, kNonePasses, kNoDecimals };

// A whole tile of decimals with few exceptions, by one lane.
template <typename T>
struct DescribedDecimals {
  const uint32_t* words;  // of lane 0
  T first, last;          // packed values that pass, if some do
  ListedExceptions<T> exceptions;
  uint32_t width;
  GalpTile kind;

  using Values = Galp<T, Packed<T>>;
  static constexpr uint32_t kNoPair = ~0u;

  // The tile's pair; kNoPair: it is no such tile.
  __device__ __forceinline__ uint32_t find(const uint64_t* descriptor, uint32_t tile) {
    kind = GalpTile::kNoDecimals;
    if ((tile + 1) * kTileRows > row_count(descriptor)) return kNoPair;
    const typename Values::Entry entry = Values::entry(descriptor, tile);
    const bool sound = Values::is_pair(entry.scheme) && exceptions.find(descriptor, entry);
    return sound && exceptions.count() <= galp::kMaxListed ? entry.scheme : kNoPair;
  }

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

  __device__ __forceinline__ const uint32_t* words_of(uint32_t lane) const { return words + (width == 0 ? 0 : lane); }
  // What decided which rows pass.
  __device__ __forceinline__ uint32_t how() const {
    return exceptions.header == 0 && kind != GalpTile::kSomePass ? kByBounds : kByRows;
  }
};

// By each lane for a tile of its own, if it `exists`. spans(pair): the integers of a pair that pass, by the whole warp,
// as numbers begin … end − 1 of those from −most to most. fits(out, integers, scale, most): whether a tile of such
// integers is added as they are, for which it notes what else that takes.
template <typename Tile, typename Spans, typename Fits>
__device__ __forceinline__ void describe_decimals(bool exists, const uint64_t* descriptor, uint32_t tile, Tile* tiles,
                                                  Spans&& spans, Fits&& fits) {
  using Values = typename Tile::Values;
  Tile out{};
  const uint32_t pair = exists ? out.find(descriptor, tile) : Tile::kNoPair;
  for_each_distinct(pair, Tile::kNoPair, [&](uint32_t here, bool mine) {
    const auto span = spans(here);
    if (!mine) return;
    Packed<typename Values::value_type> integers;
    integers.open(descriptor + Values::kIntegersWord, tile, nullptr);
    if (fits(out, integers, Values::scale_of(here), span.most)) out.place(integers, span.begin, span.end, span.most);
  });
  tiles[lane_id()] = out;
}

// Row by row, with keys from first to last, in the order of exec/aggregate.h.
template <typename T>
__device__ __noinline__ FloatTileSum sum_galp_rows(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                   int64_t first, int64_t last) {
  const uint32_t rows = rows_mask(rows_of_tile(row_count(descriptor), tile), lane_id());
  Galp<T, Packed<T>> reader;
  reader.open(descriptor, tile, scratch);
  FloatTileSum sums{};
  sums.how = kByRows;
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
