// Rows of l3 tiles for kernels that are compiled ahead. A packed tile's residuals go to registers by unrolled code for
// their width, then meet their predictions in one loop for all widths; tiles that partitions share and tiles of runs
// are walked through row by row.
#pragma once

#include "codec/l3/kernels.cuh"
#include "codec/packed/kernels.cuh"

namespace basalt::device {

template <typename R>
__device__ __forceinline__ void unpack_residuals(const uint32_t* lane_words, uint32_t width,
                                                 R (&residuals)[kRowsPerLane]) {
  for_width<8 * sizeof(R)>(AllWidths{}, width, [&](auto w) {
    const PackedTile<R, decltype(w)::value> tile(lane_words, 0);
    for_each_k([&](uint32_t k) { residuals[k] = static_cast<R>(tile.raw_at(k)); });
  });
}

// f(k, value) for all 32 rows of the lane, k ascending and constant after unrolling. kCurve: beyond a line.
template <typename T, bool kWide, bool kCurve, typename R, typename F>
__device__ __forceinline__ void add_predictions(const l3::Predictor& p, l3::Steps s, const R (&residuals)[kRowsPerLane],
                                                F&& f) {
  l3::Predictor known = p;
  known.wide = kWide;
  for_each_k([&](uint32_t k) {
    f(k, static_cast<T>(l3::finish(known, s.y, residuals[k])));
    s.y += s.d1;
    if constexpr (kCurve) {
      s.d1 += s.d2;
      s.d2 += s.d3;
    }
  });
}

template <typename T, bool kWide, typename R, typename F>
__device__ __forceinline__ void rebuild(const l3::Record& record, const l3::Predictor& p, uint32_t local,
                                        const uint32_t* lane_words, F&& f) {
  R residuals[kRowsPerLane];
  unpack_residuals(lane_words, record.width, residuals);
  const l3::Steps steps = l3::steps_from(p, local, kLanes);
  if (l3::degree_of(record.model) > 1) {
    add_predictions<T, kWide, true>(p, steps, residuals, f);
  } else {
    add_predictions<T, kWide, false>(p, steps, residuals, f);
  }
}

// The same for any tile; rows beyond the count may appear with any value.
template <typename T, typename F>
__device__ __forceinline__ bool for_each_learned_row(const l3::Chunk& chunk, uint32_t tile, F&& f) {
  const uint32_t unit = tile * kUnitsPerTile;
  const l3::Record record = chunk.record(chunk.partition_of(unit));
  if (!chunk.is_packed(unit) || record.model == l3::Model::kRuns) {
    L3Tile<T> walk{chunk, false};
    walk.for_each_row(tile, f);
    return walk.bad;
  }
  const l3::Predictor p = l3::get_predictor(record, chunk.params, sizeof(T));
  const uint32_t* lane_words = chunk.words_of(record, unit) + lane_id();
  const uint32_t local = tile * kTileRows - record.first_unit * kUnitRows + lane_id();
  if (!p.wide) {
    rebuild<T, false, uint32_t>(record, p, local, lane_words, f);
  } else if (sizeof(T) == 4 || record.width <= 32) {
    rebuild<T, true, uint32_t>(record, p, local, lane_words, f);
  } else {
    rebuild<T, true, uint64_t>(record, p, local, lane_words, f);
  }
  return false;
}

}  // namespace basalt::device
