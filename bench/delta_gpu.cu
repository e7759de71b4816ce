// Deltas over packed tiles on the GPU, decoded to memory, against the copy rate on the bytes they move.
#include "codec/delta/gpu/kernels.cuh"
#include "codec/delta/gpu/kernels.h"
#include "codec/packed/gpu/kernels.cuh"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

using device::AllWidths;
using device::ChunkBatch;
using device::Packed;

// Sums from the tile's checkpoint, one thread per tile; runs once per column, so its speed does not matter.
template <typename T>
__global__ void sum_deltas(const uint64_t* nodes, uint32_t chunks, T* expected) {
  const uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t chunk = index / kTilesPerChunk;
  const uint32_t tile = index % kTilesPerChunk;
  if (chunk >= chunks) return;
  const uint64_t* node = nodes + uint64_t{chunk} * 6;
  T value = reinterpret_cast<const T*>(node[1])[tile];
  for (uint32_t i = 0; i < kTileRows; ++i) {
    if (i > 0) value += expected_row<T>(node + 2, tile * kTileRows + i);
    expected[uint64_t{chunk} * kMaxChunkRows + tile * kTileRows + i] = value;
  }
}

template <typename T>
struct ExpectedFrom {
  const T* values;
  __device__ T operator()(const uint64_t*, uint32_t chunk, uint32_t row) const {
    return values[uint64_t{chunk} * kMaxChunkRows + row];
  }
};

template <typename T>
void deltas(NestedBench& bench, const std::string& type) {
  const std::string group = "delta " + type;
  if (!bench.options.wants(group)) return;
  const uint32_t chunks = bench.chunks<T>() / 2;
  std::vector<T> checkpoints(uint64_t{chunks} * kTilesPerChunk);
  for (size_t t = 0; t < checkpoints.size(); ++t) checkpoints[t] = static_cast<T>(mix(t + 5));
  const DeviceArray<T> device_checkpoints(checkpoints);
  DeviceArray<T> expected(uint64_t{chunks} * kMaxChunkRows);
  for (const uint32_t width : {1u, 2u, 3u, 4u, 6u, 8u, 10u, 12u, 16u, 20u, 24u, 32u, 40u, 64u}) {
    if (width > 8 * sizeof(T)) continue;
    const auto child = make_packed_column<T>(
        bench.pool, chunks, [&](uint64_t) { return width; }, [](uint64_t tile) { return static_cast<T>(mix(tile)); });
    std::vector<uint64_t> nodes;
    for (uint32_t c = 0; c < chunks; ++c) {
      nodes.push_back(kMaxChunkRows);
      nodes.push_back(reinterpret_cast<uint64_t>(device_checkpoints.data() + uint64_t{c} * kTilesPerChunk));
      nodes.insert(nodes.end(), child.host_nodes.begin() + 4 * c, child.host_nodes.begin() + 4 * c + 4);
    }
    const DeviceArray<uint64_t> device_nodes(nodes);
    const ChunkBatch batch{device_nodes.data(), child.first_rows.data(), 6, chunks, kTilesPerChunk};
    sum_deltas<T><<<(chunks * kTilesPerChunk + 255) / 256, 256>>>(device_nodes.data(), chunks, expected.data());
    BASALT_CHECK(cudaGetLastError());
    const double bytes = child.stream_bytes() + static_cast<double>(device_checkpoints.bytes());
    const std::string point = label("w", width);
    using Reader = device::Delta<T, Packed<T, AllWidths>>;
    const ExpectedFrom<T> rows{expected.data()};
    bench.measure<T>(group, point, kShipped, batch, bytes, 0.75, rows,
                     [&](T* out) { return delta::decode(batch, out, 0); });
    bench.measure<T>(group, point, "4 warps", batch, bytes, 0, rows, [&](T* out) {
      return device::launch_decode_tiles < Reader, 4, sizeof(T) == 8 ? 6 : 10 > (batch, out, nullptr, 0);
    });
  }
}

int run(const Options& options) {
  NestedBench bench(options);
  deltas<uint32_t>(bench, "u32");
  deltas<uint64_t>(bench, "u64");
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
