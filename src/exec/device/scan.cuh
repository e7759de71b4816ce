// The steps that generated kernels are made of: walk the work list, open a column's tile, test it, load it into
// registers. One warp owns one tile of 1024 rows; bit k of a lane's 32-bit mask stands for row 32·k + lane.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/dict/kernels.cuh"
#include "codec/packed/kernels.cuh"
#include "core/device/warp.h"
#include "core/packed_tile.h"
#include "exec/device/work.h"

namespace basalt::device {

// Walks this warp's share of the work list. The next item is fetched while the current one is worked on, so that the
// chain of dependent loads begins with the chunk's descriptor.
class Work {
 public:
  __device__ __forceinline__ Work(const WorkItem* items, uint32_t count) : items_(items), count_(count) {
    const uint32_t warps = blockDim.x / kLanes;
    stride_ = gridDim.x * warps;
    at_ = blockIdx.x * warps + threadIdx.x / kLanes;
    following_ = fetch(at_);
    advance();
  }
  __device__ __forceinline__ bool more() const { return at_ < count_; }
  __device__ __forceinline__ void next() {
    at_ += stride_;
    advance();
  }
  __device__ __forceinline__ uint32_t slot() const { return item_.slot; }
  __device__ __forceinline__ uint32_t tiles() const { return item_.tiles & ~kItemAllPass; }
  __device__ __forceinline__ uint32_t tile(uint32_t i = 0) const { return item_.tile + i; }
  __device__ __forceinline__ uint32_t ordinal(uint32_t i) const { return item_.ordinal + i; }
  __device__ __forceinline__ bool all_pass() const { return (item_.tiles & kItemAllPass) != 0; }

 private:
  __device__ __forceinline__ void advance() {
    item_ = following_;
    following_ = fetch(at_ + stride_);
  }
  __device__ __forceinline__ WorkItem fetch(uint32_t at) const {
    if (at >= count_) return WorkItem{0, 0, 0, 0};
    const uint4 words = __ldg(reinterpret_cast<const uint4*>(items_ + at));
    return WorkItem{words.x, words.y, words.z, words.w};
  }

  const WorkItem* items_;
  uint32_t count_;
  uint32_t stride_;
  uint32_t at_;
  WorkItem item_;
  WorkItem following_;
};

// The lane's rows that exist: all 32 but in the last tile of a chunk.
__device__ __forceinline__ uint32_t lane_rows(uint32_t chunk_rows, uint32_t tile) {
  const uint32_t left = chunk_rows - tile * kTileRows;
  if (left >= kTileRows) return ~0u;
  const uint32_t lane = lane_id();
  const uint32_t rows = left > lane ? (left - lane + kLanes - 1) / kLanes : 0;
  return rows >= 32 ? ~0u : (1u << rows) - 1;
}

// Stored bits → the column's logical type S → the type V that the kernel computes with. Statistics have proven that V
// holds every value, so narrowing drops sign bits only.
template <typename V, typename S, typename Bits>
__device__ __forceinline__ V to_value(Bits bits) {
  if constexpr (SameType<S, float>::value) {
    return static_cast<V>(__uint_as_float(static_cast<uint32_t>(bits)));
  } else if constexpr (SameType<S, double>::value) {
    return static_cast<V>(__longlong_as_double(static_cast<long long>(bits)));
  } else {
    return static_cast<V>(static_cast<S>(bits));
  }
}

// Which side of a range a test has. Literals are of the column's own type.
enum class Test { kAtMost, kAtLeast, kBetween, kNotEqual };

// Views whose at(k) folds into a few instructions when k is a constant. The others (widths known at run time only,
// dictionary look-ups) are walked by a loop: unrolled, they would take most of a kernel's compilation.
template <typename View>
struct IsShort {
  static constexpr bool value = true;
};
template <typename T, typename UnrolledWidths>
struct IsShort<Packed<T, UnrolledWidths>> {
  static constexpr bool value = false;
};
template <typename T, typename CodesView, typename Find>
struct IsShort<DictView<T, CodesView, Find>> {
  static constexpr bool value = false;
};

// Opens any reader's tile and tests it row by row.
template <typename S, Test kTest, typename Reader>
__device__ __forceinline__ uint32_t test_any(const uint64_t* descriptor, uint32_t tile, void* scratch, uint32_t& bad,
                                             S first, S last) {
  Reader reader;
  reader.open(descriptor, tile, scratch);
  uint32_t mask = 0;
  reader.visit([&](auto&& view) {
#pragma unroll 4
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const S value = to_value<S, S>(view.at(k));
      const bool pass = (kTest == Test::kAtMost || value >= first) && (kTest == Test::kAtLeast || value <= last);
      mask |= static_cast<uint32_t>(pass) << k;
    }
  });
  if (reader.bad) bad = 1;
  return kTest == Test::kNotEqual ? ~mask : mask;
}

BASALT_HD constexpr uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

// A tile in one of several encodings, selected alike for the whole warp.
template <typename Reader, typename... Others>
class OneOf {
 public:
  static constexpr uint32_t kDescriptorWords = larger(Reader::kDescriptorWords, OneOf<Others...>::kDescriptorWords);
  static constexpr uint32_t kScratchBytes = larger(Reader::kScratchBytes, OneOf<Others...>::kScratchBytes);

  __device__ __forceinline__ void open(uint32_t shape, const uint64_t* descriptor, uint32_t tile, void* scratch) {
    shape_ = shape;
    if (shape == 0) {
      first_.open(descriptor, tile, scratch);
    } else {
      others_.open(shape - 1, descriptor, tile, scratch);
    }
  }
  template <typename F>
  __device__ __forceinline__ void with(F&& f) {
    if (shape_ == 0) {
      f(first_);
    } else {
      others_.with(f);
    }
  }
  template <typename S, Test kTest>
  __device__ __forceinline__ static uint32_t test(uint32_t shape, const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                  uint32_t& bad, S first, S last) {
    if (shape == 0) return test_any<S, kTest, Reader>(descriptor, tile, scratch, bad, first, last);
    return OneOf<Others...>::template test<S, kTest>(shape - 1, descriptor, tile, scratch, bad, first, last);
  }
  __device__ __forceinline__ bool bad() const { return shape_ == 0 ? static_cast<bool>(first_.bad) : others_.bad(); }

 private:
  Reader first_;
  OneOf<Others...> others_;
  uint32_t shape_;
};

template <typename Reader>
class OneOf<Reader> {
 public:
  static constexpr uint32_t kDescriptorWords = Reader::kDescriptorWords;
  static constexpr uint32_t kScratchBytes = Reader::kScratchBytes;

  __device__ __forceinline__ void open(uint32_t, const uint64_t* descriptor, uint32_t tile, void* scratch) {
    only_.open(descriptor, tile, scratch);
  }
  template <typename F>
  __device__ __forceinline__ void with(F&& f) {
    f(only_);
  }
  template <typename S, Test kTest>
  __device__ __forceinline__ static uint32_t test(uint32_t, const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                  uint32_t& bad, S first, S last) {
    return test_any<S, kTest, Reader>(descriptor, tile, scratch, bad, first, last);
  }
  __device__ __forceinline__ bool bad() const { return only_.bad; }

 private:
  Reader only_;
};

// What a range test of a column has prepared for all tiles of a work item.
template <typename S, Test kTest>
struct LiteralRange {
  S first;
  S last;
};

// One column over the tiles of a work item. S: its logical type; kAt: where its words begin in a chunk's slot, the first
// saying in which of the readers' encodings the chunk is. Columns with one packed encoding, or dictionaries of packed
// codes, have faster forms in packed_column.cuh.
template <typename S, uint32_t kAt, uint32_t kWords, typename... Readers>
class Column {
 public:
  using Shapes = OneOf<Readers...>;
  static constexpr uint32_t kScratchBytes = round_to_16(Shapes::kScratchBytes);
  static_assert(Shapes::kDescriptorWords <= kWords, "host and device disagree on the size of a descriptor");

  __device__ __forceinline__ Column(const uint64_t* slot, const Work& work) : slot_(slot), tile_(work.tile()) {
    shape_ = sizeof...(Readers) > 1 ? static_cast<uint32_t>(load(slot + kAt)) : 0;
  }

  template <Test kTest>
  __device__ __forceinline__ LiteralRange<S, kTest> range(S first, S last) const {
    return {first, last};
  }
  // The lane's rows of tile i in the range; those outside `alive` do not count.
  template <Test kTest>
  __device__ __forceinline__ uint32_t test(const LiteralRange<S, kTest>& range, uint32_t i, uint32_t, void* scratch,
                                           uint32_t& bad) const {
    return Shapes::template test<S, kTest>(shape_, slot_ + kAt + 1, tile_ + i, scratch, bad, range.first, range.last);
  }

  class Tile {
   public:
    // Values kFirst … kFirst + kCount of the lane.
    template <uint32_t kFirst, uint32_t kCount, typename V>
    __device__ __forceinline__ void read(V (&out)[kCount]) {
      shapes_.with([&](auto& reader) {
        reader.visit([&](auto&& view) {
          if constexpr (IsShort<typename Bare<decltype(view)>::type>::value) {
#pragma unroll
            for (uint32_t j = 0; j < kCount; ++j) out[j] = to_value<V, S>(view.at(kFirst + j));
          } else {
            V looped[kCount];  // indexed at run time, so in local memory; `out` stays in registers
#pragma unroll 1
            for (uint32_t j = 0; j < kCount; ++j) looped[j] = to_value<V, S>(view.at(kFirst + j));
#pragma unroll
            for (uint32_t j = 0; j < kCount; ++j) out[j] = looped[j];
          }
        });
      });
    }
    __device__ __forceinline__ bool bad() const { return shapes_.bad(); }

   private:
    friend class Column;
    Shapes shapes_;
  };
  __device__ __forceinline__ Tile open(uint32_t i, uint32_t, void* scratch) const {
    Tile tile;
    tile.shapes_.open(shape_, slot_ + kAt + 1, tile_ + i, scratch);
    return tile;
  }

 private:
  const uint64_t* slot_;
  uint32_t tile_;
  uint32_t shape_;
};

// Which of the lane's rows of a column are not NULL. Chunks without NULLs have shape 0 and no stream.
template <uint32_t kAt, uint32_t kWords, typename... Readers>
struct Validity {
  using Shapes = OneOf<Readers...>;
  static constexpr uint32_t kScratchBytes = round_to_16(Shapes::kScratchBytes);
  static_assert(Shapes::kDescriptorWords <= kWords, "host and device disagree on the size of a descriptor");

  __device__ __forceinline__ static uint32_t mask(const uint64_t* slot, uint32_t tile, void* scratch, uint32_t& bad) {
    const uint32_t shape = static_cast<uint32_t>(load(slot + kAt));
    if (shape == 0) return ~0u;
    const uint32_t valid =
        Shapes::template test<uint8_t, Test::kAtLeast>(shape - 1, slot + kAt + 1, tile, scratch, bad, 1, 255);
    sync_warp();
    return valid;
  }
};

// Number as a type, for code that is unrolled by instantiation.
template <uint32_t N>
struct Index {
  static constexpr uint32_t value = N;
};

// step(Index<0>), step(Index<kCount>), … over the lane's 32 values: slices bound how many values live in registers.
template <uint32_t kCount, uint32_t kFirst = 0, typename F>
__device__ __forceinline__ void for_each_slice(F&& step) {
  if constexpr (kFirst < kRowsPerLane) {
    step(Index<kFirst>{});
    for_each_slice<kCount, kFirst + kCount>(step);
  }
}

}  // namespace basalt::device
