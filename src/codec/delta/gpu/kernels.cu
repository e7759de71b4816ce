// The delta codec's kernels, precompiled with unrolled code for every width of the deltas.
#include "codec/delta/gpu/kernels.h"

#include "codec/delta/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::delta {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, T* out, cudaStream_t stream) {
  using Reader = device::Delta<T, device::Packed<T, device::AllWidths>>;
  constexpr uint32_t kMinBlocks = sizeof(T) == 8 ? 3 : 4;  // what shared memory has room for
  return device::launch_decode_tiles<Reader, 8, kMinBlocks>(batch, out, nullptr, stream);
}

template cudaError_t decode(const device::ChunkBatch&, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint64_t*, cudaStream_t);

namespace {

constexpr device::PrecompiledDecoder kDecoders[] = {
    {"Delta<uint32_t, Packed<uint32_t>>", device::decode_as<uint32_t, decode<uint32_t>>},
    {"Delta<uint64_t, Packed<uint64_t>>", device::decode_as<uint64_t, decode<uint64_t>>},
};

}  // namespace

device::PrecompiledDecoders decoders() { return kDecoders; }

}  // namespace basalt::delta
