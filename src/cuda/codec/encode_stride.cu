// The device encoder of `stride`: the step that most neighbours differ by is voted for, bit by bit.
#include <algorithm>
#include <cstring>

#include "codec/stride/layout.h"
#include "core/device/warp.h"
#include "cuda/codec/encode_array.cuh"

namespace basalt::cuda {

namespace {

constexpr uint32_t kBits = 64;
constexpr uint32_t kMostBlocks = 1024;

// How many differences have each bit; lanes count two bits each. Whole warps: the loop is the same for all lanes.
template <typename T>
__global__ void vote_kernel(const T* values, uint64_t rows, unsigned long long* votes) {
  const uint32_t lane = device::lane_id();
  uint32_t lower = 0;
  uint32_t upper = 0;
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  const uint64_t first = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x - lane;
  for (uint64_t begin = 1 + first; begin < rows; begin += stride) {
    const uint64_t row = begin + lane;
    const uint64_t difference =
        row < rows ? static_cast<T>(device::load(values + row) - device::load(values + row - 1)) : 0;
#pragma unroll
    for (uint32_t bit = 0; bit < sizeof(T) * 8; ++bit) {
      const uint32_t voters = device::population(device::ballot((difference >> bit & 1) != 0));
      if (lane == bit % kLanes) (bit < kLanes ? lower : upper) += voters;
    }
  }
  atomicAdd(&votes[lane], static_cast<unsigned long long>(lower));
  if (sizeof(T) == 8) atomicAdd(&votes[kLanes + lane], static_cast<unsigned long long>(upper));
}

template <typename T>
__global__ void equals_kernel(const T* values, uint64_t rows, T step, unsigned long long* equal) {
  uint32_t found = 0;
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t row = 1 + uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += stride) {
    found += static_cast<T>(device::load(values + row) - device::load(values + row - 1)) == step ? 1 : 0;
  }
  found = device::sum_of_lanes(found);
  if (device::lane_id() == 0) atomicAdd(equal, static_cast<unsigned long long>(found));
}

// The difference of more than half of all neighbours, 0 if there is none.
template <typename T>
T step_of(const DeviceValues& values, cudaStream_t stream) {
  if (values.count < 2) return 0;
  const T* from = values.data.as<T>();
  const uint64_t differences = values.count - 1;
  const uint32_t blocks = std::min(kMostBlocks, blocks_for(differences));
  const DeviceBuffer counts = cleared((kBits + 1) * sizeof(uint64_t), stream);
  auto* votes = counts.as<unsigned long long>();
  vote_kernel<T><<<blocks, kThreads, 0, stream>>>(from, values.count, votes);
  check(cudaGetLastError(), "voting for a step");
  const Buffer counted = download(counts, kBits * sizeof(uint64_t), stream);
  uint64_t step = 0;
  for (uint32_t bit = 0; bit < kBits; ++bit) {
    if (2 * counted.as<uint64_t>()[bit] > differences) step |= uint64_t{1} << bit;
  }
  equals_kernel<T><<<blocks, kThreads, 0, stream>>>(from, values.count, static_cast<T>(step), votes + kBits);
  check(cudaGetLastError(), "counting equal steps");
  return 2 * fetch(votes + kBits, stream) > differences ? static_cast<T>(step) : T{0};
}

template <typename T>
uint64_t find_bases(const DeviceValues& values, DeviceValues& bases, cudaStream_t stream) {
  const T step = step_of<T>(values, stream);
  const T* from = values.data.as<T>();
  T* to = bases.data.as<T>();
  each_row(values.count, stream,
           [=] __device__(uint64_t i) { to[i] = static_cast<T>(from[i] - stride::rise(step, i)); });
  return step;
}

}  // namespace

Node encode_stride(const DeviceValues& values, const Tree& tree, Aims aims, cudaStream_t stream) {
  Node node = make_node(values, tree, 0);
  DeviceValues bases;
  bases.type = values.type;
  bases.count = values.count;
  bases.data = DeviceBuffer(values.count * width_of(values.type), stream);
  const stride::Parameters parameters{dispatch_width(width_of(values.type), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (sizeof(T) <= 8) return find_bases<T>(values, bases, stream);
    return uint64_t{0};
  })};
  node.params.resize(sizeof(parameters));
  std::memcpy(node.params.data(), &parameters, sizeof(parameters));
  node.children.push_back(encode_node(bases, tree.children[stride::kBases], aims, stream));
  return node;
}

}  // namespace basalt::cuda
