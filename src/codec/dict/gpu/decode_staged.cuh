// Decoding dict chunks with the dictionary in shared memory: a block stages the entries of one chunk and then decodes a
// stretch of its tiles.
#pragma once

#include "codec/dict/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"
#include "core/device/batch.h"
#include "core/device/decode_tiles.h"
#include "core/device/warp.h"

namespace basalt::device {

// Grid: x covers the longest chunk in stretches of tiles_per_block, y the chunks. Dynamic shared memory: the entries,
// rounded to 16 bytes, then kDecodeBytesPerWarp per warp. `room`: how many entries fit, at least those of any chunk.
// How entries are encoded matters while they are staged only, so it is a run-time choice: less to compile.
template <typename T, typename Codes, uint32_t kWarps, uint32_t kMinBlocks>
__global__ __launch_bounds__(kWarps* kLanes, kMinBlocks) void decode_staged(ChunkBatch batch, bool packed_entries,
                                                                            uint32_t room, uint32_t tiles_per_block,
                                                                            T* out, uint32_t* fault) {
  extern __shared__ SixteenBytes staged_shared[];
  using Reader = Dict<T, Codes, StagedEntries<T>>;
  T* staged = reinterpret_cast<T*>(staged_shared);
  const uint32_t warp = threadIdx.x / kLanes;
  auto* scratch = reinterpret_cast<unsigned char*>(staged_shared) + round_to_16(room * sizeof(T)) +
                  warp * kDecodeBytesPerWarp<Reader>;
  bool bad = false;
#pragma unroll 1
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* descriptor = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    const uint32_t rows = row_count(descriptor);
    const uint32_t first_tile = blockIdx.x * tiles_per_block;
    if (first_tile * kTileRows >= rows) continue;  // the same for the whole block
    if (packed_entries) {
      stage_entries<Packed<T>>(descriptor + Reader::kEntriesWord, staged, room);
    } else {
      stage_entries<Plain<T>>(descriptor + Reader::kEntriesWord, staged, room);
    }
    __syncthreads();
    T* chunk_out = out + load(batch.first_rows + chunk);
    Reader reader;
    reader.bind(descriptor);
    reader.entries().use(staged);
#pragma unroll 1
    for (uint32_t i = warp; i < tiles_per_block; i += kWarps) {
      const uint32_t tile = first_tile + i;
      const uint32_t tile_rows = rows_of_tile(rows, tile);
      if (tile_rows == 0) break;
      reader.seek(tile, scratch);
      write_tile<Stores::kOnce>(reader, tile_rows, chunk_out + uint64_t{tile} * kTileRows,
                                scratch + Reader::kScratchBytes);
    }
    bad = bad || reader.bad;
    __syncthreads();
  }
  if (bad) *fault = 1;
}

}  // namespace basalt::device
