// Filter and sum over learned integers on the GPU, in registers, against the read rate: values below a literal, counted
// and added up, for references, lines and curves of every kind of width, in whole tiles and in tiles that partitions
// share.
#include "codec/l3/gpu/tile_strip_filter_sum.cuh"
#include "l3_column.h"

namespace basalt::bench {
namespace {

using device::TileSum;

// The sums of a block's warps, to memory.
__device__ __forceinline__ void put_sums(TileSum sums, unsigned long long* result) {
  __shared__ unsigned long long totals[2];
  if (threadIdx.x < 2) totals[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t distance = 16; distance > 0; distance /= 2) {
    sums.sum += device::shuffle_xor(sums.sum, distance);
    sums.count += device::shuffle_xor(sums.count, distance);
  }
  if (device::lane_id() == 0) {
    atomicAdd(totals, sums.sum);
    atomicAdd(totals + 1, sums.count);
  }
  __syncthreads();
  if (threadIdx.x < 2) atomicAdd(result + threadIdx.x, totals[threadIdx.x]);
}

// Row by row, whatever its model.
template <typename T, uint32_t kMinBlocks>
__global__ __launch_bounds__(128, kMinBlocks) void sum_by_rows(ChunkBatch batch, T last, unsigned long long* result) {
  __shared__ device::TileStripScratch<T> scratch[4];
  device::SumRows<T> rows{last, kTileRows};
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* node = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    const auto strip = device::TileStrip::of_warp(device::tiles_of(device::row_count(node)), device::kStripTiles);
    device::feed_strip<T, device::ResidualFetch::kOnDemand>(
        device::l3_chunk(node), strip, scratch[threadIdx.x / kLanes],
        [all = &rows](uint32_t) -> device::SumRows<T>& { return *all; });
  }
  put_sums({rows.sum, rows.count, 0}, result);
}

template <typename T, bool kStaged, uint32_t kMinBlocks>
__global__ __launch_bounds__(128, kMinBlocks) void sum_by_strips(ChunkBatch batch, T last, unsigned long long* result) {
  __shared__ device::SumScratch<T, kStaged> scratch[4];
  TileSum sums{};
  for (uint32_t chunk = blockIdx.y; chunk < batch.chunks; chunk += gridDim.y) {
    const uint64_t* node = batch.descriptors + uint64_t{chunk} * batch.descriptor_stride;
    const auto strip = device::TileStrip::of_warp(device::tiles_of(device::row_count(node)), device::kStripTiles);
    device::filter_sum_strip<T>(node, strip, last, scratch[threadIdx.x / kLanes], sums);
  }
  put_sums(sums, result);
}

struct Shape {
  const char* name;
  double least_rate;  // values per second, below 16 bits
};
constexpr Shape kShapes[] = {{"for", 2.5e12}, {"line", 1.8e12}, {"parabola", 1.4e12}};

// Noise of a full number of bits makes the encoder cut often, and inside of tiles; with a little less there is no
// reason.
template <typename T>
std::vector<T> rows_of(uint32_t degree, uint32_t width, bool shared) {
  std::vector<T> values(4 * uint64_t{kMaxChunkRows});
  const uint64_t noise = shared ? low_bits(width) + 1 : (low_bits(width) + 1) / 8 * 7;
  for (uint64_t i = 0; i < values.size(); ++i) {
    const uint64_t x = i % 8192;
    const uint64_t curve = degree == 0   ? (shared ? mix(i / 1280) % 256 << width : 0)
                           : degree == 1 ? i % kMaxChunkRows * 64
                                         : x * x / 4;
    values[i] = static_cast<T>(curve + mix(i) % noise);
  }
  return values;
}

template <typename T>
void filter_column(NestedBench& bench, const std::string& group, Physical type, uint32_t degree, uint32_t width,
                   bool shared) {
  const uint32_t chunks = bench.options.quick ? 8 : 192;
  const std::vector<T> values = rows_of<T>(degree, width, shared);
  const auto column = make_column<T>(values, chunks, type);
  const T last = static_cast<T>(values[values.size() / 2] / 2);
  uint64_t sum = 0, count = 0;
  for (const T value : values) {
    sum += value <= last ? value : 0;
    count += value <= last ? 1 : 0;
  }
  char point[64];
  std::snprintf(point, sizeof(point), "w%u, %.2f bits, %.0f%% whole", width, column.bits_per_value, column.whole * 100);
  const uint64_t copies = chunks / column.distinct;
  const auto measure = [&](const char* variant, auto kernel) {
    const DeviceArray<unsigned long long> result(std::vector<unsigned long long>{0, 0});
    const auto launch = [&] {
      kernel<<<device::tile_grid(column.batch(), 4 * device::kStripTiles), 128>>>(column.batch(), last, result.data());
      BASALT_CHECK(cudaGetLastError());
    };
    launch();
    const auto got = result.to_host(0, 2);
    require(got[0] == sum * copies && got[1] == count * copies, group + " " + point + " " + variant);
    Line line;
    line.group = group;
    line.point = point;
    line.variant = variant;
    line.bytes = static_cast<double>(column.bytes);
    line.values = static_cast<double>(chunks) * kMaxChunkRows;
    line.seconds = bench.timer.time(launch);
    line.ceiling = bench.ceilings.read;
    line.bar_values = width < 16;
    line.bar = (width >= 16 ? 0.75 : kShapes[degree].least_rate) * (shared ? 0.6 : 1);
    bench.report.add(line);
  };
  measure("by rows", sum_by_rows<T, 8>);
  measure("64 registers", sum_by_strips<T, false, 8>);
  measure("80 registers", sum_by_strips<T, false, 6>);
  measure("staged", sum_by_strips<T, true, 6>);
}

template <typename T>
void filter_columns(NestedBench& bench, const std::string& type_name, Physical type) {
  for (uint32_t degree = 0; degree < 3; ++degree) {
    for (const bool shared : {false, true}) {
      const std::string group =
          "l3 filter+sum " + type_name + " " + kShapes[degree].name + (shared ? " in shared tiles" : "");
      if (!bench.options.wants(group)) continue;
      for (const uint32_t width : {4u, 8u, 12u, 16u, 20u, 24u}) {
        filter_column<T>(bench, group, type, degree, width, shared);
      }
    }
  }
}

int run(const Options& options) {
  NestedBench bench(options);
  filter_columns<uint32_t>(bench, "u32", Physical::kU32);
  filter_columns<uint64_t>(bench, "u64", Physical::kU64);
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
