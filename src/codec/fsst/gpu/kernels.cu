// The fsst codec's kernels, precompiled.
#include "codec/fsst/gpu/kernels.h"

#include "codec/fsst/gpu/kernels.cuh"
#include "codec/strings/gpu/launch.cuh"
#include "core/device/launch.h"

namespace basalt::fsst {

namespace {

constexpr uint32_t kWarps = 8;
constexpr uint32_t kDecodeShared = sizeof(StagedTable) + kWarps * kStageBytes;
constexpr uint32_t kDecodeBlocks = 4;  // without a limit 106 registers leave room for two

// Grid: x covers the tiles of the longest array, a warp each; y the arrays. Tables of a block's tiles are staged one
// after the other; nearly always there is one.
template <typename Lengths, typename CodeLengths>
__global__ __launch_bounds__(kWarps* kLanes, kDecodeBlocks) void decode_kernel(const DecodeWork* works) {
  extern __shared__ device::SixteenBytes fsst_shared[];
  auto& table = *reinterpret_cast<StagedTable*>(fsst_shared);
  const uint32_t warp = threadIdx.x / kLanes;
  auto* stage = reinterpret_cast<unsigned char*>(fsst_shared) + sizeof(StagedTable) + warp * kStageBytes;
  const DecodeWork work = works[blockIdx.y];
  if (blockIdx.x == 0 && threadIdx.x == 0) strings::place_end(work);
  const uint32_t first = blockIdx.x * kWarps;
  if (first >= work.tiles()) return;
  const uint32_t last = first + kWarps < work.tiles() ? first + kWarps - 1 : work.tiles() - 1;
  const uint32_t tile = first + warp;
  bool fits = true;
  for (uint32_t at = first >> work.table_shift; at <= last >> work.table_shift; ++at) {
    __syncthreads();
    stage_table(table_of(work, at), table, threadIdx.x, kWarps * kLanes);
    __syncthreads();
    if (tile <= last && tile >> work.table_shift == at) {
      fits = decode_tile<Lengths, CodeLengths>(work, table, tile, stage);
    }
  }
  if (!fits) *work.fault = 1;
}

// Grid: x covers the pieces of the array with most, y the arrays.
template <typename Lengths, typename CodeLengths>
__global__ __launch_bounds__(kLanes) void decode_pieces_kernel(const DecodeWork* works) {
  __shared__ StagedTable table;
  __shared__ alignas(16) unsigned char stage[kStageBytes];
  const DecodeWork work = works[blockIdx.y];
  const uint64_t first = uint64_t{blockIdx.x} * kPiecesOfWarp;
  if (work.piece_starts == nullptr) return;
  if (!decode_pieces<Lengths, CodeLengths>(work, first, table, stage)) *work.fault = 1;
}

template <typename Lengths, typename CodeLengths>
cudaError_t launch_decode(const DecodeBatch& batch, cudaStream_t stream) {
  const auto kernel = decode_kernel<Lengths, CodeLengths>;
  const cudaError_t error = device::prepare_shared(kernel, kDecodeShared);
  if (error != cudaSuccess) return error;
  kernel<<<strings::tile_grid(batch.texts(), kWarps), kWarps * kLanes, kDecodeShared, stream>>>(batch.works);
  if (batch.most_pieces > 0) {
    const auto blocks = static_cast<uint32_t>((batch.most_pieces + kPiecesOfWarp - 1) / kPiecesOfWarp);
    decode_pieces_kernel<Lengths, CodeLengths><<<dim3(blocks, batch.count), kLanes, 0, stream>>>(batch.works);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t decode(const DecodeBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  return strings::with_child<uint32_t>(batch.lengths, [&](auto lengths) {
    return strings::with_child<uint32_t>(batch.code_lengths, [&](auto code_lengths) {
      return launch_decode<decltype(lengths), decltype(code_lengths)>(batch, stream);
    });
  });
}

}  // namespace basalt::fsst
