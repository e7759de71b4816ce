// Groups that have rows, brought together in device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/runtime/device_buffer.h"

namespace basalt::cuda {

struct CompactGroups {
  uint64_t count = 0;
  DeviceBuffer places;  // of their slots, ascending: count of uint64_t
  DeviceBuffer states;  // count × words of uint64_t
};

// `states` has `words` words for each slot, of which the first counts its rows. Waits for the stream.
CompactGroups compact_groups(const uint64_t* states, uint64_t slots, uint32_t words, cudaStream_t stream);

}  // namespace basalt::cuda
