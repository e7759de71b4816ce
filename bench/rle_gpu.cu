// Runs on the GPU, decoded to memory, for the run lengths that are hard in different ways, against the copy rate on the
// bytes they move.
#include "codec/delta/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/rle/gpu/kernels.cuh"
#include "codec/rle/gpu/kernels.h"
#include "nested_bench.h"

namespace basalt::bench {
namespace {

using device::AllWidths;
using device::Packed;

template <typename T>
void runs(NestedBench& bench, const std::string& type, uint32_t value_width) {
  const uint32_t chunks = bench.chunks<T>();
  uint32_t* fault = bench.fault.data();
  using Values = Packed<T, AllWidths>;
  using Ends = Packed<uint32_t, AllWidths>;
  using Looped = device::Rle<T, Packed<T>, Packed<uint32_t>>;
  using Nested = device::Rle<T, Values, device::Delta<uint32_t, Ends>>;
  constexpr bool kWide = sizeof(T) == 8;
  for (const RunPattern& pattern : run_patterns()) {
    const std::string group = "rle " + type;
    if (bench.options.wants(group)) {
      const RleColumn column = make_rle_column<T>(bench.pool, chunks, pattern.lengths, value_width, false);
      const ExpectedRle<T> expected{column.run_of_row.data()};
      const auto measure = [&](const char* variant, double bar, auto launch) {
        bench.measure<T>(group, pattern.name, variant, column.batch(), column.stream_bytes, bar, expected,
                         [&](T* out) { return launch(column.batch(), out, fault, cudaStream_t{}); });
      };
      measure(kShipped, 0.80, [](const device::ChunkBatch& batch, T* out, uint32_t* bad, cudaStream_t stream) {
        return rle::decode(batch, rle::Ends::kPacked, out, bad, stream);
      });
      measure("tile reader", 0, device::launch_decode_tiles<Looped, 4, (kWide ? 6 : 8)>);
    }
    const std::string nested_group = "rle(,delta) " + type;
    if (bench.options.wants(nested_group)) {
      const RleColumn column = make_rle_column<T>(bench.pool, chunks, pattern.lengths, value_width, true);
      const ExpectedRle<T> expected{column.run_of_row.data()};
      bench.measure<T>(nested_group, pattern.name, kShipped, column.batch(), column.stream_bytes, 0, expected,
                       [&](T* out) { return rle::decode(column.batch(), rle::Ends::kDeltaPacked, out, fault, 0); });
      if constexpr (!kWide) {
        bench.measure<T>(
            nested_group, pattern.name, "8 warps", column.batch(), column.stream_bytes, 0, expected,
            [&](T* out) { return device::launch_decode_tiles<Nested, 8, 4>(column.batch(), out, fault, 0); });
      }
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
