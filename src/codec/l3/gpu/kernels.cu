// The l3 codec's kernels, precompiled.
#include "codec/l3/gpu/kernels.h"

#include "codec/l3/gpu/tile_strip.cuh"
#include "core/device/launch.h"

namespace basalt::l3 {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, T* out, uint32_t* fault, cudaStream_t stream) {
  if (device::is_empty(batch)) return cudaSuccess;
  constexpr uint32_t kWarps = 4;
  constexpr uint32_t kMinBlocks = 6;  // 80 registers
  // Staging takes shared memory from the cache that the loop over wide residuals reads words from again and again.
  constexpr auto kFetch = sizeof(T) == 8 ? device::ResidualFetch::kPrefetch : device::ResidualFetch::kStage;
  const uint32_t strip = device::strip_of(batch, device::kStripTiles / 2);
  device::decode_learned<T, kWarps, kMinBlocks, kFetch>
      <<<device::tile_grid(batch, kWarps * strip), kWarps * kLanes, 0, stream>>>(batch, strip, out, fault);
  return cudaGetLastError();
}

template cudaError_t decode(const device::ChunkBatch&, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint64_t*, uint32_t*, cudaStream_t);

namespace {

constexpr device::PrecompiledDecoder kDecoders[] = {
    {"L3<uint32_t>", device::decode_as<uint32_t, decode<uint32_t>>},
    {"L3<uint64_t>", device::decode_as<uint64_t, decode<uint64_t>>},
};

}  // namespace

device::PrecompiledDecoders decoders() { return kDecoders; }

}  // namespace basalt::l3
