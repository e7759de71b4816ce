// Whole statements on the GPU through the library, as SQL runs them: TPC-H Q6 and a one-column count over a resident
// lineitem (share of the read ceiling on the bytes they touch, host time around the kernel), data larger than the
// device's allowance, and the way from a file in the page cache to the device with checksums verified. Every line has
// its ceiling from the same run.
//
//   BASALT_BENCH_FILE=lineitem.basalt statements_gpu_bench [--json FILE]
//   BASALT_BENCH_TRANSFER_GIB   size of the file for the transfer (default 4)
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "file/load_chunk.h"
#include "statements.h"

namespace basalt::bench {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Pipeline q6(const std::shared_ptr<const File>& file) {
  Pipeline pipeline;
  pipeline.files = {file};
  auto& columns = pipeline.columns;
  const Expr shipdate = column(*file, "l_shipdate", columns);
  const Expr discount = column(*file, "l_discount", columns);
  const Expr quantity = column(*file, "l_quantity", columns);
  const Expr price = column(*file, "l_extendedprice", columns);
  pipeline.has_filter = true;
  pipeline.filter = all_of({greater_equal(shipdate, literal(int64_t{8766})), less(shipdate, literal(int64_t{9131})),
                            greater_equal(discount, literal(int64_t{5})), less_equal(discount, literal(int64_t{7})),
                            less(quantity, literal(int64_t{2400}))});
  Aggregate revenue;
  revenue.op = AggregateOp::kSum;
  revenue.arg.op = ExprOp::kMultiply;
  revenue.arg.type = Physical::kI64;
  revenue.arg.args = {price, discount};
  pipeline.aggregates = {revenue};
  return pipeline;
}

Pipeline count_below(const std::shared_ptr<const File>& file, const std::string& name, int64_t bound) {
  Pipeline pipeline;
  pipeline.files = {file};
  pipeline.has_filter = true;
  pipeline.filter = less(column(*file, name, pipeline.columns), literal(bound));
  pipeline.aggregates.resize(1);
  return pipeline;
}

void resident(const std::string& name, const Pipeline& pipeline, double read_gbs, double bar) {
  const RunOptions options = on_gpu();
  RunReport report;
  gpu().backend->drop_cache();
  const std::vector<Value> values = run_pipeline(pipeline, options, &report);
  expect_equal(pipeline, options, values);
  add(name + ": cold, compile", report.compile_ms, "ms");
  add(name + ": cold, total", report.total_ms, "ms");
  std::vector<double> kernel;
  std::vector<double> around;
  for (int i = 0; i < 21; ++i) {
    run_pipeline(pipeline, options, &report);
    kernel.push_back(report.kernel_ms);
    around.push_back(report.total_ms - report.kernel_ms);
  }
  const double gbs = touched_bytes(pipeline) / median(kernel) / 1e6;
  add(name + ": encoded bytes", touched_bytes(pipeline) / 1e6, "MB");
  add(name + ": kernel", median(kernel), "ms");
  add(name + ": read rate", gbs, "GB/s");
  add(name + ": share of the read ceiling", 100 * gbs / read_gbs, "%", bar);
  add(name + ": total - kernel, resident", median(around), "ms", 1.0, true);
}

void larger_than_memory(const Pipeline& pipeline) {
  RunOptions options = on_gpu();
  options.gpu_memory = static_cast<uint64_t>(touched_bytes(pipeline) / 4);
  gpu().backend->drop_cache();
  RunReport report;
  run_pipeline(pipeline, options, &report);
  gpu().backend->drop_cache();
  const std::vector<Value> values = run_pipeline(pipeline, options, &report);
  expect_equal(pipeline, options, values);
  add("Q6 with a quarter of its bytes: total", report.total_ms, "ms");
  add("Q6 with a quarter of its bytes: transfer", report.transfer_ms, "ms");
  add("Q6 with a quarter of its bytes: total / max(transfer, kernel)",
      report.total_ms / std::max(report.transfer_ms, report.kernel_ms), "x", 1.15, true);
}

// How fast all cores copy the file out of the page cache.
double page_cache_gbs(const std::string& path, uint64_t bytes) {
  constexpr uint64_t kBlock = 8 << 20;
  const auto source = open_file_source(path);
  ThreadPool pool(0);
  std::vector<Buffer> blocks(pool.size());
  const auto once = [&] {
    const auto start = std::chrono::steady_clock::now();
    std::atomic<uint64_t> block{0};
    pool.parallel_for(pool.size(), [&](uint64_t worker) {
      Buffer& to = blocks[worker];
      to.resize(kBlock);
      for (uint64_t i = block.fetch_add(1); i * kBlock < bytes; i = block.fetch_add(1)) {
        source->read({i * kBlock, std::min(kBlock, bytes - i * kBlock)}, to.data());
      }
    });
    return static_cast<double>(bytes) / seconds_since(start) / 1e9;
  };
  once();
  return std::max(once(), once());
}

// What the device still gets from pinned memory while all cores copy the file out of the page cache: both use
// the same memory, so that this, not the transfer alone, bounds the way from a file.
double transfer_beside_copies_gbs(const std::string& path, uint64_t bytes) {
  std::atomic<bool> stop{false};
  std::thread copies([&] {
    while (!stop) page_cache_gbs(path, bytes);
  });
  const double rate = gpu().backend->measure_bandwidth().host_to_device_gbs;
  stop = true;
  copies.join();
  return rate;
}

// The copies with every block's checksum compared and the chunks validated, into memory of each core's own: what a
// transfer to the device leaves of the copy.
double checked_gbs(const File& file) {
  const std::vector<ColumnChunkInfo>& chunks = file.column(0).chunks;
  ThreadPool pool(0);
  std::vector<Buffer> regions(pool.size());
  const auto once = [&] {
    const auto start = std::chrono::steady_clock::now();
    std::atomic<uint32_t> next{0};
    std::atomic<uint64_t> bytes{0};
    pool.parallel_for(pool.size(), [&](uint64_t worker) {
      for (uint32_t chunk = next.fetch_add(1); chunk < chunks.size(); chunk = next.fetch_add(1)) {
        regions[worker].resize(static_cast<size_t>(chunks[chunk].region.length));
        std::vector<Buffer> shared;
        load_chunk(file, 0, chunk, regions[worker].data(), shared);
        bytes += chunks[chunk].region.length;
      }
    });
    return static_cast<double>(bytes) / seconds_since(start) / 1e9;
  };
  once();
  return std::max(once(), once());
}

// How many GiB of encoded bytes a file is made with; 0 leaves its measurement out.
double wanted_gib(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atof(text);
}

// The filter of `packed_gpu` as a statement, on as much data: launching and the last blocks' tail weigh as little as
// there. Its bar is what packed_gpu has to reach, less 5 %.
void packed_count(double read_gbs) {
  constexpr uint32_t kWidth = 20;
  const double gib = wanted_gib("BASALT_BENCH_PACKED_GIB", 1.25);
  if (gib <= 0) return;
  const auto chunks = static_cast<uint64_t>(gib * 8 * 1024 / kWidth) + 1;  // of 2^20 values
  const MadeFile made("basalt_bench_packed.basalt", TypeKind::kInt32, "packed", chunks, int32_t{},
                      [](uint64_t i) { return (i * 0x9E3779B97F4A7C15ull >> 40) & ((1u << kWidth) - 1); });
  resident("count(*) where v < x, large", count_below(File::open(made.path()), "v", 1 << (kWidth - 2)), read_gbs,
           0.95 * 88);
}

double transfer_gib() { return wanted_gib("BASALT_BENCH_TRANSFER_GIB", 4.0); }

// host_to_device_gbs = 0: there is no device, and only the host's part is measured.
void transfer(double host_to_device_gbs) {
  if (transfer_gib() <= 0) return;
  const MadeFile made("basalt_bench_transfer.basalt", TypeKind::kInt64, "plain",
                      static_cast<uint64_t>(transfer_gib() * 128), uint64_t{},
                      [](uint64_t i) { return i * 0x9E3779B97F4A7C15ull >> 8; });
  const std::string& path = made.path();
  const std::shared_ptr<const File> file = File::open(path);
  Pipeline pipeline;
  pipeline.files = {file};
  Aggregate sum;
  sum.op = AggregateOp::kSum;
  sum.arg = column(*file, "v", pipeline.columns);
  pipeline.aggregates = {sum};
  const double copy = page_cache_gbs(path, file->source().size());
  const double checked = checked_gbs(*file);
  add("all cores copy the page cache", copy, "GB/s");
  add("all cores copy, compare checksums, validate", checked, "GB/s");
  add("copy with checksums / copy", 100 * checked / copy, "%");
  if (host_to_device_gbs == 0) return;
  RunReport report;
  std::vector<double> rates;
  std::vector<double> transfers;
  for (int i = 0; i < 6; ++i) {
    gpu().backend->drop_cache();
    run_pipeline(pipeline, on_gpu(), &report);
    if (i > 0) rates.push_back(touched_bytes(pipeline) / report.total_ms / 1e6);
    if (i > 0) transfers.push_back(touched_bytes(pipeline) / report.transfer_ms / 1e6);
  }
  add("file to device, bytes", touched_bytes(pipeline) / 1e9, "GB");
  add("file to device, whole statement", median(rates), "GB/s");
  add("file to device, first copy's begin to last copy's end", median(transfers), "GB/s");
  add("ceiling: pinned transfer", host_to_device_gbs, "GB/s");
  add("pinned transfer beside copies of the page cache", transfer_beside_copies_gbs(path, file->source().size()),
      "GB/s");
  add("file to device: share of the lower ceiling", 100 * median(rates) / std::min(copy, host_to_device_gbs), "%", 90);
}

int run(int argc, char** argv) {
  if (gpu().backend == nullptr) {
    std::fprintf(stderr, "no GPU: %s\n", gpu().reason.c_str());
    transfer(0);
    return 1;
  }
  const GpuBandwidth bandwidth = gpu().backend->measure_bandwidth();
  add("ceiling: device read", bandwidth.read_gbs, "GB/s");
  if (const char* path = std::getenv("BASALT_BENCH_FILE"); path != nullptr) {
    const std::shared_ptr<const File> file = File::open(path);
    resident("Q6", q6(file), bandwidth.read_gbs, 70);
    resident("count(*) where l_partkey < x", count_below(file, "l_partkey", 1000000), bandwidth.read_gbs, 0);
    larger_than_memory(q6(file));
  } else {
    std::printf("Q6 left out: BASALT_BENCH_FILE names no lineitem.basalt\n");
  }
  packed_count(bandwidth.read_gbs);
  transfer(bandwidth.host_to_device_gbs);
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) write_json("statements_gpu", argv[i + 1]);
  }
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run_or_say_why(basalt::bench::run, argc, argv); }
