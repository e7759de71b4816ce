// Launches of the packed codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/precompiled.h"
#include "core/device/batch.h"

namespace basalt::packed {

// Decodes every row of the batch to out[first_rows[chunk] + row]. T: uint8_t, uint16_t, uint32_t, uint64_t, uint128_t.
template <typename T>
[[nodiscard]] cudaError_t decode(const device::ChunkBatch& batch, T* out, cudaStream_t stream);

// By the readers that they stand for.
[[nodiscard]] device::PrecompiledDecoders decoders();

}  // namespace basalt::packed
