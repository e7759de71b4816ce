// Tile reader of `rle`. The runs of a tile are known from two tile entries. Their ends set marks on the tile's rows,
// the marks become 1024 bits, and a row's run is the number of bits up to it; the run values wait in shared memory.
// Long and short runs cost the same few instructions per row.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/rle/layout.h"
#include "core/device/batch.h"
#include "core/device/warp.h"

namespace basalt::device {

// Calls f(k, value) by the whole warp for k = first…last of the tile that `child` has open, in ascending order, and
// perhaps for other k, which f must ignore.
template <typename Child, typename F>
__device__ __forceinline__ void for_rows_of_tile(Child& child, uint32_t first, uint32_t last, F&& f) {
  // Unrolled code works in groups of eight k, so it pays from about that many.
  if (!Child::kRowsInShared && last - first >= 5) {
    child.visit([&](auto&& view) { view.for_each_between(first, last, f); });
  } else {
    child.for_each_between(first, last, f);
  }
}

template <typename T, typename Values, typename Ends>
class Rle {
  // The bits of 32 rows, and the run that the row before them belongs to.
  struct alignas(8) Word {
    uint32_t bits;
    uint32_t before;
  };
  static constexpr uint32_t kWordBytes = kLanes * sizeof(Word);
  static constexpr uint32_t kMarkBytes = kTileRows;
  static constexpr uint32_t kEndBytes = Ends::kRowsInShared ? 0 : kTileRows * sizeof(uint32_t);
  static constexpr uint32_t kValueBytes = kTileRows * sizeof(T);
  // Marks, ends and their scratch are done with before values are staged, and share their place.
  static constexpr uint32_t kEndsPhase = kMarkBytes + kEndBytes + Ends::kScratchBytes;
  static constexpr uint32_t kValuesPhase = kValueBytes + Values::kScratchBytes;

 public:
  using value_type = T;
  static constexpr uint32_t kValuesWord = 1 + rle::kStreams;
  static constexpr uint32_t kEndsWord = kValuesWord + Values::kDescriptorWords;
  static constexpr uint32_t kDescriptorWords = kEndsWord + Ends::kDescriptorWords;
  static constexpr uint32_t kScratchBytes =
      kWordBytes + round_to_16(kEndsPhase > kValuesPhase ? kEndsPhase : kValuesPhase);
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
    unsigned char* bytes = static_cast<unsigned char*>(scratch);
    words_ = reinterpret_cast<Word*>(bytes);
    staged_ = reinterpret_cast<T*>(bytes + kWordBytes);
    sync_warp();  // nobody reads the last tile any more
    const Span span = runs_of(tile);
    if (span.runs == 0) {
      words_[lane_id()] = Word{0, 0};
      if (lane_id() == 0) staged_[0] = T{0};
    } else {
      mark_ends(tile, span, bytes + kWordBytes);
      stage_values(span, bytes + kWordBytes + kValueBytes);
    }
    sync_warp();
  }

  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind(descriptor);
    seek(tile, scratch);
  }

  __device__ __forceinline__ T at(uint32_t k) const {
    const Word word = words_[k];
    const uint32_t run = word.before + population(word.bits & (kWholeWarp >> (kLanes - 1 - lane_id())));
    return staged_[run % kTileRows];
  }

  // Binary search among the tile's runs.
  __device__ __forceinline__ T row(uint32_t i) {
    const Span span = runs_of(i / kTileRows);
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
  __device__ __forceinline__ static T value(const uint64_t* descriptor, uint32_t i) {
    Rle reader;
    reader.bind(descriptor);
    return reader.row(i);
  }

  template <typename F>
  __device__ __forceinline__ void visit(F&& f) const {
    f(*this);
  }
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) const {
#pragma unroll 4
    for (uint32_t k = first; k <= last; ++k) f(k, at(k));
  }

 private:
  struct Span {
    uint32_t first;
    uint32_t runs;  // 1…1024, or 0 where nothing can be read
  };

  // From this tile's entry and the next one's: a run that the next tile has begun to consume belongs to both.
  __device__ __forceinline__ Span runs_of(uint32_t tile) {
    const uint32_t first = static_cast<uint32_t>(load(entries_ + tile));
    uint32_t end = runs_;
    if ((tile + 1) * kTileRows < count_) {
      const uint64_t next = load(entries_ + tile + 1);
      end = static_cast<uint32_t>(next) + (next >> 32 != 0 ? 1 : 0);
    }
    Span span{first, 0};
    if (first < end && end <= runs_) {
      span.runs = end - first < kTileRows ? end - first : kTileRows;
      bad = bad || end - first > kTileRows;
    } else {
      bad = true;
      if (first < runs_) span.runs = 1;
    }
    return span;
  }

  // Calls f(tile of the child, first k, last k) for the one or two tiles of a child that hold the span's runs.
  template <typename F>
  __device__ __forceinline__ static void for_child_tiles(const Span& span, F&& f) {
    const uint32_t last = span.first + span.runs - 1;
#pragma unroll 1
    for (uint32_t tile = span.first / kTileRows; tile <= last / kTileRows; ++tile) {
      const uint32_t begin = tile * kTileRows;
      f(tile, span.first <= begin ? 0 : (span.first - begin) / kLanes,
        last - begin >= kTileRows ? kRowsPerLane - 1 : (last - begin) / kLanes);
    }
  }

  // Every run but the last ends at one of the rows 1, 2, … of the tile, where the next one begins.
  __device__ __forceinline__ void mark_ends(uint32_t tile, const Span& span, unsigned char* marks) {
    const uint32_t lane = lane_id();
    struct alignas(16) Sixteen {
      uint32_t quads[4];
    };
    Sixteen* quads = reinterpret_cast<Sixteen*>(marks);
    uint32_t* ends = reinterpret_cast<uint32_t*>(marks + kMarkBytes);
    quads[lane] = Sixteen{{0, 0, 0, 0}};
    quads[lane + kLanes] = Sixteen{{0, 0, 0, 0}};
    sync_warp();

    const uint32_t tile_row = tile * kTileRows;
    const uint32_t tile_rows = rows_of_tile(count_, tile);
    const uint32_t last = span.runs - 1;
    const uint32_t lower_lane = (lane + kLanes - 1) % kLanes;
    uint32_t carried = 0;  // for lane 0: the end before those of this k
    bool wrong = false;
    for_child_tiles(span, [&](uint32_t child_tile, uint32_t first_k, uint32_t last_k) {
      ends_.seek(child_tile, marks + kMarkBytes + kEndBytes);
      if constexpr (!Ends::kRowsInShared) {
        // A lane reads back what it wrote itself: unrolled code for many widths stays short.
        for_rows_of_tile(ends_, first_k, last_k, [&](uint32_t k, uint32_t end) { ends[k * kLanes + lane] = end; });
      }
      const uint32_t ordinal = child_tile * kTileRows + lane - span.first;  // of k = 0; wraps below the span
      uint32_t end = 0;
#pragma unroll 4
      for (uint32_t k = first_k; k <= last_k; ++k) {
        if constexpr (Ends::kRowsInShared) {
          end = ends_.at(k);
        } else {
          end = ends[k * kLanes + lane];
        }
        const uint32_t rotated = shuffle(end, lower_lane);
        const uint32_t previous = lane == 0 ? carried : rotated;
        carried = rotated;
        const uint32_t inner = end - (tile_row + 1);
        if ((ordinal + k * kLanes < last) & (inner < tile_rows - 1)) marks[inner + 1] = 1;
        wrong = wrong | ((ordinal + k * kLanes - 1 < last) & (end <= previous));
      }
      wrong = wrong | ((ordinal + last_k * kLanes == last) & (end < tile_row + tile_rows));
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
    words_[lane] = Word{bits, span.first + before};
    // Ascending ends make one mark each exactly if all runs but the last end inside.
    wrong = wrong | ((lane == kLanes - 1) & (before + own != last));
    bad = bad | wrong | static_cast<bool>(ends_.bad);
    sync_warp();
  }

  // Run r waits at place r mod 1024. What a second child tile puts there replaces what the first one did not need.
  __device__ __forceinline__ void stage_values(const Span& span, void* scratch) {
    const uint32_t lane = lane_id();
    for_child_tiles(span, [&](uint32_t child_tile, uint32_t first_k, uint32_t last_k) {
      values_.seek(child_tile, scratch);
      const uint32_t behind = span.first + span.runs - child_tile * kTileRows;  // first place that is not needed
      for_rows_of_tile(values_, first_k, last_k, [&](uint32_t k, T value) {
        store_shared_if_less(k * kLanes + lane, behind, staged_ + k * kLanes + lane, value);
      });
      sync_warp();
    });
    bad = bad | static_cast<bool>(values_.bad);
  }

  const uint64_t* entries_;
  Values values_;
  Ends ends_;
  Word* words_;
  T* staged_;
  uint32_t count_;
  uint32_t runs_;
};

}  // namespace basalt::device
