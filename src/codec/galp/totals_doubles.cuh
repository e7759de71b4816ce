// Totals of doubles: the integers of a tile are added as they are stored, exactly, and become a double once (scale.h);
// its exceptions are added apart, one by each lane, and the integers that stand in their places are taken off again.
#pragma once

#include "codec/galp/totals_tiles.cuh"
#include "codec/packed/totals.cuh"

namespace basalt::device {

template <typename UnrolledWidths>
class GalpTotals<uint64_t, Packed<uint64_t, UnrolledWidths>> {
  using T = uint64_t;
  using Scale = galp::Scale<double>;
  struct alignas(16) Tile : DescribedDecimals<T> {
    int64_t reference;
    double times, back;
  };

 public:
  using Values = Galp<T, Packed<T>>;
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = Values::kDescriptorWords;
  static constexpr uint32_t kTiles = kLanes;  // that are described at once
  struct alignas(16) Scratch {
    Tile tiles[kTiles];
    uint8_t places[kLanes];  // for ListedExceptions
    FloatKeyRange<T> range;  // that passes, set before tiles are described
    alignas(16) unsigned char values[Values::kScratchBytes];
  };

  // As describe_decimals().
  template <typename Spans>
  __device__ __forceinline__ static void describe(bool exists, const uint64_t* descriptor, uint32_t tile,
                                                  Scratch& scratch, Spans&& spans) {
    describe_decimals(exists, descriptor, tile, scratch.tiles, spans,
                      [](Tile& out, const Packed<T>& integers, const Scale& scale, uint64_t) {
                        out.reference = static_cast<int64_t>(integers.reference());
                        out.times = scale.times;
                        out.back = scale.back;
                        return galp::adds_as_integers(out.reference, low_bits(integers.width()), scale);
                      });
  }

  // Of the tile that was described as number i, with keys from first to last.
  __device__ __forceinline__ static FloatTileSum total(const uint64_t* descriptor, uint32_t tile, uint32_t i,
                                                       Scratch& scratch, int64_t first, int64_t last) {
    const Tile& here = scratch.tiles[i];
    if (here.kind == GalpTile::kNoDecimals) return sum_galp_rows<T>(descriptor, tile, scratch.values, first, last);
    const bool has_exceptions = here.exceptions.header != 0;
    typename ListedExceptions<T>::Fetched fetched{};
    if (has_exceptions) fetched = here.exceptions.fetch(lane_id());
    TileSum sums{};
    if (here.kind != GalpTile::kNonePasses) {
      const uint32_t* words = here.words_of(lane_id());
      if (!for_width<64>(UnrolledWidths{}, here.width, [&](auto width) {
            sums = PackedTotals<T>::template sum_tile<decltype(width)::value, true>(words, here.first, here.last);
          })) {
        sums = sum_within(words, here.width, here.first, here.last - here.first, ~0u);
      }
    }
    Others others;
    if (has_exceptions) {
      others = add_exceptions(here, fetched, scratch, sums);
      if (others.bad != 0) return sum_galp_rows<T>(descriptor, tile, scratch.values, first, last);
    }
    const uint64_t integers = sum_of_lanes(sums.sum) + static_cast<uint64_t>(here.reference) * sum_of_lanes(sums.count);
    double sum = galp::value_of_sum(static_cast<int64_t>(integers), here.times, here.back);
    if (has_exceptions) sum = galp::sum(sum, sum_of_lanes(others.sum));
    return {sum, static_cast<int32_t>(sums.count + others.count), 0, here.how()};
  }

 private:
  // Exceptions that pass, of those that are the lane's.
  struct Others {
    double sum = 0;
    uint32_t count = 0;
    uint32_t bad = 0;
  };

  __device__ __forceinline__ static Others add_exceptions(const Tile& here,
                                                          const typename ListedExceptions<T>::Fetched& fetched,
                                                          Scratch& scratch, TileSum& sums) {
    Others others;
    const bool sound =
        here.exceptions.for_each(fetched, scratch.places, [&](bool exists, uint32_t row, uint32_t of_lane, T bits) {
          if (!exists) return;
          const uint64_t stored = stored_at(here, row, of_lane);
          if (here.kind != GalpTile::kNonePasses && stored - here.first <= here.last - here.first) {
            sums.sum -= stored;
            --sums.count;
          }
          const double value = galp::float_of(bits);
          if (!scratch.range.holds(value)) return;
          others.sum = galp::sum(others.sum, value);
          ++others.count;
        });
    others.bad = sound ? 0 : 1;
    sync_warp();
    return others;
  }

  // The packed value of a row that another lane has read; most are of few bits.
  __device__ __forceinline__ static uint64_t stored_at(const Tile& here, uint32_t row, uint32_t of_lane) {
    const uint32_t* words = here.words_of(of_lane);
    if (here.width > 32) return raw_whole(words, here.width, row);
    const uint32_t bit = row * here.width;
    const uint32_t end = bit + here.width - (here.width == 0 ? 0 : 1);
    const uint32_t low = load(words + bit / 32 * kLanes);
    const uint32_t high = load(words + end / 32 * kLanes);
    return funnel_right(low, high, bit) & low_word_mask(here.width);
  }
};

}  // namespace basalt::device
