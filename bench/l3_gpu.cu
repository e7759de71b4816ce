// Learned integers on the GPU: the columns of `gen l3` decoded to memory, against the copy rate on the bytes they move,
// beside the published layout and decoder and beside FP64 predictions; and single rows looked up. With --l1: one launch
// per width for scripts/l1_study.sh.
#include "codec/l3/gpu/kernels.h"
#include "codec/l3/gpu/tile_strip.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "gen/l3.h"
#include "l3_column.h"
#include "l3_fp64.h"
#include "l3_published.h"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

using device::ChunkBatch;

template <typename T, device::ResidualFetch kFetch, typename Predictions = device::FixedPoint>
cudaError_t decode_strips(const ChunkBatch& batch, uint32_t strip, T* out) {
  device::decode_learned<T, 4, 6, kFetch, Predictions>
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
  using device::ResidualFetch;
  measure("prefetch", 4, decode_strips<T, ResidualFetch::kPrefetch>);
  measure("prefetch", 8, decode_strips<T, ResidualFetch::kPrefetch>);
  measure("staged", 4, decode_strips<T, ResidualFetch::kStage>);
  measure("staged", 8, decode_strips<T, ResidualFetch::kStage>);
  if (!bench.options.only.empty()) return;  // what is beside these takes a while
  bench.measure<T>(group, point, "shared memory", column.batch(), bytes, 0, expected, [&](T* out) {
    return device::launch_decode_tiles<device::L3<T>, 8, (sizeof(T) == 8 ? 3 : 4)>(column.batch(), out, nullptr, 0);
  });
  const SteppedInFp64<T> stepped;
  bench.measure<T>(group, point, "fp64 converted", column.batch(), bytes, 0, stepped, [&](T* out) {
    return decode_strips<T, ResidualFetch::kPrefetch, Fp64<false>>(column.batch(), 8, out);
  });
  bench.measure<T>(group, point, "fp64 added", column.batch(), bytes, 0, stepped, [&](T* out) {
    return decode_strips<T, ResidualFetch::kPrefetch, Fp64<true>>(column.batch(), 8, out);
  });
  decode_published_set<T>(bench, group, set, values, column);
  look_ups<T>(bench, set.name, column);
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
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--l1") return basalt::bench::launch_for_l1();
  return basalt::bench::run(basalt::bench::Options::parse(argc, argv));
}
