// Launches of the dict kernels with everything that can be tuned as a parameter: the library fixes what measured best,
// the benchmark compares.
#pragma once

#include "codec/dict/gpu/decode_staged.cuh"
#include "codec/dict/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "core/device/launch.h"

namespace basalt::dict {

// Entries looked up in global memory. Scattered reads are the limit here, so codes of run-time width do.
template <typename T, typename Entries>
cudaError_t launch_decode_direct(const device::ChunkBatch& batch, T* out, uint32_t* fault, cudaStream_t stream) {
  return device::launch_decode_tiles<device::Dict<T, device::Packed<uint32_t>, Entries>, 8, 4>(batch, out, fault,
                                                                                               stream);
}

template <typename T>
using StagedDict = device::Dict<T, device::Packed<uint32_t, device::AllWidths>, device::StagedEntries<T>>;

template <typename T, uint32_t kWarps>
constexpr uint32_t staged_bytes(uint32_t entries) {
  return device::round_to_16(entries * sizeof(T)) + kWarps * device::kDecodeBytesPerWarp<StagedDict<T>>;
}

// Entries in shared memory. `most_entries`: of any chunk of the batch; staged_bytes of it must fit a block.
template <typename T, uint32_t kWarps, uint32_t kMinBlocks>
cudaError_t launch_decode_staged(const device::ChunkBatch& batch, bool packed_entries, uint32_t most_entries,
                                 uint32_t tiles_per_block, T* out, uint32_t* fault, cudaStream_t stream) {
  if (device::is_empty(batch)) return cudaSuccess;
  const uint32_t bytes = staged_bytes<T, kWarps>(most_entries);
  const auto kernel = device::decode_staged<T, device::Packed<uint32_t, device::AllWidths>, kWarps, kMinBlocks>;
  const cudaError_t error = device::prepare_shared(kernel, bytes);
  if (error != cudaSuccess) return error;
  kernel<<<device::tile_grid(batch, tiles_per_block), kWarps * kLanes, bytes, stream>>>(
      batch, packed_entries, most_entries, tiles_per_block, out, fault);
  return cudaGetLastError();
}

}  // namespace basalt::dict
