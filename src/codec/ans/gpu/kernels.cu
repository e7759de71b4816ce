// The ans codec's kernels, precompiled: whole arrays to codes of one or two bytes, and these to values.
#include "codec/ans/gpu/kernels.h"

#include <algorithm>

#include "codec/ans/gpu/decode_units.cuh"
#include "codec/ans/gpu/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::ans {

namespace {

constexpr uint32_t kWarps = 16;
constexpr uint32_t kThreads = kWarps * kLanes;

// Arrays travel as the kernel's parameters, of which there are 4 KB.
constexpr uint32_t kMostWorks = 64;
struct Works {
  DecodeWork list[kMostWorks];
};
static_assert(sizeof(Works) <= 4096 - 64);

// A row of blocks for each array. Tables may be larger than what a kernel may declare, and are given by the launch.
template <typename Code, typename Room>
__global__ __launch_bounds__(kThreads) void decode_kernel(const __grid_constant__ Works works) {
  extern __shared__ uint32_t shared[];
  __shared__ TableScratch scratch;
  const DecodeWork work = works.list[blockIdx.y];
  if (blockIdx.x * kWarps >= units_of(work.rows, work.unit_tiles)) return;
  decode_units<Code>(work, *reinterpret_cast<Room*>(shared), scratch, blockIdx.x * kWarps, gridDim.x * kWarps);
}

template <typename Code, typename Room>
cudaError_t launch(const Works& works, uint32_t count, cudaStream_t stream) {
  const auto kernel = decode_kernel<Code, Room>;
  if (sizeof(Room) + sizeof(TableScratch) > 48 * 1024) {
    const cudaError_t error =
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(sizeof(Room)));
    if (error != cudaSuccess) return error;
  }
  uint64_t units = 0;
  for (uint32_t i = 0; i < count; ++i) units = std::max(units, units_of(works.list[i].rows, works.list[i].unit_tiles));
  const dim3 blocks(static_cast<uint32_t>((units + kWarps - 1) / kWarps), count);
  kernel<<<blocks, kThreads, sizeof(Room), stream>>>(works);
  return cudaGetLastError();
}

// Those of one kind.
template <typename Code, typename Room>
cudaError_t launch_all(std::span<const DecodeWork> works, bool narrow, cudaStream_t stream) {
  Works batch{};
  uint32_t count = 0;
  for (size_t i = 0; i <= works.size(); ++i) {
    if (count == kMostWorks || (i == works.size() && count > 0)) {
      const cudaError_t error = launch<Code, Room>(batch, count, stream);
      if (error != cudaSuccess) return error;
      count = 0;
    }
    if (i < works.size() && works[i].rows > 0 && is_narrow(works[i].symbols) == narrow) batch.list[count++] = works[i];
  }
  return cudaSuccess;
}

template <typename T>
cudaError_t add_reference(const NodeView&, const device::ChunkBatch& batch, void* out, uint32_t*, cudaStream_t stream) {
  return device::launch_decode_tiles<device::Ans<T>, 8, 4>(batch, static_cast<T*>(out), nullptr, stream);
}

constexpr device::PrecompiledDecoder kDecoders[] = {
    {"Ans<uint8_t>", add_reference<uint8_t>},
    {"Ans<uint16_t>", add_reference<uint16_t>},
    {"Ans<uint32_t>", add_reference<uint32_t>},
    {"Ans<uint64_t>", add_reference<uint64_t>},
};

}  // namespace

device::PrecompiledDecoders decoders() { return kDecoders; }

cudaError_t decode(std::span<const DecodeWork> works, cudaStream_t stream) {
  const cudaError_t error = launch_all<uint8_t, NarrowRoom>(works, true, stream);
  return error != cudaSuccess ? error : launch_all<uint16_t, WideRoom>(works, false, stream);
}

}  // namespace basalt::ans
