// The fsst codec's kernels, compiled ahead.
#include "codec/fsst/kernels.h"

#include <cub/block/block_scan.cuh>

#include "codec/fsst/kernels.cuh"
#include "codec/packed/kernels.cuh"
#include "codec/plain/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::fsst {

namespace {

constexpr uint32_t kWarps = 8;
constexpr uint32_t kDecodeShared = sizeof(StagedTable) + kWarps * kStageBytes;
constexpr uint32_t kDecodeBlocks = 4;  // without a limit 106 registers leave room for two
constexpr uint32_t kScanThreads = 256;

// Grid: x covers the tiles of the longest array, a warp each; y the arrays. Tile t's bytes go to text_starts[t + 1].
template <typename Lengths>
__global__ __launch_bounds__(kWarps* kLanes) void measure_kernel(const DecodeWork* works) {
  const DecodeWork work = works[blockIdx.y];
  const uint32_t tile = blockIdx.x * kWarps + threadIdx.x / kLanes;
  if (tile >= work.tiles()) return;
  const uint64_t bytes = measure_tile<Lengths>(work, tile);
  if (lane_id() == 0) work.text_starts[tile + 1] = bytes;
}

// A block per array.
__global__ __launch_bounds__(kScanThreads) void add_up_kernel(const DecodeWork* works) {
  using Scan = cub::BlockScan<uint64_t, kScanThreads>;
  __shared__ typename Scan::TempStorage storage;
  const DecodeWork work = works[blockIdx.x];
  uint64_t before = 0;
  for (uint32_t first = 0; first < work.tiles(); first += kScanThreads) {
    const uint32_t tile = first + threadIdx.x;
    uint64_t end = tile < work.tiles() ? work.text_starts[tile + 1] : 0;
    uint64_t sum = 0;
    Scan(storage).InclusiveSum(end, end, sum);
    if (tile < work.tiles()) work.text_starts[tile + 1] = before + end;
    before += sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) work.text_starts[0] = 0;
}

// A warp per tile, as above. Tables of a block's tiles are staged one after the other; nearly always there is one.
template <typename Lengths, typename CodeLengths>
__global__ __launch_bounds__(kWarps* kLanes, kDecodeBlocks) void decode_kernel(const DecodeWork* works) {
  extern __shared__ device::SixteenBytes fsst_shared[];
  auto& table = *reinterpret_cast<StagedTable*>(fsst_shared);
  const uint32_t warp = threadIdx.x / kLanes;
  auto* stage = reinterpret_cast<unsigned char*>(fsst_shared) + sizeof(StagedTable) + warp * kStageBytes;
  const DecodeWork work = works[blockIdx.y];
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    work.offsets[work.rows] = static_cast<int64_t>(load(work.text_starts + work.tiles()));
  }
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

dim3 tile_grid(const DecodeBatch& batch) {
  const uint32_t blocks = (batch.most_tiles + kWarps - 1) / kWarps;
  return dim3(blocks == 0 ? 1 : blocks, batch.count);
}

// Calls f with the reader's type.
template <typename F>
cudaError_t with_child(Child child, F f) {
  return child == Child::kPacked ? f(device::Packed<uint32_t>()) : f(device::Plain<uint32_t>());
}

template <typename Lengths, typename CodeLengths>
cudaError_t launch_decode(const DecodeBatch& batch, cudaStream_t stream) {
  const auto kernel = decode_kernel<Lengths, CodeLengths>;
  const cudaError_t error = device::prepare_shared(kernel, kDecodeShared);
  if (error != cudaSuccess) return error;
  kernel<<<tile_grid(batch), kWarps * kLanes, kDecodeShared, stream>>>(batch.works);
  if (batch.most_pieces > 0) {
    const auto blocks = static_cast<uint32_t>((batch.most_pieces + kPiecesOfWarp - 1) / kPiecesOfWarp);
    decode_pieces_kernel<Lengths, CodeLengths><<<dim3(blocks, batch.count), kLanes, 0, stream>>>(batch.works);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t place_tiles(const DecodeBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  const cudaError_t error = with_child(batch.lengths, [&](auto reader) {
    measure_kernel<decltype(reader)><<<tile_grid(batch), kWarps * kLanes, 0, stream>>>(batch.works);
    return cudaGetLastError();
  });
  if (error != cudaSuccess) return error;
  add_up_kernel<<<batch.count, kScanThreads, 0, stream>>>(batch.works);
  return cudaGetLastError();
}

cudaError_t decode(const DecodeBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  return with_child(batch.lengths, [&](auto lengths) {
    return with_child(batch.code_lengths, [&](auto code_lengths) {
      return launch_decode<decltype(lengths), decltype(code_lengths)>(batch, stream);
    });
  });
}

}  // namespace basalt::fsst
