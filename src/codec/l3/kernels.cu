// The l3 codec's kernels, compiled ahead.
#include "codec/l3/kernels.h"

#include "codec/l3/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::l3 {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, T* out, uint32_t* fault, cudaStream_t stream) {
  constexpr uint32_t kMinBlocks = sizeof(T) == 8 ? 3 : 4;  // what shared memory has room for
  return device::launch_decode_tiles<device::L3<T>, 8, kMinBlocks>(batch, out, fault, stream);
}

template cudaError_t decode(const device::ChunkBatch&, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint64_t*, uint32_t*, cudaStream_t);

}  // namespace basalt::l3
