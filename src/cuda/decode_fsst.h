// Compressed strings decoded on the device.
#pragma once

#include <cuda_runtime_api.h>

#include "basalt/codec/codec.h"

namespace basalt::cuda {

// Rows of an array of `fsst` whose lengths and code lengths (uint32 per row) are known, brought back to the host: `out`
// is empty before. Throws Error(kCorrupt) if codes and lengths disagree.
void decode_fsst(const NodeView& node, const Buffer& lengths, const Buffer& code_lengths, StringRows& out,
                 cudaStream_t stream);

}  // namespace basalt::cuda
