// The steps that generated kernels are made of: walk the work list, open a column's tile, test it, load it into
// registers. One warp owns one tile of 1024 rows; bit k of a lane's 32-bit mask stands for row 32·k + lane.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/dict/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "core/device/answer.h"
#include "core/device/warp.h"
#include "core/packed_tile.h"
#include "exec/device/tile_tests.cuh"
#include "exec/device/work.h"

namespace basalt::device {

// Walks this warp's share of the work list: a block takes neighbouring tiles, its warps by turns, so that what one tile
// taught of its chunk serves the next. The next item is fetched while the current one is worked on, so that the chain
// of dependent loads of a tile begins with its chunk's descriptor.
class Work {
 public:
  __device__ __forceinline__ Work(const uint32_t* items, uint32_t count, uint32_t warp = threadIdx.x / kLanes)
      : items_(items) {
    const uint32_t share = (count + gridDim.x - 1) / gridDim.x;
    const uint32_t begin = blockIdx.x * share;
    end_ = begin < count && count - begin > share ? begin + share : count;
    at_ = begin + warp;
    stride_ = blockDim.x / kLanes;
    item_ = at_ < end_ ? load(items_ + at_) : 0;
  }
  // Whether there is an item; once for every item, before anything else is asked. The next one is asked for here: asked
  // for in next(), it would be waited for at once, to be copied.
  __device__ __forceinline__ bool more() {
    if (at_ >= end_) return false;
    following_ = load(items_ + (last() ? at_ : at_ + stride_));
    return true;
  }
  __device__ __forceinline__ void next() {
    at_ += stride_;
    item_ = following_;
  }
  __device__ __forceinline__ bool last() const { return at_ + stride_ >= end_; }
  // The item that comes `distance` items later; false: there is none.
  __device__ __forceinline__ bool ahead(uint32_t distance, uint32_t& item) const {
    const uint32_t at = at_ + distance * stride_;
    if (at >= end_) return false;
    item = load(items_ + at);
    return true;
  }
  __device__ __forceinline__ uint32_t index() const { return at_; }
  __device__ __forceinline__ uint32_t item() const { return item_; }
  // The same from memory: a loop that asks for no more of its items does not wait for them.
  __device__ __forceinline__ uint32_t item_again() const { return load(items_ + at_); }
  __device__ __forceinline__ uint32_t tile() const { return work_tile(item_); }
  __device__ __forceinline__ uint32_t slot() const { return work_slot(item_); }
  // Statistics say that every row passes the filter.
  __device__ __forceinline__ bool all_pass() const { return work_all_pass(item_); }

 private:
  const uint32_t* items_;
  uint32_t end_;
  uint32_t stride_;
  uint32_t at_;
  uint32_t item_;
  uint32_t following_;
};

// The lane's rows that exist: all 32 but in the last tile of a chunk.
__device__ __forceinline__ uint32_t lane_rows(uint32_t chunk_rows, uint32_t tile) {
  const uint32_t left = chunk_rows - tile * kTileRows;
  if (left >= kTileRows) return ~0u;
  const uint32_t lane = lane_id();
  const uint32_t rows = left > lane ? (left - lane + kLanes - 1) / kLanes : 0;
  return rows >= 32 ? ~0u : (1u << rows) - 1;
}

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
template <typename Reader, typename T>
struct IsShort<ChangingView<Reader, T>> {
  static constexpr bool value = false;
};
template <typename T, typename IntegersView, typename Convert>
struct IsShort<GalpView<T, IntegersView, Convert>> {
  static constexpr bool value = IsShort<IntegersView>::value;
};

// A column whose chunks come in one of several encodings: the slot's first word says in which. The selection is the
// same for the whole warp.
template <typename Reader, typename... Others>
class OneOf {
 public:
  static constexpr uint32_t kDescriptorWords = larger(Reader::kDescriptorWords, OneOf<Others...>::kDescriptorWords);
  static constexpr uint32_t kScratchBytes = larger(Reader::kScratchBytes, OneOf<Others...>::kScratchBytes);
  using PrefetchOf = NoPrefetch;  // for which reader is not known before the slot's word is there

  __device__ __forceinline__ void open(uint32_t shape, const uint64_t* descriptor, uint32_t tile, void* scratch,
                                       const NoPrefetch& prefetch) {
    shape_ = shape;
    if (shape == 0) {
      first_.open(descriptor, tile, scratch);
    } else {
      others_.open(shape - 1, descriptor, tile, scratch, prefetch);
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
  __device__ __forceinline__ static uint32_t test(uint32_t shape, const uint64_t* descriptor, uint32_t tile,
                                                  void* scratch, uint32_t& bad, uint32_t& how,
                                                  const NoPrefetch& prefetch, CodeRange& range, TestKey<S> first,
                                                  TestKey<S> last) {
    if (shape == 0) {
      return ShapeTest<S, kTest, Reader>::run(descriptor, tile, scratch, bad, how, prefetch, range, first, last);
    }
    return OneOf<Others...>::template test<S, kTest>(shape - 1, descriptor, tile, scratch, bad, how, prefetch, range,
                                                     first, last);
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
  using PrefetchOf = Prefetch<Reader>;

  template <typename Asked>
  __device__ __forceinline__ void open(uint32_t, const uint64_t* descriptor, uint32_t tile, void* scratch,
                                       const Asked& prefetch) {
    prefetch.open(only_, descriptor, tile, scratch);
  }
  template <typename F>
  __device__ __forceinline__ void with(F&& f) {
    f(only_);
  }
  template <typename S, Test kTest, typename Asked>
  __device__ __forceinline__ static uint32_t test(uint32_t, const uint64_t* descriptor, uint32_t tile, void* scratch,
                                                  uint32_t& bad, uint32_t& how, const Asked& prefetch, CodeRange& range,
                                                  TestKey<S> first, TestKey<S> last) {
    return ShapeTest<S, kTest, Reader>::run(descriptor, tile, scratch, bad, how, prefetch, range, first, last);
  }
  __device__ __forceinline__ bool bad() const { return only_.bad; }

 private:
  Reader only_;
};

// Value k of a reader as V.
template <typename V, typename S, typename Reader>
__device__ __forceinline__ V read_as(Reader& reader, uint32_t k) {
  return to_value<V, S>(reader.at(k));
}
// Where V keeps 32 bits only, no more are put together.
template <typename V, typename S, typename T, typename UnrolledWidths>
__device__ __forceinline__ V read_as(Packed<T, UnrolledWidths>& reader, uint32_t k) {
  if constexpr (SameType<V, int32_t>::value) {
    return static_cast<V>(static_cast<S>(reader.low_at(k)));
  } else {
    return to_value<V, S>(reader.at(k));
  }
}

template <typename V, typename S, typename View>
__device__ __forceinline__ void walk(View& tile, uint32_t first, uint32_t count, V* out) {
#pragma unroll 1
  for (uint32_t j = 0; j < count; ++j) out[j] = to_value<V, S>(tile.at(first + j));
}
// Packed tiles of a width that is not unrolled are the rare case: one copy of the code for all slices of all columns
// alike, and only the tile's place as arguments, so that readers stay in registers elsewhere.
template <typename V, typename S, typename T>
__device__ __noinline__ void walk_whole(const uint32_t* words, uint32_t width, T reference, uint32_t first,
                                        uint32_t count, V* out) {
#pragma unroll 1
  for (uint32_t k = first; k < first + count; ++k) {
    out[k - first] = to_value<V, S>(static_cast<T>(reference + static_cast<T>(raw_whole(words, width, k))));
  }
}
__device__ __noinline__ inline void walk_low(const uint32_t* words, uint32_t width, uint32_t reference, uint32_t first,
                                             uint32_t count, int32_t* out) {
  const uint32_t mask = low_word_mask(width);
#pragma unroll 1
  for (uint32_t k = first; k < first + count; ++k) {
    out[k - first] = static_cast<int32_t>(reference + (raw_low(words, width, k) & mask));
  }
}
template <typename V, typename S, typename T, typename UnrolledWidths>
__device__ __forceinline__ void walk(const Packed<T, UnrolledWidths>& tile, uint32_t first, uint32_t count, V* out) {
  if constexpr (SameType<V, int32_t>::value) {
    walk_low(tile.words(), tile.width(), static_cast<uint32_t>(tile.reference()), first, count, out);
  } else {
    walk_whole<V, S>(tile.words(), tile.width(), tile.reference(), first, count, out);
  }
}

// Up to kCount of a lane's rows, lowest first.
template <uint32_t kCount>
struct Picked {
  uint32_t k[kCount];     // 0 where there is none
  uint32_t live[kCount];  // not 0 where there is one

  // Takes them out of `mask`.
  __device__ __forceinline__ explicit Picked(uint32_t& mask) {
#pragma unroll
    for (uint32_t j = 0; j < kCount; ++j) {
      live[j] = mask;
      k[j] = mask == 0 ? 0 : static_cast<uint32_t>(__ffs(static_cast<int>(mask))) - 1;
      mask &= mask - 1;
    }
  }
  // Those from `first` on, whether or not `mask` has them.
  __device__ __forceinline__ Picked(uint32_t first, uint32_t mask) {
#pragma unroll
    for (uint32_t j = 0; j < kCount; ++j) {
      live[j] = mask >> (first + j) & 1;
      k[j] = first + j;
    }
  }
};

// Tiles of which no value lies in two words: a few instructions read any row.
template <typename View>
struct DividesWords {
  static constexpr bool value = false;
};
template <typename T, uint32_t W>
struct DividesWords<PackedTile<T, W>> {
  static constexpr bool value = W > 0 && W <= 32 && 32 % (W > 0 ? W : 1) == 0;
};

// Rows that all lanes pick alike.
template <typename V, typename S, uint32_t kCount, typename Reader>
__device__ __forceinline__ void read_step(Reader& reader, const Picked<kCount>& rows, V (&out)[kCount]) {
#pragma unroll
  for (uint32_t j = 0; j < kCount; ++j) out[j] = read_as<V, S>(reader, rows.k[j]);
}
template <typename V, typename S, uint32_t kCount, typename T, typename UnrolledWidths>
__device__ __forceinline__ void read_step(Packed<T, UnrolledWidths>& reader, const Picked<kCount>& rows,
                                          V (&out)[kCount]) {
  bool done = false;
  reader.visit([&](auto&& tile) {
    if constexpr (DividesWords<typename Bare<decltype(tile)>::type>::value) {
#pragma unroll
      for (uint32_t j = 0; j < kCount; ++j) out[j] = to_value<V, S>(tile.at(rows.k[j]));
      done = true;
    }
  });
  if (done) return;
#pragma unroll
  for (uint32_t j = 0; j < kCount; ++j) out[j] = read_as<V, S>(reader, rows.k[j]);
}

// Whether so few rows of the tile are alive that picking them costs less than reading all: no lane has more than this.
constexpr uint32_t kSparseRows = 8;
__device__ __forceinline__ bool is_sparse(uint32_t alive) { return !any_lane(population(alive) > kSparseRows); }

// One column of a generated kernel. S: its logical type; kAt: where its words begin in a chunk's slot; then its
// readers.
template <typename S, uint32_t kAt, uint32_t kWords, typename... Readers>
class Column {
 public:
  using Shapes = OneOf<Readers...>;
  static constexpr uint32_t kScratchBytes = round_to_16(Shapes::kScratchBytes);
  static_assert(Shapes::kDescriptorWords <= kWords, "host and device disagree on the size of a descriptor");

  // What this column's tiles begin with, asked for early.
  class Prefetch {
   public:
    __device__ __forceinline__ Prefetch(const uint64_t* slot, uint32_t tile) : asked_(slot + kAt + 1, tile) {}

   private:
    friend class Column;
    typename Shapes::PrefetchOf asked_;
  };

  Column() = default;
  __device__ __forceinline__ Column(const uint64_t* slot, uint32_t tile, void* scratch, const Prefetch& prefetch) {
    shapes_.open(shape_of(slot), slot + kAt + 1, tile, scratch, prefetch.asked_);
  }

  // The lane's rows in the range; `how` rises to what it took.
  template <Test kTest>
  __device__ __forceinline__ static uint32_t test(const uint64_t* slot, uint32_t tile, void* scratch, uint32_t& bad,
                                                  uint32_t& how, const Prefetch& prefetch, CodeRange& range,
                                                  TestKey<S> first, TestKey<S> last) {
    return Shapes::template test<S, kTest>(shape_of(slot), slot + kAt + 1, tile, scratch, bad, how, prefetch.asked_,
                                           range, first, last);
  }

  // Values kFirst … kFirst + kCount of the lane.
  template <uint32_t kFirst, uint32_t kCount, typename V>
  __device__ __forceinline__ void read(V (&out)[kCount]) {
    shapes_.with([&](auto& reader) {
      reader.visit([&](auto&& tile) {
        if constexpr (IsShort<typename Bare<decltype(tile)>::type>::value) {
#pragma unroll
          for (uint32_t j = 0; j < kCount; ++j) out[j] = to_value<V, S>(tile.at(kFirst + j));
        } else {
          V looped[kCount];  // indexed at run time, so in local memory; `out` stays in registers
          walk<V, S>(tile, kFirst, kCount, looped);
#pragma unroll
          for (uint32_t j = 0; j < kCount; ++j) {
            // 32 bits of a column that has fewer carry no sign yet.
            out[j] = SameType<V, int32_t>::value ? static_cast<V>(static_cast<S>(looped[j])) : looped[j];
          }
        }
      });
    });
  }

  // Single rows of the lane, for tiles of which little is alive: the words of the others are not touched.
  template <uint32_t kCount, typename V>
  __device__ __forceinline__ void pick(const Picked<kCount>& rows, V (&out)[kCount]) {
    shapes_.with([&](auto& reader) {
#pragma unroll
      for (uint32_t j = 0; j < kCount; ++j) out[j] = read_as<V, S>(reader, rows.k[j]);
    });
  }

  // The same rows of all lanes.
  template <uint32_t kCount, typename V>
  __device__ __forceinline__ void step(const Picked<kCount>& rows, V (&out)[kCount]) {
    shapes_.with([&](auto& reader) { read_step<V, S>(reader, rows, out); });
  }

  __device__ __forceinline__ bool bad() const { return shapes_.bad(); }

 private:
  __device__ __forceinline__ static uint32_t shape_of(const uint64_t* slot) {
    if constexpr (sizeof...(Readers) > 1) return static_cast<uint32_t>(load(slot + kAt));
    return 0;
  }

  Shapes shapes_;
};

// A column's tile that several steps read: opened by the first of them that gets there.
template <typename Column>
class Kept {
 public:
  template <typename Asked>
  __device__ __forceinline__ Column& open(const uint64_t* slot, uint32_t tile, void* scratch, const Asked& prefetch) {
    if (!is_open_) {
      tile_ = Column(slot, tile, scratch, prefetch);
      is_open_ = true;
    }
    return tile_;
  }

 private:
  Column tile_;
  bool is_open_ = false;
};

// A chunk's code among those of all chunks. The table has its length, then a number for each code.
__device__ __forceinline__ uint32_t common_code(const uint32_t* table, uint32_t code, uint32_t& bad) {
  const uint32_t entries = load(table);
  bad |= code >= entries ? 1u : 0u;
  return load(table + 1 + (code < entries ? code : 0));
}

// One copy for all columns whose NULLs are stored alike.
struct ValidRows {
  uint32_t mask;
  uint32_t bad;
};
template <typename... Readers>
__device__ __noinline__ ValidRows valid_rows(uint32_t shape, const uint64_t* descriptor, uint32_t tile, void* scratch) {
  ValidRows rows{0, 0};
  uint32_t how = 0;  // counted are answers about values
  CodeRange range;
  rows.mask = OneOf<Readers...>::template test<uint8_t, Test::kAtLeast>(shape, descriptor, tile, scratch, rows.bad, how,
                                                                        NoPrefetch(), range, 1, 255);
  return rows;
}

// Which of the lane's rows of a column are not NULL. Chunks without NULLs have shape 0 and no stream.
template <uint32_t kAt, uint32_t kWords, typename... Readers>
struct Validity {
  using Shapes = OneOf<Readers...>;
  static constexpr uint32_t kScratchBytes = round_to_16(Shapes::kScratchBytes);
  static_assert(Shapes::kDescriptorWords <= kWords, "host and device disagree on the size of a descriptor");

  __device__ __forceinline__ static uint32_t mask(const uint64_t* slot, uint32_t tile, void* scratch, uint32_t& bad) {
    const uint32_t shape = static_cast<uint32_t>(load(slot + kAt));
    if (shape == 0) return ~0u;
    const ValidRows rows = valid_rows<Readers...>(shape - 1, slot + kAt + 1, tile, scratch);
    bad |= rows.bad;
    sync_warp();
    return rows.mask;
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
