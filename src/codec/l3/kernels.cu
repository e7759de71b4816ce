// The l3 codec's kernels, compiled ahead.
#include "codec/l3/kernels.h"

#include "codec/l3/decode_direct.cuh"
#include "core/device/launch.h"

namespace basalt::l3 {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, T* out, uint32_t* fault, cudaStream_t stream) {
  if (device::is_empty(batch)) return cudaSuccess;
  constexpr uint32_t kWarps = 8;
  constexpr uint32_t kMinBlocks = sizeof(T) == 8 ? 2 : 3;  // residuals of a tile take 64 or 32 registers
  device::decode_learned<T, kWarps, kMinBlocks>
      <<<device::tile_grid(batch, kWarps), kWarps * kLanes, 0, stream>>>(batch, out, fault);
  return cudaGetLastError();
}

template cudaError_t decode(const device::ChunkBatch&, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint64_t*, uint32_t*, cudaStream_t);

}  // namespace basalt::l3
