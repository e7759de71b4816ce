// The plain codec's kernels, compiled ahead.
#include "codec/plain/kernels.h"

#include "codec/plain/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::plain {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, T* out, cudaStream_t stream) {
  return device::launch_decode_tiles<device::Plain<T>, 8, 4>(batch, out, nullptr, stream);
}

template cudaError_t decode(const device::ChunkBatch&, uint8_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint16_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint64_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint128_t*, cudaStream_t);

}  // namespace basalt::plain
