// The steps that generated kernels are made of: walk the work list, open a column's tile, test it, load it into
// registers. One warp owns one tile of 1024 rows; bit k of a lane's 32-bit mask stands for row 32·k + lane.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/packed/kernels.cuh"
#include "core/device/warp.h"
#include "core/packed_tile.h"
#include "exec/device/work.h"

namespace basalt::device {

// Walks this warp's share of the work list. The next item is fetched while the current one is worked on, so that the
// chain of dependent loads of a tile begins with its chunk's descriptor.
class Work {
 public:
  __device__ __forceinline__ Work(const uint32_t* items, uint32_t count) : items_(items), count_(count) {
    const uint32_t warps = blockDim.x / kLanes;
    stride_ = gridDim.x * warps;
    at_ = blockIdx.x * warps + threadIdx.x / kLanes;
    item_ = at_ < count_ ? load(items_ + at_) : 0;
    fetch();
  }
  __device__ __forceinline__ bool more() const { return at_ < count_; }
  __device__ __forceinline__ void next() {
    at_ += stride_;
    item_ = following_;
    fetch();
  }
  __device__ __forceinline__ uint32_t index() const { return at_; }
  __device__ __forceinline__ uint32_t tile() const { return work_tile(item_); }
  __device__ __forceinline__ uint32_t slot() const { return work_slot(item_); }
  // Statistics say that every row passes the filter.
  __device__ __forceinline__ bool all_pass() const { return work_all_pass(item_); }

 private:
  __device__ __forceinline__ void fetch() { following_ = at_ + stride_ < count_ ? load(items_ + at_ + stride_) : 0; }

  const uint32_t* items_;
  uint32_t count_;
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

// Readers that can compare in their packed domain say so by having range().
template <typename Reader>
concept PackedDomain = requires(Reader& reader) { reader.template range<true>(0, 0); };

// The lane's rows with first ≤ value ≤ last (or ≠ first). Packed tiles are compared without being widened, and not read
// at all when their reference and width decide.
template <typename S, Test kTest, typename Reader>
__device__ __forceinline__ uint32_t test_tile(Reader& reader, S first, S last) {
  using Bits = typename Reader::value_type;
  if constexpr (PackedDomain<Reader>) {
    constexpr bool kSigned = static_cast<S>(-1) < static_cast<S>(0);
    const RawRange range = reader.template range<kSigned>(static_cast<Bits>(first), static_cast<Bits>(last));
    uint32_t mask = range.all ? ~0u : 0u;
    if (!range.none && !range.all) {
      reader.visit([&](auto&& tile) {
        if constexpr (kTest == Test::kAtMost) {
          mask = tile.below(range.last + 1);
        } else if constexpr (kTest == Test::kAtLeast) {
          mask = ~tile.below(range.first);
        } else {
          mask = tile.within(range.first, range.last);
        }
      });
    }
    return kTest == Test::kNotEqual ? ~mask : mask;
  } else {
    uint32_t mask = 0;
    reader.visit([&](auto&& tile) {
      for_each_k([&](uint32_t k) {
        const S value = to_value<S, S>(tile.at(k));
        bool pass = true;
        if (kTest != Test::kAtMost) pass = pass && value >= first;
        if (kTest != Test::kAtLeast) pass = pass && value <= last;
        if (pass) mask |= 1u << k;
      });
    });
    return kTest == Test::kNotEqual ? ~mask : mask;
  }
}

constexpr uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

// A column whose chunks come in one of several encodings: the slot's first word says in which. The selection is the
// same for the whole warp.
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
  __device__ __forceinline__ bool bad() const { return only_.bad; }

 private:
  Reader only_;
};

// One column of a generated kernel. S: its logical type; kAt: where its words begin in a chunk's slot; then its readers.
template <typename S, uint32_t kAt, uint32_t kWords, typename... Readers>
class Column {
 public:
  using Shapes = OneOf<Readers...>;
  static constexpr uint32_t kScratchBytes = round_to_16(Shapes::kScratchBytes);
  static_assert(Shapes::kDescriptorWords <= kWords, "host and device disagree on the size of a descriptor");

  __device__ __forceinline__ Column(const uint64_t* slot, uint32_t tile, void* scratch) {
    uint32_t shape = 0;
    if constexpr (sizeof...(Readers) > 1) shape = static_cast<uint32_t>(load(slot + kAt));
    shapes_.open(shape, slot + kAt + 1, tile, scratch);
  }

  template <Test kTest>
  __device__ __forceinline__ uint32_t test(S first, S last) {
    uint32_t mask = 0;
    shapes_.with([&](auto& reader) { mask = test_tile<S, kTest>(reader, first, last); });
    return mask;
  }

  // Values kFirst … kFirst + kCount of the lane.
  template <uint32_t kFirst, uint32_t kCount, typename V>
  __device__ __forceinline__ void read(V (&out)[kCount]) {
    shapes_.with([&](auto& reader) {
      reader.visit([&](auto&& tile) {
#pragma unroll
        for (uint32_t j = 0; j < kCount; ++j) out[j] = to_value<V, S>(tile.at(kFirst + j));
      });
    });
  }

  __device__ __forceinline__ bool bad() const { return shapes_.bad(); }

 private:
  Shapes shapes_;
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
    Shapes shapes;
    shapes.open(shape - 1, slot + kAt + 1, tile, scratch);
    uint32_t valid = 0;
    shapes.with([&](auto& reader) { valid = test_tile<uint8_t, Test::kAtLeast>(reader, 1, 255); });
    if (shapes.bad()) bad = 1;
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
