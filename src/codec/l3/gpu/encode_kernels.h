// Launches of the device encoder's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "basalt/codec/codec.h"
#include "codec/l3/gpu/encode_work.h"

namespace basalt::l3 {

// Cuts the chunks, chooses models and finds out how long the streams will be: work.sizes. Two kernels at
// Effort::kFast, three at kBalanced, six at kBest.
[[nodiscard]] cudaError_t measure_streams(const EncodeWork& work, Effort effort, cudaStream_t stream);

// Then fills work.streams, which have room for what was measured. Two kernels.
[[nodiscard]] cudaError_t write_streams(const EncodeWork& work, cudaStream_t stream);

}  // namespace basalt::l3
