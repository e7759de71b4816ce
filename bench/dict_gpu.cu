// Dictionaries over packed codes on the GPU, decoded to memory, from 2 to 2^20 entries, against the copy rate on the
// bytes they move.
#include "codec/dict/gpu/kernels.h"
#include "codec/dict/gpu/launch.cuh"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

using device::ChunkBatch;

template <typename T>
struct ExpectedDict {
  __device__ T operator()(const uint64_t* node, uint32_t, uint32_t row) const {
    const uint32_t code = expected_row<uint32_t>(node + 1, row);
    return reinterpret_cast<const T*>(node[6])[code];
  }
};

template <typename T>
void dictionaries(NestedBench& bench, const std::string& type) {
  const uint32_t chunks = bench.chunks<T>();
  uint32_t* fault = bench.fault.data();
  for (const uint32_t bits : {1u, 4u, 8u, 10u, 11u, 12u, 13u, 14u, 15u, 16u, 18u, 20u}) {
    const uint32_t entries = 1u << bits;
    const std::string group = "dict " + type + (bits <= 12 ? " <=4096" : " larger");
    if (!bench.options.wants(group)) continue;
    const auto codes = make_packed_column<uint32_t>(
        bench.pool, chunks, [&](uint64_t) { return bits; }, [](uint64_t) { return 0u; });
    // Entries of a chunk lie behind those of the chunk before; large ones start over where the pool ends.
    const uint64_t apart = std::max<uint64_t>(entries * sizeof(T), 128);
    const uint64_t places = bench.pool.bytes() / apart;
    std::vector<uint64_t> nodes;
    for (uint32_t c = 0; c < chunks; ++c) {
      nodes.push_back(kMaxChunkRows);
      nodes.insert(nodes.end(), codes.host_nodes.begin() + 4 * c, codes.host_nodes.begin() + 4 * c + 4);
      nodes.push_back(entries);
      nodes.push_back(reinterpret_cast<uint64_t>(bench.pool.data() + apart * (c % places)));
    }
    const DeviceArray<uint64_t> device_nodes(nodes);
    const ChunkBatch batch{device_nodes.data(), codes.first_rows.data(), 7, chunks, kTilesPerChunk};
    const double bytes = codes.stream_bytes() + static_cast<double>(apart) * chunks;
    const std::string point = std::to_string(entries);
    const double bar = bits <= 12 ? 0.80 : 0;
    const ExpectedDict<T> expected;
    const auto staged = [&]<uint32_t kWarps, uint32_t kMinBlocks>(const char* name, uint32_t tiles_per_block) {
      if (dict::staged_bytes<T, kWarps>(entries) > static_cast<uint32_t>(bench.shape.shared_bytes_per_block)) return;
      bench.measure<T>(group, point, name, batch, bytes, 0, expected, [&](T* out) {
        return dict::launch_decode_staged<T, kWarps, kMinBlocks>(batch, false, entries, tiles_per_block, out, fault, 0);
      });
    };
    bench.measure<T>(group, point, kShipped, batch, bytes, bar, expected,
                     [&](T* out) { return dict::decode(batch, dict::Entries::kPlain, entries, out, fault, 0); });
    staged.template operator()<16, 2>("staged, 256 tiles", 256);
    if (bits >= 8) staged.template operator()<32, 1>("staged 32 warps", 256);
    bench.measure<T>(group, point, "global", batch, bytes, 0, expected,
                     [&](T* out) { return dict::launch_decode_direct<T, device::Plain<T>>(batch, out, fault, 0); });
  }
}

int run(const Options& options) {
  NestedBench bench(options);
  dictionaries<uint32_t>(bench, "u32");
  dictionaries<uint64_t>(bench, "u64");
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
