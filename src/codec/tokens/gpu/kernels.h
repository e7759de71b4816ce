// Launches of the decoder's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/tokens/gpu/decode_work.h"

namespace basalt::tokens {

// Arrays that are decoded together: `count` of them in device memory, whose children are stored alike.
struct DecodeBatch {
  const DecodeWork* works;
  uint32_t count;
  uint32_t most_tiles;    // of any array
  uint32_t most_entries;  // likewise
  strings::Child lengths;
  strings::Child ids;
  strings::Child counts;

  strings::TextBatch texts() const { return strings::text_batch(works, count, most_tiles, lengths); }
};

// Fills the slots of every array. *fault of an array becomes 1 if an entry has no bytes or too many.
[[nodiscard]] cudaError_t make_slots(const DecodeBatch& batch, cudaStream_t stream);

// Decodes all rows to offsets and bytes, once strings::place_tiles() has found where tiles begin. *fault of an array
// becomes 1 if a tile's ids and lengths disagree, or an id has no entry; nothing outside of its `text` and `offsets` is
// written then either.
[[nodiscard]] cudaError_t decode(const DecodeBatch& batch, cudaStream_t stream);

// That each row's ids are as many, and as long, as the row's count and length say: what decode() need not know.
[[nodiscard]] cudaError_t check_rows(const DecodeBatch& batch, cudaStream_t stream);

}  // namespace basalt::tokens
