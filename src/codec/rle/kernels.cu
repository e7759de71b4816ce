// The rle codec's kernels, compiled ahead with unrolled code for every width of values and run ends.
#include "codec/rle/kernels.h"

#include "codec/delta/kernels.cuh"
#include "codec/packed/kernels.cuh"
#include "codec/rle/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::rle {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, Ends ends, T* out, uint32_t* fault, cudaStream_t stream) {
  using Values = device::Packed<T, device::AllWidths>;
  using PackedEnds = device::Packed<uint32_t, device::AllWidths>;
  constexpr uint32_t kMinBlocks = sizeof(T) == 8 ? 3 : 4;  // what shared memory has room for
  if (ends == Ends::kPacked) {
    return device::launch_decode_tiles<device::Rle<T, Values, PackedEnds>, 8, kMinBlocks>(batch, out, fault, stream);
  }
  using DeltaEnds = device::Delta<uint32_t, PackedEnds>;
  return device::launch_decode_tiles<device::Rle<T, Values, DeltaEnds>, 8, kMinBlocks>(batch, out, fault, stream);
}

template cudaError_t decode(const device::ChunkBatch&, Ends, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, Ends, uint64_t*, uint32_t*, cudaStream_t);

}  // namespace basalt::rle
