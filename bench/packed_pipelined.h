// Decoding packed chunks to memory with the copy engine on both sides: while a warp unpacks one tile from shared
// memory, its next tiles are on their way in and its last one on its way out. Needs Hopper; each warp works alone.
#pragma once

#include "codec/packed/gpu/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/bulk_copy.h"
#include "core/device/warp.h"

namespace basalt::device {

// A tile's words never take more room than its plain values, unless it is wider than its type, which no writer makes:
// such tiles are read from global memory.
template <typename T>
constexpr uint32_t kPlainTileBytes = kTileRows * sizeof(T);

template <typename T, uint32_t kStages>
constexpr uint32_t kPipelineBytesPerWarp = (kStages + 2) * kPlainTileBytes<T> + 128;

template <typename T>
struct PipelinedTile {
  const uint64_t* descriptor;
  T* out;
  T reference;
  uint32_t entry;  // the tile's descriptor: place and width
  uint32_t tile;
  uint32_t rows;  // 0 where a shorter chunk has no such tile
};

template <typename T>
__device__ __forceinline__ PipelinedTile<T> find_tile(const ChunkBatch& batch, T* out, uint32_t index) {
  PipelinedTile<T> job;
  job.rows = 0;
  job.entry = 0;
  const uint32_t chunk = index / batch.tiles_per_chunk;
  if (chunk >= batch.chunks) return job;
  job.tile = index - chunk * batch.tiles_per_chunk;
  job.descriptor = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
  job.rows = rows_of_tile(row_count(job.descriptor), job.tile);
  if (job.rows == 0) return job;
  job.entry = load(stream<uint32_t>(job.descriptor, 1 + packed::kDescriptors) + job.tile);
  job.reference = load(stream<T>(job.descriptor, 1 + packed::kReferences) + job.tile);
  job.out = out + load(batch.first_rows + chunk) + uint64_t{job.tile} * kTileRows;
  return job;
}

template <typename T>
__device__ __forceinline__ bool fits_stage(const PipelinedTile<T>& job) {
  return packed::descriptor_width(job.entry) * kLanes * 4 <= kPlainTileBytes<T>;
}

#if defined(BASALT_HAS_BULK_COPY)
template <typename T>
__device__ __forceinline__ void request_words(const PipelinedTile<T>& job, unsigned char* stage, uint64_t* barrier) {
  const uint32_t bytes = fits_stage(job) ? packed::descriptor_width(job.entry) * kLanes * 4 : 0;
  const uint32_t* words = nullptr;
  if (bytes != 0) {
    words = stream<uint32_t>(job.descriptor, 1 + packed::kWords) + packed::descriptor_word(job.entry);
  }
  bulk_load(stage, words, bytes, barrier);
}
#endif

template <typename T>
__device__ __forceinline__ void unpack_stage(const PipelinedTile<T>& job, const unsigned char* stage, T* plain) {
  const uint32_t lane = lane_id();
  const uint32_t* words = reinterpret_cast<const uint32_t*>(stage) + lane;
  const uint32_t width = packed::descriptor_width(job.entry);
  constexpr uint32_t kWidest = sizeof(T) >= 8 ? 64 : 8 * sizeof(T);
  const bool done = for_width<kWidest>(AllWidths{}, width, [&](auto constant_width) {
    constexpr uint32_t W = decltype(constant_width)::value;
    for_each_k([&](uint32_t k) {
      const auto raw = extract<W>(k * W, [&](uint32_t j) { return words[j * kLanes]; });
      plain[k * kLanes + lane] = static_cast<T>(job.reference + static_cast<T>(raw));
    });
  });
  if (done) return;
  Packed<T> direct;
  direct.open(job.descriptor, job.tile, nullptr);
#pragma unroll 1
  for (uint32_t k = 0; k < kRowsPerLane; ++k) plain[k * kLanes + lane] = direct.at(k);
}

// A persistent grid (empty before Hopper): warp w of n takes tiles w, w + n, …, so that the whole device moves through
// memory together.
template <typename T, uint32_t kWarps, uint32_t kStages>
__global__ __launch_bounds__(kWarps* kLanes, 1) void decode_pipelined(ChunkBatch batch, T* out) {
#if defined(BASALT_HAS_BULK_COPY)
  extern __shared__ __align__(128) unsigned char pipeline[];
  const uint32_t lane = lane_id();
  const uint32_t warp = threadIdx.x / kLanes;
  unsigned char* stages = pipeline + warp * kPipelineBytesPerWarp<T, kStages>;
  unsigned char* plain = stages + kStages * kPlainTileBytes<T>;
  uint64_t* barriers = reinterpret_cast<uint64_t*>(plain + 2 * kPlainTileBytes<T>);
  if (lane == 0) {
    for (uint32_t s = 0; s < kStages; ++s) init_barrier(barriers + s);
    publish_barriers();
  }
  sync_warp();

  const uint32_t total = batch.chunks * batch.tiles_per_chunk;
  const uint32_t step = gridDim.x * kWarps;
  uint32_t index = blockIdx.x * kWarps + warp;
  PipelinedTile<T> jobs[kStages];
#pragma unroll
  for (uint32_t s = 0; s < kStages; ++s) {
    jobs[s] = find_tile(batch, out, index + s * step);
    if (lane == 0) request_words(jobs[s], stages + s * kPlainTileBytes<T>, barriers + s);
  }

  uint32_t stage = 0;
  uint32_t phase = 0;
  uint32_t half = 0;
#pragma unroll 1
  for (; index < total; index += step) {
    const PipelinedTile<T> ahead = find_tile(batch, out, index + kStages * step);
    unsigned char* words = stages + stage * kPlainTileBytes<T>;
    T* rows = reinterpret_cast<T*>(plain + half * kPlainTileBytes<T>);
    wait_barrier(barriers + stage, phase);
    if (jobs[0].rows != 0) {
      if (lane == 0) wait_stores_read<1>();
      sync_warp();
      unpack_stage(jobs[0], words, rows);
      if (jobs[0].rows == kTileRows) {
        publish_shared_writes();
        sync_warp();
        if (lane == 0) bulk_store(jobs[0].out, rows, kPlainTileBytes<T>);
        half ^= 1;
      } else {
        for (uint32_t row = lane; row < jobs[0].rows; row += kLanes) jobs[0].out[row] = rows[row];
      }
    }
    sync_warp();  // every lane has read the stage: it may be filled again
    if (lane == 0) request_words(ahead, words, barriers + stage);
#pragma unroll
    for (uint32_t s = 0; s + 1 < kStages; ++s) jobs[s] = jobs[s + 1];
    jobs[kStages - 1] = ahead;
    stage = stage + 1 == kStages ? 0 : stage + 1;
    phase ^= stage == 0;
  }
  if (lane == 0) wait_stores_done();
#endif
}

}  // namespace basalt::device
