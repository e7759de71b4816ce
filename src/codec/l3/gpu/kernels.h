// Launches of the l3 codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/precompiled.h"
#include "core/device/batch.h"

namespace basalt::l3 {

// Decodes every row of the batch to out[first_rows[chunk] + row]. *fault (device memory) becomes 1 if runs were found
// that no writer makes. T: uint32_t, uint64_t.
template <typename T>
[[nodiscard]] cudaError_t decode(const device::ChunkBatch& batch, T* out, uint32_t* fault, cudaStream_t stream);

// By the readers that they stand for.
[[nodiscard]] device::PrecompiledDecoders decoders();

}  // namespace basalt::l3
