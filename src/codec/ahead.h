// Decoders that are compiled ahead, as codecs offer them to what decodes whole arrays; host side.
#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "basalt/codec/codec.h"
#include "core/device/batch.h"

namespace basalt::device {

struct AheadDecoder {
  const char* reader;  // the type of the tile reader that does the same, as DeviceReader names it
  // Launches for a batch of arrays like `node`. *fault (device memory) becomes 1 if values break a rule that only they
  // can show.
  cudaError_t (*decode)(const NodeView& node, const ChunkBatch& batch, void* out, uint32_t* fault, cudaStream_t stream);
};
using AheadDecoders = std::span<const AheadDecoder>;

}  // namespace basalt::device
