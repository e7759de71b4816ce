// Floats of galp filtered on the GPU in the ways that G-ALP compares, nothing written: cursors of 1 to 32 values per
// call with each patcher over 0 to 300 exceptions per tile; and 1 to 10 columns, side by side with a cursor each, or
// column after column on their integers with a mask of the rows that are alive. No column is ever left out because an
// earlier one has decided. Every count is checked against plain arithmetic before it is timed; registers and warps per
// multiprocessor stand beside the times.
#include "codec/galp/gpu/kernels.cuh"
#include "codec/galp/gpu/kernels_cursor.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "core/float_key.h"
#include "exec/device/scan.cuh"
#include "galp_columns.h"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

using device::ChunkBatch;

constexpr uint32_t kWarps = 8;  // of a block
constexpr uint32_t kMaxColumns = 10;
constexpr double kColumnsBar = 0.9;  // of one column's values per second

// Measured, and unrolled where a whole tile is read at once.
template <typename T>
struct MeasuredWidths {
  static constexpr uint32_t kValues[2] = {8, 16};
  using Unrolled = device::Widths<8, 16>;
};
template <>
struct MeasuredWidths<uint64_t> {
  static constexpr uint32_t kValues[2] = {16, 40};
  using Unrolled = device::Widths<16, 40>;
};
template <typename T, uint32_t kValues, typename Patcher>
using Cursor = device::GalpCursor<
    T,
    device::Packed<T, typename device::SelectType<kValues == kRowsPerLane, typename MeasuredWidths<T>::Unrolled,
                                                  device::Widths<>>::type>,
    kValues, Patcher>;

// Columns of the same length one behind the other: `batch` describes the first, the next begins at its next chunk.
__device__ __forceinline__ const uint64_t* descriptor_of(const ChunkBatch& batch, uint32_t column, uint32_t chunk) {
  return batch.descriptors + (uint64_t{column} * batch.chunks + chunk) * batch.descriptor_stride;
}

template <typename T>
__device__ __forceinline__ bool at_most(T bits, FloatOf<T> last) {
  return galp::float_of(bits) <= last;
}

// Rows that are at most `last` in all columns, without any of the kernels under test. A block per tile.
template <typename T>
__global__ void count_expected(ChunkBatch batch, uint32_t columns, FloatOf<T> last, unsigned long long* result) {
  const uint32_t chunk = blockIdx.x / batch.tiles_per_chunk;
  const uint32_t first = blockIdx.x % batch.tiles_per_chunk * kTileRows;
  uint32_t count = 0;
  for (uint32_t row = first + threadIdx.x; row < first + kTileRows; row += blockDim.x) {
    bool passes = true;
    for (uint32_t c = 0; c < columns; ++c) {
      passes = passes && at_most(ExpectedFloat<T>{}(descriptor_of(batch, c, chunk), chunk, row), last);
    }
    count += passes ? 1 : 0;
  }
  add_count(count, 0, result);
}

// The same with a cursor per column, all of them at the same rows. One warp per tile in turn.
template <typename T, uint32_t kValues, typename Patcher, uint32_t kColumns>
__global__ __launch_bounds__(kWarps* kLanes) void count_side_by_side(ChunkBatch batch, FloatOf<T> last,
                                                                     unsigned long long* result) {
  uint32_t count = 0;
  uint32_t bad = 0;
  const uint32_t warps = gridDim.x * kWarps;
#pragma unroll 1
  for (uint32_t i = blockIdx.x * kWarps + threadIdx.x / kLanes; i < batch.chunks * batch.tiles_per_chunk; i += warps) {
    Cursor<T, kValues, Patcher> cursors[kColumns];
#pragma unroll
    for (uint32_t c = 0; c < kColumns; ++c) {
      cursors[c].open(descriptor_of(batch, c, i / batch.tiles_per_chunk), i % batch.tiles_per_chunk);
    }
#pragma unroll 1
    for (uint32_t call = 0; call < kRowsPerLane / kValues; ++call) {
      uint32_t alive = ~0u;
#pragma unroll
      for (uint32_t c = 0; c < kColumns; ++c) {
        T values[kValues];
        cursors[c].next(values);
        uint32_t passes = 0;
#pragma unroll
        for (uint32_t j = 0; j < kValues; ++j) passes |= static_cast<uint32_t>(at_most(values[j], last)) << j;
        alive &= passes;
      }
      count += device::population(alive);
    }
#pragma unroll
    for (uint32_t c = 0; c < kColumns; ++c) bad |= cursors[c].bad ? 1 : 0;
  }
  add_count(count, bad, result);
}

// What a literal stands for among a column's integers, kept from tile to tile. In shared memory: in registers it would
// be seven per column.
struct KnownSpan {
  device::IntegerSpan span;
  uint32_t pair;
};

// The same column after column, as generated kernels test them: on integers where a tile has a pair. What the next
// column's tile begins with is asked for before this one's rows are looked at.
template <typename T>
__global__ __launch_bounds__(kWarps* kLanes, 4) void count_column_by_column(ChunkBatch batch, uint32_t columns,
                                                                            int64_t last, unsigned long long* result) {
  using Reader = device::Galp<T, device::Packed<T, typename MeasuredWidths<T>::Unrolled>>;
  __shared__ KnownSpan known[kWarps][kMaxColumns];
  __shared__ device::SharedExceptions exceptions[kWarps];
  KnownSpan* spans = known[threadIdx.x / kLanes];
  if (device::lane_id() < columns) spans[device::lane_id()].pair = device::CodeRange{}.pair;
  device::sync_warp();
  uint32_t count = 0;
  uint32_t bad = 0;
  const uint32_t tiles = batch.chunks * batch.tiles_per_chunk;
  const uint32_t warps = gridDim.x * kWarps;
  uint32_t i = blockIdx.x * kWarps + threadIdx.x / kLanes;
  if (i < tiles) {
    device::Prefetch<Reader> prefetch(descriptor_of(batch, 0, i / batch.tiles_per_chunk), i % batch.tiles_per_chunk);
    uint32_t alive = ~0u;
    uint32_t column = 0;
#pragma unroll 1
    while (i < tiles) {
      const bool is_last = column + 1 == columns;
      const uint32_t next_column = is_last ? 0 : column + 1;
      const uint32_t next = is_last ? i + warps : i;
      const uint32_t asked = next < tiles ? next : i;
      const device::Prefetch<Reader> next_prefetch(descriptor_of(batch, next_column, asked / batch.tiles_per_chunk),
                                                   asked % batch.tiles_per_chunk);
      device::CodeRange range;
      range.pair = spans[column].pair;
      range.span = spans[column].span;
      uint32_t how = device::kByBounds;
      alive &= device::ShapeTest<FloatOf<T>, device::Test::kAtMost, Reader>::run(
          descriptor_of(batch, column, i / batch.tiles_per_chunk), i % batch.tiles_per_chunk,
          exceptions + threadIdx.x / kLanes, bad, how, prefetch, range, INT64_MIN, last);
      device::sync_warp();
      if (device::lane_id() == 0) spans[column] = {range.span, range.pair};
      device::sync_warp();
      if (is_last) {
        count += device::population(alive);
        alive = ~0u;
      }
      prefetch = next_prefetch;
      column = next_column;
      i = next;
    }
  }
  add_count(count, bad, result);
}

// Times one way to count the same rows.
template <typename T>
class Counting {
 public:
  Counting(NestedBench& bench, std::string group, std::string point, const ChunkBatch& batch, uint32_t columns,
           double bytes, FloatOf<T> last)
      : bench_(bench), batch_(batch), columns_(columns), last_(last) {
    line_.group = std::move(group);
    line_.point = std::move(point);
    line_.bytes = bytes;
    line_.values = static_cast<double>(columns) * batch.chunks * kMaxChunkRows;
    line_.ceiling = bench.ceilings.read;
    expected_ = counted([&](unsigned long long* result) {
      count_expected<T><<<batch.chunks * batch.tiles_per_chunk, 256>>>(batch, columns, last, result);
    });
    require(expected_ > 0, line_.group + " " + line_.point + " has no rows to find");
  }

  // launch(blocks, result) with as many blocks as there is room for at once. Returns values per second.
  template <typename Kernel, typename Launch>
  double measure(const std::string& variant, Kernel kernel, double least_values, const Launch& launch) {
    Line line = line_;
    line.variant = variant;
    cudaFuncAttributes attributes;
    BASALT_CHECK(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
    int per_multiprocessor = 0;
    BASALT_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &per_multiprocessor, reinterpret_cast<const void*>(kernel), kWarps * kLanes, 0));
    line.registers = attributes.numRegs;
    line.warps = per_multiprocessor * static_cast<int>(kWarps);
    const auto blocks = static_cast<uint32_t>(bench_.shape.multiprocessors * per_multiprocessor);
    const auto got = counted([&](unsigned long long* result) { launch(blocks, result); });
    require(got == expected_, line.group + " " + line.point + " " + variant + " counts wrongly");
    DeviceArray<unsigned long long> result(1);
    line.seconds = bench_.timer.time([&] { launch(blocks, result.data()); });
    line.bar = least_values;
    line.bar_values = true;
    bench_.report.add(line);
    return line.values / line.seconds;
  }

  template <uint32_t kValues, typename Patcher, uint32_t kColumns>
  void cursor(const char* patcher) {
    const auto kernel = count_side_by_side<T, kValues, Patcher, kColumns>;
    measure(label("cursor ", kValues) + patcher, kernel, 0, [&](uint32_t blocks, unsigned long long* result) {
      kernel<<<blocks, kWarps * kLanes>>>(batch_, last_, result);
    });
  }
  double column_by_column(double least_values) {
    const auto kernel = count_column_by_column<T>;
    return measure("integers", kernel, least_values, [&](uint32_t blocks, unsigned long long* result) {
      kernel<<<blocks, kWarps * kLanes>>>(batch_, columns_, float_key(last_), result);
    });
  }

 private:
  NestedBench& bench_;
  ChunkBatch batch_;
  uint32_t columns_;
  FloatOf<T> last_;
  unsigned long long expected_ = 0;
  Line line_;
};

template <typename Patcher, typename T>
void every_cursor(Counting<T>& counting, const char* patcher) {
  counting.template cursor<1, Patcher, 1>(patcher);
  counting.template cursor<2, Patcher, 1>(patcher);
  counting.template cursor<4, Patcher, 1>(patcher);
  counting.template cursor<8, Patcher, 1>(patcher);
  counting.template cursor<16, Patcher, 1>(patcher);
  counting.template cursor<32, Patcher, 1>(patcher);
}

template <typename T>
void exceptions(NestedBench& bench, const std::string& type) {
  const std::vector<uint32_t> counts = bench.options.quick
                                           ? std::vector<uint32_t>{0, 10, 30, 100, 300}
                                           : std::vector<uint32_t>{0, 1, 3, 10, 20, 30, 60, 100, 150, 200, 300};
  for (const uint32_t count : counts) {
    const std::string group = label(("galp " + type + " x").c_str(), count) + " count";
    if (!bench.options.wants(group)) continue;
    const PatchedChunks<T> patches(bench.chunks<T>(), count);
    for (const uint32_t width : MeasuredWidths<T>::kValues) {
      const auto column = patches.of_width(bench.pool, width);
      Counting<T> counting(bench, group, label("w", width), column.batch, 1, column.bytes, middle_of<T>(width));
      every_cursor<device::NaivePatcher>(counting, " naive");
      every_cursor<device::PositionPatcher>(counting, " position");
      every_cursor<device::ValuePatcher>(counting, " value");
      every_cursor<device::MaskPatcher>(counting, " mask");
      counting.column_by_column(0);
    }
  }
}

// Cursors for some numbers of columns: a kernel for each, which takes the compiler the longer the more values there
// are.
template <uint32_t kColumns, typename T>
void cursors_of(Counting<T>& counting, uint32_t columns) {
  if (columns != kColumns) return;
  counting.template cursor<1, device::ValuePatcher, kColumns>(" value");
  counting.template cursor<4, device::ValuePatcher, kColumns>(" value");
  if constexpr (kColumns == 1 || sizeof(T) == sizeof(float)) {
    counting.template cursor<32, device::ValuePatcher, kColumns>(" value");
  }
}

template <typename T>
void columns(NestedBench& bench, const std::string& type) {
  // Words of their own for every column, and many rows even so.
  const DeviceArray<unsigned char> pool(bench.options.quick ? size_t{1} << 30 : size_t{6} << 30);
  fill_random(pool.data(), pool.bytes(), 777);
  const uint32_t width = MeasuredWidths<T>::kValues[0];
  const auto chunks = static_cast<uint32_t>(pool.bytes() / kMaxColumns * 8 / width / kMaxChunkRows);
  for (const uint32_t exceptions : {0u, 20u}) {
    const PatchedChunks<T> patches(chunks * kMaxColumns, exceptions);
    const auto all = patches.of_width(pool, width);
    double one = 0;
    for (uint32_t count = 1; count <= kMaxColumns; ++count) {
      const std::string group = label(("galp " + type + " c").c_str(), count) + label(" x", exceptions);
      if (!bench.options.wants(group)) continue;
      ChunkBatch batch = all.batch;
      batch.chunks = chunks;
      // Nine rows of ten pass a column, so that some pass ten.
      const FloatOf<T> last = middle_of<T>(width) * static_cast<FloatOf<T>>(1.8);
      Counting<T> counting(bench, group, label("w", width), batch, count, all.bytes * count / kMaxColumns, last);
      const double values = counting.column_by_column(one * kColumnsBar);
      if (count == 1) one = values;
      cursors_of<1>(counting, count);
      cursors_of<2>(counting, count);
      cursors_of<4>(counting, count);
      cursors_of<10>(counting, count);
      if (one > 0) std::printf("%u columns: %.2f of one column's values per second\n", count, values / one);
    }
  }
}

int run(const Options& options) {
  NestedBench bench(options);
  exceptions<uint32_t>(bench, "f32");
  exceptions<uint64_t>(bench, "f64");
  columns<uint32_t>(bench, "f32");
  columns<uint64_t>(bench, "f64");
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
