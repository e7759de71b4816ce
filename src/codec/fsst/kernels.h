// Launches of the fsst codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/fsst/decode_work.h"

namespace basalt::fsst {

// How a child of uint32 is stored.
enum class Child : uint8_t { kPlain, kPacked };

// Arrays that are decoded together: `count` of them in device memory, whose children are stored alike.
struct DecodeBatch {
  const DecodeWork* works;
  uint32_t count;
  uint32_t most_tiles;   // of any array
  uint64_t most_pieces;  // of long rows, of any array
  Child lengths;
  Child code_lengths;
};

// Writes text_starts[tiles + 1] of every array, where each tile's text begins: sums of the rows' lengths.
[[nodiscard]] cudaError_t place_tiles(const DecodeBatch& batch, cudaStream_t stream);

// Decodes all rows to offsets and bytes. *fault of an array becomes 1 if its codes and lengths disagree; nothing
// outside of its `text` and `offsets` is written then either.
[[nodiscard]] cudaError_t decode(const DecodeBatch& batch, cudaStream_t stream);

}  // namespace basalt::fsst
