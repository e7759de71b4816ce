// The dict codec's kernels, compiled ahead with unrolled code for every width of the codes.
#include "codec/dict/kernels.h"

#include "codec/dict/launch.cuh"

namespace basalt::dict {

template <typename T>
cudaError_t decode(const device::ChunkBatch& batch, Entries entries, uint32_t most_entries, T* out, uint32_t* fault,
                   cudaStream_t stream) {
  constexpr uint32_t kWarps = 16;
  constexpr uint32_t kTilesPerBlock = 128;
  // Two blocks share a multiprocessor up to here, so that one decodes while the other stages.
  constexpr uint32_t kMostStagedBytes = 96 * 1024;
  const bool packed_entries = entries == Entries::kPacked;
  if (most_entries <= kMostStagedBytes && staged_bytes<T, kWarps>(most_entries) <= kMostStagedBytes) {
    return launch_decode_staged<T, kWarps, 2>(batch, packed_entries, most_entries, kTilesPerBlock, out, fault, stream);
  }
  if (packed_entries) return launch_decode_direct<T, device::Packed<T>>(batch, out, fault, stream);
  return launch_decode_direct<T, device::Plain<T>>(batch, out, fault, stream);
}

template cudaError_t decode(const device::ChunkBatch&, Entries, uint32_t, uint32_t*, uint32_t*, cudaStream_t);
template cudaError_t decode(const device::ChunkBatch&, Entries, uint32_t, uint64_t*, uint32_t*, cudaStream_t);

}  // namespace basalt::dict
