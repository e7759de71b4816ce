// Packed tiles on the GPU: decoding to memory at every width against the copy rate, counting with a literal against the
// read rate, several kernels each, and what other layouts reach. Needs no file: random words are valid tiles.
#include "ceilings.h"
#include "codec/packed/gpu/kernels.h"
#include "gpu_bench.h"
#include "packed_baselines.h"
#include "packed_column.h"
#include "packed_launch.h"

namespace basalt::bench {
namespace {

using device::ChunkBatch;
using device::Stores;

struct Bench {
  Options options;
  Timer& timer;
  Ceilings ceilings;
  const DeviceArray<unsigned char>& pool;  // random words
  DeviceArray<unsigned char>& plain;       // room for decoded values
  int multiprocessors;
  bool pipelines;
  Report report;
};

template <typename T>
struct DecodeVariant {
  std::string name;
  cudaError_t (*launch)(const ChunkBatch&, T*, int multiprocessors);
};

template <typename T>
std::vector<DecodeVariant<T>> decode_variants(bool pipelines, bool all) {
  std::vector<DecodeVariant<T>> variants = {
      {kShipped, [](const ChunkBatch& batch, T* out, int) { return packed::decode(batch, out, 0); }}};
  if (all) {
    variants.push_back({"all widths", [](const ChunkBatch& batch, T* out, int) {
                          return packed::launch_decode_direct<T, Stores::kOnce, 8, 4>(batch, out, 0);
                        }});
  }
  if (pipelines) {
    variants.push_back({"pipelined 2", [](const ChunkBatch& batch, T* out, int multiprocessors) {
                          return packed::launch_decode_pipelined<T, 2>(batch, out, multiprocessors, 0);
                        }});
  }
  if constexpr (sizeof(T) == 4) {
    if (all && pipelines) {
      variants.push_back({"pipelined 3", [](const ChunkBatch& batch, T* out, int multiprocessors) {
                            return packed::launch_decode_pipelined<T, 3>(batch, out, multiprocessors, 0);
                          }});
    }
    if (all) {
      variants.push_back({"direct cached", [](const ChunkBatch& batch, T* out, int) {
                            return packed::launch_decode_direct<T, Stores::kCached, 8, 4>(batch, out, 0);
                          }});
    }
  }
  if constexpr (sizeof(T) == 8) {
    // Fewer bodies than the instruction cache holds, for widths that change from tile to tile.
    if (all) {
      variants.push_back({"loop", [](const ChunkBatch& batch, T* out, int) {
                            using Reader = device::Packed<T>;
                            return device::launch_decode_tiles<Reader, 8, 4, Stores::kOnce>(batch, out, nullptr, 0);
                          }});
    }
  }
  if constexpr (sizeof(T) >= 4) {
    if (all) {
      variants.push_back({"direct 40 regs", [](const ChunkBatch& batch, T* out, int) {
                            return packed::launch_decode_direct<T, Stores::kOnce, 8, 6>(batch, out, 0);
                          }});
    }
  }
  return variants;
}

// The device's own check is checked: some tiles are also read by the host.
template <typename T>
void require_sample(const PackedColumn<T>& column, const DeviceArray<unsigned char>& pool, const T* out) {
  for (uint32_t i = 0; i < 16; ++i) {
    const uint64_t tiles = uint64_t{column.chunks} * kTilesPerChunk;
    const uint64_t tile = i == 0 ? 0 : i == 1 ? tiles - 1 : mix(i) % tiles;
    const uint64_t chunk = tile / kTilesPerChunk;
    const uint32_t descriptor = column.host_descriptors[tile];
    const uint32_t width = packed::descriptor_width(descriptor);
    std::vector<uint32_t> words(packed_tile_words(width) + 1);
    const auto* from = reinterpret_cast<const uint32_t*>(column.host_nodes[chunk * 4 + 1 + packed::kWords]);
    BASALT_CHECK(cudaMemcpy(words.data(), from + packed::descriptor_word(descriptor), packed_tile_words(width) * 4,
                            cudaMemcpyDeviceToHost));
    std::vector<T> got(kTileRows);
    BASALT_CHECK(cudaMemcpy(got.data(), out + tile * kTileRows, kTileRows * sizeof(T), cudaMemcpyDeviceToHost));
    for (uint32_t row = 0; row < kTileRows; ++row) {
      const T want =
          static_cast<T>(column.host_references[tile] + static_cast<T>(packed_row(words.data(), width, row)));
      require(got[row] == want, label("packed sample, width ", width));
    }
  }
  (void)pool;
}

template <typename T>
void time_decode(Bench& bench, const std::string& group, const std::string& point, const PackedColumn<T>& column,
                 const std::vector<DecodeVariant<T>>& variants, double bar) {
  T* out = reinterpret_cast<T*>(bench.plain.data());
  const size_t out_bytes = column.rows() * sizeof(T);
  bool sampled = false;
  for (const DecodeVariant<T>& variant : variants) {
    BASALT_CHECK(cudaMemset(out, 0xA5, out_bytes));
    BASALT_CHECK(variant.launch(column.batch(), out, bench.multiprocessors));
    require_rows(column.nodes.data(), 1 + packed::kStreams, column.chunks, out, ExpectedPacked<T>{},
                 group + " " + point + " " + variant.name);
    if (!sampled) require_sample(column, bench.pool, out);
    sampled = true;
    Line line;
    line.group = group;
    line.point = point;
    line.variant = variant.name;
    line.bytes = column.stream_bytes() + static_cast<double>(out_bytes);
    line.values = static_cast<double>(column.rows());
    line.seconds = bench.timer.time([&] { BASALT_CHECK(variant.launch(column.batch(), out, bench.multiprocessors)); });
    line.ceiling = bench.ceilings.copy;
    line.bar = variant.name == kShipped ? bar : 0;
    bench.report.add(line);
  }
}

template <typename T>
uint32_t decode_chunks(const Bench& bench) {
  return static_cast<uint32_t>(bench.plain.bytes() / (sizeof(T) * kMaxChunkRows));
}

template <typename T>
void decode_all(Bench& bench, const std::string& type, bool all_variants, double bar) {
  const std::string group = "decode " + type;
  if (!bench.options.wants(group)) return;
  const uint32_t widest = 8 * sizeof(T);
  const uint32_t step = bench.options.quick && widest > 8 ? 5 : 1;
  const auto variants = decode_variants<T>(bench.pipelines, all_variants);
  const uint32_t chunks = decode_chunks<T>(bench);
  for (uint32_t width = 1; width <= widest; width = width == widest ? widest + 1 : std::min(width + step, widest)) {
    const auto column = make_packed_column<T>(
        bench.pool, chunks, [&](uint64_t) { return width; }, [](uint64_t tile) { return static_cast<T>(mix(tile)); });
    time_decode<T>(bench, group, label("w", width), column, variants, bar);
  }
  if (bar > 0) bench.report.require_mean(group, 0.86);
  if (bar == 0) return;
  const auto mixed = make_packed_column<T>(
      bench.pool, chunks, [&](uint64_t tile) { return static_cast<uint32_t>(1 + mix(tile + 77) % widest); },
      [](uint64_t tile) { return static_cast<T>(mix(tile)); });
  time_decode<T>(bench, group + " mixed", "random widths", mixed, variants, 0.78);
}

template <typename T>
struct CountVariant {
  const char* name;
  cudaError_t (*launch)(const ChunkBatch&, T last, unsigned long long* result);
};

template <typename T, uint32_t kTilesPerWarp, uint32_t kMinBlocks>
cudaError_t count(const ChunkBatch& batch, T last, unsigned long long* result) {
  return packed::launch_count<T, kTilesPerWarp, kMinBlocks>(batch, T{0}, last, result, 0);
}

// Rows whose packed value is below `bound`, by the CPU's arithmetic.
__global__ void count_expected(const uint32_t* words, uint32_t width, uint64_t bound, unsigned long long* result) {
  const uint32_t* tile_words = words + uint64_t{blockIdx.x} * packed_tile_words(width);
  uint32_t found = 0;
  for (uint32_t row = threadIdx.x; row < kTileRows; row += blockDim.x)
    found += packed_row(tile_words, width, row) < bound;
  found = __reduce_add_sync(0xFFFFFFFFu, found);
  if (threadIdx.x % kLanes == 0) atomicAdd(result, static_cast<unsigned long long>(found));
}

template <typename T>
void filter_all(Bench& bench, const std::string& type) {
  const std::string group = "filter " + type;
  if (!bench.options.wants(group)) return;
  const std::vector<CountVariant<T>> variants = {{"8 tiles 32 regs", count<T, 8, 8>},
                                                 {"8 tiles 40 regs", count<T, 8, 6>},
                                                 {"32 tiles 40 regs", count<T, 32, 6>},
                                                 {"8 tiles 64 regs", count<T, 8, 4>}};
  DeviceArray<unsigned long long> result(1);
  const uint32_t widest = 8 * sizeof(T);
  const uint32_t step = bench.options.quick ? 5 : 1;
  for (uint32_t width = 1; width <= widest; width = width == widest ? widest + 1 : std::min(width + step, widest)) {
    const uint64_t chunk_bytes = uint64_t{kMaxChunkRows} / 8 * width;
    const uint32_t chunks = static_cast<uint32_t>(std::min<uint64_t>(bench.pool.bytes() / chunk_bytes, 4096));
    const T reference = 1000;
    const uint64_t bound = uint64_t{1} << (width - 1);  // half of the rows
    const auto column = make_packed_column<T>(
        bench.pool, chunks, [&](uint64_t) { return width; }, [&](uint64_t) { return reference; });
    BASALT_CHECK(cudaMemset(result.data(), 0, 8));
    count_expected<<<chunks * kTilesPerChunk, 256>>>(reinterpret_cast<const uint32_t*>(bench.pool.data()), width, bound,
                                                     result.data());
    BASALT_CHECK(cudaGetLastError());
    const unsigned long long want = result.to_host(0, 1)[0];
    const T last = static_cast<T>(reference + bound - 1);
    for (const CountVariant<T>& variant : variants) {
      BASALT_CHECK(cudaMemset(result.data(), 0, 8));
      BASALT_CHECK(variant.launch(column.batch(), last, result.data()));
      require(result.to_host(0, 1)[0] == want, group + label(" w", width) + " " + variant.name);
      Line line;
      line.group = group + (width < 8 ? " w1-7" : width < 12 ? " w8-11" : " w12+");
      line.point = label("w", width);
      line.variant = variant.name;
      line.bytes = column.stream_bytes();
      line.values = static_cast<double>(column.rows());
      line.seconds = bench.timer.time([&] { BASALT_CHECK(variant.launch(column.batch(), last, result.data())); });
      line.ceiling = bench.ceilings.read;
      line.bar_values = width < 8;
      line.bar = width < 8 ? 3.3e12 : width < 12 ? 0.80 : 0.88;
      bench.report.add(line);
    }
  }
}

template <typename T>
void baselines(Bench& bench, const std::string& type, const std::vector<uint32_t>& widths) {
  const std::string group = "baseline " + type;
  if (!bench.options.wants(group)) return;
  const uint64_t rows = uint64_t{decode_chunks<T>(bench)} * kMaxChunkRows / 4;
  const uint64_t tiles = rows / kLaneMajorTile;
  std::vector<T> host_references(tiles);
  for (uint64_t t = 0; t < tiles; ++t) host_references[t] = static_cast<T>(mix(t));
  const DeviceArray<T> references(host_references);
  DeviceArray<T> out(rows);
  const auto* words = reinterpret_cast<const uint32_t*>(bench.pool.data());
  for (const uint32_t width : widths) {
    Line line;
    line.group = group;
    line.point = label("w", width);
    line.bytes = static_cast<double>(rows) / 8 * width + static_cast<double>(rows) * sizeof(T) +
                 static_cast<double>(references.bytes());
    line.values = static_cast<double>(rows);
    line.ceiling = bench.ceilings.copy;

    line.variant = "lane-major L3";
    const auto lane_major = [&] {
      decode_lane_major<T>
          <<<static_cast<uint32_t>((tiles + 3) / 4), 128>>>(words, references.data(), width, tiles, out.data());
    };
    BASALT_CHECK(cudaMemset(out.data(), 0xA5, out.bytes()));
    lane_major();
    BASALT_CHECK(cudaGetLastError());
    require_baseline<T>(
        bench.pool, host_references, width, tiles, out,
        [&](uint32_t row) { return uint64_t{row % kLanes} * 64 * width + uint64_t{row / kLanes} * width; },
        line.variant);
    line.seconds = bench.timer.time(lane_major, 3);
    bench.report.add(line);

    line.variant = "horizontal";
    const auto horizontal = [&] {
      decode_horizontal<T>
          <<<static_cast<uint32_t>((rows + 1023) / 1024), 256>>>(words, references.data(), width, rows, out.data());
    };
    BASALT_CHECK(cudaMemset(out.data(), 0xA5, out.bytes()));
    horizontal();
    BASALT_CHECK(cudaGetLastError());
    require_baseline<T>(
        bench.pool, host_references, width, tiles, out, [&](uint32_t row) { return uint64_t{row} * width; },
        line.variant);
    line.seconds = bench.timer.time(horizontal, 3);
    bench.report.add(line);
  }
}

int run(const Options& options) {
  device::DeviceShape shape;
  BASALT_CHECK(device::current_shape(shape));
  cudaDeviceProp properties;
  BASALT_CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d multiprocessors, L2 %.0f MB\n", properties.name, shape.multiprocessors,
              properties.l2CacheSize / 1048576.0);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  BASALT_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  size_t plain_bytes = options.quick ? size_t{1} << 30 : size_t{4} << 30;
  while (plain_bytes > (size_t{256} << 20) && plain_bytes * 3 + (size_t{1} << 30) > free_bytes) plain_bytes /= 2;
  DeviceArray<unsigned char> plain(plain_bytes);
  DeviceArray<unsigned char> pool(plain_bytes + 4096);  // decoders of other layouts read a little beyond the end
  fill_random(pool.data(), pool.bytes(), 12345);
  BASALT_CHECK(cudaDeviceSynchronize());

  Timer timer(options.quick ? 3 : 7);
  const Ceilings ceilings = measure_ceilings(timer, pool.data(), plain.data(), plain_bytes);
  Bench bench{options, timer, ceilings, pool, plain, shape.multiprocessors, packed::can_pipeline(shape), {}};
  decode_all<uint32_t>(bench, "u32", true, 0.82);
  decode_all<uint64_t>(bench, "u64", true, 0.82);
  decode_all<uint8_t>(bench, "u8", false, 0);
  decode_all<uint16_t>(bench, "u16", false, 0);
  filter_all<uint32_t>(bench, "u32");
  filter_all<uint64_t>(bench, "u64");
  baselines<uint32_t>(bench, "u32", {2, 4, 8, 12, 16, 20, 24, 31});
  baselines<uint64_t>(bench, "u64", {8, 16, 24, 32, 48, 60});

  const Ceilings after = measure_ceilings(timer, pool.data(), plain.data(), plain_bytes);
  const bool good = bench.report.summary();
  std::printf("\nceilings before / after: copy %.0f / %.0f, read %.0f / %.0f, write %.0f / %.0f GB/s\n",
              ceilings.copy * 1e-9, after.copy * 1e-9, ceilings.read * 1e-9, after.read * 1e-9, ceilings.write * 1e-9,
              after.write * 1e-9);
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
