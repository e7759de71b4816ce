// How a batch of chunks of one column reaches a kernel, and the units of work kernels cut it into.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::device {

// All pointers are device memory. A chunk is described by the flat words of its encoding tree, in preorder: per node
// the row count, the address of each stream, the parameter bytes padded to 8, then its children.
struct ChunkBatch {
  const uint64_t* descriptors;  // chunk c's words begin at c * descriptor_stride
  const uint64_t* first_rows;   // per chunk: where its rows begin in the output, a multiple of 1024
  uint32_t descriptor_stride;
  uint32_t chunks;
  uint32_t tiles_per_chunk;  // of the longest chunk
};

BASALT_HD uint32_t tiles_of(uint32_t rows) { return rows / kTileRows + (rows % kTileRows != 0); }

// Rows of `tile` in a chunk of `count` rows; 0 if the tile lies behind the last row.
BASALT_HD uint32_t rows_of_tile(uint32_t count, uint32_t tile) {
  const uint32_t begin = tile * kTileRows;
  if (begin >= count) return 0;
  return count - begin < kTileRows ? count - begin : kTileRows;
}

// Bit k is set where row 32·k + lane exists.
BASALT_HD uint32_t rows_mask(uint32_t rows, uint32_t lane) {
  const uint32_t per_lane = rows > lane ? (rows - lane + kLanes - 1) / kLanes : 0;
  return per_lane >= 32 ? ~0u : (1u << per_lane) - 1;
}

}  // namespace basalt::device
