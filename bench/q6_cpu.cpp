// TPC-H Q6 and a full sum over each numeric column of a table shaped like lineitem, through the CPU interpreter: from a
// file in the page cache, checksums verified, decoded, filtered and aggregated. Each line states rows and encoded bytes
// per second beside plain memcpy of the same run. BASALT_BENCH_ROWS sets the rows (6 million: scale 1), and
// BASALT_BENCH_FILE names a lineitem.basalt to use instead of the generated table.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>

#include "basalt/exec/pipeline.h"
#include "basalt/file/reader.h"
#include "basalt/file/writer.h"
#include "bench/cpu_clock.h"

namespace basalt {
namespace {

constexpr uint64_t kAppendRows = 1 << 18;

Field field(const char* name, DataType type) {
  Field out;
  out.name = name;
  out.type = type;
  out.nullable = false;
  return out;
}

Schema lineitem_schema() {
  const DataType decimal{TypeKind::kDecimal, 15, 2};
  Schema schema;
  schema.fields = {field("l_orderkey", {TypeKind::kInt64}),
                   field("l_partkey", {TypeKind::kInt64}),
                   field("l_suppkey", {TypeKind::kInt64}),
                   field("l_linenumber", {TypeKind::kInt64}),
                   field("l_quantity", decimal),
                   field("l_extendedprice", decimal),
                   field("l_discount", decimal),
                   field("l_tax", decimal),
                   field("l_shipdate", {TypeKind::kDate})};
  number_fields(schema);
  return schema;
}

// Value ranges and dependencies of dbgen, without its text columns.
Table lineitem_rows(const Schema& schema, uint64_t first, uint64_t count, std::mt19937_64& random) {
  Table table;
  table.schema = schema;
  table.rows = count;
  for (const Field& f : schema.fields) {
    table.columns.push_back(make_column(f));
    table.columns.back().length = count;
    table.columns.back().values.resize(count * width_of(physical_of(f.type)));
  }
  const auto column = [&](size_t i) { return table.columns[i].values.as<int64_t>(); };
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t order = (first + i) / 4;
    column(0)[i] = static_cast<int64_t>(order / 8 * 32 + order % 8 + 1);
    const auto part = static_cast<int64_t>(random() % 200000 + 1);
    column(1)[i] = part;
    column(2)[i] = static_cast<int64_t>(random() % 10000 + 1);
    column(3)[i] = static_cast<int64_t>((first + i) % 4 + 1);
    const auto quantity = static_cast<int64_t>(random() % 50 + 1);
    column(4)[i] = quantity * 100;
    column(5)[i] = quantity * (90000 + (part / 10) % 20001 + 100 * (part % 1000));
    column(6)[i] = static_cast<int64_t>(random() % 11);
    column(7)[i] = static_cast<int64_t>(random() % 9);
    table.columns[8].values.as<int32_t>()[i] = static_cast<int32_t>(8036 + random() % 2526);
  }
  return table;
}

class LineitemFile {
 public:
  LineitemFile() {
    if (const char* given = std::getenv("BASALT_BENCH_FILE"); given != nullptr) {
      file_ = File::open(given);
      return;
    }
    const char* rows_text = std::getenv("BASALT_BENCH_ROWS");
    const uint64_t rows = rows_text != nullptr ? std::strtoull(rows_text, nullptr, 10) : 6000000;
    path_ = (std::filesystem::temp_directory_path() / "basalt_bench_lineitem.basalt").string();
    const Schema schema = lineitem_schema();
    Writer writer(path_, schema);
    std::mt19937_64 random(1);
    for (uint64_t row = 0; row < rows; row += kAppendRows) {
      writer.append(lineitem_rows(schema, row, std::min(kAppendRows, rows - row), random));
    }
    writer.finish();
    file_ = File::open(path_);
  }
  ~LineitemFile() {
    if (!path_.empty()) std::remove(path_.c_str());
  }
  const std::shared_ptr<const File>& file() const { return file_; }

 private:
  std::string path_;
  std::shared_ptr<const File> file_;
};

const std::shared_ptr<const File>& lineitem() {
  static const LineitemFile file;
  return file.file();
}

Expr column_of(Pipeline& pipeline, const std::string& name) {
  const File& file = *pipeline.files[0];
  const Field& f = file.schema().fields[file.find_column(name)];
  Expr out;
  out.op = ExprOp::kColumn;
  out.type = physical_of(f.type);
  out.column = static_cast<uint32_t>(pipeline.columns.size());
  pipeline.columns.push_back({f.id, f.name, f.type});
  return out;
}

Expr compare(ExprOp op, const Expr& column, int64_t literal) {
  Expr value;
  value.op = ExprOp::kLiteral;
  value.type = column.type;
  value.literal = Value::of_integer(column.type, literal);
  Expr out;
  out.op = op;
  out.type = Physical::kU8;
  out.args = {column, value};
  return out;
}

void run(benchmark::State& state, const Pipeline& pipeline) {
  RunOptions options;
  options.device = Device::kCpu;
  options.threads = static_cast<uint32_t>(state.range(0));
  RunReport report;
  for (auto _ : state) {
    const std::vector<Value> values = run_pipeline(pipeline, options, &report);
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(report.rows) * state.iterations());
  state.SetBytesProcessed(static_cast<int64_t>(report.encoded_bytes_read) * state.iterations());
  state.counters["encoded_MB"] = static_cast<double>(report.encoded_bytes_read) / 1e6;
  state.counters["memcpy_GB/s"] = bench::memcpy_rate() / 1e9;
}

void Q6(benchmark::State& state) {
  Pipeline pipeline;
  pipeline.files = {lineitem()};
  const Expr shipdate = column_of(pipeline, "l_shipdate");
  const Expr discount = column_of(pipeline, "l_discount");
  const Expr quantity = column_of(pipeline, "l_quantity");
  const Expr price = column_of(pipeline, "l_extendedprice");
  pipeline.has_filter = true;
  pipeline.filter.op = ExprOp::kAnd;
  pipeline.filter.type = Physical::kU8;
  pipeline.filter.args = {compare(ExprOp::kGreaterEqual, shipdate, 8766), compare(ExprOp::kLess, shipdate, 9131),
                          compare(ExprOp::kGreaterEqual, discount, 5), compare(ExprOp::kLessEqual, discount, 7),
                          compare(ExprOp::kLess, quantity, 2400)};
  Aggregate revenue;
  revenue.op = AggregateOp::kSum;
  revenue.arg.op = ExprOp::kMultiply;
  revenue.arg.type = Physical::kI64;
  revenue.arg.args = {price, discount};
  pipeline.aggregates = {revenue};
  run(state, pipeline);
}

void Sum(benchmark::State& state, const std::string& name) {
  Pipeline pipeline;
  pipeline.files = {lineitem()};
  Aggregate sum;
  sum.op = AggregateOp::kSum;
  sum.arg = column_of(pipeline, name);
  pipeline.aggregates = {sum};
  run(state, pipeline);
}

BENCHMARK(Q6)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace basalt

int main(int argc, char** argv) {
  for (const char* name : {"l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice",
                           "l_discount", "l_tax"}) {
    benchmark::RegisterBenchmark((std::string("Sum/") + name).c_str(),
                                 [name](benchmark::State& state) { basalt::Sum(state, name); })
        ->Arg(1)
        ->Arg(2)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
