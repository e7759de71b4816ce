// Launches of the constant codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "core/device/batch.h"

namespace basalt::constant {

// Writes every row of the batch to out[first_rows[chunk] + row]. T: unsigned integers of 1, 2, 4, 8 and 16 bytes.
template <typename T>
[[nodiscard]] cudaError_t decode(const device::ChunkBatch& batch, T* out, cudaStream_t stream);

}  // namespace basalt::constant
