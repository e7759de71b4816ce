// The published decoder: a block per partition, a warp per tile, every lane reads its own stream of bits straight from
// global memory and trusts in the L1 cache, predictions step in FP64.
#pragma once

#include "bench/paper/layout.h"
#include "core/device/warp.h"
#include "core/packed_tile.h"
#include "core/quartered_tile.h"

namespace basalt::paper {

// All pointers are device memory.
struct DeviceStreams {
  const Record* records;
  const uint64_t* params;
  const uint32_t* payload;
};

// A lane's residuals of up to 32 bits through a window of two words; the second is asked for a word ahead, and every
// word once.
class NarrowResiduals {
 public:
  // `bits` in all, not none, from bit `at` of the payload on.
  __device__ __forceinline__ NarrowResiduals(const uint32_t* payload, uint64_t at, uint32_t bits, uint32_t width)
      : next_(payload + at / 32),
        end_(payload + (at + bits + 31) / 32),
        shift_(static_cast<uint32_t>(at % 32)),
        width_(width),
        mask_(static_cast<uint32_t>(low_bits(width))) {
    low_ = device::load(next_++);
    refill();
  }
  __device__ __forceinline__ uint32_t next() {
    const uint32_t bits = device::funnel_right(low_, high_, shift_) & mask_;
    shift_ += width_;
    if (shift_ >= 32) {
      shift_ -= 32;
      low_ = high_;
      refill();
    }
    return bits;
  }

 private:
  __device__ __forceinline__ void refill() {
    if (next_ < end_) high_ = device::load(next_++);
  }

  const uint32_t* next_;
  const uint32_t* end_;
  uint32_t low_, high_ = 0, shift_, width_, mask_;
};

// Wider ones out of two words of 64 bits, without a branch.
class WideResiduals {
 public:
  __device__ __forceinline__ WideResiduals(const uint32_t* payload, uint64_t at, uint32_t, uint32_t width)
      : words_(reinterpret_cast<const uint64_t*>(payload)), at_(at), width_(width) {}
  __device__ __forceinline__ uint64_t next() {
    const uint64_t* word = words_ + at_ / 64;
    const auto shift = static_cast<uint32_t>(at_ % 64);
    const uint64_t low = device::load(word);
    const uint64_t high = device::load(word + 1);
    at_ += width_;
    return (low >> shift | (shift == 0 ? 0 : high << (64 - shift))) & low_bits(width_);
  }

 private:
  const uint64_t* words_;
  uint64_t at_;
  uint32_t width_;
};

struct NoResiduals {
  __device__ __forceinline__ NoResiduals(const uint32_t*, uint64_t, uint32_t, uint32_t) {}
  __device__ __forceinline__ uint32_t next() const { return 0; }
};

// A lane's rows of a tile. Degree 0: a frame of reference.
template <typename T, uint32_t kDegree, typename Residuals>
__device__ __forceinline__ void decode_tile(const DeviceStreams& from, const Record& record, const Tile& tile, T* out) {
  const uint32_t lane = device::lane_id();
  const uint32_t width = record.width();
  const uint64_t at = uint64_t{record.payload} * 32 + tile.bit(lane, width);
  Residuals residuals(from.payload, at, tile.per_lane * width, width);
  Steps s;
  uint64_t base = 0;
  if constexpr (kDegree == 0) {
    base = device::load(from.params + record.params);
  } else {
    double theta[kDegree + 1];
#pragma unroll
    for (uint32_t i = 0; i <= kDegree; ++i) {
      theta[i] = __longlong_as_double(static_cast<long long>(device::load(from.params + record.params + i)));
    }
    s = Steps::from<kDegree>(theta, tile.first + lane);
  }
  out += record.start + tile.first + lane;
  const auto row = [&]() -> T {
    const uint64_t bits = residuals.next();
    if constexpr (kDegree == 0) return static_cast<T>(base + bits);
    const uint64_t value = static_cast<uint64_t>(s.prediction()) + extend(bits, width);
    s.step<kDegree>();
    return static_cast<T>(value);
  };
  if (tile.rows == kRowsOfTile) {
#pragma unroll 4
    for (uint32_t k = 0; k < kRowsOfLane; ++k, out += kLanes) device::store_once(out, row());
    return;
  }
  // The last lanes have no last row.
  const uint32_t rows = tile.rows > lane ? (tile.rows - lane + kLanes - 1) / kLanes : 0;
#pragma unroll 4
  for (uint32_t k = 0; k < rows; ++k, out += kLanes) device::store_once(out, row());
}

template <typename T, uint32_t kDegree>
__device__ __forceinline__ void decode_tiles(const DeviceStreams& from, const Record& record, T* out) {
  const uint32_t tiles = Tile::count(record.rows());
  for (uint32_t number = threadIdx.x / kLanes; number < tiles; number += blockDim.x / kLanes) {
    const Tile tile(record.rows(), number);
    if (record.width() == 0) {
      decode_tile<T, kDegree, NoResiduals>(from, record, tile, out);
    } else if (record.width() <= 32) {
      decode_tile<T, kDegree, NarrowResiduals>(from, record, tile, out);
    } else {
      decode_tile<T, kDegree, WideResiduals>(from, record, tile, out);
    }
  }
}

// Shared memory of a block whose longest partition of runs has `runs`.
template <typename T>
BASALT_HD constexpr uint32_t shared_bytes(uint32_t runs) {
  return runs * static_cast<uint32_t>(sizeof(T) + sizeof(uint16_t)) + 32 * static_cast<uint32_t>(sizeof(uint32_t));
}

static_assert(shared_bytes<uint64_t>(kMostRows / 2) <= 48 << 10);  // what a block has without asking

// All runs to shared memory, their lengths added up, and every row looks for its run.
template <typename T>
__device__ __forceinline__ void decode_runs(const DeviceStreams& from, const Record& record, T* out, void* shared) {
  const uint32_t* words = from.payload + record.payload;
  const RunsHeader header = RunsHeader::get(words);
  T* values = static_cast<T*>(shared);
  auto* sums = reinterpret_cast<uint32_t*>(values + header.runs);
  auto* ends = reinterpret_cast<uint16_t*>(sums + 32);
  words += kRunsHeaderWords;
  for (uint32_t q = threadIdx.x; q < header.runs; q += blockDim.x) {
    const uint64_t residual =
        extend(stream_bits(words, q * header.value_width, header.value_width), header.value_width);
    values[q] = static_cast<T>(static_cast<uint64_t>(RunsHeader::predict(header.value_line, q)) + residual);
  }
  words += header.value_words();
  const auto length = [&](uint32_t q) {
    const uint64_t residual =
        extend(stream_bits(words, q * header.length_width, header.length_width), header.length_width);
    return static_cast<uint32_t>(RunsHeader::predict(header.length_line, q)) + static_cast<uint32_t>(residual);
  };
  // A thread adds up neighbouring runs, its warp the threads, and the block the warps.
  const uint32_t each = (header.runs + blockDim.x - 1) / blockDim.x;
  const uint32_t first = threadIdx.x * each < header.runs ? threadIdx.x * each : header.runs;
  const uint32_t last = first + each < header.runs ? first + each : header.runs;
  uint32_t sum = 0;
  for (uint32_t q = first; q < last; ++q) sum += length(q);
  uint32_t end = device::sum_below(sum);
  if (device::lane_id() == kLanes - 1) sums[threadIdx.x / kLanes] = end + sum;
  __syncthreads();
  for (uint32_t warp = 0; warp < threadIdx.x / kLanes; ++warp) end += sums[warp];
  for (uint32_t q = first; q < last; ++q) {
    end += length(q);
    ends[q] = static_cast<uint16_t>(end);
  }
  __syncthreads();
  for (uint32_t row = threadIdx.x; row < record.rows(); row += blockDim.x) {
    uint32_t low = 0;
    uint32_t high = header.runs - 1;
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (ends[middle] > row) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    device::store_once(out + record.start + row, values[low]);
  }
}

// By a whole block, at most 32 warps.
template <typename T>
__device__ __forceinline__ void decode_partition(const DeviceStreams& from, uint32_t partition, T* out, void* shared) {
  const Record record = from.records[partition];
  switch (record.kind()) {
    case Kind::kConstant: {
      const auto value = static_cast<T>(device::load(from.params + record.params));
      for (uint32_t i = threadIdx.x; i < record.rows(); i += blockDim.x) {
        device::store_once(out + record.start + i, value);
      }
      return;
    }
    case Kind::kFor: return decode_tiles<T, 0>(from, record, out);
    case Kind::kLine: return decode_tiles<T, 1>(from, record, out);
    case Kind::kParabola: return decode_tiles<T, 2>(from, record, out);
    case Kind::kCubic: return decode_tiles<T, 3>(from, record, out);
    case Kind::kRuns: return decode_runs<T>(from, record, out, shared);
  }
}

}  // namespace basalt::paper
