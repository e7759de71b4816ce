#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_select.cuh>

#include "cuda/query/compact_groups.h"

namespace basalt::cuda {

namespace {

struct HasRows {
  const uint64_t* states;
  uint32_t words;
  __device__ bool operator()(uint64_t slot) const { return states[slot * words] != 0; }
};

__global__ void gather_states(const uint64_t* states, const uint64_t* places, uint64_t count, uint32_t words,
                              uint64_t* out) {
  const uint64_t total = count * words;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < total; i += uint64_t{gridDim.x} * blockDim.x) {
    out[i] = states[places[i / words] * words + i % words];
  }
}

constexpr uint32_t kThreads = 256;
constexpr uint64_t kMostBlocks = 132 * 16;

}  // namespace

CompactGroups compact_groups(const uint64_t* states, uint64_t slots, uint32_t words, cudaStream_t stream) {
  CompactGroups out;
  DeviceBuffer places(slots * sizeof(uint64_t), stream);
  DeviceBuffer count(sizeof(uint64_t), stream);
  const auto all = thrust::counting_iterator<uint64_t>(0);
  const HasRows has_rows{states, words};
  size_t bytes = 0;
  check(cub::DeviceSelect::If(nullptr, bytes, all, places.as<uint64_t>(), count.as<uint64_t>(),
                              static_cast<int64_t>(slots), has_rows, stream),
        "finding groups");
  DeviceBuffer room(bytes, stream);
  check(cub::DeviceSelect::If(room.data(), bytes, all, places.as<uint64_t>(), count.as<uint64_t>(),
                              static_cast<int64_t>(slots), has_rows, stream),
        "finding groups");
  out.count = fetch(count.as<uint64_t>(), stream);
  out.states = DeviceBuffer(out.count * words * sizeof(uint64_t), stream);
  if (out.count > 0) {
    const auto blocks =
        static_cast<unsigned>(std::min<uint64_t>((out.count * words + kThreads - 1) / kThreads, kMostBlocks));
    gather_states<<<blocks, kThreads, 0, stream>>>(states, places.as<uint64_t>(), out.count, words,
                                                   out.states.as<uint64_t>());
    check(cudaGetLastError(), "gathering groups");
  }
  out.places = std::move(places);
  return out;
}

}  // namespace basalt::cuda
