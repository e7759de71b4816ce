// The device trainer's kernels: tables of all rows and of a few ranges, the choice between them, and tables of ranges
// where those were chosen. How many tables there are is known to the device alone, so the last kernel has a place for
// all that there could be.
#include "codec/fsst/train_kernels.h"

#include "codec/fsst/train.cuh"

namespace basalt::fsst {

namespace {

constexpr uint32_t kTrainThreads = 512;
static_assert(sizeof(TrainShared) <= 48 << 10);

__device__ __forceinline__ TrainScratch scratch_of_block(const TrainBatch& batch) {
  return ScratchSizes(batch.plan).of_block(batch.scratch, blockIdx.x);
}

__global__ __launch_bounds__(kTrainThreads) void train_tried_kernel(const __grid_constant__ TrainBatch batch) {
  __shared__ TrainShared shared;
  const TrainScratch scratch = scratch_of_block(batch);
  clear_pairs(scratch);
  // Those of all rows first: they take longest.
  for (uint32_t i = blockIdx.x; i < batch.count * kMostTried; i += gridDim.x) {
    train_tried(batch.arrays[i % batch.count], batch.plan, i / batch.count, scratch, shared);
  }
}

__global__ __launch_bounds__(kTrainThreads) void choose_shift_kernel(const __grid_constant__ TrainBatch batch) {
  __shared__ TrainShared shared;
  const TrainScratch scratch = scratch_of_block(batch);
  for (uint32_t i = blockIdx.x; i < batch.count; i += gridDim.x) {
    choose_shift(batch.arrays[i], batch.plan, scratch, shared);
  }
}

__global__ __launch_bounds__(kTrainThreads) void train_ranges_kernel(const __grid_constant__ TrainBatch batch) {
  __shared__ TrainShared shared;
  const TrainScratch scratch = scratch_of_block(batch);
  clear_pairs(scratch);
  for (uint32_t i = blockIdx.x; i < batch.count * batch.most_tables; i += gridDim.x) {
    train_range(batch.arrays[i / batch.most_tables], batch.plan, i % batch.most_tables, scratch, shared);
  }
}

}  // namespace

cudaError_t train_tables(const TrainBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  const auto grid = [&](uint32_t jobs) { return jobs < batch.blocks ? jobs : batch.blocks; };
  train_tried_kernel<<<grid(batch.count * kMostTried), kTrainThreads, 0, stream>>>(batch);
  choose_shift_kernel<<<grid(batch.count), kTrainThreads, 0, stream>>>(batch);
  if (batch.most_tables > 1) {
    train_ranges_kernel<<<grid(batch.count * batch.most_tables), kTrainThreads, 0, stream>>>(batch);
  }
  return cudaGetLastError();
}

}  // namespace basalt::fsst
