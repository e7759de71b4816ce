// Launches of the galp codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/precompiled.h"
#include "core/device/batch.h"

namespace basalt::galp {

// Decodes every row of a batch of galp(packed) chunks to out[first_rows[chunk] + row]. *fault (device memory) becomes 1
// if exceptions or indices were found that no writer makes. T: the bits of floats and doubles, uint32_t and uint64_t.
template <typename T>
[[nodiscard]] cudaError_t decode(const device::ChunkBatch& batch, T* out, uint32_t* fault, cudaStream_t stream);

// By the readers that they stand for.
[[nodiscard]] device::PrecompiledDecoders decoders();

}  // namespace basalt::galp
