// The rle codec's kernels, compiled ahead.
#include "codec/rle/kernels.h"

#include "codec/delta/kernels.cuh"
#include "codec/packed/kernels.cuh"
#include "codec/rle/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::rle {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, Ends ends, T* out, uint32_t* fault, cudaStream_t stream) {
  // Measured on an H200: of 64-bit values, which take the longer to write, run-time widths reach 80 % of the copy rate
  // and unrolled ones 66 %; of 32-bit values both reach 54 %, but unrolled ones lose less where runs are short. Four
  // warps per block: 2 to 5 % more than eight.
  constexpr bool kWide = sizeof(T) == 8;
  using Widths = typename device::SelectType<kWide, device::Widths<>, device::AllWidths>::type;
  using Values = device::Packed<T, Widths>;
  using PackedEnds = device::Packed<uint32_t, Widths>;
  constexpr uint32_t kMinBlocks = kWide ? 6 : 8;
  if (ends == Ends::kPacked) {
    return device::launch_decode_tiles<device::Rle<T, Values, PackedEnds>, 4, kMinBlocks>(batch, out, fault, stream);
  }
  using DeltaEnds = device::Delta<uint32_t, PackedEnds>;
  return device::launch_decode_tiles<device::Rle<T, Values, DeltaEnds>, 4, kMinBlocks>(batch, out, fault, stream);
}

template cudaError_t decode(const device::ChunkBatch&, Ends, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, Ends, uint64_t*, uint32_t*, cudaStream_t);

namespace {

template <typename T, Ends kEnds>
cudaError_t decode_one(const NodeView&, const device::ChunkBatch& batch, void* out, uint32_t* fault,
                       cudaStream_t stream) {
  return decode(batch, kEnds, static_cast<T*>(out), fault, stream);
}

constexpr device::AheadDecoder kDecoders[] = {
    {"Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>", decode_one<uint32_t, Ends::kPacked>},
    {"Rle<uint64_t, Packed<uint64_t>, Packed<uint32_t>>", decode_one<uint64_t, Ends::kPacked>},
    {"Rle<uint32_t, Packed<uint32_t>, Delta<uint32_t, Packed<uint32_t>>>", decode_one<uint32_t, Ends::kDeltaPacked>},
    {"Rle<uint64_t, Packed<uint64_t>, Delta<uint32_t, Packed<uint32_t>>>", decode_one<uint64_t, Ends::kDeltaPacked>},
};

}  // namespace

device::AheadDecoders decoders() { return kDecoders; }

}  // namespace basalt::rle
