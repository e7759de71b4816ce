// Floats of galp over packed tiles on the GPU: decoded to memory against the copy rate on the bytes they move, and
// counted by a range of values against the read rate; with different numbers of exceptions per tile.
#include <algorithm>
#include <numeric>
#include <random>

#include "codec/galp/exceptions.h"
#include "codec/galp/kernels.cuh"
#include "codec/galp/kernels.h"
#include "codec/packed/kernels.cuh"
#include "core/float_key.h"
#include "exec/device/scan.cuh"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

using device::ChunkBatch;

constexpr uint32_t kNodeWords = 1 + galp::kStreams + 1 + packed::kStreams;

template <typename T>
using FloatOf = typename device::SelectType<sizeof(T) == 8, double, float>::type;
// Three digits behind the point; of floats one.
template <typename T>
constexpr galp::Pair kPair = sizeof(T) == 8 ? galp::Pair{5, 2} : galp::Pair{1, 0};

// Schemes and exceptions of one chunk, copied for every chunk.
template <typename T>
struct PatchedChunk {
  std::vector<uint8_t> schemes;
  std::vector<uint32_t> starts{0};
  std::vector<uint32_t> words;

  explicit PatchedChunk(uint32_t exceptions) : schemes(kTilesPerChunk, galp::pair_number(kPair<T>)) {
    std::mt19937_64 random(exceptions);
    std::vector<uint32_t> order(kTileRows);
    std::iota(order.begin(), order.end(), 0u);
    Buffer blocks;
    for (uint32_t tile = 0; tile < kTilesPerChunk; ++tile) {
      std::shuffle(order.begin(), order.end(), random);
      galp::LaneRows rows;
      rows.count = exceptions;
      std::vector<T> values(kTileRows);
      for (uint32_t i = 0; i < exceptions; ++i) {
        rows.rows[order[i] % kLanes] |= 1u << order[i] / kLanes;
        values[order[i]] = static_cast<T>(random());
      }
      galp::append_block(rows, values.data(), 8 * sizeof(T), blocks);
      starts.push_back(static_cast<uint32_t>(blocks.size() / sizeof(uint32_t)));
    }
    words.resize(blocks.size() / sizeof(uint32_t));
    if (!words.empty()) std::memcpy(words.data(), blocks.data(), blocks.size());
  }
};

// By the arithmetic and the search that the CPU uses too.
template <typename T>
struct ExpectedFloat {
  __device__ T operator()(const uint64_t* node, uint32_t, uint32_t row) const {
    using Float = FloatOf<T>;
    const uint32_t tile = row / kTileRows;
    const auto words = static_cast<uint32_t>(node[0] >> 32);
    if (words != 0) {
      const void* starts = reinterpret_cast<const void*>(node[1 + galp::kExceptionStarts]);
      const auto* blocks = reinterpret_cast<const uint32_t*>(node[1 + galp::kExceptions]);
      const uint32_t start = galp::exception_start(starts, words <= galp::kMaxShortStarts, tile);
      const auto block = galp::Exceptions::of(blocks + start, 8 * sizeof(T));
      const uint32_t found = galp::find_exception(block, row % kTileRows);
      if (found < block.count) return static_cast<T>(block.value(found));
    }
    const T number = expected_row<T>(node + 1 + galp::kStreams, row);
    return galp::bits_of(
        galp::decode<Float>(static_cast<galp::IntOf<Float>>(number), galp::Scale<Float>::of(kPair<T>)));
  }
};

// Rows whose key is at most `last`, as generated kernels test them. One warp per tile in turn.
template <typename T, typename Reader>
__global__ __launch_bounds__(256, 4) void count_at_most(ChunkBatch batch, int64_t last, unsigned long long* result) {
  uint32_t count = 0;
  uint32_t bad = 0;
  device::CodeRange range;
  const uint32_t warp = blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes;
  const uint32_t warps = gridDim.x * (blockDim.x / kLanes);
  for (uint32_t i = warp; i < batch.chunks * batch.tiles_per_chunk; i += warps) {
    const uint64_t* descriptor = batch.descriptors + uint64_t{i / batch.tiles_per_chunk} * batch.descriptor_stride;
    const uint32_t tile = i % batch.tiles_per_chunk;
    const device::Ahead<Reader> ahead(descriptor, tile);
    uint32_t how = device::kByBounds;
    count += device::population(device::ShapeTest<FloatOf<T>, device::Test::kAtMost, Reader>::run(
        descriptor, tile, nullptr, bad, how, ahead, range, int64_t{0}, last));
  }
  count = device::sum_of_lanes(bad != 0 ? 0x40000000 : count);
  if (device::lane_id() == 0) atomicAdd(result, static_cast<unsigned long long>(count));
}

// The same of decoded values.
template <typename T>
__global__ void count_values(const T* values, uint64_t rows, int64_t last, unsigned long long* result) {
  uint32_t count = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < rows; i += uint64_t{gridDim.x} * blockDim.x) {
    count += float_key_of_bits(values[i]) <= last ? 1 : 0;
  }
  count = device::sum_of_lanes(count);
  if (device::lane_id() == 0) atomicAdd(result, static_cast<unsigned long long>(count));
}

template <typename Launch>
unsigned long long counted(const Launch& launch) {
  DeviceArray<unsigned long long> result(1);
  BASALT_CHECK(cudaMemset(result.data(), 0, result.bytes()));
  launch(result.data());
  BASALT_CHECK(cudaGetLastError());
  return result.to_host(0, 1)[0];
}

template <typename T>
void count(NestedBench& bench, const std::string& group, const std::string& point, const ChunkBatch& batch,
           double stream_bytes, uint32_t width) {
  using Reader = device::Galp<T, device::Packed<T, device::Widths<8, 16, 24, 40>>>;
  const uint64_t rows = uint64_t{batch.chunks} * kMaxChunkRows;
  // About half of the rows.
  const auto middle = galp::decode<FloatOf<T>>(static_cast<galp::IntOf<FloatOf<T>>>(int64_t{1} << (width - 1)),
                                               galp::Scale<FloatOf<T>>::of(kPair<T>));
  const int64_t last = float_key(middle);
  const auto launch = [&](unsigned long long* result) {
    count_at_most<T, Reader><<<static_cast<uint32_t>(bench.shape.multiprocessors) * 4, 256>>>(batch, last, result);
  };
  const T* values = reinterpret_cast<const T*>(bench.plain.data());
  const auto expected =
      counted([&](unsigned long long* result) { count_values<<<2048, 256>>>(values, rows, last, result); });
  const auto got = counted(launch);
  require(got == expected && got > rows / 3 && got < rows / 3 * 2, group + " " + point + " counts wrongly");
  DeviceArray<unsigned long long> result(1);
  Line line;
  line.group = group;
  line.point = point;
  line.variant = "filter";
  line.bytes = stream_bytes;
  line.values = static_cast<double>(rows);
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
    const PatchedChunk<T> shape(exceptions);
    ChunkImage image;
    const size_t schemes_at = image.add(shape.schemes);
    const bool is_short = shape.words.size() <= galp::kMaxShortStarts;
    const size_t starts_at = exceptions == 0 ? 0
                             : is_short ? image.add(std::vector<uint16_t>(shape.starts.begin(), shape.starts.end()))
                                        : image.add(shape.starts);
    const size_t words_at = exceptions == 0 ? 0 : image.add(shape.words);
    const DeviceArray<unsigned char> images = image.replicate(chunks);
    for (const uint32_t width : {8u, 16u, 24u, 40u}) {
      if (width >= 8 * sizeof(T)) continue;
      const auto child = make_packed_column<T>(
          bench.pool, chunks, [&](uint64_t) { return width; }, [](uint64_t) { return T{0}; });
      std::vector<uint64_t> nodes;
      for (uint32_t c = 0; c < chunks; ++c) {
        const auto at = reinterpret_cast<uint64_t>(images.data() + image.stride() * c);
        nodes.push_back(kMaxChunkRows | static_cast<uint64_t>(shape.words.size()) << 32);
        nodes.insert(nodes.end(), {at + schemes_at, at, at + starts_at, at + words_at});
        nodes.insert(nodes.end(), child.host_nodes.begin() + 4 * c, child.host_nodes.begin() + 4 * c + 4);
      }
      const DeviceArray<uint64_t> device_nodes(nodes);
      const ChunkBatch batch{device_nodes.data(), child.first_rows.data(), kNodeWords, chunks, kTilesPerChunk};
      const double bytes = child.stream_bytes() + static_cast<double>(image.used()) * chunks;
      const std::string point = label("w", width);
      bench.measure<T>(group, point, "decode", batch, bytes, 0.75, ExpectedFloat<T>{},
                       [&](T* out) { return galp::decode<T>(batch, out, bench.fault.data(), nullptr); });
      count<T>(bench, group + " count", point, batch, bytes, width);
    }
  }
}

int run(const Options& options) {
  NestedBench bench(options);
  floats<uint32_t>(bench, "f32");
  floats<uint64_t>(bench, "f64");
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
