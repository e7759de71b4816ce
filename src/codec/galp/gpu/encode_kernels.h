// Launches of the device encoder's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/galp/gpu/encode_work.h"

namespace basalt::galp {

// Candidates of each group, then each tile's scheme and sizes. Two kernels.
template <typename T>
[[nodiscard]] cudaError_t choose_schemes(const EncodeWork<T>& work, cudaStream_t stream);

// One pair for all tiles: work.search->found. Four kernels.
template <typename T>
[[nodiscard]] cudaError_t search_pair(const EncodeWork<T>& work, cudaStream_t stream);
// Takes a pair or RAW for all tiles and finds the words of their exceptions.
template <typename T>
[[nodiscard]] cudaError_t take_schemes(const EncodeWork<T>& work, uint32_t scheme, cudaStream_t stream);

// Then, once work.starts are known, the streams.
template <typename T>
[[nodiscard]] cudaError_t write_streams(const EncodeWork<T>& work, const EncodedStreams<T>& streams,
                                        cudaStream_t stream);

}  // namespace basalt::galp
