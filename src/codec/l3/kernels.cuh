// Tile reader of `l3`. A tile's rows pass through shared memory: whatever its partitions and models are, what follows
// reads one row by one shared load, and generated kernels stay short.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/l3/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

__device__ __forceinline__ l3::Chunk l3_chunk(const uint64_t* descriptor) {
  return l3::Chunk::of(stream<uint32_t>(descriptor, 1 + l3::kStarts), stream<uint64_t>(descriptor, 1 + l3::kRecords),
                       stream<uint32_t>(descriptor, 1 + l3::kParams), stream<uint32_t>(descriptor, 1 + l3::kResiduals),
                       row_count(descriptor));
}

// Goes through the rows of a tile, whatever its models are.
template <typename T>
struct L3Tile {
  l3::Chunk chunk;
  bool bad;

  // f(k, value) for the lane's rows that the chunk has, k ascending; all lanes come along, and rows beyond the count
  // may appear with any value.
  template <typename F>
  __device__ __forceinline__ void for_each_row(uint32_t tile, F&& f) {
    const uint32_t first_unit = tile * kUnitsPerTile;
    const bool packed = chunk.is_packed(first_unit);
    // A packed tile goes unit by unit as well, runs excepted: one copy of the code is what compilation has time for.
#pragma unroll 1
    for (uint32_t u = 0; u < kUnitsPerTile && first_unit + u < chunk.units; ++u) {
      const uint32_t unit = first_unit + u;
      const uint32_t partition = chunk.partition_of(packed ? first_unit : unit);
      const l3::Record record = chunk.record(partition);
      const uint32_t first_k = u * kUnitRowsPerLane;
      if (record.model == l3::Model::kRuns) {
        rows_of_runs(record, partition, unit, first_k, packed ? kRowsPerLane : kUnitRowsPerLane, f);
        if (packed) return;
        continue;
      }
      const uint32_t* words = chunk.words_of(record, packed ? first_unit : unit);
      rows_of_model(record, unit, first_k, packed ? words + lane_id() : words, packed ? kLanes : 1,
                    (packed ? first_k : lane_id() * kUnitRowsPerLane) * record.width, f);
    }
  }

 private:
  // `width` bits at `bit` of a stream whose words lie `stride` apart.
  __device__ __forceinline__ static uint64_t bits_at(const uint32_t* words, uint32_t stride, uint32_t bit,
                                                     uint32_t width) {
    const uint32_t* at = words + (bit >> 5) * stride;
    const uint32_t shift = bit & 31;
    // A word beyond the value's last bit may lie beyond the stream: the last one that counts is read instead.
    const uint32_t beyond = (shift + width + 31) / 32;
    if (width == 0) return 0;
    const uint32_t word_0 = load(at);
    const uint32_t word_1 = load(at + (beyond > 1 ? stride : 0));
    const uint32_t low = funnel_right(word_0, word_1, shift);
    if (width <= 32) return low & static_cast<uint32_t>(low_bits(width));
    const uint32_t word_2 = load(at + (beyond > 2 ? 2 : 1) * stride);
    const uint32_t high = funnel_right(word_1, word_2, shift);
    return (static_cast<uint64_t>(high) << 32 | low) & low_bits(width);
  }

  // The lane's eight rows of `unit`, which are rows first_k… of the tile.
  template <typename F>
  __device__ __forceinline__ void rows_of_model(const l3::Record& record, uint32_t unit, uint32_t first_k,
                                                const uint32_t* words, uint32_t stride, uint32_t bit, F&& f) {
    const l3::Predictor p = l3::get_predictor(record, chunk.params, sizeof(T));
    l3::Steps steps = l3::steps_from(p, (unit - record.first_unit) * kUnitRows + lane_id(), kLanes);
#pragma unroll 1
    for (uint32_t k = 0; k < kUnitRowsPerLane; ++k) {
      const uint64_t residual = bits_at(words, stride, bit + k * record.width, record.width);
      f(first_k + k, static_cast<T>(l3::finish(p, steps.y, residual)));
      l3::step(steps);
    }
  }

  // The same for `count` rows of runs: from the first run of its rows each lane walks on.
  template <typename F>
  __device__ __forceinline__ void rows_of_runs(const l3::Record& record, uint32_t partition, uint32_t unit,
                                               uint32_t first_k, uint32_t count, F&& f) {
    const l3::Runs runs = chunk.runs(record, partition, sizeof(T));
    uint32_t i = (unit - record.first_unit) * kUnitRows;
    l3::RunsOfTile at(runs, runs.tile_of(i));
    at.find(i);
    uint64_t value = runs.value(at.run);
    i += lane_id();
#pragma unroll 1
    for (uint32_t k = 0; k < count; ++k, i += kLanes) {
      if (at.move_to(i)) value = runs.value(at.run);
      f(first_k + k, static_cast<T>(value));
    }
    bad = bad || at.bad;
  }
};

template <typename T>
class L3 : public OneForm<L3<T>, T> {
  // Shared memory moves words of four bytes.
  using Row = typename SelectType<(sizeof(T) < 4), uint32_t, T>::type;

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = 1 + l3::kStreams;
  static constexpr uint32_t kScratchBytes = kTileRows * sizeof(Row);
  static constexpr bool kPointAccess = true;
  static constexpr bool kRowsInShared = true;  // at(k) is one read of the scratch, k may be a run-time number

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) { descriptor_ = descriptor; }

  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    rows_ = static_cast<Row*>(scratch);
    bad = fill(descriptor_, tile, scratch) || bad;
  }

  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    descriptor_ = descriptor;
    seek(tile, scratch);
  }

  __device__ __forceinline__ T at(uint32_t k) const { return static_cast<T>(rows_[k * kLanes + lane_id()]); }

  __device__ __forceinline__ T row(uint32_t i) {
    return static_cast<T>(l3_chunk(descriptor_).value(i, sizeof(T), &bad));
  }

 private:
  // Writes the tile's rows to the scratch; true if they break a rule. One copy per value type: a statement may have
  // many such columns.
  __device__ __noinline__ static bool fill(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    Row* rows = static_cast<Row*>(scratch);
    L3Tile<T> walk{l3_chunk(descriptor), false};
    sync_warp();  // nobody reads the last tile any more
    walk.for_each_row(tile, [&](uint32_t k, T value) { rows[k * kLanes + lane_id()] = value; });
    sync_warp();
    return walk.bad;
  }

  const uint64_t* descriptor_;
  Row* rows_;
};

}  // namespace basalt::device
