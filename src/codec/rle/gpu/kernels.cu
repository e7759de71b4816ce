// The rle codec's kernels, precompiled.
#include "codec/rle/gpu/kernels.h"

#include "codec/delta/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/rle/gpu/expand.cuh"
#include "codec/rle/gpu/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::rle {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, Ends ends, T* out, uint32_t* fault, cudaStream_t stream) {
  if (ends == Ends::kPacked) {
    // Ends of a chunk's runs have 20 bits at most.
    using Expander = device::RunExpander<T, device::WidthsUpTo<32>, device::WidthsUpTo<20>>;
    return device::launch_over_tiles<4>(device::expand_runs<Expander, 4, 8>, Expander::kScratchBytes, batch, out, fault,
                                        stream);
  }
  // Measured on an H200: eight warps are better for 64-bit values (69 against 60 %), four for 32-bit ones (48, 45 %).
  constexpr bool kWide = sizeof(T) == 8;
  using Reader = device::Rle<T, device::Packed<T, device::AllWidths>,
                             device::Delta<uint32_t, device::Packed<uint32_t, device::AllWidths>>>;
  return device::launch_decode_tiles<Reader, (kWide ? 8 : 4), (kWide ? 3 : 8)>(batch, out, fault, stream);
}

template cudaError_t decode(const device::ChunkBatch&, Ends, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, Ends, uint64_t*, uint32_t*, cudaStream_t);

namespace {

template <typename T, Ends kEnds>
cudaError_t decode_one(const NodeView&, const device::ChunkBatch& batch, void* out, uint32_t* fault,
                       cudaStream_t stream) {
  return decode(batch, kEnds, static_cast<T*>(out), fault, stream);
}

constexpr device::PrecompiledDecoder kDecoders[] = {
    {"Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>", decode_one<uint32_t, Ends::kPacked>},
    {"Rle<uint64_t, Packed<uint64_t>, Packed<uint32_t>>", decode_one<uint64_t, Ends::kPacked>},
    {"Rle<uint32_t, Packed<uint32_t>, Delta<uint32_t, Packed<uint32_t>>>", decode_one<uint32_t, Ends::kDeltaPacked>},
    {"Rle<uint64_t, Packed<uint64_t>, Delta<uint32_t, Packed<uint32_t>>>", decode_one<uint64_t, Ends::kDeltaPacked>},
};

}  // namespace

device::PrecompiledDecoders decoders() { return kDecoders; }

}  // namespace basalt::rle
