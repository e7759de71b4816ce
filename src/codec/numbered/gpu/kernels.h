// Launches of the decoder's kernel. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/numbered/gpu/decode_work.h"

namespace basalt::numbered {

// Arrays that are decoded together: `count` of them in device memory, whose numbers are stored alike.
struct DecodeBatch {
  const DecodeWork* works;
  uint32_t count;
  uint32_t most_tiles;  // of any array
  strings::Child numbers;
};

// Decodes all rows to offsets and bytes. *fault of an array becomes 1 if a number has too many digits.
[[nodiscard]] cudaError_t decode(const DecodeBatch& batch, cudaStream_t stream);

}  // namespace basalt::numbered
