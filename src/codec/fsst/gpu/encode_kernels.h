// Launches of the device encoder's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/fsst/gpu/encode_work.h"

namespace basalt::fsst {

// How many pieces each tile has, and, once piece_starts has their sums, the list of them. Only for work.most_pieces >
// 0.
[[nodiscard]] cudaError_t count_tile_pieces(const EncodeWork& work, cudaStream_t stream);
[[nodiscard]] cudaError_t list_pieces(const EncodeWork& work, cudaStream_t stream);
// Code bytes of every row, group and piece, and which tables have escapes; codes that wait for their place.
[[nodiscard]] cudaError_t count_codes(const EncodeWork& work, cudaStream_t stream);
// Codes, where group_places and piece_places say.
[[nodiscard]] cudaError_t write_codes(const EncodeWork& work, cudaStream_t stream);

}  // namespace basalt::fsst
