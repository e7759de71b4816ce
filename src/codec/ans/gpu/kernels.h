// Launches of the ans codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/ans/gpu/decode_work.h"
#include "codec/precompiled.h"

namespace basalt::ans {

// Decodes all units of an array; only pointers of `work` are device memory.
[[nodiscard]] cudaError_t decode(const DecodeWork& work, cudaStream_t stream);

// Of arrays in their form on the device.
[[nodiscard]] device::PrecompiledDecoders decoders();

}  // namespace basalt::ans
