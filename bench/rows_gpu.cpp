// Rows on the GPU through the library: the first of an order over one resident column, as a share of the read ceiling,
// and rows that are brought to the host, as a share of what pinned copies take.
//
//   rows_gpu_bench [--json FILE]
#include <cstdio>
#include <cstring>

#include "basalt/core/types.h"
#include "statements.h"

namespace basalt::bench {
namespace {

constexpr uint64_t kFirstChunks = 256;  // 2^28 rows
constexpr uint64_t kFetchedRows = 10'000'000;
constexpr uint64_t kFetchedColumns = 8;

uint64_t scattered(uint64_t i) {
  i = (i ^ i >> 30) * 0xBF58476D1CE4E5B9ull;
  i = (i ^ i >> 27) * 0x94D049BB133111EBull;
  return i ^ i >> 31;
}

Field bigint_field(const std::string& name) {
  Field field;
  field.name = name;
  field.type = DataType::bigint();
  return field;
}

Query rows_of(const MadeFile& made) {
  Query query;
  Pipeline& stage = query.stages.emplace_back();
  stage.files = {File::open(made.path())};
  stage.sink = Sink::kRows;
  stage.rows = {column(*stage.files[0], "v", stage.columns)};
  stage.output = {bigint_field("v")};
  return query;
}

void expect_same(const Query& query, const Table& got) {
  RunOptions cpu = on_gpu();
  cpu.device = Device::kCpu;
  const Table wanted = run_query(query, cpu);
  for (size_t i = 0; i < wanted.columns.size(); ++i) {
    if (wanted.rows != got.rows || !equal(wanted.columns[i], got.columns[i])) {
      throw Error(ErrorCode::kInternal, "the GPU's rows differ from the CPU's");
    }
  }
}

struct Times {
  double kernel_ms = 0;
  double total_ms = 0;
};

Times measure_rows(const Query& query, int runs) {
  RunReport report;
  run_query(query, on_gpu(), &report);
  std::vector<double> kernel;
  std::vector<double> total;
  for (int i = 0; i < runs; ++i) {
    run_query(query, on_gpu(), &report);
    kernel.push_back(report.kernel_ms);
    total.push_back(report.total_ms);
  }
  return {median(kernel), median(total)};
}

void first_of_an_order(const MadeFile& made, double read_gbs) {
  Query query = rows_of(made);
  Pipeline& stage = query.stages[0];
  for (const bool descending : {false, true}) {
    for (const uint64_t limit : {uint64_t{10}, uint64_t{1000}, uint64_t{100'000}}) {
      stage.order = {{0, descending, false}};
      stage.limit = limit;
      if (limit == 10) expect_same(query, run_query(query, on_gpu()));
      const Times times = measure_rows(query, 11);
      const std::string name =
          std::string("order by v ") + (descending ? "desc " : "") + "limit " + std::to_string(limit);
      add(name + ": kernels", times.kernel_ms, "ms");
      add(name + ": total", times.total_ms, "ms");
      add(name + ": share of the read ceiling", 100 * touched_bytes(stage) / times.kernel_ms / 1e6 / read_gbs, "%",
          limit == 10 ? 50 : 0);
    }
  }
}

void rows_to_the_host(const MadeFile& made, double copy_gbs) {
  Query query = rows_of(made);
  Pipeline& stage = query.stages[0];
  const Expr v = stage.rows[0];
  for (uint64_t i = 1; i < kFetchedColumns; ++i) {
    Expr more;
    more.op = ExprOp::kAdd;
    more.type = Physical::kI64;
    more.args = {v, literal(static_cast<int64_t>(i))};
    stage.rows.push_back(std::move(more));
    stage.output.push_back(bigint_field("v" + std::to_string(i)));
  }
  stage.limit = kFetchedRows;
  const Times times = measure_rows(query, 7);
  const double bytes = static_cast<double>(kFetchedRows * kFetchedColumns * sizeof(int64_t));
  add("10^7 rows of 8 columns: kernels", times.kernel_ms, "ms");
  add("10^7 rows of 8 columns: total", times.total_ms, "ms");
  add("10^7 rows of 8 columns: share of pinned copies", 100 * bytes / times.total_ms / 1e6 / copy_gbs, "%", 60);
}

int run(int argc, char** argv) {
  if (gpu().backend == nullptr) {
    std::fprintf(stderr, "no GPU: %s\n", gpu().reason.c_str());
    return 1;
  }
  const GpuBandwidth bandwidth = gpu().backend->measure_bandwidth();
  add("ceiling: device read", bandwidth.read_gbs, "GB/s");
  add("ceiling: pinned copies, host to device", bandwidth.host_to_device_gbs, "GB/s");
  const MadeFile made("basalt_bench_rows.basalt", TypeKind::kInt64, "packed", kFirstChunks, int64_t{},
                      [](uint64_t i) { return static_cast<int64_t>(scattered(i) & 0xFFFFFFFF); });
  first_of_an_order(made, bandwidth.read_gbs);
  rows_to_the_host(made, bandwidth.host_to_device_gbs);
  if (argc > 2 && std::strcmp(argv[1], "--json") == 0) write_json("rows_gpu", argv[2]);
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run_or_say_why(basalt::bench::run, argc, argv); }
