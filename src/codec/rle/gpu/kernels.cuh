// Tile reader of `rle`. The runs of a tile are known from two tile entries. Their ends set marks on the tile's rows,
// the marks become 1024 bits, and a row's run is the number of bits up to it; the run values wait in shared memory.
// Long and short runs cost the same few instructions per row.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/rle/layout.h"
#include "core/device/batch.h"
#include "core/device/warp.h"

namespace basalt::device {

// Like stage_rows(), for the tile that `child` has open, with unrolled code where it pays.
template <typename Child, typename Limit, typename V>
__device__ __forceinline__ void stage_tile(Child& child, uint32_t first, uint32_t last, Limit limit, V* out) {
  const auto stage = [&](auto&& view) { stage_rows(view, first, last, limit, out, kLanes); };
  if constexpr (requires { child.visit(stage, true); }) {
    // Unrolled code works in groups of eight k, so it pays from about that many.
    child.visit(stage, last - first >= 5);
  } else {
    stage(child);
  }
}

// The runs that lie in a tile, wholly or in part.
struct RunSpan {
  uint32_t first;
  uint32_t runs;           // 1…1024, or 0 where nothing can be read
  uint32_t consumed;       // rows of the first one before the tile
  uint32_t next_consumed;  // rows of the last one up to the tile's end, if it goes on behind that; else 0
};

// Calls f(tile of the child, first k, last k) for the one or two tiles of a child that hold the span's runs.
template <typename F>
__device__ __forceinline__ void for_child_tiles(const RunSpan& span, F&& f) {
  const uint32_t last = span.first + span.runs - 1;
#pragma unroll 1
  for (uint32_t tile = span.first / kTileRows; tile <= last / kTileRows; ++tile) {
    const uint32_t begin = tile * kTileRows;
    f(tile, span.first <= begin ? 0 : (span.first - begin) / kLanes,
      last - begin >= kTileRows ? kRowsPerLane - 1 : (last - begin) / kLanes);
  }
}

// Where the runs of a tile begin, as bits: word k holds those of rows 32·k … 32·k + 31, and the run that the row before
// them belongs to.
struct alignas(8) RunWord {
  uint32_t bits;
  uint32_t before;
};

template <typename Ends>
class RunMarks {
  // Ends that are running sums over 1024 runs are added up here, for the runs of the tile alone.
  static constexpr bool kSums = requires { typename Ends::Increments; };
  static constexpr uint32_t kMarkBytes = kTileRows;
  static constexpr uint32_t kEndBytes = Ends::kRowsInShared ? 0 : kTileRows * sizeof(uint32_t);
  static constexpr uint32_t kStagedBytes = kTileRows * sizeof(uint32_t);

 public:
  static constexpr uint32_t kWordBytes = kLanes * sizeof(RunWord);
  static_assert(sizeof(RunWord) == rle::kMarkWordBytes &&
                kMarkBytes + kEndBytes + Ends::kScratchBytes ==
                    rle::marks_bytes(Ends::kScratchBytes, Ends::kRowsInShared));

  // Every run but the last ends at one of the rows 1, 2, … of the tile, where the next one begins. True if the ends are
  // none that a writer makes.
  __device__ __forceinline__ static bool make(Ends& ends, uint32_t count, uint32_t tile, const RunSpan& span,
                                              RunWord* words, unsigned char* marks) {
    const uint32_t lane = lane_id();
    struct alignas(16) Sixteen {
      uint32_t quads[4];
    };
    Sixteen* quads = reinterpret_cast<Sixteen*>(marks);
    uint32_t* staged = reinterpret_cast<uint32_t*>(marks + kMarkBytes);
    quads[lane] = Sixteen{{0, 0, 0, 0}};
    quads[lane + kLanes] = Sixteen{{0, 0, 0, 0}};
    sync_warp();

    const uint32_t tile_row = tile * kTileRows;
    const uint32_t tile_rows = rows_of_tile(count, tile);
    const uint32_t last = span.runs - 1;
    const uint32_t lower_lane = (lane + kLanes - 1) % kLanes;
    uint32_t carried = kSums ? tile_row - span.consumed : 0;  // for lane 0: the end before those of this k
    bool wrong = false;
    for_child_tiles(span, [&](uint32_t child_tile, uint32_t first_k, uint32_t last_k) {
      // A lane reads back what it wrote itself: unrolled code for many widths stays short.
      uint32_t first_end = 0;
      if constexpr (kSums) {
        static_assert(Ends::kScratchBytes >= kStagedBytes + Ends::Increments::kScratchBytes);
        ends.increments().seek(child_tile, marks + kMarkBytes + kStagedBytes);
        stage_tile(ends.increments(), first_k, last_k, WholeTile{}, staged);
        first_end = ends.first_row(child_tile);
      } else {
        ends.seek(child_tile, marks + kMarkBytes + kEndBytes);
        if constexpr (!Ends::kRowsInShared) stage_tile(ends, first_k, last_k, WholeTile{}, staged);
      }
      const auto stored_at = [&](uint32_t k) {
        if constexpr (Ends::kRowsInShared && !kSums) {
          return ends.at(k);
        } else {
          return staged[k * kLanes + lane];
        }
      };
      const uint32_t ordinal = child_tile * kTileRows + lane - span.first;  // of k = 0; wraps below the span
      // Four at a time, read before any mark is written: the compiler must assume that marks change ends. What lies
      // outside the span, or in k that were not staged, has an ordinal that no test lets pass.
#pragma unroll 1
      for (uint32_t k = first_k / 4 * 4; k <= last_k; k += 4) {
        uint32_t four[4];
#pragma unroll
        for (uint32_t j = 0; j < 4; ++j) four[j] = stored_at(k + j);
#pragma unroll
        for (uint32_t j = 0; j < 4; ++j) {
          const uint32_t here = ordinal + (k + j) * kLanes;
          uint32_t end = four[j];
          uint32_t previous;
          if constexpr (kSums) {
            uint32_t rows = (k + j) * kLanes + lane == 0 ? first_end - carried : four[j];
            if (here > last) rows = 0;
            previous = carried + sum_below(rows);
            end = previous + rows;
            carried = shuffle(end, kLanes - 1);
            wrong = wrong | ((here == last) & !ends_there(span, previous, end, tile_row + tile_rows));
          } else {
            const uint32_t rotated = shuffle(end, lower_lane);
            previous = lane == 0 ? carried : rotated;
            carried = rotated;
          }
          const uint32_t inner = end - (tile_row + 1);
          if ((here < last) & (inner < tile_rows - 1)) marks[inner + 1] = 1;
          wrong = wrong | ((here - 1 < last) & (end <= previous));
        }
      }
      if constexpr (!kSums) {
        wrong = wrong | ((ordinal + last_k * kLanes == last) & (stored_at(last_k) < tile_row + tile_rows));
      }
      sync_warp();
    });

    // Lane k turns the 32 marks of word k into bits: a product moves the four marks of a quad side by side.
    uint32_t bits = 0;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      const Sixteen sixteen = quads[lane * 2 + half];
#pragma unroll
      for (uint32_t q = 0; q < 4; ++q) bits |= (sixteen.quads[q] * 0x10204080u >> 28) << (half * 16 + q * 4);
    }
    const uint32_t own = population(bits);
    const uint32_t before = sum_below(own);
    words[lane] = RunWord{bits, span.first + before};
    // Ascending ends make one mark each exactly if all runs but the last end inside.
    wrong = wrong | ((lane == kLanes - 1) & (before + own != last));
    sync_warp();
    if constexpr (kSums) {
      return wrong | static_cast<bool>(ends.increments().bad);
    } else {
      return wrong | static_cast<bool>(ends.bad);
    }
  }

  // Whether the tile's last run, which reaches from row `begin` to `end`, is what the next tile's entry says of it: so
  // that where tiles begin, which sums start from, follows from the ends of all runs before.
  __device__ __forceinline__ static bool ends_there(const RunSpan& span, uint32_t begin, uint32_t end,
                                                    uint32_t tile_end) {
    return span.next_consumed == 0 ? end == tile_end : (end > tile_end) & (tile_end - begin == span.next_consumed);
  }

  // The same in one copy for all columns of a kernel whose run ends are stored alike, whatever their widths.
  __device__ __noinline__ static bool make_shared(const uint64_t* ends_descriptor, uint32_t count, uint32_t tile,
                                                  RunSpan span, RunWord* words, unsigned char* marks) {
    Ends ends;
    ends.bind(ends_descriptor);
    return make(ends, count, tile, span, words, marks);
  }
};

template <typename T, typename Values, typename Ends>
class Rle : public OneForm<Rle<T, Values, Ends>, T> {
  using Marks = RunMarks<Ends>;
  static constexpr uint32_t kWordBytes = Marks::kWordBytes;
  static constexpr uint32_t kValueBytes = kTileRows * sizeof(T);

 public:
  using value_type = T;
  static constexpr uint32_t kValuesWord = 1 + rle::kStreams;
  static constexpr uint32_t kEndsWord = kValuesWord + Values::kDescriptorWords;
  static constexpr uint32_t kDescriptorWords = kEndsWord + Ends::kDescriptorWords;
  // Marks and ends are done with before values are staged, and share their place.
  static constexpr uint32_t kScratchBytes =
      rle::scratch_bytes(sizeof(T), Values::kScratchBytes, Ends::kScratchBytes, Ends::kRowsInShared);
  static constexpr bool kPointAccess = false;
  static constexpr bool kRowsInShared = true;

  bool bad = false;  // entries or run ends that no writer makes

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    count_ = row_count(descriptor);
    entries_ = stream<uint64_t>(descriptor, 1 + rle::kTileEntries);
    values_.bind(descriptor + kValuesWord);
    ends_.bind(descriptor + kEndsWord);
    const uint32_t values = row_count(descriptor + kValuesWord);
    const uint32_t ends = row_count(descriptor + kEndsWord);
    runs_ = values < ends ? values : ends;
  }

  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    seek_with(tile, scratch, [&](const RunSpan& span, unsigned char* marks) {
      return Marks::make(ends_, count_, tile, span, words_, marks);
    });
  }

  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind(descriptor);
    place(static_cast<unsigned char*>(scratch));
    bad = bad | fill(descriptor, tile, scratch);
  }

  __device__ __forceinline__ T at(uint32_t k) const {
    const RunWord word = words_[k];
    const uint32_t run = word.before + population(word.bits & (kWholeWarp >> (kLanes - 1 - lane_id())));
    return staged_[run % kTileRows];
  }

  // Binary search among the tile's runs.
  __device__ __forceinline__ T row(uint32_t i) {
    const RunSpan span = runs_of(i / kTileRows);
    if (span.runs == 0) {
      bad = true;
      return T{0};
    }
    uint32_t low = span.first;
    uint32_t high = span.first + span.runs - 1;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (ends_.row(middle) > i) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    const T value = values_.row(low);
    bad = bad || ends_.bad || values_.bad;
    return value;
  }

  // From this tile's entry and the next one's: a run that the next tile has begun to consume belongs to both.
  __device__ __forceinline__ RunSpan runs_of(uint32_t tile) {
    const uint64_t entry = load(entries_ + tile);
    const auto first = static_cast<uint32_t>(entry);
    uint32_t end = runs_;
    RunSpan span{first, 0, static_cast<uint32_t>(entry >> 32), 0};
    if ((tile + 1) * kTileRows < count_) {
      const uint64_t next = load(entries_ + tile + 1);
      span.next_consumed = static_cast<uint32_t>(next >> 32);
      end = static_cast<uint32_t>(next) + (span.next_consumed != 0 ? 1 : 0);
    }
    if (first < end && end <= runs_) {
      span.runs = end - first < kTileRows ? end - first : kTileRows;
      bad = bad || end - first > kTileRows;
    } else {
      bad = true;
      if (first < runs_) span.runs = 1;
    }
    return span;
  }

 private:
  __device__ __forceinline__ void place(unsigned char* scratch) {
    words_ = reinterpret_cast<RunWord*>(scratch);
    staged_ = reinterpret_cast<T*>(scratch + kWordBytes);
  }

  template <typename MakeMarks>
  __device__ __forceinline__ void seek_with(uint32_t tile, void* scratch, MakeMarks&& make_marks) {
    unsigned char* bytes = static_cast<unsigned char*>(scratch);
    place(bytes);
    sync_warp();  // nobody reads the last tile any more
    const RunSpan span = runs_of(tile);
    if (span.runs == 0) {
      words_[lane_id()] = RunWord{0, 0};
      if (lane_id() == 0) staged_[0] = T{0};
    } else {
      bad = bad | make_marks(span, bytes + kWordBytes);
      stage_values(span, bytes + kWordBytes + kValueBytes);
    }
    sync_warp();
  }

  // One copy for all places of a kernel that open such a tile; says whether its values are bad.
  __device__ __noinline__ static bool fill(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    Rle reader;
    reader.bind(descriptor);
    reader.seek_with(tile, scratch, [&](const RunSpan& span, unsigned char* marks) {
      return RunMarks<typename RolledOf<Ends>::type>::make_shared(descriptor + kEndsWord, reader.count_, tile, span,
                                                                  reader.words_, marks);
    });
    return reader.bad;
  }

  // Run r waits at place r mod 1024. What a second child tile puts there replaces what the first one did not need.
  __device__ __forceinline__ void stage_values(const RunSpan& span, void* scratch) {
    for_child_tiles(span, [&](uint32_t child_tile, uint32_t first_k, uint32_t last_k) {
      values_.seek(child_tile, scratch);
      const uint32_t behind = span.first + span.runs - child_tile * kTileRows;  // first place that is not needed
      stage_tile(values_, first_k, last_k, behind, staged_);
      sync_warp();
    });
    bad = bad | static_cast<bool>(values_.bad);
  }

  const uint64_t* entries_;
  Values values_;
  Ends ends_;
  RunWord* words_;
  T* staged_;
  uint32_t count_;
  uint32_t runs_;
};

}  // namespace basalt::device
