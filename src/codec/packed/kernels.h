// Launches of the packed codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "core/device/batch.h"

namespace basalt::packed {

// Decodes every row of the batch to out[first_rows[chunk] + row]. T: uint8_t, uint16_t, uint32_t, uint64_t, uint128_t.
template <typename T>
[[nodiscard]] cudaError_t decode(const device::ChunkBatch& batch, T* out, cudaStream_t stream);

// Adds to *result (device memory) the number of rows with value < literal. T: int32_t, int64_t, uint32_t, uint64_t.
template <typename T>
[[nodiscard]] cudaError_t count_less(const device::ChunkBatch& batch, T literal, unsigned long long* result,
                                     cudaStream_t stream);

}  // namespace basalt::packed
