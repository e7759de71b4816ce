// The ans codec's kernel, precompiled: whole arrays to codes of one or two bytes.
#include "codec/ans/gpu/kernels.h"

#include "codec/ans/gpu/decode_units.cuh"
#include "codec/ans/gpu/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::ans {

namespace {

constexpr uint32_t kWarps = 16;
constexpr uint32_t kThreads = kWarps * kLanes;
// A block makes the table for as many rounds of units; more would leave multiprocessors without work.
constexpr uint32_t kRounds = 2;

// Tables that are larger than what a kernel may declare are given by the launch.
template <typename Code, typename Room>
__global__ __launch_bounds__(kThreads) void decode_kernel(DecodeWork work) {
  extern __shared__ uint32_t shared[];
  __shared__ TableScratch scratch;
  decode_units<Code>(work, *reinterpret_cast<Room*>(shared), scratch, blockIdx.x * kWarps, gridDim.x * kWarps);
}

template <typename Code, typename Room>
cudaError_t launch(const DecodeWork& work, cudaStream_t stream) {
  const auto kernel = decode_kernel<Code, Room>;
  if (sizeof(Room) + sizeof(TableScratch) > 48 * 1024) {
    const cudaError_t error =
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(sizeof(Room)));
    if (error != cudaSuccess) return error;
  }
  const auto units = static_cast<uint32_t>(units_of(work.rows, work.unit_tiles));
  const uint32_t blocks = (units + kWarps * kRounds - 1) / (kWarps * kRounds);
  kernel<<<blocks, kThreads, sizeof(Room), stream>>>(work);
  return cudaGetLastError();
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

cudaError_t decode(const DecodeWork& work, cudaStream_t stream) {
  if (work.rows == 0) return cudaSuccess;
  return is_narrow(work.symbols) ? launch<uint8_t, NarrowRoom>(work, stream) : launch<uint16_t, WideRoom>(work, stream);
}

}  // namespace basalt::ans
