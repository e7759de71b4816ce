// Decoding runs to memory, compiled ahead. A warp takes a strip of neighbouring tiles: its lanes fetch the entries of
// all of them at once, their own and those of the children's tiles, so that a tile waits only for words; and the words
// of a tile are asked for while the tile before it is decoded.
#pragma once

#include "codec/packed/kernels.cuh"
#include "codec/rle/kernels.cuh"
#include "core/device/decode_tiles.h"

namespace basalt::device {

// A packed child of runs: lane i knows the entries of the one or two child tiles that hold the runs of tile i of the
// strip.
template <typename T, typename UnrolledWidths>
class AheadPacked : public Packed<T, UnrolledWidths> {
  using Base = Packed<T, UnrolledWidths>;

 public:
  __device__ __forceinline__ void look_ahead(uint32_t first_tile, uint32_t last_tile) {
    first_tile_ = first_tile;
    first_ = Base::entry(first_tile);
    last_ = Base::entry(last_tile);
  }
  // The tile of the strip whose runs will be sought next.
  __device__ __forceinline__ void choose(uint32_t i) { chosen_ = i; }

  __device__ __forceinline__ void seek(uint32_t tile, void*) {
    const bool is_first = tile == shuffle(first_tile_, chosen_);
    Base::seek_known(shuffle(is_first ? first_.descriptor : last_.descriptor, chosen_),
                     shuffle(is_first ? first_.reference : last_.reference, chosen_));
  }

  // Asks for the words of tile i's runs.
  __device__ __forceinline__ void prefetch_words(uint32_t i) {
    const uint32_t first = shuffle(first_.descriptor, i);
    const uint32_t last = shuffle(last_.descriptor, i);
    Base::ask_for_known(first);
    if (last != first) Base::ask_for_known(last);
  }

 private:
  typename Base::Entry first_{}, last_{};
  uint32_t first_tile_ = 0;
  uint32_t chosen_ = 0;
};

// Whether a child can look ahead; others find their entries tile by tile.
template <typename Child>
constexpr bool kLooksAhead = requires(Child child) {
  child.look_ahead(0, 0);
};

// Decodes tiles first … first + count − 1 of a chunk to out, at most 32 of them. True if values were found that no
// writer makes.
template <typename T, typename Values, typename Ends>
__device__ __forceinline__ bool decode_run_strip(const uint64_t* descriptor, uint32_t first, uint32_t count, T* out,
                                                 unsigned char* scratch) {
  using Reader = Rle<T, Values, Ends>;
  Reader reader;
  reader.bind(descriptor);
  const uint32_t rows = row_count(descriptor);
  const RunSpan mine = reader.runs_of(first + (lane_id() < count ? lane_id() : count - 1));
  const auto look_ahead = [&](auto& child) {
    if constexpr (kLooksAhead<typename Bare<decltype(child)>::type>) {
      if (mine.runs > 0) child.look_ahead(mine.first / kTileRows, (mine.first + mine.runs - 1) / kTileRows);
    }
  };
  look_ahead(reader.values());
  look_ahead(reader.ends());
  const auto ask_for = [&](uint32_t i) {
    if constexpr (kLooksAhead<Ends>) reader.ends().prefetch_words(i);
    if constexpr (kLooksAhead<Values>) reader.values().prefetch_words(i);
  };
  ask_for(0);
#pragma unroll 1
  for (uint32_t i = 0; i < count; ++i) {
    if (i + 1 < count) ask_for(i + 1);
    if constexpr (kLooksAhead<Values>) reader.values().choose(i);
    if constexpr (kLooksAhead<Ends>) reader.ends().choose(i);
    reader.seek_known(first + i, RunSpan{shuffle(mine.first, i), shuffle(mine.runs, i)}, scratch);
    write_tile<Stores::kOnce>(reader, rows_of_tile(rows, first + i), out + uint64_t{i} * kTileRows,
                              scratch + Reader::kScratchBytes);
  }
  sync_warp();
  return reader.bad;
}

// Grid: x covers strips of `strip` tiles of the longest chunk, kWarps per block; y the chunks. `fault` becomes 1 if
// values were found that no writer makes.
template <typename T, typename Values, typename Ends, uint32_t kWarps, uint32_t kMinBlocks>
__global__ __launch_bounds__(kWarps* kLanes, kMinBlocks) void decode_runs(ChunkBatch batch, uint32_t strip, T* out,
                                                                          uint32_t* fault) {
  extern __shared__ SixteenBytes shared[];
  const uint32_t warp = threadIdx.x / kLanes;
  auto* scratch = reinterpret_cast<unsigned char*>(shared) + warp * kDecodeBytesPerWarp<Rle<T, Values, Ends>>;
  const uint32_t first = (blockIdx.x * kWarps + warp) * strip;
  bool bad = false;
#pragma unroll 1
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* descriptor = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    const uint32_t tiles = tiles_of(row_count(descriptor));
    if (first >= tiles) continue;
    T* strip_out = out + load(batch.first_rows + chunk) + uint64_t{first} * kTileRows;
    const uint32_t count = tiles - first < strip ? tiles - first : strip;
    bad = decode_run_strip<T, Values, Ends>(descriptor, first, count, strip_out, scratch) || bad;
  }
  if (bad) *fault = 1;
}

}  // namespace basalt::device
