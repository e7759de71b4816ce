// The galp codec's kernels, compiled ahead.
#include "codec/galp/kernels.h"

#include "codec/galp/kernels.cuh"
#include "codec/packed/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::galp {

// Wider integers are seldom decimals, and one loop serves them.
template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, T* out, uint32_t* fault, cudaStream_t stream) {
  using Reader = device::Galp<T, device::Packed<T, device::WidthsUpTo<32>>>;
  return device::launch_decode_tiles<Reader, 4, 8>(batch, out, fault, stream);
}

template cudaError_t decode(const device::ChunkBatch&, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint64_t*, uint32_t*, cudaStream_t);

namespace {

constexpr device::AheadDecoder kDecoders[] = {
    {"Galp<uint32_t, Packed<uint32_t>>", device::decode_as<uint32_t, decode<uint32_t>>},
    {"Galp<uint64_t, Packed<uint64_t>>", device::decode_as<uint64_t, decode<uint64_t>>},
};

}  // namespace

device::AheadDecoders decoders() { return kDecoders; }

}  // namespace basalt::galp
