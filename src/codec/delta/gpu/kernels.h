// Launches of the delta codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/precompiled.h"
#include "core/device/batch.h"

namespace basalt::delta {

// Decodes every row of a batch of delta(packed) chunks to out[first_rows[chunk] + row].
// T: uint32_t, uint64_t; narrower values are decoded by kernels generated at run time.
template <typename T>
[[nodiscard]] cudaError_t decode(const device::ChunkBatch& batch, T* out, cudaStream_t stream);

// By the readers that they stand for.
[[nodiscard]] device::PrecompiledDecoders decoders();

}  // namespace basalt::delta
