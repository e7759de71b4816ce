// What the device can move at most, measured: the ceilings that every other number is compared with.
#pragma once

#include <cuda_runtime_api.h>

#include "basalt/cuda/backend.h"

namespace basalt::cuda {

GpuBandwidth measure(cudaStream_t stream);

}  // namespace basalt::cuda
