// Prefix sums: places of what follows each other, out of sizes.
#pragma once

#include <cub/device/device_scan.cuh>

#include "cuda/codec/encode_array.cuh"

namespace basalt::cuda {

// Sums of the sizes before each item, and behind the last one that of all: uint64, count + 1.
inline DeviceBuffer prefix_sums_of(const uint32_t* sizes, uint64_t count, cudaStream_t stream) {
  DeviceBuffer sums = cleared((count + 1) * sizeof(uint64_t), stream);
  if (count == 0) return sums;
  with_temporary(stream, [&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(
        temporary, bytes, sizes, sums.as<uint64_t>() + 1,
        [] __host__ __device__(uint64_t a, uint64_t b) { return a + b; }, static_cast<int64_t>(count), stream);
  });
  return sums;
}

// Of the places of rows, those where tiles begin, and behind them the end: uint64, tiles + 1.
inline DeviceBuffer tile_starts_of(const uint64_t* places, uint64_t rows, cudaStream_t stream) {
  const uint64_t tiles = tile_count(rows);
  DeviceBuffer starts((tiles + 1) * sizeof(uint64_t), stream);
  auto* to = starts.as<uint64_t>();
  each_row(tiles + 1, stream,
           [=] __device__(uint64_t tile) { to[tile] = places[tile * kTileRows < rows ? tile * kTileRows : rows]; });
  return starts;
}

}  // namespace basalt::cuda
