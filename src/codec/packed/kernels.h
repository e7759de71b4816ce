// Launches of the packed codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "core/device/batch.h"

namespace basalt::packed {

// Ways to decode that differ only in speed. kAutomatic is what was measured to be fastest on the current device.
enum class DecodeKernel {
  kAutomatic,
  kDirect,        // one warp per tile, stores marked as not read again
  kDirectCached,  // the same with plain stores
  kPipelined2,    // copy engine in and out, two tiles ahead; Hopper and later
  kPipelined3,    // three tiles ahead
};

// Decodes every row of the batch to out[first_rows[chunk] + row]. T: uint8_t, uint16_t, uint32_t, uint64_t.
template <typename T>
[[nodiscard]] cudaError_t decode(const device::ChunkBatch& batch, T* out, DecodeKernel kernel, cudaStream_t stream);

enum class CountKernel {
  kAutomatic,
  kTiles8,          // 8 tiles per warp, 32 registers, 64 warps per multiprocessor
  kTiles8Wide,      // 8 tiles per warp, 40 registers
  kTiles32Wide,     // 32 tiles per warp, 40 registers
  kTiles8Widest,    // 8 tiles per warp, 64 registers
};

// Adds to *result (device memory) the number of rows with value < literal. T: uint32_t, uint64_t, int32_t, int64_t.
template <typename T>
[[nodiscard]] cudaError_t count_less(const device::ChunkBatch& batch, T literal, unsigned long long* result,
                                     CountKernel kernel, cudaStream_t stream);

}  // namespace basalt::packed
