// Packed chunks in device memory for benchmarks. Any words are valid packed tiles, so the words come from a pool of
// random bits; only descriptors and references are made.
#pragma once

#include "codec/packed/layout.h"
#include "core/device/batch.h"
#include "core/packed_tile.h"
#include "gpu_bench.h"

namespace basalt::bench {

constexpr uint32_t kTilesPerChunk = kMaxChunkRows / kTileRows;

template <typename T>
struct PackedColumn {
  std::vector<uint32_t> host_descriptors;
  std::vector<T> host_references;
  std::vector<uint64_t> host_nodes;  // per chunk: count, references, descriptors, words
  DeviceArray<uint32_t> descriptors;
  DeviceArray<T> references;
  DeviceArray<uint64_t> nodes;
  DeviceArray<uint64_t> first_rows;
  uint32_t chunks = 0;
  uint64_t words_bytes = 0;

  uint64_t rows() const { return uint64_t{chunks} * kMaxChunkRows; }
  double stream_bytes() const {
    return static_cast<double>(words_bytes) + static_cast<double>(descriptors.bytes()) +
           static_cast<double>(references.bytes());
  }
  device::ChunkBatch batch() const {
    return {nodes.data(), first_rows.data(), 1 + packed::kStreams, chunks, kTilesPerChunk};
  }
};

inline std::vector<uint64_t> chunk_starts(uint32_t chunks) {
  std::vector<uint64_t> rows(chunks);
  for (uint32_t c = 0; c < chunks; ++c) rows[c] = uint64_t{c} * kMaxChunkRows;
  return rows;
}

// width(tile) and reference(tile), tiles counted over all chunks.
template <typename T, typename Width, typename Reference>
PackedColumn<T> make_packed_column(const DeviceArray<unsigned char>& pool, uint32_t chunks, const Width& width,
                                   const Reference& reference) {
  PackedColumn<T> column;
  column.chunks = chunks;
  column.host_descriptors.resize(uint64_t{chunks} * kTilesPerChunk);
  column.host_references.resize(column.host_descriptors.size());
  std::vector<uint64_t> words_at(chunks);
  for (uint32_t c = 0; c < chunks; ++c) {
    words_at[c] = column.words_bytes;
    uint32_t row = 0;
    for (uint32_t t = 0; t < kTilesPerChunk; ++t) {
      const uint64_t tile = uint64_t{c} * kTilesPerChunk + t;
      const uint32_t bits = width(tile);
      column.host_descriptors[tile] = packed::make_descriptor(row, bits);
      column.host_references[tile] = reference(tile);
      row += bits;
    }
    column.words_bytes += uint64_t{row} * kLanes * 4;
  }
  require(column.words_bytes <= pool.bytes(), "the pool of random words is too small");
  column.descriptors = DeviceArray<uint32_t>(column.host_descriptors);
  column.references = DeviceArray<T>(column.host_references);
  for (uint32_t c = 0; c < chunks; ++c) {
    column.host_nodes.push_back(kMaxChunkRows);
    column.host_nodes.push_back(reinterpret_cast<uint64_t>(column.references.data() + uint64_t{c} * kTilesPerChunk));
    column.host_nodes.push_back(reinterpret_cast<uint64_t>(column.descriptors.data() + uint64_t{c} * kTilesPerChunk));
    column.host_nodes.push_back(reinterpret_cast<uint64_t>(pool.data() + words_at[c]));
  }
  column.nodes = DeviceArray<uint64_t>(column.host_nodes);
  column.first_rows = DeviceArray<uint64_t>(chunk_starts(chunks));
  return column;
}

// One packed row by the arithmetic that the CPU uses too, without any of the kernels under test.
template <typename T>
__host__ __device__ inline T expected_row(const uint32_t* descriptors, const T* references, const uint32_t* words,
                                          uint32_t row) {
  const uint32_t descriptor = descriptors[row / kTileRows];
  const uint64_t raw =
      packed_row(words + packed::descriptor_word(descriptor), packed::descriptor_width(descriptor), row % kTileRows);
  return static_cast<T>(references[row / kTileRows] + static_cast<T>(raw));
}

template <typename T>
__device__ T expected_row(const uint64_t* node, uint32_t row) {
  return expected_row(reinterpret_cast<const uint32_t*>(node[1 + packed::kDescriptors]),
                      reinterpret_cast<const T*>(node[1 + packed::kReferences]),
                      reinterpret_cast<const uint32_t*>(node[1 + packed::kWords]), row);
}

// Counts rows of the output that differ from expected(node of the chunk, chunk, row). Grid: x tiles, y chunks.
template <typename T, typename Expected>
__global__ void count_differences(const uint64_t* nodes, uint32_t stride, const T* out, Expected expected,
                                  unsigned long long* differences) {
  const uint64_t* node = nodes + uint64_t{blockIdx.y} * stride;
  for (uint32_t row = blockIdx.x * kTileRows + threadIdx.x; row < (blockIdx.x + 1) * kTileRows; row += blockDim.x) {
    const T want = expected(node, blockIdx.y, row);
    if (out[uint64_t{blockIdx.y} * kMaxChunkRows + row] != want) atomicAdd(differences, 1ull);
  }
}

// Exits unless every row of the output is as expected.
template <typename T, typename Expected>
void require_rows(const uint64_t* nodes, uint32_t stride, uint32_t chunks, const T* out, const Expected& expected,
                  const std::string& what) {
  DeviceArray<unsigned long long> differences(1);
  BASALT_CHECK(cudaMemset(differences.data(), 0, differences.bytes()));
  count_differences<<<dim3(kTilesPerChunk, chunks), 256>>>(nodes, stride, out, expected, differences.data());
  BASALT_CHECK(cudaGetLastError());
  const unsigned long long count = differences.to_host(0, 1)[0];
  require(count == 0, what + label(": ", count) + " rows differ");
}

template <typename T>
struct ExpectedPacked {
  __device__ T operator()(const uint64_t* node, uint32_t, uint32_t row) const { return expected_row<T>(node, row); }
};

}  // namespace basalt::bench
