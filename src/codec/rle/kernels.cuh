// Tile reader of `rle`. The runs of a tile are known from two tile entries. Their ends set marks on the tile's rows, the
// marks become 1024 bits, and a row's run is the number of bits up to it; the run values wait in shared memory. Long and
// short runs cost the same few instructions per row.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/rle/layout.h"
#include "core/device/batch.h"
#include "core/device/warp.h"

namespace basalt::device {

// Calls f(i, value) by the whole warp so that each of the child's rows first … first + n - 1 (n ≤ 1024) is met once, in
// ascending order within and across calls, along with rows outside that f must ignore.
template <typename Child, typename F>
__device__ __forceinline__ bool for_rows(Child& child, uint32_t first, uint32_t n, void* scratch, F&& f) {
  const uint32_t last = first + n - 1;
#pragma unroll 1
  for (uint32_t tile = first / kTileRows; tile <= last / kTileRows; ++tile) {
    child.seek(tile, scratch);
    const uint32_t begin = tile * kTileRows;
    const uint32_t first_k = first <= begin ? 0 : (first - begin) / kLanes;
    const uint32_t last_k = last - begin >= kTileRows ? kRowsPerLane - 1 : (last - begin) / kLanes;
    const auto give = [&](uint32_t k, auto value) { f(begin + k * kLanes + lane_id(), value); };
    // Unrolled code works in groups of eight k, so it pays from about that many.
    if (last_k - first_k >= 5) {
      child.visit([&](auto&& view) { view.for_each_between(first_k, last_k, give); });
    } else {
      child.for_each_between(first_k, last_k, give);
    }
    sync_warp();
  }
  return child.bad;
}

template <typename T, typename Values, typename Ends>
class Rle {
  // The bits of 32 rows and the number of bits before them.
  struct alignas(8) Word {
    uint32_t bits;
    uint32_t before;
  };
  static constexpr uint32_t kWordBytes = kLanes * sizeof(Word);
  static constexpr uint32_t kMarkBytes = kTileRows;
  static constexpr uint32_t kValueBytes = kTileRows * sizeof(T);
  // Marks and the ends' scratch are done with before values are staged, and share their place.
  static constexpr uint32_t kEndsPhase = kMarkBytes + Ends::kScratchBytes;
  static constexpr uint32_t kValuesPhase = kValueBytes + Values::kScratchBytes;

 public:
  using value_type = T;
  static constexpr uint32_t kValuesWord = 1 + rle::kStreams;
  static constexpr uint32_t kEndsWord = kValuesWord + Values::kDescriptorWords;
  static constexpr uint32_t kDescriptorWords = kEndsWord + Ends::kDescriptorWords;
  static constexpr uint32_t kScratchBytes =
      kWordBytes + round_to_16(kEndsPhase > kValuesPhase ? kEndsPhase : kValuesPhase);
  static constexpr bool kPointAccess = false;

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
      bad = true;
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
    return staged_[word.before + population(word.bits & (kWholeWarp >> (kLanes - 1 - lane_id())))];
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

  // Every run but the last ends at a row 1…1023 of the tile, where the next one begins.
  __device__ __forceinline__ void mark_ends(uint32_t tile, const Span& span, unsigned char* marks) {
    const uint32_t lane = lane_id();
    struct alignas(16) Sixteen {
      uint32_t quads[4];
    };
    Sixteen* clear = reinterpret_cast<Sixteen*>(marks);
    clear[lane] = Sixteen{{0, 0, 0, 0}};
    clear[lane + kLanes] = Sixteen{{0, 0, 0, 0}};
    sync_warp();

    const uint32_t tile_row = tile * kTileRows;
    const uint32_t tile_rows = rows_of_tile(count_, tile);
    const uint32_t last = span.runs - 1;
    const uint32_t lower_lane = (lane + kLanes - 1) % kLanes;
    uint32_t carried = 0;  // lane 0: the end of the run before this row of 32
    bool wrong = false;
    const bool child_bad = for_rows(ends_, span.first, span.runs, marks + kMarkBytes, [&](uint32_t run, uint32_t end) {
      const uint32_t ordinal = run - span.first;
      const uint32_t rotated = shuffle(end, lower_lane);
      const uint32_t previous = lane == 0 ? carried : rotated;
      carried = rotated;
      wrong = wrong || (ordinal - 1 < last && end <= previous);
      const uint32_t row = end - tile_row;
      if (ordinal < last && row < kTileRows) marks[row] = 1;
      wrong = wrong || (ordinal == last && row < tile_rows);
    });
    sync_warp();

    // Lane k turns the 32 marks of word k into bits: a product moves the four marks of a quad side by side.
    uint32_t bits = 0;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      const Sixteen sixteen = clear[lane * 2 + half];
#pragma unroll
      for (uint32_t q = 0; q < 4; ++q) bits |= (sixteen.quads[q] * 0x10204080u >> 28) << (half * 16 + q * 4);
    }
    const uint32_t own = population(bits);
    const uint32_t before = sum_below(own);
    words_[lane] = Word{bits, before};
    // Row 0 carries no mark, so a mark there, two on one row or one outside show in the total.
    wrong = wrong || (lane == kLanes - 1 && before + own != last) || (lane == 0 && (bits & 1) != 0);
    bad = bad || child_bad || wrong;
    sync_warp();
  }

  __device__ __forceinline__ void stage_values(const Span& span, void* scratch) {
    const bool child_bad = for_rows(values_, span.first, span.runs, scratch, [&](uint32_t run, T value) {
      const uint32_t ordinal = run - span.first;
      if (ordinal < span.runs) staged_[ordinal] = value;
    });
    bad = bad || child_bad;
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
