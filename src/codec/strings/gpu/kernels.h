// Launches of kernels that all device decoders of strings share. Nothing here synchronises; errors of the launch are
// returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/strings/gpu/decode_work.h"

namespace basalt::strings {

// Writes text_starts[tiles + 1] of every array, where each tile's text begins: sums of the rows' lengths.
[[nodiscard]] cudaError_t place_tiles(const TextBatch& batch, cudaStream_t stream);

// Writes all offsets, for bytes that lie where they belong already. *fault of an array becomes 1 if its offsets are too
// large.
[[nodiscard]] cudaError_t place_rows(const TextBatch& batch, cudaStream_t stream);

}  // namespace basalt::strings
