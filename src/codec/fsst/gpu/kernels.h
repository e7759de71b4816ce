// Launches of the fsst codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/fsst/gpu/decode_work.h"

namespace basalt::fsst {

// Arrays that are decoded together: `count` of them in device memory, whose children are stored alike.
struct DecodeBatch {
  const DecodeWork* works;
  uint32_t count;
  uint32_t most_tiles;   // of any array
  uint64_t most_pieces;  // of long rows, of any array
  strings::Child lengths;
  strings::Child code_lengths;

  strings::TextBatch texts() const { return strings::text_batch(works, count, most_tiles, lengths); }
};

// Decodes all rows to offsets and bytes, once strings::place_tiles() has found where tiles begin. *fault of an array
// becomes 1 if its codes and lengths disagree; nothing outside of its `text` and `offsets` is written then either.
[[nodiscard]] cudaError_t decode(const DecodeBatch& batch, cudaStream_t stream);

}  // namespace basalt::fsst
