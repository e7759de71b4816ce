// Runs on the GPU, decoded to memory, for the run lengths that are hard in different ways, against the copy rate on the
// bytes they move.
#include "codec/delta/kernels.cuh"
#include "codec/packed/kernels.cuh"
#include "codec/rle/strip.cuh"
#include "nested_bench.h"
#include "rle_expanded.h"

namespace basalt::bench {
namespace {

using device::AllWidths;
using device::Packed;

template <typename T, typename Widths, uint32_t kMinBlocks>
cudaError_t decode_strips(const device::ChunkBatch& batch, uint32_t strip, T* out, uint32_t* fault) {
  using Values = device::AheadPacked<T, Widths>;
  using Ends = device::AheadPacked<uint32_t, Widths>;
  constexpr uint32_t kBytes = 4 * device::kDecodeBytesPerWarp<device::Rle<T, Values, Ends>>;
  const auto kernel = device::decode_runs<T, Values, Ends, 4, kMinBlocks>;
  const cudaError_t error = device::prepare_shared(kernel, kBytes);
  if (error != cudaSuccess) return error;
  kernel<<<device::tile_grid(batch, 4 * strip), 4 * kLanes, kBytes>>>(batch, strip, out, fault);
  return cudaGetLastError();
}

template <typename T>
void runs(NestedBench& bench, const std::string& type, uint32_t value_width) {
  const uint32_t chunks = bench.chunks<T>();
  uint32_t* fault = bench.fault.data();
  using Values = Packed<T, AllWidths>;
  using Ends = Packed<uint32_t, AllWidths>;
  using Plainly = device::Rle<T, Values, Ends>;
  using Expanded = device::ExpandedRle<T, Packed<T>, Packed<uint32_t>>;
  using Nested = device::Rle<T, Values, device::Delta<uint32_t, Ends>>;
  constexpr bool kWide = sizeof(T) == 8;
  for (const RunPattern& pattern : run_patterns()) {
    const std::string group = "rle " + type;
    if (bench.options.wants(group)) {
      const RleColumn column = make_rle_column<T>(bench.pool, chunks, pattern.lengths, value_width, false);
      const ExpectedRle<T> expected{column.run_of_row.data()};
      bench.measure<T>(
          group, pattern.name, "tile by tile", column.batch(), column.stream_bytes, 0.80, expected, [&](T* out) {
            return device::launch_decode_tiles < Plainly, 4, kWide ? 6 : 10 > (column.batch(), out, fault, 0);
          });
      bench.measure<T>(
          group, pattern.name, "expanded", column.batch(), column.stream_bytes, 0.80, expected, [&](T* out) {
            return device::launch_decode_tiles < Expanded, 4, kWide ? 6 : 10 > (column.batch(), out, fault, 0);
          });
      if (!kWide) {
        bench.measure<T>(group, pattern.name, "strips 8, 64 registers", column.batch(), column.stream_bytes, 0.80,
                         expected,
                         [&](T* out) { return decode_strips<T, AllWidths, 8>(column.batch(), 8, out, fault); });
      }
      for (const uint32_t strip : {4u, 8u}) {
        bench.measure<T>(
            group, pattern.name, label("strips ", strip), column.batch(), column.stream_bytes, 0.80, expected,
            [&](T* out) { return decode_strips<T, AllWidths, (kWide ? 6 : 10)>(column.batch(), strip, out, fault); });
        bench.measure<T>(group, pattern.name, label("strips, run-time widths ", strip), column.batch(),
                         column.stream_bytes, 0.80, expected, [&](T* out) {
                           return decode_strips<T, device::Widths<>, (kWide ? 6 : 10)>(column.batch(), strip, out,
                                                                                       fault);
                         });
      }
    }
    const std::string nested_group = "rle(,delta) " + type;
    if (bench.options.wants(nested_group)) {
      const RleColumn column = make_rle_column<T>(bench.pool, chunks, pattern.lengths, value_width, true);
      const ExpectedRle<T> expected{column.run_of_row.data()};
      bench.measure<T>(
          nested_group, pattern.name, "8 warps", column.batch(), column.stream_bytes, 0, expected, [&](T* out) {
            return device::launch_decode_tiles < Nested, 8, kWide ? 3 : 4 > (column.batch(), out, fault, 0);
          });
    }
  }
}

int run(const Options& options) {
  NestedBench bench(options);
  runs<uint32_t>(bench, "u32", 16);
  runs<uint64_t>(bench, "u64", 24);
  return bench.finish();
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run(basalt::bench::Options::parse(argc, argv)); }
