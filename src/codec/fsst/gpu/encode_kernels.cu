// The device encoder's kernels: a thread per row, and one per piece of long rows.
#include "codec/fsst/gpu/encode_kernels.h"

#include "codec/fsst/gpu/encode_rows.cuh"
#include "core/device/launch.h"

namespace basalt::fsst {

namespace {

constexpr uint32_t kThreads = 256;
uint32_t rows_shared(const EncodeWork& work) { return sizeof(EncodeTable) + kThreads / kLanes * work.stage_bytes; }
static_assert(kTileRows % kThreads == 0, "all rows of a block have the same table");
static_assert(sizeof(EncodeTable) % sizeof(device::SixteenBytes) == 0);

__device__ __forceinline__ uint64_t thread_number() { return uint64_t{blockIdx.x} * kThreads + threadIdx.x; }

__device__ __forceinline__ void stage(const EncodeTable& from, EncodeTable& to) {
  const auto* source = reinterpret_cast<const device::SixteenBytes*>(&from);
  auto* target = reinterpret_cast<device::SixteenBytes*>(&to);
  for (uint32_t i = threadIdx.x; i < sizeof(EncodeTable) / sizeof(device::SixteenBytes); i += kThreads) {
    target[i] = source[i];
  }
  __syncthreads();
}

template <bool kList>
__global__ __launch_bounds__(kThreads) void find_pieces_kernel(const __grid_constant__ EncodeWork work) {
  const auto tile = static_cast<uint32_t>(thread_number() / kLanes);
  if (tile < work.tiles()) find_tile_pieces<kList>(work, tile);
}

// Shared memory of kernels over rows: a table, then a stage per warp.
struct RowsMemory {
  EncodeTable& table;
  unsigned char* stage;

  __device__ __forceinline__ static RowsMemory of_thread(const EncodeWork& work) {
    extern __shared__ device::SixteenBytes fsst_encode_shared[];
    auto* bytes = reinterpret_cast<unsigned char*>(fsst_encode_shared);
    return {*reinterpret_cast<EncodeTable*>(bytes),
            bytes + sizeof(EncodeTable) + threadIdx.x / kLanes * work.stage_bytes};
  }
};
__device__ __forceinline__ uint64_t first_row_of_warp() { return thread_number() / kLanes * kLanes; }

__global__ __launch_bounds__(kThreads) void count_rows_kernel(const __grid_constant__ EncodeWork work) {
  const RowsMemory memory = RowsMemory::of_thread(work);
  stage(work.tables[table_of_row(work, uint64_t{blockIdx.x} * kThreads)], memory.table);
  const uint64_t first = first_row_of_warp();
  if (first < work.rows) count_rows(work, memory.table, first, memory.stage);
}
__global__ __launch_bounds__(kThreads) void count_pieces_kernel(const __grid_constant__ EncodeWork work) {
  const uint64_t i = thread_number();
  if (is_piece(work, i)) count_piece(work, i);
}
__global__ __launch_bounds__(kThreads) void write_rows_kernel(const __grid_constant__ EncodeWork work) {
  const RowsMemory memory = RowsMemory::of_thread(work);
  const uint64_t first = first_row_of_warp();
  const CountedGroup group(work, first);
  // Where all codes have been kept, staging the table would cost as much as placing them.
  if (__syncthreads_or(!group.kept) != 0) {
    stage(work.tables[table_of_row(work, uint64_t{blockIdx.x} * kThreads)], memory.table);
  }
  if (first < work.rows) write_rows(work, memory.table, first, group, memory.stage);
}
__global__ __launch_bounds__(kThreads) void write_pieces_kernel(const __grid_constant__ EncodeWork work) {
  const uint64_t i = thread_number();
  if (is_piece(work, i)) write_piece(work, i);
}

uint32_t blocks_of(uint64_t items) { return static_cast<uint32_t>((items + kThreads - 1) / kThreads); }

// Launches a kernel over rows. Six blocks are as many as registers leave room for: what they do not need of the
// memory that shared memory and cache have in common is the text's.
template <typename Kernel>
cudaError_t launch_over_rows(Kernel kernel, const EncodeWork& work, cudaStream_t stream) {
  constexpr uint32_t kBlocks = 6;
  constexpr uint32_t kReserved = 1024;  // by the system, of each block's
  if (work.rows == 0) return cudaSuccess;
  device::DeviceShape shape;
  cudaError_t error = device::current_shape(shape);
  if (error == cudaSuccess) {
    const uint32_t most = static_cast<uint32_t>(shape.shared_bytes_per_block) + kReserved;
    const uint32_t percent = kBlocks * (rows_shared(work) + kReserved) * 100 / most + 1;
    error = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributePreferredSharedMemoryCarveout,
                                 static_cast<int>(percent < 100 ? percent : 100));
  }
  if (error != cudaSuccess) return error;
  kernel<<<blocks_of(work.rows), kThreads, rows_shared(work), stream>>>(work);
  return cudaGetLastError();
}

}  // namespace

cudaError_t count_tile_pieces(const EncodeWork& work, cudaStream_t stream) {
  find_pieces_kernel<false><<<blocks_of(uint64_t{work.tiles()} * kLanes), kThreads, 0, stream>>>(work);
  return cudaGetLastError();
}
cudaError_t list_pieces(const EncodeWork& work, cudaStream_t stream) {
  find_pieces_kernel<true><<<blocks_of(uint64_t{work.tiles()} * kLanes), kThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

cudaError_t count_codes(const EncodeWork& work, cudaStream_t stream) {
  const cudaError_t error = launch_over_rows(count_rows_kernel, work, stream);
  if (error != cudaSuccess) return error;
  if (work.most_pieces > 0) count_pieces_kernel<<<blocks_of(work.most_pieces), kThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

cudaError_t write_codes(const EncodeWork& work, cudaStream_t stream) {
  const cudaError_t error = launch_over_rows(write_rows_kernel, work, stream);
  if (error != cudaSuccess) return error;
  if (work.most_pieces > 0) write_pieces_kernel<<<blocks_of(work.most_pieces), kThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

}  // namespace basalt::fsst
