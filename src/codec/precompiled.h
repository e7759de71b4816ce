// Precompiled decoders: compiled with the library, as codecs offer them to what decodes whole arrays; host side.
#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "basalt/codec/codec.h"
#include "core/device/batch.h"

namespace basalt::device {

struct PrecompiledDecoder {
  const char* reader;  // the type of the tile reader that does the same, as DeviceReader names it
  // Launches for a batch of arrays like `node`. *fault (device memory) becomes 1 if values break a rule that only they
  // can show.
  cudaError_t (*decode)(const NodeView& node, const ChunkBatch& batch, void* out, uint32_t* fault, cudaStream_t stream);
};
using PrecompiledDecoders = std::span<const PrecompiledDecoder>;

// A codec's own decode() as a list of decoders holds it: with a place for faults, or without where there can be none.
template <typename T, cudaError_t (*kDecode)(const ChunkBatch&, T*, uint32_t*, cudaStream_t)>
cudaError_t decode_as(const NodeView&, const ChunkBatch& batch, void* out, uint32_t* fault, cudaStream_t stream) {
  return kDecode(batch, static_cast<T*>(out), fault, stream);
}
template <typename T, cudaError_t (*kDecode)(const ChunkBatch&, T*, cudaStream_t)>
cudaError_t decode_as(const NodeView&, const ChunkBatch& batch, void* out, uint32_t*, cudaStream_t stream) {
  return kDecode(batch, static_cast<T*>(out), stream);
}

}  // namespace basalt::device
