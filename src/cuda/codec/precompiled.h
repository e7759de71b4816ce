// The precompiled decoders. Trees without one are decoded by kernels that are generated.
#pragma once

#include <string_view>

#include "codec/precompiled.h"
#include "cuda/runtime/modules.h"

namespace basalt::cuda {

// The one for arrays with this reader, or nullptr.
const device::PrecompiledDecoder* find_precompiled(std::string_view reader);

// Runs a generated one (device::decode_source) over arrays that have its reader.
void launch_decoder(const LoadedKernel& kernel, LaunchShape shape, device::ChunkBatch batch, void* out, uint32_t* fault,
                    cudaStream_t stream);

}  // namespace basalt::cuda
