// Nested encodings on the GPU, decoded to memory in one kernel each: dictionaries, deltas and runs over packed children,
// against the copy rate on the bytes they move.
#include "ceilings.h"
#include "codec/delta/kernels.cuh"
#include "codec/dict/launch.cuh"
#include "codec/packed/kernels.cuh"
#include "codec/rle/kernels.cuh"
#include "core/device/launch.h"
#include "gpu_bench.h"
#include "nested_columns.h"

namespace basalt::bench {
namespace {

using device::AllWidths;
using device::ChunkBatch;
using device::Packed;

struct Bench {
  Options options;
  Timer& timer;
  Ceilings ceilings;
  const DeviceArray<unsigned char>& pool;  // random words
  DeviceArray<unsigned char>& plain;       // room for decoded values
  DeviceArray<uint32_t> fault;
  uint32_t shared_bytes_per_block;
  Report report;
};

template <typename T>
uint32_t chunks_for(const Bench& bench) {
  return static_cast<uint32_t>(bench.plain.bytes() / (sizeof(T) * kMaxChunkRows));
}

// Checks every row and the absence of faults, then times.
template <typename T, typename Launch, typename Expected>
void measure(Bench& bench, const std::string& group, const std::string& point, const std::string& variant,
             const ChunkBatch& batch, double stream_bytes, double bar, const Expected& expected, const Launch& launch) {
  T* out = reinterpret_cast<T*>(bench.plain.data());
  const double out_bytes = static_cast<double>(batch.chunks) * kMaxChunkRows * sizeof(T);
  BASALT_CHECK(cudaMemset(out, 0xA5, static_cast<size_t>(out_bytes)));
  BASALT_CHECK(cudaMemset(bench.fault.data(), 0, bench.fault.bytes()));
  BASALT_CHECK(launch(out));
  require_rows(batch.descriptors, batch.descriptor_stride, batch.chunks, out, expected,
               group + " " + point + " " + variant);
  require(bench.fault.to_host(0, 1)[0] == 0, group + " " + point + " " + variant + " reports a fault");
  Line line;
  line.group = group;
  line.point = point;
  line.variant = variant;
  line.bytes = stream_bytes + out_bytes;
  line.values = static_cast<double>(batch.chunks) * kMaxChunkRows;
  line.seconds = bench.timer.time([&] { BASALT_CHECK(launch(out)); });
  line.ceiling = bench.ceilings.copy;
  line.bar = bar;
  bench.report.add(line);
}

// --- dictionaries ------------------------------------------------------------------------------------------------------

template <typename T>
struct ExpectedDict {
  __device__ T operator()(const uint64_t* node, uint32_t, uint32_t row) const {
    const uint32_t code = expected_row<uint32_t>(node + 1, row);
    return reinterpret_cast<const T*>(node[6])[code];
  }
};

template <typename T>
void dictionaries(Bench& bench, const std::string& type) {
  const uint32_t chunks = chunks_for<T>(bench);
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
      if (dict::staged_bytes<T, kWarps>(entries) > bench.shared_bytes_per_block) return;
      measure<T>(bench, group, point, name, batch, bytes, bar, expected, [&](T* out) {
        return dict::launch_decode_staged<T, kWarps, kMinBlocks>(batch, false, entries, tiles_per_block, out, fault, 0);
      });
    };
    staged.template operator()<16, 2>("staged 16 warps", 128);
    staged.template operator()<16, 2>("staged, 256 tiles", 256);
    if (bits >= 8) staged.template operator()<32, 1>("staged 32 warps", 256);
    measure<T>(bench, group, point, "global", batch, bytes, 0, expected, [&](T* out) {
      return dict::launch_decode_direct<T, device::Plain<T>>(batch, out, fault, 0);
    });
  }
}

// --- deltas ------------------------------------------------------------------------------------------------------------

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
void deltas(Bench& bench, const std::string& type) {
  const std::string group = "delta " + type;
  if (!bench.options.wants(group)) return;
  const uint32_t chunks = chunks_for<T>(bench) / 2;
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
    sum_deltas<T><<<chunks * kTilesPerChunk / 256, 256>>>(device_nodes.data(), chunks, expected.data());
    BASALT_CHECK(cudaGetLastError());
    const double bytes = child.stream_bytes() + static_cast<double>(device_checkpoints.bytes());
    const std::string point = label("w", width);
    using Reader = device::Delta<T, Packed<T, AllWidths>>;
    const ExpectedFrom<T> rows{expected.data()};
    measure<T>(bench, group, point, "8 warps", batch, bytes, 0.75, rows, [&](T* out) {
      return device::launch_decode_tiles<Reader, 8, sizeof(T) == 8 ? 3 : 4>(batch, out, nullptr, 0);
    });
    measure<T>(bench, group, point, "4 warps", batch, bytes, 0.75, rows, [&](T* out) {
      return device::launch_decode_tiles<Reader, 4, sizeof(T) == 8 ? 6 : 10>(batch, out, nullptr, 0);
    });
  }
}

// --- runs --------------------------------------------------------------------------------------------------------------

template <typename T>
void runs(Bench& bench, const std::string& type, uint32_t value_width) {
  const uint32_t chunks = chunks_for<T>(bench);
  uint32_t* fault = bench.fault.data();
  using Values = Packed<T, AllWidths>;
  using Ends = Packed<uint32_t, AllWidths>;
  using Plainly = device::Rle<T, Values, Ends>;
  using Nested = device::Rle<T, Values, device::Delta<uint32_t, Ends>>;
  constexpr bool kWide = sizeof(T) == 8;
  for (const RunPattern& pattern : run_patterns()) {
    const std::string group = "rle " + type;
    if (bench.options.wants(group)) {
      const RleColumn column = make_rle_column<T>(bench.pool, chunks, pattern.lengths, value_width, false);
      const ExpectedRle<T> expected{column.run_of_row.data()};
      measure<T>(bench, group, pattern.name, "8 warps", column.batch(), column.stream_bytes, 0.80, expected,
                 [&](T* out) {
                   return device::launch_decode_tiles<Plainly, 8, kWide ? 3 : 4>(column.batch(), out, fault, 0);
                 });
      measure<T>(bench, group, pattern.name, "4 warps", column.batch(), column.stream_bytes, 0.80, expected,
                 [&](T* out) {
                   return device::launch_decode_tiles<Plainly, 4, kWide ? 6 : 10>(column.batch(), out, fault, 0);
                 });
    }
    const std::string nested_group = "rle(,delta) " + type;
    if (bench.options.wants(nested_group)) {
      const RleColumn column = make_rle_column<T>(bench.pool, chunks, pattern.lengths, value_width, true);
      const ExpectedRle<T> expected{column.run_of_row.data()};
      measure<T>(bench, nested_group, pattern.name, "8 warps", column.batch(), column.stream_bytes, 0, expected,
                 [&](T* out) {
                   return device::launch_decode_tiles<Nested, 8, kWide ? 3 : 4>(column.batch(), out, fault, 0);
                 });
    }
  }
}

int run(const Options& options) {
  device::DeviceShape shape;
  BASALT_CHECK(device::current_shape(shape));
  cudaDeviceProp properties;
  BASALT_CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d multiprocessors, L2 %.0f MB\n", properties.name, shape.multiprocessors,
              properties.l2CacheSize / 1048576.0);
  const size_t plain_bytes = options.quick ? size_t{512} << 20 : size_t{2} << 30;
  DeviceArray<unsigned char> plain(plain_bytes);
  DeviceArray<unsigned char> pool(plain_bytes);
  fill_random(pool.data(), pool.bytes(), 54321);
  BASALT_CHECK(cudaDeviceSynchronize());

  Timer timer(options.quick ? 3 : 7);
  const Ceilings ceilings = measure_ceilings(timer, pool.data(), plain.data(), plain_bytes);
  Bench bench{options,
              timer,
              ceilings,
              pool,
              plain,
              DeviceArray<uint32_t>(1),
              static_cast<uint32_t>(shape.shared_bytes_per_block),
              {}};
  dictionaries<uint32_t>(bench, "u32");
  dictionaries<uint64_t>(bench, "u64");
  deltas<uint32_t>(bench, "u32");
  deltas<uint64_t>(bench, "u64");
  runs<uint32_t>(bench, "u32", 16);
  runs<uint64_t>(bench, "u64", 24);

  const bool good = bench.report.summary();
  bench.report.write_json(options.json, {{"copy_ceiling", ceilings.copy},
                                         {"memcpy", ceilings.memcpy},
                                         {"read_ceiling", ceilings.read},
                                         {"write_ceiling", ceilings.write}});
  std::printf("%s\n", good ? "every bar met by some variant" : "a bar is missed by every variant");
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
