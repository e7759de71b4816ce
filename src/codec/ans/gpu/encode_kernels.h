// Launches of the device encoder's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/ans/gpu/encode_work.h"

namespace basalt::ans {

// Adds how often each symbol occurs.
template <typename T>
[[nodiscard]] cudaError_t count_symbols(const EncodeWork<T>& work, uint32_t* counts, cudaStream_t stream);

// Encodes all units, each by itself.
template <typename T>
[[nodiscard]] cudaError_t encode_units(const EncodeWork<T>& work, cudaStream_t stream);

// Puts them one behind the other.
template <typename T>
[[nodiscard]] cudaError_t place_units(const EncodeWork<T>& work, const uint32_t* starts, uint32_t* units,
                                      cudaStream_t stream);

}  // namespace basalt::ans
