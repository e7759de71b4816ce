// The packed codec's kernels, compiled ahead with unrolled code for widths up to 32.
#include "codec/packed/kernels.h"

#include "codec/packed/launch.cuh"

namespace basalt::packed {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, T* out, cudaStream_t stream) {
  // One loop serves widths above 32: unrolled code for all 64 leaves the instruction cache when widths change from tile
  // to tile (64 % of the copy rate of an H200 instead of 91 %), and is no faster when they do not.
  using Reader = device::Packed<T, device::WidthsUpTo<32>>;
  return device::launch_decode_tiles<Reader, 8, 4>(batch, out, nullptr, stream);
}

template cudaError_t decode(const device::ChunkBatch&, uint8_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint16_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, uint64_t*, cudaStream_t);

template <>
cudaError_t decode(const device::ChunkBatch& batch, uint128_t* out, cudaStream_t stream) {
  // 16 bytes per row bury the cost of run-time widths.
  return device::launch_decode_tiles<device::Packed<uint128_t>, 8, 4>(batch, out, nullptr, stream);
}

template <typename T>
cudaError_t count_less(const device::ChunkBatch& batch, T literal, unsigned long long* result, cudaStream_t stream) {
  constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);
  using Unsigned = typename device::SelectType<sizeof(T) == 4, uint32_t, uint64_t>::type;
  const Unsigned flip = kSigned ? Unsigned{1} << (8 * sizeof(T) - 1) : Unsigned{0};
  const Unsigned ordered = static_cast<Unsigned>(literal) ^ flip;
  if (ordered == 0) return cudaSuccess;
  // 40 registers: 97 % of the read ceiling on an H200 from width 12 on, where 32 registers reach 86 %.
  return launch_count<Unsigned, 8, 6>(batch, flip, ordered - 1, result, stream);
}

template cudaError_t count_less(const device::ChunkBatch&, uint32_t, unsigned long long*, cudaStream_t);
template cudaError_t count_less(const device::ChunkBatch&, uint64_t, unsigned long long*, cudaStream_t);
template cudaError_t count_less(const device::ChunkBatch&, int32_t, unsigned long long*, cudaStream_t);
template cudaError_t count_less(const device::ChunkBatch&, int64_t, unsigned long long*, cudaStream_t);

}  // namespace basalt::packed
