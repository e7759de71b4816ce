// A reader of runs for comparison: tiles with many runs write each run's rows straight to shared memory, without marks
// and without counting bits, from children whose widths stay run-time numbers. Tiles of fewer runs are read as
// device::Rle reads them.
#pragma once

#include "codec/rle/kernels.cuh"

namespace basalt::device {

template <typename T, typename Values, typename Ends>
class ExpandedRle {
  using Marked = Rle<T, Values, Ends>;
  static constexpr uint32_t kTileBytes = kTileRows * sizeof(T);
  static constexpr uint32_t kOwnBytes =
      kTileBytes + round_to_16(Values::kScratchBytes) + round_to_16(Ends::kScratchBytes);
  // From two rows per run on, marks cost less.
  static constexpr uint32_t kManyRuns = kTileRows / 2;

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = Marked::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = kOwnBytes > Marked::kScratchBytes ? kOwnBytes : Marked::kScratchBytes;
  static constexpr bool kPointAccess = false;
  static constexpr bool kRowsInShared = true;

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    marked_.bind(descriptor);
    values_.bind(descriptor + Marked::kValuesWord);
    ends_.bind(descriptor + Marked::kEndsWord);
    count_ = row_count(descriptor);
  }

  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    const RunSpan span = marked_.runs_of(tile);
    rows_ = span.runs >= kManyRuns ? static_cast<T*>(scratch) : nullptr;
    if (rows_ == nullptr) {
      marked_.seek(tile, scratch);
      bad = bad | marked_.bad;
    } else {
      sync_warp();  // nobody reads the last tile any more
      expand(tile, span, static_cast<unsigned char*>(scratch) + kTileBytes);
      bad = bad | marked_.bad;
      sync_warp();
    }
  }

  __device__ __forceinline__ T at(uint32_t k) const {
    return rows_ == nullptr ? marked_.at(k) : rows_[k * kLanes + lane_id()];
  }

  template <typename F>
  __device__ __forceinline__ void visit(F&& f) const {
    if (rows_ == nullptr) {
      f(marked_);
    } else {
      f(Rows{rows_ + lane_id()});
    }
  }

 private:
  struct Rows {
    const T* rows;
    __device__ __forceinline__ T at(uint32_t k) const { return rows[k * kLanes]; }
  };

  __device__ __forceinline__ void expand(uint32_t tile, const RunSpan& span, unsigned char* scratch) {
    const uint32_t lane = lane_id();
    const uint32_t lower_lane = (lane + kLanes - 1) % kLanes;
    const uint32_t tile_row = tile * kTileRows;
    const uint32_t tile_rows = rows_of_tile(count_, tile);
    const uint32_t last = span.runs - 1;
    uint32_t carried = 0;  // for lane 0: the end before those of this k
    bool wrong = false;
    for_child_tiles(span, [&](uint32_t child_tile, uint32_t first_k, uint32_t last_k) {
      ends_.seek(child_tile, scratch + round_to_16(Values::kScratchBytes));
      values_.seek(child_tile, scratch);
      const uint32_t ordinal = child_tile * kTileRows + lane - span.first;  // of k = 0; wraps below the span
#pragma unroll 1
      for (uint32_t k = first_k / 4 * 4; k <= last_k; k += 4) {
        uint32_t ends[4];
        T values[4];
#pragma unroll
        for (uint32_t j = 0; j < 4; ++j) ends[j] = ends_.at(k + j);
#pragma unroll
        for (uint32_t j = 0; j < 4; ++j) values[j] = values_.at(k + j);
#pragma unroll
        for (uint32_t j = 0; j < 4; ++j) {
          const uint32_t here = ordinal + (k + j) * kLanes;
          const uint32_t rotated = shuffle(ends[j], lower_lane);
          const uint32_t previous = lane == 0 ? carried : rotated;
          carried = rotated;
          // Rows of the tile: from the run's first to behind its last.
          const uint32_t begin = here == 0 ? 0 : previous - tile_row;
          uint32_t end = ends[j] - tile_row;
          wrong = wrong | ((here - 1 < last) & (ends[j] <= previous)) | ((here == last) & (end < tile_rows)) |
                  ((here < last) & (end >= tile_rows));
          if (end > tile_rows) end = tile_rows;
          const uint32_t length = (here <= last) & (begin < end) ? end - begin : 0;
          if (length > 0) rows_[begin] = values[j];
          if (length > 1) rows_[begin + 1] = values[j];
          // Long ones are few: the whole warp writes each.
          uint32_t left = __ballot_sync(kWholeWarp, length > 2);
#pragma unroll 1
          while (left != 0) {
            const auto from = static_cast<uint32_t>(__ffs(static_cast<int>(left))) - 1;
            left &= left - 1;
            const uint32_t run_begin = shuffle(begin, from);
            const uint32_t run_end = run_begin + shuffle(length, from);
            const T value = shuffle(values[j], from);
#pragma unroll 1
            for (uint32_t row = run_begin + 2 + lane; row < run_end; row += kLanes) rows_[row] = value;
          }
        }
      }
      sync_warp();
    });
    bad = bad | wrong | static_cast<bool>(ends_.bad) | static_cast<bool>(values_.bad);
  }

  Marked marked_;
  Values values_;
  Ends ends_;
  T* rows_;
  uint32_t count_;
};

}  // namespace basalt::device
