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

template <typename T>
cudaError_t decode_one(const NodeView&, const device::ChunkBatch& batch, void* out, uint32_t* fault,
                       cudaStream_t stream) {
  return decode(batch, static_cast<T*>(out), fault, stream);
}

constexpr device::AheadDecoder kDecoders[] = {
    {"Galp<uint32_t, Packed<uint32_t>>", decode_one<uint32_t>},
    {"Galp<uint64_t, Packed<uint64_t>>", decode_one<uint64_t>},
};

}  // namespace

device::AheadDecoders decoders() { return kDecoders; }

}  // namespace basalt::galp
