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
  // Four warps per block: 2 to 5 % more than eight on an H200. As many blocks as shared memory has room for.
  constexpr uint32_t kMinBlocks = sizeof(T) == 8 ? 6 : 10;
  if (ends == Ends::kPacked) {
    return device::launch_decode_tiles<device::Rle<T, Values, PackedEnds>, 4, kMinBlocks>(batch, out, fault, stream);
  }
  using DeltaEnds = device::Delta<uint32_t, PackedEnds>;
  return device::launch_decode_tiles<device::Rle<T, Values, DeltaEnds>, 4, kMinBlocks>(batch, out, fault, stream);
}

template cudaError_t decode(const device::ChunkBatch&, Ends, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, Ends, uint64_t*, uint32_t*, cudaStream_t);

}  // namespace basalt::rle
