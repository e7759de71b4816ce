// The dict codec's kernels, precompiled with unrolled code for every width of the codes.
#include "codec/dict/gpu/kernels.h"

#include "codec/dict/gpu/launch.cuh"

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

namespace {

template <typename T, Entries kEntriesAre>
cudaError_t decode_one(const NodeView& node, const device::ChunkBatch& batch, void* out, uint32_t* fault,
                       cudaStream_t stream) {
  const auto entries = static_cast<uint32_t>(node.children[kEntries].count);
  return decode(batch, kEntriesAre, entries, static_cast<T*>(out), fault, stream);
}

constexpr device::PrecompiledDecoder kDecoders[] = {
    {"Dict<uint32_t, Packed<uint32_t>, Plain<uint32_t>>", decode_one<uint32_t, Entries::kPlain>},
    {"Dict<uint64_t, Packed<uint32_t>, Plain<uint64_t>>", decode_one<uint64_t, Entries::kPlain>},
    {"Dict<uint32_t, Packed<uint32_t>, Packed<uint32_t>>", decode_one<uint32_t, Entries::kPacked>},
    {"Dict<uint64_t, Packed<uint32_t>, Packed<uint64_t>>", decode_one<uint64_t, Entries::kPacked>},
};

}  // namespace

device::PrecompiledDecoders decoders() { return kDecoders; }

}  // namespace basalt::dict
