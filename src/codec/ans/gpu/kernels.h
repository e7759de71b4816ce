// Launches of the ans codec's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "codec/ans/gpu/decode_work.h"
#include "codec/precompiled.h"

namespace basalt::ans {

// Decodes all units of arrays. The list is host memory, what it points at the device's.
[[nodiscard]] cudaError_t decode(std::span<const DecodeWork> works, cudaStream_t stream);

// Of arrays in their form on the device.
[[nodiscard]] device::PrecompiledDecoders decoders();

}  // namespace basalt::ans
