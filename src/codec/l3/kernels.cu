// The l3 codec's kernels, compiled ahead.
#include "codec/l3/kernels.h"

#include <algorithm>

#include "codec/l3/strip.cuh"
#include "core/device/launch.h"

namespace basalt::l3 {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, T* out, uint32_t* fault, cudaStream_t stream) {
  if (device::is_empty(batch)) return cudaSuccess;
  constexpr uint32_t kWarps = 4;
  constexpr uint32_t kMinBlocks = 8;       // 64 registers
  constexpr uint64_t kEnoughWarps = 8192;  // to fill any GPU of today; beyond, warps take several tiles each
  const uint64_t tiles = uint64_t{batch.chunks} * batch.tiles_per_chunk;
  const auto strip = static_cast<uint32_t>(std::clamp<uint64_t>(tiles / kEnoughWarps, 1, device::kStripTiles));
  device::decode_learned<T, kWarps, kMinBlocks>
      <<<device::tile_grid(batch, kWarps * strip), kWarps * kLanes, 0, stream>>>(batch, strip, out, fault);
  return cudaGetLastError();
}

template cudaError_t decode(const device::ChunkBatch&, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint64_t*, uint32_t*, cudaStream_t);

}  // namespace basalt::l3
