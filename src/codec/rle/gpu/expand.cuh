// Decoding runs to memory, a tile per warp, with as few passes through shared memory as there can be: it is what limits
// short runs (the tile reader of kernels.cuh keeps 54 % of the copy rate of an H200 for 32-bit values). Run ends become
// marks as they leave their packed words, a lane writes 16 bytes of neighbouring rows at a time, and tiles of one run
// are copies of a value.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/rle/gpu/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/decode_tiles.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T, typename ValueWidths, typename EndWidths>
class RunExpander {
  using Values = Packed<T, ValueWidths>;
  using Ends = Packed<uint32_t, EndWidths>;
  using Reader = Rle<T, Values, Ends>;
  static constexpr uint32_t kPerStore = sizeof(SixteenBytes) / sizeof(T);  // rows that a lane writes at once
  static constexpr uint32_t kRowsPerStep = kPerStore * kLanes;
  // Unrolled code makes so many runs at a time. It is used where more than a few are wanted, and not near the array's
  // end, where the children have rows without meaning: there, runs are looked up one by one.
  static constexpr uint32_t kGroupRuns = 8 * kLanes;
  static constexpr uint32_t kFew = 2 * kLanes;

  // The marks of 32 rows, and the runs that begin before them.
  struct alignas(8) Word {
    uint32_t bits;
    uint32_t before;
  };

 public:
  using value_type = T;
  static constexpr uint32_t kWordBytes = kLanes * sizeof(Word);
  static constexpr uint32_t kScratchBytes = kWordBytes + kTileRows * sizeof(T);  // marks, then the runs' values

  __device__ __forceinline__ RunExpander(const uint64_t* descriptor, unsigned char* scratch)
      : words_(reinterpret_cast<Word*>(scratch)), marks_(scratch + kWordBytes) {
    reader_.bind(descriptor);
    values_.bind(descriptor + Reader::kValuesWord);
    ends_.bind(descriptor + Reader::kEndsWord);
    run_count_ = row_count(descriptor + Reader::kEndsWord);
  }

  // Writes the tile's `rows` rows. True if its entries or ends are none that a writer makes.
  __device__ __forceinline__ bool expand(uint32_t tile, uint32_t rows, T* out) {
    reader_.bad = false;
    const RunSpan span = reader_.runs_of(tile);
    if (span.runs == 0) {
      fill(rows, T{0}, out);
      return true;
    }
    const uint32_t tile_row = tile * kTileRows;
    const uint32_t last = span.runs - 1;
    if (last == 0) {
      const T value = values_.row(span.first);
      const bool wrong = ends_.row(span.first) < tile_row + rows;
      fill(rows, value, out);
      return reader_.bad | wrong;
    }
    // That the ends ascend needs no look at neighbours. With R(x) the runs that began behind row 0 and up to row x, and
    // e(0) < e(1) < … the marked rows in order, the sum of R(x)² over all rows is that of (2r + 1) · (rows − e(r)), and
    // by the rearrangement inequality no other order of the same ends gives it. Taken away here, added by write(): what
    // is left must be nothing. No such sum reaches 2^32.
    uint32_t order = lane_id() == 0 ? (rows - kTileRows) * (last * last) : 0;
    bool wrong;
    if (span.runs <= kFew || (span.first + span.runs + kGroupRuns - 1) / kGroupRuns * kGroupRuns > run_count_) {
      wrong = mark_few(span, tile_row, rows, order);
    } else {
      wrong = mark_many(span, tile_row, rows, order);
      stage_values(span);
    }
    write(rows, out, order);
    return reader_.bad | wrong | (sum_of_lanes(order) != 0);
  }

 private:
  // Run by run: a lane finds its own in the packed words.
  __device__ __forceinline__ bool mark_few(const RunSpan& span, uint32_t tile_row, uint32_t rows, uint32_t& order) {
    const uint32_t lane = lane_id();
    const uint32_t last = span.runs - 1;
    words_[lane] = Word{0, 0};
    sync_warp();
    bool wrong = false;
#pragma unroll 1
    for (uint32_t run = lane; run <= last; run += kLanes) {
      const uint32_t end = ends_.row(span.first + run);
      staged()[place_of(run)] = values_.row(span.first + run);
      const uint32_t row = end - tile_row;  // where the next run begins
      if (run < last) {
        order -= (2 * run + 1) * (rows - row);
        if (row - 1 < rows - 1) or_shared(&words_[row / kLanes].bits, 1u << row % kLanes);
      } else {
        wrong = end < tile_row + rows;
      }
    }
    sync_warp();
    const uint32_t bits = words_[lane].bits;
    sync_warp();
    return wrong | (count_before(bits) != last);
  }

  // Ends leave their packed words as marks, one byte per row. All runs of the children's groups are looked at: those
  // outside the span, and its last, do not begin another run inside the tile. If they do, there are too many marks.
  __device__ __forceinline__ bool mark_many(const RunSpan& span, uint32_t tile_row, uint32_t rows, uint32_t& order) {
    const uint32_t lane = lane_id();
    const uint32_t last = span.runs - 1;
    SixteenBytes* quads = reinterpret_cast<SixteenBytes*>(marks_);
    quads[lane] = SixteenBytes{{0, 0, 0, 0}};
    quads[lane + kLanes] = SixteenBytes{{0, 0, 0, 0}};
    sync_warp();
    // (2r + 1) · (rows − e(r)) is taken away as (2r + 1) · (rows − 1), of which the sum is known, less the part of
    // e(r).
    if (lane == 0) order -= last * last * (rows - 1);
    for_child_tiles(span, [&](uint32_t child_tile, uint32_t first_k, uint32_t last_k) {
      ends_.seek(child_tile, nullptr);
      ends_.rebase(tile_row + 1);
      const uint32_t weight = 2 * (child_tile * kTileRows + lane - span.first) + 1;  // of k = 0
      unsigned char* second_row = marks_ + 1;
      const uint32_t one = unknown_one();
      ends_.visit([&](auto&& view) {
        view.for_each_between(first_k, last_k, [&](uint32_t k, uint32_t end) {  // counted from the tile's second row
          mark_if_less(end, rows - 1, second_row + end, one, weight + 2 * k * kLanes, order);
        });
      });
    });
    sync_warp();
    // Lane k turns the 32 marks of word k into bits: a product moves the four marks of a quad side by side.
    uint32_t bits = 0;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      const SixteenBytes sixteen = quads[lane * 2 + half];
#pragma unroll
      for (uint32_t q = 0; q < 4; ++q) bits |= (sixteen.words[q] * 0x10204080u >> 28) << (half * 16 + q * 4);
    }
    sync_warp();
    return count_before(bits) != last;
  }

  // Stays in a register, because the compiler does not know it: otherwise each store would make its own.
  __device__ __forceinline__ static uint32_t unknown_one() {
#if defined(__CUDA_ARCH__)
    return __activemask() & 1;
#else
    return 1;
#endif
  }

  // If end < limit: *mark = one, and order += weight · end. Three instructions.
  __device__ __forceinline__ static void mark_if_less(uint32_t end, uint32_t limit, unsigned char* mark, uint32_t one,
                                                      uint32_t weight, uint32_t& order) {
#if defined(__CUDA_ARCH__)
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(mark));
    asm volatile("{.reg .pred p; setp.lt.u32 p, %1, %2; @p st.shared.b8 [%3], %4; @p mad.lo.u32 %0, %5, %1, %0;}"
                 : "+r"(order)
                 : "r"(end), "r"(limit), "r"(address), "r"(one), "r"(weight)
                 : "memory");
#else
    if (end >= limit) return;
    *mark = static_cast<unsigned char>(one);
    order += weight * end;
#endif
  }

  // Completes the words; gives the number of all marks.
  __device__ __forceinline__ uint32_t count_before(uint32_t bits) {
    const uint32_t before = sum_below(population(bits));
    words_[lane_id()] = Word{bits, before};
    sync_warp();
    return shuffle(before + population(bits), kLanes - 1);
  }

  // Run r of the tile waits at place_of(r). What is stored for runs behind the span's last is never read.
  __device__ __forceinline__ void stage_values(const RunSpan& span) {
    for_child_tiles(span, [&](uint32_t child_tile, uint32_t first_k, uint32_t last_k) {
      values_.seek(child_tile, nullptr);
      const uint32_t ordinal = child_tile * kTileRows + lane_id() - span.first;
      // place_of(ordinal + 32 · k) is one of a few places plus 32 · k.
      constexpr uint32_t kPlaces = sizeof(T) == 4 ? 4 : 1;
      T* to[kPlaces];
#pragma unroll
      for (uint32_t c = 0; c < kPlaces; ++c) {
        to[c] = staged() + static_cast<int32_t>(place_of(ordinal + c * kLanes) - c * kLanes);
      }
      values_.visit([&](auto&& view) {
        view.for_each_between(first_k, last_k, [&](uint32_t k, T value) {
          store_shared_if_less(ordinal + k * kLanes, span.runs, to[k % kPlaces] + k * kLanes, value);
        });
      });
    });
    sync_warp();
  }

  // Lanes that read every fourth run (32-bit values) or every second one (64-bit values), as they do where runs have
  // one row, find them in different banks.
  __device__ __forceinline__ static uint32_t place_of(uint32_t run) {
    if constexpr (sizeof(T) == 4) return run ^ (run >> 5 & 3);
    return run ^ (run >> 4 & 1);
  }

  __device__ __forceinline__ T* staged() const { return reinterpret_cast<T*>(marks_); }

  __device__ __forceinline__ void write(uint32_t rows, T* out, uint32_t& order) const {
    const uint32_t lane = lane_id();
    const uint32_t shift = lane * kPerStore % kLanes;
    const Word* word_of_lane = words_ + lane * kPerStore / kLanes;
    const T* from = staged();
    for_each_step(rows, out, [&](uint32_t step, T* values) {
      const Word word = word_of_lane[step * kRowsPerStep / kLanes];
      const uint32_t marks = word.bits >> shift;
      uint32_t run = word.before + population(word.bits & ((1u << shift) - 1));
#pragma unroll
      for (uint32_t i = 0; i < kPerStore; ++i) {
        run += marks >> i & 1;
        values[i] = from[place_of(run)];
        order += run * run;
      }
    });
  }

  __device__ __forceinline__ static void fill(uint32_t rows, T value, T* out) {
    for_each_step(rows, out, [&](uint32_t, T* values) {
#pragma unroll
      for (uint32_t i = 0; i < kPerStore; ++i) values[i] = value;
    });
  }

  // Stores what make(step, values) makes of the lane's neighbouring rows, step after step.
  template <typename Make>
  __device__ __forceinline__ static void for_each_step(uint32_t rows, T* out, Make&& make) {
    T* to = out + lane_id() * kPerStore;
    if (rows == kTileRows) {
#pragma unroll
      for (uint32_t step = 0; step < kTileRows / kRowsPerStep; ++step) {
        T values[kPerStore];
        make(step, values);
        uint128_t whole = 0;
#pragma unroll
        for (uint32_t i = 0; i < kPerStore; ++i) whole |= static_cast<uint128_t>(values[i]) << (i * 8 * sizeof(T));
        store_once(reinterpret_cast<uint128_t*>(to + step * kRowsPerStep), whole);
      }
    } else {
      // One tile per chunk at most: short code matters more than its speed.
#pragma unroll 1
      for (uint32_t step = 0; step < kTileRows / kRowsPerStep; ++step) {
        T values[kPerStore];
        make(step, values);
#pragma unroll
        for (uint32_t i = 0; i < kPerStore; ++i) {
          if (step * kRowsPerStep + lane_id() * kPerStore + i < rows) to[step * kRowsPerStep + i] = values[i];
        }
      }
    }
  }

  Reader reader_;
  Values values_;
  Ends ends_;
  uint32_t run_count_;
  Word* words_;
  unsigned char* marks_;
};

// Grid as for decode_tiles().
template <typename Expander, uint32_t kWarps, uint32_t kMinBlocks>
__global__ __launch_bounds__(kWarps* kLanes, kMinBlocks) void expand_runs(ChunkBatch batch,
                                                                          typename Expander::value_type* out,
                                                                          uint32_t* fault) {
  extern __shared__ SixteenBytes shared[];
  const uint32_t warp = threadIdx.x / kLanes;
  auto* scratch = reinterpret_cast<unsigned char*>(shared) + warp * Expander::kScratchBytes;
  const uint32_t tile = blockIdx.x * kWarps + warp;
  bool bad = false;
#pragma unroll 1
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* descriptor = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    Expander expander(descriptor, scratch);
    const uint32_t rows = rows_of_tile(row_count(descriptor), tile);
    if (rows == 0) continue;
    bad = bad | expander.expand(tile, rows, out + load(batch.first_rows + chunk) + uint64_t{tile} * kTileRows);
    sync_warp();
  }
  if (bad) *fault = 1;
}

}  // namespace basalt::device
