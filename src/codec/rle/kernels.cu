// The rle codec's kernels, compiled ahead with unrolled code for every width of values and run ends.
#include "codec/rle/kernels.h"

#include "codec/delta/kernels.cuh"
#include "codec/packed/kernels.cuh"
#include "codec/rle/strip.cuh"
#include "core/device/launch.h"

namespace basalt::rle {

namespace {

template <typename T, typename Values, typename Ends>
cudaError_t launch(const device::ChunkBatch& batch, T* out, uint32_t* fault, cudaStream_t stream) {
  if (device::is_empty(batch)) return cudaSuccess;
  constexpr uint32_t kWarps = 4;
  constexpr uint32_t kMinBlocks = sizeof(T) == 8 ? 6 : 10;  // as many as shared memory has room for
  constexpr uint32_t kSharedBytes = kWarps * device::kDecodeBytesPerWarp<device::Rle<T, Values, Ends>>;
  const auto kernel = device::decode_runs<T, Values, Ends, kWarps, kMinBlocks>;
  const cudaError_t error = device::prepare_shared(kernel, kSharedBytes);
  if (error != cudaSuccess) return error;
  const uint32_t strip = device::strip_of(batch, 8);
  kernel<<<device::tile_grid(batch, kWarps * strip), kWarps * kLanes, kSharedBytes, stream>>>(batch, strip, out, fault);
  return cudaGetLastError();
}

}  // namespace

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, Ends ends, T* out, uint32_t* fault, cudaStream_t stream) {
  using Values = device::AheadPacked<T, device::AllWidths>;
  if (ends == Ends::kPacked) {
    return launch<T, Values, device::AheadPacked<uint32_t, device::AllWidths>>(batch, out, fault, stream);
  }
  using DeltaEnds = device::Delta<uint32_t, device::Packed<uint32_t, device::AllWidths>>;
  return launch<T, Values, DeltaEnds>(batch, out, fault, stream);
}

template cudaError_t decode(const device::ChunkBatch&, Ends, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, Ends, uint64_t*, uint32_t*, cudaStream_t);

}  // namespace basalt::rle
