// Lengths of strings in bytes, which chunks store beside the strings: no text is decoded.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/query/chunk_texts.h"

namespace basalt::cuda {

// Whether the lengths of all rows can be read without their texts; by metadata.
bool stores_lengths(const ColumnChunkInfo& info);

// A chunk whose rows begin at `first_row` of the results.
struct ChunkToMeasure {
  TextChunk chunk;
  uint64_t first_row = 0;
};
// Writes the length of each row, and the bytes that say which are not NULL unless `validity` is nullptr. Waits for the
// stream. Throws Error(kCorrupt) where a code has no text.
void measure_texts(const std::vector<ChunkToMeasure>& chunks, int64_t* lengths, uint8_t* validity, Modules& modules,
                   cudaStream_t stream);

}  // namespace basalt::cuda
