// Arrays on the device in Arrow's form, where that is not ours.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "basalt/core/types.h"
#include "cuda/runtime/device_buffer.h"

namespace basalt::cuda {

// Integers of 16 to 64 bits to 128 bits.
DeviceBuffer widen_decimals(const DeviceBuffer& values, Physical type, uint64_t count, cudaStream_t stream);
// int64 to int32: short times, and offsets, which the caller knows to fit.
DeviceBuffer narrow(const DeviceBuffer& values, uint64_t count, cudaStream_t stream);
// Numbers of 128 bits to the 16 bytes of their UUIDs: see arrow::uuid_to_bytes().
DeviceBuffer uuid_bytes(const DeviceBuffer& values, uint64_t count, cudaStream_t stream);

}  // namespace basalt::cuda
