// Learned integers on the GPU: the columns of `gen l3` decoded to memory, against the copy rate on the bytes they move,
// beside the published layout and decoder and beside FP64 predictions; single rows looked up; and a filter with a sum
// that never leaves registers, against the read rate. With --l1: one launch per width for scripts/l1_study.sh.
#include "basalt/codec/codec.h"
#include "basalt/core/threads.h"
#include "basalt/gen/l3.h"
#include "basalt/plan/tree.h"
#include "codec/l3/kernels.h"
#include "codec/l3/strip.cuh"
#include "codec/packed/kernels.cuh"
#include "l3_fp64.h"
#include "l3_published.h"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

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

template <typename T, bool kPrefetch, typename Predictions = device::FixedPoint>
cudaError_t decode_strips(const ChunkBatch& batch, uint32_t strip, T* out) {
  device::decode_learned<T, 4, 6, kPrefetch, Predictions>
      <<<device::tile_grid(batch, 4 * strip), 4 * kLanes>>>(batch, strip, out, nullptr);
  return cudaGetLastError();
}

template <typename T>
__global__ void look_up(ChunkBatch batch, const uint64_t* rows, uint64_t count, T* out) {
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint64_t row = rows[i];
    const uint64_t* node = batch.descriptors + row / kMaxChunkRows * batch.descriptor_stride;
    out[i] = device::L3<T>::value(node, static_cast<uint32_t>(row % kMaxChunkRows));
  }
}

template <typename T>
__global__ void check_look_ups(ExpectedFrom<T> expected, const uint64_t* rows, uint64_t count, const T* got,
                               uint32_t* wrong) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const auto chunk = static_cast<uint32_t>(rows[i] / kMaxChunkRows);
  if (got[i] != expected(nullptr, chunk, static_cast<uint32_t>(rows[i] % kMaxChunkRows))) *wrong = 1;
}

// Rows at random (or ascending, evenly spread) over the whole column; as many as room allows.
template <typename T>
void look_ups(NestedBench& bench, const std::string& set, const LearnedColumn<T>& column) {
  const uint64_t total = uint64_t{column.chunks} * kMaxChunkRows;
  const uint64_t count = bench.options.quick ? uint64_t{1} << 24 : uint64_t{1} << 27;
  T* out = reinterpret_cast<T*>(bench.plain.data());
  for (const bool sorted : {false, true}) {
    std::vector<uint64_t> rows(count);
    for (uint64_t i = 0; i < count; ++i) {
      rows[i] =
          sorted
              ? static_cast<uint64_t>(static_cast<double>(i) / static_cast<double>(count) * static_cast<double>(total))
              : mix(i) % total;
    }
    const DeviceArray<uint64_t> device_rows(rows);
    const auto launch = [&] {
      look_up<T><<<bench.shape.multiprocessors * 8, 256>>>(column.batch(), device_rows.data(), count, out);
      BASALT_CHECK(cudaGetLastError());
    };
    launch();
    DeviceArray<uint32_t> wrong(std::vector<uint32_t>{0});
    check_look_ups<T><<<static_cast<unsigned>((count + 255) / 256), 256>>>(
        {column.values.data(), column.distinct}, device_rows.data(), count, out, wrong.data());
    BASALT_CHECK(cudaGetLastError());
    require(wrong.to_host(0, 1)[0] == 0, set + ": a look-up is wrong");
    Line line;
    line.group = sorted ? "l3 look-up sorted" : "l3 look-up";
    line.point = set;
    line.variant = "one thread per row";
    line.bytes = static_cast<double>(count) * (8 + sizeof(T));
    line.values = static_cast<double>(count);
    line.seconds = bench.timer.time(launch);
    line.ceiling = bench.ceilings.copy;
    line.bar_values = true;
    line.bar = sorted ? 40e9 : 10e9;
    bench.report.add(line);
  }
}

// The same rows by the published rules, layout and decoder.
template <typename T>
void decode_published_set(NestedBench& bench, const std::string& group, const L3Set& set, const std::vector<T>& rows,
                          const LearnedColumn<T>& column) {
  const PublishedColumn<T> published(set.type == TypeKind::kInt32 ? publish<T, true>(rows) : publish<T, false>(rows),
                                     column.chunks);
  const auto bytes = static_cast<double>(published.bytes);
  char point[64];
  std::snprintf(point, sizeof(point), "%s %.2f bits", set.name, bytes * 8 / (column.chunks * double{kMaxChunkRows}));
  const ExpectedFrom<T> expected{column.values.data(), column.distinct};
  for (const uint32_t warps : {1u, 4u}) {
    bench.measure<T>(group, point, label("published, warps ", warps), column.batch(), bytes, 0, expected,
                     [&](T* out) { return published.decode(warps, out); });
  }
}

template <typename T>
void decode_set(NestedBench& bench, const L3Set& set, Physical type) {
  const std::string group = "l3 decode";
  const uint32_t chunks = bench.options.quick ? 8 : 192;
  const uint64_t rows = std::min<uint64_t>(8, chunks) * kMaxChunkRows;
  if (!bench.options.wants(group + " " + set.name) || set.rows < rows) return;
  Table table = L3Generator(set, rows).next(rows);
  const T* first = table.columns[0].values.as<T>();
  const std::vector<T> values(first, first + rows);
  const auto column = make_column<T>(values, chunks, type);
  const ExpectedFrom<T> expected{column.values.data(), column.distinct};
  const auto bytes = static_cast<double>(column.bytes);
  char point[64];
  std::snprintf(point, sizeof(point), "%s %.2f bits", set.name, column.bits_per_value);
  const auto measure = [&](const std::string& variant, uint32_t strip, auto decode) {
    bench.measure<T>(group, point, variant + label(", tiles ", strip), column.batch(), bytes, 0, expected,
                     [&](T* out) { return decode(column.batch(), strip, out); });
  };
  bench.measure<T>(group, point, kShipped, column.batch(), bytes, 0.80, expected,
                   [&](T* out) { return l3::decode(column.batch(), out, bench.fault.data(), 0); });
  measure("prefetch", 4, decode_strips<T, true>);
  measure("prefetch", 8, decode_strips<T, true>);
  measure("no prefetch", 8, decode_strips<T, false>);
  bench.measure<T>(group, point, "shared memory", column.batch(), bytes, 0, expected, [&](T* out) {
    return device::launch_decode_tiles<device::L3<T>, 8, (sizeof(T) == 8 ? 3 : 4)>(column.batch(), out, nullptr, 0);
  });
  const SteppedInFp64<T> stepped;
  bench.measure<T>(group, point, "fp64 converted", column.batch(), bytes, 0, stepped,
                   [&](T* out) { return decode_strips<T, true, Fp64<false>>(column.batch(), 8, out); });
  bench.measure<T>(group, point, "fp64 added", column.batch(), bytes, 0, stepped,
                   [&](T* out) { return decode_strips<T, true, Fp64<true>>(column.batch(), 8, out); });
  decode_published_set<T>(bench, group, set, values, column);
  if (bench.options.wants("l3 look-up")) look_ups<T>(bench, set.name, column);
}

// Count and sum of the values below a literal. Rows of narrow models stay offsets of 32 bits: the literal is moved to
// them, and the base is added as often as rows passed.
template <typename T>
struct FilterRows {
  static constexpr bool kAddsUp = true;
  T below;
  uint64_t sum = 0;
  uint32_t count = 0;
  uint64_t base = 0;
  int32_t bound = 0;  // offsets up to here pass
  uint32_t passed = 0;
  uint32_t small_sum = 0;

  // The base by itself may lie beyond the type: a value tells where it is.
  __device__ __forceinline__ void begin(uint64_t given, int32_t first) {
    constexpr uint64_t kFar = uint64_t{1} << 33;
    const T value = static_cast<T>(given + static_cast<uint64_t>(static_cast<int64_t>(first)));
    base = value - static_cast<uint64_t>(static_cast<int64_t>(first));
    passed = 0;
    small_sum = 0;
    const T last = below - 1;
    const uint64_t distance = last >= value ? last - value : value - last;
    const auto near = static_cast<int64_t>(distance < kFar ? distance : kFar);
    const int64_t at = last >= value ? first + near : first - near;
    bound = at > 0x7FFFFFFF ? 0x7FFFFFFF : at < -0x7FFFFFFF ? -0x7FFFFFFF - 1 : static_cast<int32_t>(at);
  }
  template <bool kSmall>
  __device__ __forceinline__ void offset(uint32_t, int32_t offset) {
    if (offset > bound) return;
    ++passed;
    if constexpr (kSmall) {
      small_sum += static_cast<uint32_t>(offset);
    } else {
      sum += static_cast<uint64_t>(static_cast<int64_t>(offset));
    }
  }
  __device__ __forceinline__ void end() {
    sum += base * passed + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(small_sum)));
    count += passed;
  }
  __device__ __forceinline__ void value(uint32_t, uint64_t value) {
    if (static_cast<T>(value) >= below) return;
    sum += static_cast<T>(value);
    ++count;
  }
};

template <typename T, uint32_t kMinBlocks>
__global__ __launch_bounds__(128, kMinBlocks) void filter_and_sum(ChunkBatch batch, T below,
                                                                  unsigned long long* result) {
  __shared__ device::StripScratch<T> scratch[4];
  FilterRows<T> rows{below};
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* node = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    const auto strip = device::Strip::of_warp(device::tiles_of(device::row_count(node)), device::kStripTiles);
    device::feed_strip<T, false>(device::l3_chunk(node), strip, scratch[threadIdx.x / kLanes],
                                 [all = &rows](uint32_t) -> FilterRows<T>& { return *all; });
  }
  for (uint32_t distance = 16; distance > 0; distance /= 2) {
    rows.sum += __shfl_down_sync(~0u, rows.sum, distance);
    rows.count += __shfl_down_sync(~0u, rows.count, distance);
  }
  if (device::lane_id() != 0) return;
  atomicAdd(result, rows.sum);
  atomicAdd(result + 1, rows.count);
}

template <typename T>
void filter_columns(NestedBench& bench, const std::string& type_name, Physical type) {
  const uint32_t chunks = bench.options.quick ? 8 : 192;
  const char* names[] = {"for", "line", "parabola"};
  constexpr double kLeastRates[] = {2.5e12, 1.8e12, 1.4e12};  // values per second, below 16 bits
  for (uint32_t degree = 0; degree < 3; ++degree) {
    const std::string group = "l3 filter+sum " + type_name + " " + names[degree];
    if (!bench.options.wants(group)) continue;
    for (const uint32_t width : {4u, 8u, 12u, 16u, 20u, 24u}) {
      std::vector<T> values(4 * uint64_t{kMaxChunkRows});
      for (uint64_t i = 0; i < values.size(); ++i) {
        const uint64_t x = i % 8192;
        const uint64_t curve = degree == 0 ? 0 : degree == 1 ? i % kMaxChunkRows * 64 : x * x / 4;
        values[i] = static_cast<T>(curve + (mix(i) & low_bits(width)));
      }
      const auto column = make_column<T>(values, chunks, type);
      const T below = static_cast<T>(values[values.size() / 2] / 2 + 1);
      uint64_t sum = 0, count = 0;
      for (const T value : values) {
        sum += value < below ? value : 0;
        count += value < below ? 1 : 0;
      }
      char point[64];
      std::snprintf(point, sizeof(point), "w%u, %.2f bits", width, column.bits_per_value);
      const uint64_t copies = chunks / column.distinct;
      const auto measure = [&](const char* variant, auto kernel) {
        const DeviceArray<unsigned long long> result(std::vector<unsigned long long>{0, 0});
        const auto launch = [&] {
          kernel<<<device::tile_grid(column.batch(), 4 * device::kStripTiles), 128>>>(column.batch(), below,
                                                                                      result.data());
          BASALT_CHECK(cudaGetLastError());
        };
        launch();
        const auto got = result.to_host(0, 2);
        require(got[0] == sum * copies && got[1] == count * copies, group + " " + label("w", width));
        Line line;
        line.group = group;
        line.point = point;
        line.variant = variant;
        line.bytes = static_cast<double>(column.bytes);
        line.values = static_cast<double>(chunks) * kMaxChunkRows;
        line.seconds = bench.timer.time(launch);
        line.ceiling = bench.ceilings.read;
        line.bar_values = width < 16;
        line.bar = width >= 16 ? 0.75 : kLeastRates[degree];
        bench.report.add(line);
      };
      measure("64 registers", filter_and_sum<T, 8>);
    }
  }
}

// One launch of the published decoder and one of ours for each width, in this order, for a profiler to count at: frames
// of reference whose lanes have W = 2, 4, … 24 words of residuals in the published layout.
int launch_for_l1() {
  constexpr uint32_t kChunks = 64;
  const DeviceArray<uint32_t> out(size_t{kChunks} * kMaxChunkRows);
  const DeviceArray<uint32_t> fault(std::vector<uint32_t>{0});
  for (uint32_t width = 1; width <= 12; ++width) {
    std::vector<uint32_t> rows(kMaxChunkRows);
    for (uint64_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint32_t>(mix(i) & low_bits(width));
    const PublishedColumn<uint32_t> published(publish_fixed(rows, width), kChunks);
    const auto column = make_column<uint32_t>(rows, kChunks, Physical::kU32);
    const ExpectedFrom<uint32_t> expected{column.values.data(), column.distinct};
    const std::string name = label("W ", width * paper::kRowsOfLane / 32);
    const auto check_rows = [&](const char* which) {
      require_rows(column.nodes.data(), kDescriptorWords, kChunks, out.data(), expected, name + which);
      BASALT_CHECK(cudaMemset(out.data(), 0xA5, out.bytes()));
    };
    BASALT_CHECK(published.decode(4, out.data()));
    check_rows(", published");
    BASALT_CHECK(l3::decode(column.batch(), out.data(), fault.data(), 0));
    check_rows(", ours");
    std::printf("%s\n", name.c_str());
  }
  return 0;
}

int run(const Options& options) {
  NestedBench bench(options);
  for (const L3Set& set : l3_sets()) {
    if (set.type == TypeKind::kUInt64) {
      decode_set<uint64_t>(bench, set, Physical::kU64);
    } else {
      decode_set<uint32_t>(bench, set, set.type == TypeKind::kInt32 ? Physical::kI32 : Physical::kU32);
    }
  }
  filter_columns<uint32_t>(bench, "u32", Physical::kU32);
  filter_columns<uint64_t>(bench, "u64", Physical::kU64);
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--l1") return basalt::bench::launch_for_l1();
  return basalt::bench::run(basalt::bench::Options::parse(argc, argv));
}
