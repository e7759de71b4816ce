// Launches of the rle codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/precompiled.h"
#include "core/device/batch.h"

namespace basalt::rle {

enum class Ends { kPacked, kDeltaPacked };

// Decodes every row of a batch of rle(packed, packed) or rle(packed, delta(packed)) chunks to
// out[first_rows[chunk] + row]. *fault (device memory) becomes 1 if run ends were found that no writer makes.
// T: uint32_t, uint64_t; narrower values are decoded by kernels generated at run time.
template <typename T>
[[nodiscard]] cudaError_t decode(const device::ChunkBatch& batch, Ends ends, T* out, uint32_t* fault,
                                 cudaStream_t stream);

// By the readers that they stand for.
[[nodiscard]] device::PrecompiledDecoders decoders();

}  // namespace basalt::rle
