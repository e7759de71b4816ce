// The device trainer's kernels: tables of all rows and of a few ranges, the choice between them, and tables of ranges
// where those were chosen. How many tables there are is known to the device alone, so the last kernel has a place for
// all that there could be.
#include "codec/fsst/gpu/train_kernels.h"

#include "codec/fsst/gpu/train_ranges.cuh"
#include "core/device/launch.h"

namespace basalt::fsst {

namespace {

constexpr uint32_t kTrainThreads = 1024;
static_assert(sizeof(TrainShared) % sizeof(device::SixteenBytes) == 0);
static_assert(sizeof(TrainShared) <= 99 << 10, "what blocks have on every GPU since Ampere");

__device__ __forceinline__ TrainShared& shared_of_block() {
  extern __shared__ device::SixteenBytes fsst_train_shared[];
  return *reinterpret_cast<TrainShared*>(fsst_train_shared);
}
// With kNarrow, pairs are counted in shared memory.
template <bool kNarrow>
__device__ __forceinline__ TrainScratch scratch_of_block(const TrainBatch& batch) {
  TrainScratch scratch = ScratchSizes(batch.plan).of_block(batch.scratch, blockIdx.x);
  scratch.narrow_pairs = kNarrow;
  if (kNarrow) scratch.pairs = reinterpret_cast<uint32_t*>(&shared_of_block() + 1);
  return scratch;
}

template <bool kNarrow>
__global__ __launch_bounds__(kTrainThreads, 1) void train_tried_kernel(const __grid_constant__ TrainBatch batch) {
  const TrainScratch scratch = scratch_of_block<kNarrow>(batch);
  // Those of all rows first: they take longest.
  for (uint32_t i = blockIdx.x; i < batch.count * kMostTried; i += gridDim.x) {
    train_tried(batch.arrays[i % batch.count], batch.plan, i / batch.count, scratch, shared_of_block());
  }
}

__global__ __launch_bounds__(kTrainThreads, 1) void choose_shift_kernel(const __grid_constant__ TrainBatch batch) {
  const TrainScratch scratch = scratch_of_block<false>(batch);
  for (uint32_t i = blockIdx.x; i < batch.count; i += gridDim.x) {
    choose_shift(batch.arrays[i], batch.plan, scratch, shared_of_block());
  }
}

template <bool kNarrow>
__global__ __launch_bounds__(kTrainThreads, 1) void train_ranges_kernel(const __grid_constant__ TrainBatch batch) {
  const TrainScratch scratch = scratch_of_block<kNarrow>(batch);
  for (uint32_t i = blockIdx.x; i < batch.count * batch.most_tables; i += gridDim.x) {
    train_range(batch.arrays[i / batch.most_tables], batch.plan, i % batch.most_tables, scratch, shared_of_block());
  }
}

template <typename Kernel>
cudaError_t launch(Kernel kernel, const TrainBatch& batch, uint32_t jobs, uint32_t shared_bytes, cudaStream_t stream) {
  const cudaError_t error = device::prepare_shared(kernel, shared_bytes);
  if (error != cudaSuccess) return error;
  const uint32_t blocks = jobs < batch.blocks ? jobs : batch.blocks;
  kernel<<<blocks, kTrainThreads, shared_bytes, stream>>>(batch);
  return cudaGetLastError();
}

template <bool kNarrow>
cudaError_t train(const TrainBatch& batch, cudaStream_t stream) {
  constexpr uint32_t kShared = sizeof(TrainShared);
  constexpr uint32_t kAllShared = kShared + (kNarrow ? kNarrowPairBytes : 0);
  cudaError_t error = launch(train_tried_kernel<kNarrow>, batch, batch.count * kMostTried, kAllShared, stream);
  if (error == cudaSuccess) error = launch(choose_shift_kernel, batch, batch.count, kShared, stream);
  if (error != cudaSuccess || batch.most_tables == 1) return error;
  return launch(train_ranges_kernel<kNarrow>, batch, batch.count * batch.most_tables, kAllShared, stream);
}

}  // namespace

cudaError_t train_tables(const TrainBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  device::DeviceShape shape;
  const cudaError_t error = device::current_shape(shape);
  if (error != cudaSuccess) return error;
  const bool fits = static_cast<uint32_t>(shape.shared_bytes_per_block) >= sizeof(TrainShared) + kNarrowPairBytes;
  return fits && batch.plan.sample_bytes <= kNarrowSampleBytes ? train<true>(batch, stream)
                                                               : train<false>(batch, stream);
}

}  // namespace basalt::fsst
