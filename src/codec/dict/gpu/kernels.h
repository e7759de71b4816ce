// Launches of the dict codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/precompiled.h"
#include "core/device/batch.h"

namespace basalt::dict {

enum class Entries { kPlain, kPacked };

// Decodes every row of a batch of dict(packed, plain) or dict(packed, packed) chunks to out[first_rows[chunk] + row].
// `most_entries`: of any chunk of the batch. *fault (device memory) becomes 1 if a code lies beyond its dictionary.
// T: uint32_t, uint64_t; narrower values are decoded by kernels generated at run time.
template <typename T>
[[nodiscard]] cudaError_t decode(const device::ChunkBatch& batch, Entries entries, uint32_t most_entries, T* out,
                                 uint32_t* fault, cudaStream_t stream);

// By the readers that they stand for.
[[nodiscard]] device::PrecompiledDecoders decoders();

}  // namespace basalt::dict
