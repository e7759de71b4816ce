// Columns of fixed width that kernels read from arrays, whatever the encodings of their chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/query/chunk_cache.h"
#include "cuda/runtime/device_buffer.h"
#include "cuda/runtime/modules.h"

namespace basalt::cuda {

// A chunk on the device, and where its rows begin in the arrays: on a multiple of a tile's.
struct ChunkToDecode {
  const ColumnChunkInfo* info = nullptr;
  const DeviceChunk* chunk = nullptr;
  uint64_t first_row = 0;
};

// Writes the chunks' values of this type and, where `validity` has memory, a 0 for each that is NULL. Waits for the
// stream. Error(kCorrupt) where values break the rules of their encoding.
void decode_column(const std::vector<ChunkToDecode>& chunks, Physical type, DeviceBuffer& values,
                   DeviceBuffer& validity, Modules& modules, cudaStream_t stream);

}  // namespace basalt::cuda
