// Columns of learned integers on the device, for the benchmarks that read them.
#pragma once

#include "basalt/codec/codec.h"
#include "basalt/core/threads.h"
#include "basalt/encoding/tree.h"
#include "codec/l3/layout.h"
#include "nested_bench.h"

namespace basalt::bench {

using device::ChunkBatch;

constexpr uint32_t kDescriptorWords = 1 + l3::kStreams;

// Chunks that were encoded on the host, copied to the device as often as it takes.
template <typename T>
struct LearnedColumn {
  DeviceArray<T> values;  // of the chunks that differ
  uint32_t distinct = 0;
  std::vector<DeviceArray<unsigned char>> streams;
  DeviceArray<uint64_t> nodes, first_rows;
  uint32_t chunks = 0;
  uint64_t bytes = 0;
  double bits_per_value = 0;
  double whole = 0;  // share of tiles that lie in one partition

  ChunkBatch batch() const { return {nodes.data(), first_rows.data(), kDescriptorWords, chunks, kTilesPerChunk}; }
};

template <typename T>
LearnedColumn<T> make_column(const std::vector<T>& rows, uint32_t chunks, Physical type) {
  LearnedColumn<T> column;
  column.values = DeviceArray<T>(rows);
  column.distinct = static_cast<uint32_t>(rows.size() / kMaxChunkRows);
  column.chunks = chunks;
  std::vector<Node> encoded(column.distinct);
  ThreadPool pool(hardware_threads());
  pool.parallel_for(column.distinct, [&](uint64_t i) {
    Values values;
    values.type = type;
    values.count = kMaxChunkRows;
    values.data = rows.data() + i * kMaxChunkRows;
    encoded[i] = encode_tree(values, bind_tree({"l3", {}}, type));
  });
  uint64_t whole = 0;
  for (const Node& node : encoded) {
    const auto* starts = reinterpret_cast<const uint32_t*>(node.streams[l3::kStarts].data());
    for (uint32_t unit = 0; unit < kMaxChunkRows / kUnitRows; unit += kUnitsPerTile) {
      whole += l3::undivided(starts[unit / l3::kUnitsPerStart], unit) ? 1 : 0;
    }
  }
  column.whole = static_cast<double>(whole) / (double{kTilesPerChunk} * column.distinct);
  std::vector<uint64_t> nodes, first_rows;
  for (uint32_t c = 0; c < chunks; ++c) {
    nodes.push_back(kMaxChunkRows);
    first_rows.push_back(uint64_t{c} * kMaxChunkRows);
    for (const Buffer& stream : encoded[c % column.distinct].streams) {
      DeviceArray<unsigned char> copy(stream.size() + 128);
      BASALT_CHECK(cudaMemcpy(copy.data(), stream.data(), stream.size(), cudaMemcpyHostToDevice));
      nodes.push_back(reinterpret_cast<uint64_t>(copy.data()));
      column.streams.push_back(std::move(copy));
      column.bytes += stream.size();
    }
  }
  column.nodes = DeviceArray<uint64_t>(nodes);
  column.first_rows = DeviceArray<uint64_t>(first_rows);
  column.bits_per_value = static_cast<double>(column.bytes) * 8 / (static_cast<double>(chunks) * kMaxChunkRows);
  return column;
}

template <typename T>
struct ExpectedFrom {
  const T* values;
  uint32_t distinct;
  __device__ T operator()(const uint64_t*, uint32_t chunk, uint32_t row) const {
    return values[uint64_t{chunk % distinct} * kMaxChunkRows + row];
  }
};

}  // namespace basalt::bench
