// Launches of the device trainer's kernels. Nothing here synchronises; errors of the launch are returned.
#pragma once

#include <cuda_runtime_api.h>

#include "codec/fsst/gpu/train_work.h"

namespace basalt::fsst {

// Finds the tables of all arrays of the batch, and how many tiles share one.
[[nodiscard]] cudaError_t train_tables(const TrainBatch& batch, cudaStream_t stream);

}  // namespace basalt::fsst
