// Decoding a batch of chunks to plain memory with any tile reader: one warp per tile, every tile independent.
#pragma once

#include "basalt/core/host_device.h"
#include "core/device/batch.h"
#include "core/device/warp.h"

namespace basalt::device {

enum class Stores { kCached, kOnce };

// Values of one and two bytes go through shared memory: 32 stores of 32 or 64 bytes become stores of 512 bytes.
template <typename T>
constexpr uint32_t kStagingBytes = sizeof(T) < 4 ? kTileRows * sizeof(T) : 0;

template <typename Reader>
constexpr uint32_t kDecodeBytesPerWarp = Reader::kScratchBytes + kStagingBytes<typename Reader::value_type>;

struct alignas(16) SixteenBytes {
  uint32_t words[4];
};

template <Stores kStores, typename T>
__device__ __forceinline__ void store(T* to, T value) {
  if constexpr (kStores == Stores::kOnce) {
    store_once(to, value);
  } else {
    *to = value;
  }
}

// Writes a staged tile, 16 bytes per lane and step. `out` is 16-byte aligned because tiles begin on multiples of 1024.
template <typename T>
__device__ __forceinline__ void store_staged_tile(T* out, const void* staged) {
  const auto* from = static_cast<const SixteenBytes*>(staged);
  auto* to = reinterpret_cast<SixteenBytes*>(out);
#pragma unroll
  for (uint32_t i = 0; i < kTileRows * sizeof(T) / sizeof(SixteenBytes); i += kLanes) {
    to[i + lane_id()] = from[i + lane_id()];
  }
}

// Writes the `rows` rows of the tile that `reader` has open. `staging` is used for narrow types only.
template <Stores kStores, typename Reader, typename T>
__device__ __forceinline__ void write_tile(Reader& reader, uint32_t rows, T* out, void* staging) {
  const uint32_t lane = lane_id();
  if (rows != kTileRows) {
    // One tile per chunk at most: short code matters more than its speed.
#pragma unroll 1
    for (uint32_t k = 0; k < kRowsPerLane; ++k) {
      const T value = reader.at(k);
      if (k * kLanes + lane < rows) out[k * kLanes + lane] = value;
    }
  } else if constexpr (sizeof(T) < 4) {
    T* rows_staged = static_cast<T*>(staging);
    sync_warp();
    reader.visit([&](auto&& view) { for_each_k([&](uint32_t k) { rows_staged[k * kLanes + lane] = view.at(k); }); });
    sync_warp();
    store_staged_tile(out, staging);
  } else {
    T* lane_out = out + lane;
    reader.visit(
        [&](auto&& view) { for_each_k([&](uint32_t k) { store<kStores>(lane_out + k * kLanes, view.at(k)); }); });
  }
}

// Grid: x covers the tiles of the longest chunk, kWarps per block; y the chunks. `fault` becomes 1 if values were found
// that no writer makes.
template <typename Reader, uint32_t kWarps, uint32_t kMinBlocks, Stores kStores>
__global__ __launch_bounds__(kWarps* kLanes, kMinBlocks) void decode_tiles(ChunkBatch batch,
                                                                           typename Reader::value_type* out,
                                                                           uint32_t* fault) {
  extern __shared__ SixteenBytes shared[];
  const uint32_t warp = threadIdx.x / kLanes;
  auto* scratch = reinterpret_cast<unsigned char*>(shared) + warp * kDecodeBytesPerWarp<Reader>;
  const uint32_t tile = blockIdx.x * kWarps + warp;
  bool bad = false;
#pragma unroll 1
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* descriptor = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    Reader reader;
    reader.bind(descriptor);  // before the count is known, so that both wait for memory once
    const uint32_t rows = rows_of_tile(row_count(descriptor), tile);
    if (rows == 0) continue;
    reader.seek(tile, scratch);
    write_tile<kStores>(reader, rows, out + load(batch.first_rows + chunk) + uint64_t{tile} * kTileRows,
                        scratch + Reader::kScratchBytes);
    bad = bad || reader.bad;
    sync_warp();
  }
  if (bad) *fault = 1;
}

}  // namespace basalt::device
