// Columns of packed tiles, and of dictionaries with packed codes, over the tiles of a work item: lane i holds the entry
// of tile i and what a literal means in its frame, so that per tile only a few words are exchanged and nothing but the
// packed words is waited for. Measured on an H200, one tile at a time reached 71 % of the read ceiling where this form,
// in a kernel by itself, reaches 97 %.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/dict/kernels.cuh"
#include "codec/packed/kernels.cuh"
#include "codec/plain/kernels.cuh"
#include "core/device/warp.h"
#include "core/packed_tile.h"
#include "exec/device/scan.cuh"

namespace basalt::device {

// --- tiles whose width is not unrolled: rare, so compiled once for all columns --------------------------------------------

__device__ __noinline__ uint32_t looped_within(const uint32_t* lane_words, uint32_t width, uint64_t first, uint64_t last) {
  uint32_t mask = 0;
#pragma unroll 1
  for (uint32_t k = 0; k < kRowsPerLane; ++k) {
    mask |= static_cast<uint32_t>(packed_value(lane_words, width, k) - first <= last - first) << k;
  }
  return mask;
}

__device__ __noinline__ void looped_values(const uint32_t* lane_words, uint32_t width, uint32_t first, uint32_t count,
                                           uint64_t* out) {
#pragma unroll 1
  for (uint32_t j = 0; j < count; ++j) out[j] = packed_value(lane_words, width, first + j);
}

// --- one tile ---------------------------------------------------------------------------------------------------------------

template <typename T, uint32_t... W>
struct OpenTile {
  const uint32_t* lane_words;
  uint32_t width;
  T reference;

  // Bit k of the result: first ≤ packed value k ≤ last; neither nothing nor everything lies inside.
  template <Test kTest>
  __device__ __forceinline__ uint32_t within(uint64_t first, uint64_t last) const {
    uint32_t mask = 0;
    const bool unrolled = (unrolled_within<kTest, W>(first, last, mask) || ...);
    return unrolled ? mask : looped_within(lane_words, width, first, last);
  }

  // values[j] = value first + j, for constants kFirst and kCount.
  template <uint32_t kFirst, uint32_t kCount, typename F>
  __device__ __forceinline__ void values(F&& take) const {
    if ((unrolled_values<kFirst, kCount, W>(take) || ...)) return;
    uint64_t raw[kCount];
    looped_values(lane_words, width, kFirst, kCount, raw);
#pragma unroll
    for (uint32_t j = 0; j < kCount; ++j) take(j, static_cast<T>(reference + static_cast<T>(raw[j])));
  }

 private:
  template <Test kTest, uint32_t kWidth>
  __device__ __forceinline__ bool unrolled_within(uint64_t first, uint64_t last, uint32_t& mask) const {
    if (width != kWidth) return false;
    const PackedTile<T, kWidth> tile(lane_words, reference);
    if constexpr (kTest == Test::kAtMost) {
      mask = tile.below(last + 1);
    } else if constexpr (kTest == Test::kAtLeast) {
      mask = ~tile.below(first);
    } else {
      mask = tile.within(first, last);
    }
    return true;
  }
  template <uint32_t kFirst, uint32_t kCount, uint32_t kWidth, typename F>
  __device__ __forceinline__ bool unrolled_values(F&& take) const {
    if (width != kWidth) return false;
    const PackedTile<T, kWidth> tile(lane_words, reference);
#pragma unroll
    for (uint32_t j = 0; j < kCount; ++j) take(j, tile.at(kFirst + j));
    return true;
  }
};

// --- the tiles of a work item -----------------------------------------------------------------------------------------------

// A literal range in the frame of each lane's tile.
template <Test kTest>
struct PackedRange {
  uint64_t first;
  uint64_t last;
  uint32_t none;  // bit i: no row of tile i lies inside
  uint32_t all;   // bit i: every row does
};

template <typename T, uint32_t... W>
class PackedTiles {
 public:
  __device__ __forceinline__ PackedTiles(const uint64_t* descriptor, const Work& work) {
    Packed<T> reader;
    reader.bind(descriptor);
    const auto entry = reader.entry(work.tile(lane_id() < work.tiles() ? lane_id() : 0));
    words_ = stream<uint32_t>(descriptor, 1 + packed::kWords);
    entry_ = entry.descriptor;
    reference_ = entry.reference;
  }

  template <bool kSigned, Test kTest>
  __device__ __forceinline__ PackedRange<kTest> range(const uint64_t* descriptor, T first, T last) const {
    Packed<T> reader;
    reader.bind(descriptor);
    reader.seek_known(entry_, reference_);
    const RawRange raw = reader.template range<kSigned>(first, last);
    return {raw.first, raw.last, __ballot_sync(kWholeWarp, raw.none), __ballot_sync(kWholeWarp, raw.all)};
  }

  __device__ __forceinline__ OpenTile<T, W...> open(uint32_t i) const {
    const uint32_t entry = shuffle(entry_, i);
    return {words_ + packed::descriptor_word(entry) + lane_id(), packed::descriptor_width(entry), shuffle(reference_, i)};
  }

  template <Test kTest>
  __device__ __forceinline__ uint32_t test(const PackedRange<kTest>& range, uint32_t i) const {
    uint32_t mask = range.all >> i & 1 ? ~0u : 0u;
    if (((range.none | range.all) >> i & 1) == 0) {
      const uint64_t first = kTest == Test::kAtMost ? 0 : shuffle(range.first, i);
      const uint64_t last = shuffle(range.last, i);
      mask = open(i).template within<kTest>(first, last);
    }
    return kTest == Test::kNotEqual ? ~mask : mask;
  }

 private:
  const uint32_t* words_;
  uint32_t entry_;
  T reference_;
};

template <typename S, uint32_t kAt, uint32_t kWords, typename T, uint32_t... W>
class Column<S, kAt, kWords, Packed<T, Widths<W...>>> {
 public:
  static constexpr uint32_t kScratchBytes = 0;
  static constexpr bool kSigned = static_cast<S>(-1) < static_cast<S>(0);

  __device__ __forceinline__ Column(const uint64_t* slot, const Work& work)
      : descriptor_(slot + kAt + 1), tiles_(descriptor_, work) {}

  template <Test kTest>
  __device__ __forceinline__ PackedRange<kTest> range(S first, S last) const {
    return tiles_.template range<kSigned, kTest>(descriptor_, static_cast<T>(first), static_cast<T>(last));
  }
  template <Test kTest>
  __device__ __forceinline__ uint32_t test(const PackedRange<kTest>& range, uint32_t i, uint32_t, void*, uint32_t&) const {
    return tiles_.test(range, i);
  }

  struct Tile {
    OpenTile<T, W...> tile;
    template <uint32_t kFirst, uint32_t kCount, typename V>
    __device__ __forceinline__ void read(V (&out)[kCount]) const {
      tile.template values<kFirst, kCount>([&](uint32_t j, T bits) { out[j] = to_value<V, S>(bits); });
    }
    __device__ __forceinline__ bool bad() const { return false; }
  };
  __device__ __forceinline__ Tile open(uint32_t i, uint32_t, void*) const { return {tiles_.open(i)}; }

 private:
  const uint64_t* descriptor_;
  PackedTiles<T, W...> tiles_;
};

// --- dictionaries -------------------------------------------------------------------------------------------------------------

// Number of sorted entries for which `before` holds, by the whole warp: 32 probes at a time.
template <typename Before>
__device__ __forceinline__ uint32_t partition_point(uint32_t count, Before&& before) {
  uint32_t low = 0;
#pragma unroll 1
  while (count > 0) {
    const uint32_t step = (count + kLanes - 1) / kLanes;
    const uint32_t probe = lane_id() * step;
    const uint32_t hits = population(__ballot_sync(kWholeWarp, probe < count && before(low + probe)));
    if (hits == 0) return low;
    const uint32_t skip = (hits - 1) * step + 1;
    count = count - skip < step - 1 ? count - skip : step - 1;
    low += skip;
  }
  return low;
}

// A dictionary is sorted, so a range of values is a range of codes: literals are looked up once per item, rows never.
template <typename S, uint32_t kAt, uint32_t kWords, typename T, uint32_t... W, typename Entries>
class Column<S, kAt, kWords, Dict<T, Packed<uint32_t, Widths<W...>>, Entries>> {
  using Reader = Dict<T, Packed<uint32_t, Widths<W...>>, Entries>;

 public:
  static constexpr uint32_t kScratchBytes = 0;
  static_assert(Reader::kDescriptorWords <= kWords, "host and device disagree on the size of a descriptor");

  __device__ __forceinline__ Column(const uint64_t* slot, const Work& work)
      : descriptor_(slot + kAt + 1),
        count_(row_count(descriptor_ + Reader::kEntriesWord)),
        codes_(descriptor_ + Reader::kCodesWord, work) {}

  template <Test kTest>
  struct Range {
    PackedRange<kTest> pass;
    PackedRange<Test::kAtMost> known;  // codes that have an entry
  };
  template <Test kTest>
  __device__ __forceinline__ Range<kTest> range(S first, S last) const {
    Entries entries;
    entries.bind(descriptor_ + Reader::kEntriesWord);
    uint32_t begin = 0;
    uint32_t end = count_;
    if constexpr (kTest != Test::kAtMost) {
      begin = partition_point(count_, [&](uint32_t i) { return to_value<S, S>(entries.row(i)) < first; });
    }
    if constexpr (kTest != Test::kAtLeast) {
      end = partition_point(count_, [&](uint32_t i) { return to_value<S, S>(entries.row(i)) <= last; });
    }
    // An empty range of codes is given as last < first.
    const uint32_t first_code = begin < end ? begin : 1;
    const uint32_t last_code = begin < end ? end - 1 : 0;
    const uint64_t* codes = descriptor_ + Reader::kCodesWord;
    return {codes_.template range<false, kTest>(codes, first_code, last_code),
            codes_.template range<false, Test::kAtMost>(codes, 0, count_ - 1)};
  }
  template <Test kTest>
  __device__ __forceinline__ uint32_t test(const Range<kTest>& range, uint32_t i, uint32_t alive, void*,
                                           uint32_t& bad) const {
    if ((alive & ~codes_.test(range.known, i)) != 0) bad = 1;
    return codes_.test(range.pass, i);
  }

  class Tile {
   public:
    template <uint32_t kFirst, uint32_t kCount, typename V>
    __device__ __forceinline__ void read(V (&out)[kCount]) {
      uint32_t codes[kCount];
      codes_.template values<kFirst, kCount>([&](uint32_t j, uint32_t code) {
        beyond_ |= static_cast<uint32_t>(code > last_) << (kFirst + j);
        codes[j] = code > last_ ? last_ : code;
      });
      if constexpr (SameType<Entries, Plain<T>>::value) {
#pragma unroll
        for (uint32_t j = 0; j < kCount; ++j) out[j] = to_value<V, S>(entries_.row(codes[j]));
      } else {
        // A look-up in packed entries is long: a loop over copies in local memory.
        uint32_t looped_codes[kCount];
        V looped[kCount];
#pragma unroll
        for (uint32_t j = 0; j < kCount; ++j) looped_codes[j] = codes[j];
#pragma unroll 1
        for (uint32_t j = 0; j < kCount; ++j) looped[j] = to_value<V, S>(entries_.row(looped_codes[j]));
#pragma unroll
        for (uint32_t j = 0; j < kCount; ++j) out[j] = looped[j];
      }
    }
    __device__ __forceinline__ bool bad() const { return (beyond_ & rows_) != 0; }

   private:
    friend class Column;
    OpenTile<uint32_t, W...> codes_;
    Entries entries_;
    uint32_t last_;
    uint32_t rows_;        // the lane's rows that exist
    uint32_t beyond_ = 0;  // those whose code has no entry
  };
  __device__ __forceinline__ Tile open(uint32_t i, uint32_t rows, void*) const {
    Tile tile;
    tile.codes_ = codes_.open(i);
    tile.entries_.bind(descriptor_ + Reader::kEntriesWord);
    tile.last_ = count_ - 1;
    tile.rows_ = rows;
    return tile;
  }

 private:
  const uint64_t* descriptor_;
  uint32_t count_;
  PackedTiles<uint32_t, W...> codes_;
};

}  // namespace basalt::device
