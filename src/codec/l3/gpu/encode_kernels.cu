// The device encoder's kernels: stages of encode_cut.cuh and encode_streams.cuh, each with the grid it wants.
#include "codec/l3/gpu/encode_kernels.h"

#include <algorithm>

#include "codec/l3/gpu/encode_cut.cuh"
#include "codec/l3/gpu/encode_streams.cuh"
#include "core/device/launch.h"

namespace basalt::l3 {

namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kPlaceThreads = 1024;
constexpr uint32_t kMetadataBlocks = 8;  // per chunk

__device__ __forceinline__ uint32_t warp_number() { return (blockIdx.x * blockDim.x + threadIdx.x) / kLanes; }
__device__ __forceinline__ uint32_t warp_count() { return gridDim.x * blockDim.x / kLanes; }

__global__ __launch_bounds__(kThreads, 2) void choose_tiles_kernel(const __grid_constant__ EncodeWork work) {
  choose_tiles(work, warp_number(), warp_count());
}
__global__ __launch_bounds__(kThreads, 2) void choose_units_kernel(const __grid_constant__ EncodeWork work) {
  choose_units(work, warp_number(), warp_count());
}
__global__ __launch_bounds__(kThreads, 2) void cost_runs_kernel(const __grid_constant__ EncodeWork work) {
  cost_runs(work, warp_number(), warp_count());
}
__global__ __launch_bounds__(kLanes) void cut_cheapest_kernel(const __grid_constant__ EncodeWork work) {
  cut_cheapest(work, blockIdx.x);
}
__global__ __launch_bounds__(kThreads, 2) void choose_cut_kernel(const __grid_constant__ EncodeWork work) {
  choose_cut(work, warp_number(), warp_count());
}

// All steps in one launch: what a step merged decides what the next one tries, and only the chunk's blocks know when to
// stop. All blocks run at the same time; each chunk has as many of them as there are to go round, and they wait for
// each other without looking at other chunks.
__global__ __launch_bounds__(kThreads, 2) void merge_kernel(const __grid_constant__ EncodeWork work) {
  __shared__ MergeBlock block;
  const uint32_t teams = work.chunk_count < gridDim.x ? work.chunk_count : gridDim.x;
  const uint32_t team = blockIdx.x % teams;
  const MergeMember member{blockIdx.x / teams, gridDim.x / teams + (team < gridDim.x % teams ? 1 : 0)};
  for (uint32_t chunk = team; chunk < work.chunk_count; chunk += teams) {
    uint32_t awaited = 0;
    const auto wait = [&] {
      __syncthreads();
      awaited += member.count;
      if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(work.arrived + chunk, 1u);
        while (*static_cast<volatile uint32_t*>(work.arrived + chunk) < awaited) __nanosleep(100);
        __threadfence();
      }
      __syncthreads();
    };
    if (member.number == 0) prepare_merge(work, chunk);
    wait();
    find_starts(work, chunk, block);
    for (uint32_t step = 0; merge_step(work, chunk, step, member, block); ++step) {
      wait();
      take_merged(work, chunk, step, block);
    }
    __syncthreads();
  }
}

__global__ __launch_bounds__(kPlaceThreads) void place_streams_kernel(const __grid_constant__ EncodeWork work) {
  place_streams(work, blockIdx.x, gridDim.x);
}
__global__ __launch_bounds__(kThreads) void write_metadata_kernel(const __grid_constant__ EncodeWork work) {
  for (uint32_t chunk = blockIdx.y; chunk < work.chunk_count; chunk += gridDim.y) {
    write_metadata(work, chunk, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
  }
}
__global__ __launch_bounds__(kThreads, 2) void pack_residuals_kernel(const __grid_constant__ EncodeWork work) {
  pack_residuals(work, warp_number(), warp_count());
}

uint32_t blocks_for(uint64_t warps) {
  constexpr uint32_t kWarps = kThreads / kLanes;
  return static_cast<uint32_t>((warps + kWarps - 1) / kWarps);
}

// As many blocks as run at the same time, but no more than there are pairs for.
cudaError_t launch_merge(const EncodeWork& work, cudaStream_t stream) {
  device::DeviceShape shape;
  int resident = 0;
  cudaError_t error = device::current_shape(shape);
  if (error == cudaSuccess) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, merge_kernel, kThreads, 0);
  }
  if (error == cudaSuccess) error = cudaMemsetAsync(work.arrived, 0, work.chunk_count * sizeof(uint32_t), stream);
  if (error != cudaSuccess) return error;
  const uint32_t pairs = blocks_for(uint64_t{work.chunk_count} * (work.stride / 2 + 1));
  uint32_t blocks = std::min(static_cast<uint32_t>(shape.multiprocessors * resident), pairs);
  EncodeWork argument = work;
  void* arguments[] = {&argument};
  // Where others share the device, fewer blocks may run at the same time than it says; any number will do.
  for (;; blocks /= 2) {
    error = cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(merge_kernel), dim3(blocks), dim3(kThreads),
                                        arguments, 0, stream);
    if (error != cudaErrorCooperativeLaunchTooLarge || blocks == 1) return error;
    cudaGetLastError();  // which would otherwise be found by somebody else
  }
}

bool is_empty(const EncodeWork& work) { return work.chunk_count == 0 || work.stride == 0; }

}  // namespace

cudaError_t measure_streams(const EncodeWork& work, Effort effort, cudaStream_t stream) {
  if (is_empty(work)) return cudaSuccess;
  const uint64_t units = uint64_t{work.chunk_count} * work.stride;
  const uint64_t batches = (units + work.batch - 1) / work.batch;
  cudaError_t error = cudaSuccess;
  if (effort == Effort::kFast) {
    choose_tiles_kernel<<<blocks_for(batches), kThreads, 0, stream>>>(work);
  } else {
    choose_units_kernel<<<blocks_for(batches), kThreads, 0, stream>>>(work);
    if (effort == Effort::kBest) {
      cost_runs_kernel<<<blocks_for(units), kThreads, 0, stream>>>(work);
      cut_cheapest_kernel<<<work.chunk_count, kLanes, 0, stream>>>(work);
      choose_cut_kernel<<<blocks_for(batches), kThreads, 0, stream>>>(work);
    }
    error = cudaGetLastError();  // merging partitions that nobody has made would go anywhere
    if (error == cudaSuccess) error = launch_merge(work, stream);
  }
  if (error != cudaSuccess) return error;
  place_streams_kernel<<<work.chunk_count, kPlaceThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

cudaError_t write_streams(const EncodeWork& work, cudaStream_t stream) {
  if (is_empty(work)) return cudaSuccess;
  const uint64_t tiles = uint64_t{work.chunk_count} * (work.stride / kUnitsPerTile);
  write_metadata_kernel<<<dim3(kMetadataBlocks, std::min(work.chunk_count, device::kMaxGridY)), kThreads, 0, stream>>>(
      work);
  pack_residuals_kernel<<<blocks_for(tiles), kThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

}  // namespace basalt::l3
