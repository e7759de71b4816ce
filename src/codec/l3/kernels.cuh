// Tile reader of `l3`. A tile's rows pass through shared memory: whatever its partitions and models are, what follows
// reads one row by one shared load, and generated kernels stay short.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/l3/layout.h"
#include "core/device/warp.h"

namespace basalt::device {

template <typename T>
class L3 {
  // Shared memory moves words of four bytes.
  using Row = typename SelectType<(sizeof(T) < 4), uint32_t, T>::type;

 public:
  using value_type = T;
  static constexpr uint32_t kDescriptorWords = 1 + l3::kStreams;
  static constexpr uint32_t kScratchBytes = kTileRows * sizeof(Row);
  static constexpr bool kPointAccess = true;
  static constexpr bool kRowsInShared = true;  // at(k) is one read of the scratch, k may be a run-time number

  bool bad = false;

  __device__ __forceinline__ void bind(const uint64_t* descriptor) {
    row_count_ = row_count(descriptor);
    chunk_ = l3::Chunk::of(stream<uint32_t>(descriptor, 1 + l3::kTiles), stream<uint16_t>(descriptor, 1 + l3::kRecords),
                           stream<uint32_t>(descriptor, 1 + l3::kParams),
                           stream<uint32_t>(descriptor, 1 + l3::kResiduals), row_count_);
  }

  __device__ __forceinline__ void seek(uint32_t tile, void* scratch) {
    rows_ = static_cast<Row*>(scratch);
    const uint32_t entry = load(chunk_.tiles + tile);
    const uint32_t* words = chunk_.words_of(entry);
    uint32_t partition = l3::tile_partition(entry);
    l3::Record record = chunk_.record(partition);
    sync_warp();  // nobody reads the last tile any more
    if (!l3::tile_quartered(entry)) {
      if (record.model == l3::Model::kRuns) {
        expand_runs(record, tile * kUnitsPerTile, 0, kRowsPerLane);
      } else {
        predict(record, tile * kUnitsPerTile, 0, kRowsPerLane,
                [&](uint32_t k) { return packed_value(words + lane_id(), record.width, k); });
      }
    } else {
      const uint32_t units = (row_count_ - tile * kTileRows + kUnitRows - 1) / kUnitRows;
      for (uint32_t u = 0; u < kUnitsPerTile && u < units; ++u) {
        const uint32_t unit = tile * kUnitsPerTile + u;
        partition = chunk_.partition_of(partition, unit);
        record = chunk_.record(partition);
        if (record.model == l3::Model::kRuns) {
          expand_runs(record, unit, u * kUnitRowsPerLane, kUnitRowsPerLane);
        } else {
          predict(record, unit, u * kUnitRowsPerLane, kUnitRowsPerLane,
                  [&](uint32_t k) { return unit_row(words, record.width, k * kLanes + lane_id()); });
          words += unit_words(record.width);
        }
      }
    }
    sync_warp();
  }

  __device__ __forceinline__ void open(const uint64_t* descriptor, uint32_t tile, void* scratch) {
    bind(descriptor);
    seek(tile, scratch);
  }

  __device__ __forceinline__ T at(uint32_t k) const { return static_cast<T>(rows_[k * kLanes + lane_id()]); }

  __device__ __forceinline__ T row(uint32_t i) { return static_cast<T>(chunk_.value(i, sizeof(T), &bad)); }
  __device__ __forceinline__ static T value(const uint64_t* descriptor, uint32_t i) {
    L3 reader;
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
  // Rows k = 0…count−1 of the lane from `unit` on, to rows first_k + k of the tile.
  template <typename Residual>
  __device__ __forceinline__ void predict(const l3::Record& record, uint32_t unit, uint32_t first_k, uint32_t count,
                                          Residual&& residual) {
    const l3::Predictor p = l3::get_predictor(record, chunk_.params, sizeof(T));
    l3::Steps steps = l3::steps_from(p, (unit - record.first_unit) * kUnitRows + lane_id(), kLanes);
#pragma unroll 4
    for (uint32_t k = 0; k < count; ++k) {
      rows_[(first_k + k) * kLanes + lane_id()] = static_cast<Row>(l3::finish(p, steps.y, residual(k)));
      l3::step(steps);
    }
  }

  // Each lane looks for the run of its first row and walks on from there.
  __device__ __forceinline__ void expand_runs(const l3::Record& record, uint32_t unit, uint32_t first_k,
                                              uint32_t count) {
    const l3::Runs runs = l3::Runs::of(record, chunk_.params, chunk_.residuals, sizeof(T));
    const uint32_t left = row_count_ - record.first_unit * kUnitRows;
    uint32_t i = (unit - record.first_unit) * kUnitRows + lane_id();
    uint32_t run = runs.find(i);
    uint32_t end = runs.end(run);
    for (uint32_t k = 0; k < count; ++k, i += kLanes) {
      while (end <= i && run + 1 < runs.header.runs) end = runs.end(++run);
      bad = bad || (end <= i && i < left);
      rows_[(first_k + k) * kLanes + lane_id()] = static_cast<Row>(runs.value(run));
    }
  }

  l3::Chunk chunk_;
  Row* rows_;
  uint32_t row_count_;
};

}  // namespace basalt::device
