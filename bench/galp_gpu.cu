// Floats of galp over packed tiles on the GPU: decoded to memory against the copy rate on the bytes they move, and
// counted by a range of values against the read rate. First tiles with different numbers of exceptions over random
// integers; then whole columns, encoded on the GPU too: made ones that are like those ALP is measured on, and doubles
// of files (--files, .csv with one per line or raw), repeated with jitter to 1 GiB.
#include <filesystem>

#include "codec/galp/gpu/kernels.cuh"
#include "codec/galp/gpu/kernels.h"
#include "codec/packed/gpu/kernels.cuh"
#include "core/float_key.h"
#include "exec/device/scan.cuh"
#include "exec/device/tile_group_filter.cuh"
#include "galp_columns.h"
#include "galp_streams.h"
#include "gen/floats.h"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

using device::ChunkBatch;

constexpr uint32_t kCountWarps = 8;   // of a block
constexpr uint32_t kCountBlocks = 4;  // that a multiprocessor holds at a time, as in generated kernels

// Rows whose key is at most `last`, as generated kernels test them.
template <typename T, typename Reader>
__global__ __launch_bounds__(kCountWarps* kLanes, kCountBlocks) void count_at_most(ChunkBatch batch, int64_t last,
                                                                                   unsigned long long* result) {
  using Test = device::TileGroupTest<FloatOf<T>, device::Test::kAtMost, Reader>;
  __shared__ __align__(16) unsigned char scratches[kCountWarps][sizeof(typename Test::Scratch)];
  auto& scratch = *reinterpret_cast<typename Test::Scratch*>(scratches[threadIdx.x / kLanes]);
  Test::begin(scratch, INT64_MIN, last);
  uint32_t count = 0;
  uint32_t bad = 0;
  // A block's warps take neighbouring tiles, which share lines of exceptions.
  const uint32_t tiles = batch.chunks * batch.tiles_per_chunk;
  const uint32_t share = (tiles + gridDim.x - 1) / gridDim.x;
  const uint32_t begin = blockIdx.x * share;
  const uint32_t end = begin + share < tiles ? begin + share : tiles;
  const auto descriptor = [&](uint32_t i) {
    return batch.descriptors + uint64_t{i / batch.tiles_per_chunk} * batch.descriptor_stride;
  };
  uint32_t number = 0;
  for (uint32_t i = begin + threadIdx.x / kLanes; i < end; i += kCountWarps) {
    if (number == 0) {
      const uint32_t own = i + device::lane_id() / (kLanes / Test::kTiles) * kCountWarps;
      Test::describe(own < end, descriptor(own), own % batch.tiles_per_chunk, scratch, INT64_MIN, last);
    }
    uint32_t how = device::kByBounds;
    count += device::population(
        Test::mask(descriptor(i), i % batch.tiles_per_chunk, number, scratch, bad, how, INT64_MIN, last));
    number = number + 1 == Test::kTiles ? 0 : number + 1;
  }
  add_count(count, bad, result);
}

// The same of decoded values.
template <typename T>
__global__ void count_values(const T* values, uint64_t rows, int64_t last, unsigned long long* result) {
  uint32_t count = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < rows; i += uint64_t{gridDim.x} * blockDim.x) {
    count += float_key_of_bits(values[i]) <= last ? 1 : 0;
  }
  add_count(count, 0, result);
}

// Counts the rows up to `last` of a batch whose values lie in `values`, then times it. Fills in the line. Like
// generated kernels, the reader is unrolled for the widths that there are.
template <typename UnrolledWidths, typename T>
void measure_count(NestedBench& bench, Line& line, const ChunkBatch& batch, const T* values, int64_t last) {
  using Reader = device::Galp<T, device::Packed<T, UnrolledWidths>>;
  const auto rows = static_cast<uint64_t>(line.values);
  const auto launch = [&](unsigned long long* result) {
    count_at_most<T, Reader>
        <<<static_cast<uint32_t>(bench.shape.multiprocessors) * kCountBlocks, kCountWarps * kLanes>>>(batch, last,
                                                                                                      result);
  };
  const auto expected =
      counted([&](unsigned long long* result) { count_values<<<2048, 256>>>(values, rows, last, result); });
  require(counted(launch) == expected && expected > 0, line.group + " " + line.point + " counts wrongly");
  DeviceArray<unsigned long long> result(1);
  line.variant = "filter";
  line.seconds = bench.timer.time([&] { launch(result.data()); });
  line.ceiling = bench.ceilings.read;
  bench.report.add(line);
}

template <typename T>
void floats(NestedBench& bench, const std::string& type) {
  if (!bench.options.wants("galp " + type)) return;
  const uint32_t chunks = bench.chunks<T>();
  for (const uint32_t exceptions : {0u, 10u, 30u, 150u}) {
    const std::string group = label(("galp " + type + " x").c_str(), exceptions);
    const PatchedChunks<T> patches(chunks, exceptions);
    for (const uint32_t width : {8u, 12u, 16u, 24u, 40u}) {
      if (width >= 8 * sizeof(T)) continue;
      const auto column = patches.of_width(bench.pool, width);
      const ChunkBatch& batch = column.batch;
      const std::string point = label("w", width);
      bench.measure<T>(group, point, "decode", batch, column.bytes, 0.75, ExpectedFloat<T>{},
                       [&](T* out) { return galp::decode<T>(batch, out, bench.fault.data(), nullptr); });
      Line line;
      line.group = group + " count";
      line.point = point;
      line.bytes = column.bytes;
      line.values = static_cast<double>(column.integers.rows());
      measure_count<device::Widths<8, 12, 16, 24, 40>>(
          bench, line, batch, reinterpret_cast<const T*>(bench.plain.data()), float_key(middle_of<T>(width)));
    }
  }
}

__global__ void count_exceptions(const uint64_t* node, unsigned long long* result) {
  const auto words = static_cast<uint32_t>(node[0] >> 32);
  const uint32_t tile = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t count = 0;
  if (words != 0 && tile < device::tiles_of(static_cast<uint32_t>(node[0]))) {
    const void* starts = reinterpret_cast<const void*>(node[1 + galp::kExceptionStarts]);
    const auto* blocks = reinterpret_cast<const uint32_t*>(node[1 + galp::kExceptions]);
    const bool is_short = words <= galp::kMaxShortStarts;
    const uint32_t start = galp::exception_start(starts, is_short, tile);
    if (start != galp::exception_start(starts, is_short, tile + 1)) {
      count = galp::Exceptions::of(blocks + start, galp::Arithmetic<double>::kBits).count;
    }
  }
  add_count(count, 0, result);
}

__global__ void count_unlike(const uint64_t* a, const uint64_t* b, uint64_t rows, unsigned long long* result) {
  uint32_t count = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < rows; i += uint64_t{gridDim.x} * blockDim.x) {
    count += a[i] != b[i] ? 1 : 0;
  }
  add_count(count, 0, result);
}

constexpr uint64_t kDistinctRows = uint64_t{1} << 22;
constexpr double kEncodeBar = 400e9;  // plain bytes per second

// A column encoded, decoded and counted on the device: `values`, at most kDistinctRows, until there are enough.
void measure_column(NestedBench& bench, const std::string& group, std::vector<double> values) {
  // Whole tiles, so that copies do not share any.
  values.resize(values.size() / kTileRows * kTileRows);
  require(!values.empty(), group + " has less than a tile");
  const uint64_t wanted = (bench.options.quick ? size_t{256} << 20 : size_t{1} << 30) / sizeof(double);
  const uint64_t copies = (wanted + values.size() - 1) / values.size();
  DeviceArray<double> plain(copies * values.size());
  for (uint64_t i = 0; i < copies; ++i) {
    BASALT_CHECK(cudaMemcpy(plain.data() + i * values.size(), values.data(), values.size() * sizeof(double),
                            cudaMemcpyHostToDevice));
  }
  cuda::GalpEncoder<double> encoder(plain.data(), plain.size(), Effort::kBalanced, nullptr);
  const auto sizes = encoder.choose_schemes();
  const StreamRoom<double> room(encoder, sizes);
  const DeviceArray<uint64_t> node(room.node(encoder, plain.size(), sizes));

  Line line;
  line.group = group;
  line.values = static_cast<double>(plain.size());
  line.variant = "encode";
  line.bytes = static_cast<double>(plain.bytes());
  line.ceiling = bench.ceilings.read;
  line.bar = kEncodeBar / bench.ceilings.read;
  line.seconds = bench.timer.time([&] {
    encoder.choose_schemes();
    encoder.write(room.streams);
  });
  const double exceptions = static_cast<double>(counted([&](unsigned long long* result) {
                              count_exceptions<<<encoder.tiles() / 256 + 1, 256>>>(node.data(), result);
                            })) /
                            encoder.tiles();
  char text[64];
  std::snprintf(text, sizeof(text), "%.2fx, %.1f exc.",
                static_cast<double>(plain.bytes()) / static_cast<double>(room.encoded), exceptions);
  line.point = text;
  bench.report.add(line);

  const DeviceArray<uint64_t> first_row(std::vector<uint64_t>{0});
  const ChunkBatch batch{node.data(), first_row.data(), PatchedChunks<uint64_t>::kNodeWords, 1, encoder.tiles()};
  const auto* bits = reinterpret_cast<const uint64_t*>(plain.data());
  const DeviceArray<uint64_t> out(plain.size());
  const auto decode = [&] { BASALT_CHECK(galp::decode(batch, out.data(), bench.fault.data(), nullptr)); };
  BASALT_CHECK(cudaMemset(bench.fault.data(), 0, bench.fault.bytes()));
  decode();
  const auto unlike =
      counted([&](unsigned long long* result) { count_unlike<<<2048, 256>>>(bits, out.data(), plain.size(), result); });
  require(unlike == 0 && bench.fault.to_host(0, 1)[0] == 0, group + " comes back otherwise");
  line.variant = "decode";
  line.bytes = static_cast<double>(plain.bytes()) + static_cast<double>(room.encoded);
  line.ceiling = bench.ceilings.copy;
  line.seconds = bench.timer.time(decode);
  line.bar = exceptions <= 30 ? 0.8 : exceptions <= 150 ? 0.7 : 0;
  bench.report.add(line);

  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end(),
                   [](double a, double b) { return float_key(a) < float_key(b); });
  const double packed_bits = static_cast<double>(sizes.packed_rows) / encoder.tiles();
  line.bytes = static_cast<double>(room.encoded);
  line.bar_values = packed_bits < 12;
  line.bar = exceptions > 10 ? 0 : line.bar_values ? 2.5e12 : 0.8;
  measure_count<device::WidthsUpTo<41>>(bench, line, batch, bits, float_key(values[values.size() / 2]));
}

void columns(NestedBench& bench) {
  for (const gen::DecimalColumn& column : gen::decimal_columns()) {
    const std::string group = std::string("galp like ") + column.name;
    if (bench.options.wants(group)) measure_column(bench, group, gen::decimal_values(column, kDistinctRows));
  }
  for (const std::string& file : bench.options.files) {
    const std::string group = "galp file " + std::filesystem::path(file).stem().string();
    if (bench.options.wants(group)) {
      measure_column(bench, group, gen::repeated(gen::read_doubles(file), kDistinctRows));
    }
  }
}

int run(const Options& options) {
  NestedBench bench(options);
  floats<uint32_t>(bench, "f32");
  floats<uint64_t>(bench, "f64");
  columns(bench);
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
