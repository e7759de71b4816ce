// Count and sum of the rows of galp tiles between two literals, in generated kernels. Rows of decimals are tested as
// the integers they are stored as. Lanes work out for 32 tiles at once where the literals lie, and what a tile's
// exceptions add, each lane for a tile of its own, so that the loop over rows has only to leave them out.
#pragma once

#include "codec/galp/gpu/filter_sum_doubles.cuh"
#include "codec/galp/gpu/filter_sum_floats.cuh"

namespace basalt::device {

// T: the bits of the floats.
template <typename T, typename Integers>
class GalpFilterSum;

template <typename T, typename UnrolledWidths>
class GalpFilterSum<T, Packed<T, UnrolledWidths>> {
  using Rows = typename SelectType<sizeof(T) == 8, DoubleRows, FloatRows>::type;
  using Tile = typename Rows::Tile;
  static constexpr uint32_t kNoPair = ~0u;

 public:
  using Values = Galp<T, Packed<T>>;
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = Values::kDescriptorWords;
  static constexpr uint32_t kTiles = kLanes;  // that are described at once
  struct alignas(16) Scratch {
    Tile tiles[kTiles];
    RowsOfTiles<kTiles> exceptions;
    FloatKeyRange<T> range;  // that passes, set before tiles are described
    alignas(16) unsigned char values[Values::kScratchBytes];
  };

  // By each lane for a tile of its own, if it `exists`. spans(pair): the integers of a pair that pass, by the whole
  // warp, as numbers begin … end − 1 of those from −most to most. Returns whether bounds decide which rows of the tile
  // pass.
  template <typename Spans>
  __device__ __forceinline__ static bool describe(bool exists, const uint64_t* descriptor, uint32_t tile,
                                                  Scratch& scratch, Spans&& spans) {
    Tile out{};
    out.kind = GalpTile::kNoDecimals;
    ListedExceptions<T> exceptions;
    const uint32_t pair = exists ? find(descriptor, tile, exceptions) : kNoPair;
    for_each_distinct(pair, kNoPair, [&](uint32_t here, bool mine) {
      const auto span = spans(here);
      if (!mine) return;
      Packed<T> integers;
      integers.open(descriptor + Values::kIntegersWord, tile, nullptr);
      const auto scale = Values::scale_of(here);
      const auto reference = static_cast<galp::IntOf<typename Rows::Float>>(integers.reference());
      if (!galp::sums_apart(reference, low_bits(integers.width()), scale)) return;
      out.factors.note(integers, here, scale);
      out.place(integers, span.begin, span.end, span.most);
    });
    out.exceptions = static_cast<uint16_t>(out.kind == GalpTile::kNoDecimals ? 0 : exceptions.count());
    if (any_lane(out.exceptions != 0)) {
      scratch.exceptions.clear();
      sync_warp();
      if (out.exceptions != 0) add_exceptions(exceptions, scratch, out);
    }
    scratch.tiles[lane_id()] = out;
    return out.exceptions == 0 && (out.kind == GalpTile::kAllPass || out.kind == GalpTile::kNonePasses);
  }

  // Of the tile that was described as number i; one_by_one(scratch) adds one that has to be read row by row.
  template <typename OneByOne>
  __device__ __forceinline__ static FloatTileSum sum(uint32_t i, Scratch& scratch, OneByOne&& one_by_one) {
    const Tile& here = scratch.tiles[i];
    if (here.kind == GalpTile::kNoDecimals) return one_by_one(scratch.values);
    Rows sums;
    if (here.exceptions == 0) {
      if (here.kind == GalpTile::kNonePasses) return {};
      add_rows<false>(here, 0, sums);
      return {sums.sum(here), sums.count(), 0};
    }
    if (here.kind != GalpTile::kNonePasses) add_rows<true>(here, scratch.exceptions.of(i, lane_id()), sums);
    const uint32_t others = lane_id() == 0 ? here.others_count : 0;
    return {galp::sum(sums.sum(here), here.others), sums.count() + others, 0};
  }

  // Row by row, of any tile.
  __device__ __forceinline__ static FloatTileSum sum_of_rows(const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                             int64_t first, int64_t last) {
    return sum_galp_rows<T>(descriptor, tile, scratch, first, last);
  }

 private:
  // The pair of a whole tile of decimals with few exceptions.
  __device__ __forceinline__ static uint32_t find(const uint64_t* descriptor, uint32_t tile,
                                                  ListedExceptions<T>& exceptions) {
    if ((tile + 1) * kTileRows > row_count(descriptor)) return kNoPair;
    const typename Values::Entry entry = Values::entry(descriptor, tile);
    const bool sound = Values::is_pair(entry.scheme) && exceptions.find(descriptor, entry);
    return sound && exceptions.count() <= galp::kMaxListed ? entry.scheme : kNoPair;
  }

  // By one lane.
  __device__ __forceinline__ static void add_exceptions(const ListedExceptions<T>& exceptions, Scratch& scratch,
                                                        Tile& out) {
    uint32_t rows = 0;
    const bool sound = exceptions.template for_each<4, 1>(0, [&](uint32_t lane, uint32_t row, bool ends, T bits) {
      rows |= 1u << row;
      if (ends) {
        scratch.exceptions.of(lane_id(), lane) |= rows;
        rows = 0;
      }
      const auto value = galp::float_of(bits);
      if (!scratch.range.holds(value)) return;
      out.others = galp::sum(out.others, static_cast<double>(value));
      ++out.others_count;
    });
    if (!sound) out.kind = GalpTile::kNoDecimals;
  }

  template <bool kPatched>
  __device__ __forceinline__ static void add_rows(const Tile& here, uint32_t exceptions, Rows& sums) {
    if (!for_width<Rows::kWidest>(UnrolledWidths{}, here.width, [&](auto width) {
          sums.template add<decltype(width)::value, kPatched>(here, exceptions);
        })) {
      sums.add_any_width(here, exceptions);
    }
  }
};

}  // namespace basalt::device
