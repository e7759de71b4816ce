// The same pipelines on both backends: equal values, equal errors; memory smaller than the data; second runs that
// compile and transfer nothing.
#include <algorithm>
#include <functional>
#include <limits>

#include "basalt/exec/expressions.h"
#include "cuda/gpu.h"
#include "cuda/pipelines.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

TEST(GpuPipeline, RandomStatementsGiveTheInterpretersAnswers) {
  BASALT_NEEDS_GPU();
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    const TestTable table = random_table(random, 20000 + below(random, 30000), 8192 * (1 + below(random, 3)));
    std::vector<uint32_t> fixed;
    for (uint32_t i = 0; i < table.columns.size(); ++i) {
      if (width_of(physical_of(table.columns[i].type)) > 0) fixed.push_back(i);
    }
    std::shuffle(fixed.begin(), fixed.end(), random);
    fixed.resize(std::min<size_t>(3, fixed.size()));
    Subset subset = subset_of(table, fixed);
    Pipeline& pipeline = subset.pipeline;
    pipeline.has_filter = seed % 4 != 0;
    if (pipeline.has_filter) pipeline.filter = random_predicate(random, subset.columns, 2, false);
    pipeline.aggregates.push_back(aggregate(AggregateOp::kCountStar));
    for (uint32_t i = 0; i < fixed.size(); ++i) {
      for (const AggregateOp op :
           {AggregateOp::kCount, AggregateOp::kSum, AggregateOp::kMin, AggregateOp::kMax, AggregateOp::kAvg}) {
        pipeline.aggregates.push_back(aggregate(op, column_of(subset, i)));
      }
    }
    ASSERT_EQ(gpu().backend->why_not(pipeline), "") << "seed " << seed;
    RunReport report;
    const std::string expected = outcome(pipeline, {}, Device::kCpu);
    EXPECT_EQ(outcome(pipeline, {}, Device::kCuda, &report), expected) << "seed " << seed << "\n"
                                                                       << report.kernel_source;
    // An overflow is found again by the interpreter, which words the error.
    const bool overflowed = expected == to_string(ErrorCode::kOutOfRange);
    EXPECT_EQ(report.ran_on, overflowed ? Device::kCpu : Device::kCuda) << "seed " << seed;
    RunOptions unpruned;
    unpruned.prune = false;
    EXPECT_EQ(outcome(pipeline, unpruned, Device::kCuda), expected) << "seed " << seed << ", unpruned";
    EXPECT_EQ(outcome(pipeline, {}, Device::kCuda), expected) << "seed " << seed << ", again";
  }
}

TEST(GpuPipeline, ArithmeticOverflowsWhereTheInterpreterDoes) {
  BASALT_NEEDS_GPU();
  const uint64_t rows = 10000;
  std::vector<int64_t> large(rows);
  std::vector<int64_t> small(rows);
  for (uint64_t i = 0; i < rows; ++i) {
    large[i] = static_cast<int64_t>(i) * 1'000'000'000'000;
    small[i] = static_cast<int64_t>(i % 100);
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType{TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, large));
  columns.push_back(make_fixed(DataType{TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, small));
  const TestTable table = write_table(std::move(columns), {}, 8192);
  Subset subset = subset_of(table, {0, 1});
  Pipeline& pipeline = subset.pipeline;
  const Expr a = column_of(subset, 0);
  const Expr b = column_of(subset, 1);
  pipeline.aggregates = {aggregate(AggregateOp::kSum, make_expr(ExprOp::kMultiply, Physical::kI64, {a, b}))};
  EXPECT_EQ(outcome(pipeline, {}, Device::kCuda), outcome(pipeline, {}, Device::kCpu));
  pipeline.aggregates = {aggregate(AggregateOp::kMax, make_expr(ExprOp::kMultiply, Physical::kI64, {a, a}))};
  EXPECT_EQ(outcome(pipeline, {}, Device::kCpu), to_string(ErrorCode::kOutOfRange));
  EXPECT_EQ(outcome(pipeline, {}, Device::kCuda), to_string(ErrorCode::kOutOfRange));
  // Rows that the filter removes do not count.
  pipeline.has_filter = true;
  pipeline.filter = make_expr(ExprOp::kLess, Physical::kU8, {a, integer_expr(Physical::kI64, 1'000'000'000)});
  EXPECT_EQ(outcome(pipeline, {}, Device::kCuda), outcome(pipeline, {}, Device::kCpu));
}

TestTable numbers(uint64_t rows, uint64_t chunk_rows) {
  Random random(5);
  std::vector<int32_t> dates(rows);
  std::vector<int64_t> prices(rows);
  std::vector<double> weights(rows);
  for (uint64_t i = 0; i < rows; ++i) {
    dates[i] = static_cast<int32_t>(8000 + below(random, 2500));
    prices[i] = static_cast<int64_t>(below(random, 10'000'000));
    weights[i] = static_cast<double>(below(random, 1000)) / 7;
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType{TypeKind::kInt32, 0, 0, TimeUnit::kMicro}, dates));
  columns.push_back(make_fixed(DataType{TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, prices));
  columns.push_back(make_fixed(DataType{TypeKind::kFloat64, 0, 0, TimeUnit::kMicro}, weights));
  return write_table(std::move(columns), {"packed", "packed", "plain"}, chunk_rows);
}

Subset statement_over(const TestTable& table) {
  Subset subset = subset_of(table, {0, 1, 2});
  Pipeline& pipeline = subset.pipeline;
  pipeline.has_filter = true;
  pipeline.filter = make_expr(ExprOp::kLess, Physical::kU8, {column_of(subset, 0), integer_expr(Physical::kI32, 9000)});
  pipeline.aggregates = {aggregate(AggregateOp::kCountStar), aggregate(AggregateOp::kSum, column_of(subset, 1)),
                         aggregate(AggregateOp::kSum, column_of(subset, 2)),
                         aggregate(AggregateOp::kMax, column_of(subset, 2))};
  return subset;
}

// Decimals as galp stores them, with values between that are none, in chunks of several encodings; literals that are
// values of the column, lie between two of them, or are special.
template <typename T>
void expect_decimal_statements(TypeKind kind, Physical physical) {
  Random random(19);
  std::vector<T> prices(60'000);
  for (size_t i = 0; i < prices.size(); ++i) {
    prices[i] = static_cast<T>(static_cast<double>(below(random, 4000)) / 100 - 10);
    if (i > 0 && i / 7000 % 2 == 1 && below(random, 3) != 0) prices[i] = prices[i - 1];
    if (below(random, 200) == 0) prices[i] = std::numeric_limits<T>::quiet_NaN();
    if (below(random, 200) == 0) prices[i] = static_cast<T>(-0.0);
    if (below(random, 200) == 0) prices[i] = static_cast<T>(below(random, 1000)) / 7;
  }
  for (const char* tree : {"galp(packed)", "galp(delta(packed))", "galp(rle(packed, packed))", "galp(l3)",
                           "galp(plain)", "plain", "dict(packed, plain)"}) {
    std::vector<Column> columns;
    columns.push_back(make_fixed(DataType{kind, 0, 0, TimeUnit::kMicro}, prices));
    const TestTable table = write_table(std::move(columns), {tree}, 16384);
    Subset subset = subset_of(table, {0});
    Pipeline& pipeline = subset.pipeline;
    const Expr price = column_of(subset, 0);
    pipeline.aggregates.push_back(aggregate(AggregateOp::kCountStar));
    for (const AggregateOp op :
         {AggregateOp::kCount, AggregateOp::kSum, AggregateOp::kMin, AggregateOp::kMax, AggregateOp::kAvg}) {
      pipeline.aggregates.push_back(aggregate(op, price));
    }
    Pipeline sums = pipeline;  // which are done at once where nothing else is asked for
    sums.aggregates = {aggregate(AggregateOp::kSum, price), aggregate(AggregateOp::kAvg, price)};
    Pipeline count = pipeline;  // whose tiles are taken in groups
    count.aggregates = {aggregate(AggregateOp::kCountStar)};
    for (Pipeline* either : {&pipeline, &sums, &count}) {
      EXPECT_EQ(outcome(*either, {}, Device::kCuda), outcome(*either, {}, Device::kCpu)) << tree;
      either->has_filter = true;
    }
    RunOptions unpruned;
    unpruned.prune = false;
    for (const double value : {0.0, 1.25, 1.2501, -3.0, 1e300, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
      Expr literal;
      literal.type = physical;
      literal.literal = Value::of_real(physical, static_cast<double>(static_cast<T>(value)));
      for (const ExprOp op : {ExprOp::kLess, ExprOp::kLessEqual, ExprOp::kGreater, ExprOp::kGreaterEqual,
                              ExprOp::kEqual, ExprOp::kNotEqual}) {
        for (Pipeline* either : {&pipeline, &sums, &count}) {
          either->filter = make_expr(op, Physical::kU8, {price, literal});
          EXPECT_EQ(outcome(*either, unpruned, Device::kCuda), outcome(*either, unpruned, Device::kCpu))
              << tree << ", operator " << static_cast<int>(op) << ", literal " << value;
        }
      }
    }
  }
}

TEST(GpuPipeline, FloatsAsDecimals) {
  BASALT_NEEDS_GPU();
  expect_decimal_statements<double>(TypeKind::kFloat64, Physical::kF64);
  expect_decimal_statements<float>(TypeKind::kFloat32, Physical::kF32);
}

// Few tiles, for compute-sanitizer: tests that take tiles in groups, sums in one pass, and both the other way.
TEST(GpuSmall, StatementsOverDecimals) {
  BASALT_NEEDS_GPU();
  Random random(20);
  std::vector<double> prices(5000);
  for (size_t i = 0; i < prices.size(); ++i) {
    prices[i] = static_cast<double>(below(random, 4000)) / 100;
    if (below(random, 60) == 0) prices[i] = static_cast<double>(below(random, 1000)) / 7;
  }
  for (const char* tree : {"galp(packed)", "galp(l3)"}) {
    std::vector<Column> columns;
    columns.push_back(make_fixed(DataType{TypeKind::kFloat64, 0, 0, TimeUnit::kMicro}, prices));
    const TestTable table = write_table(std::move(columns), {tree}, 8192);
    Subset subset = subset_of(table, {0});
    Pipeline& pipeline = subset.pipeline;
    const Expr price = column_of(subset, 0);
    Expr literal;
    literal.type = Physical::kF64;
    literal.literal = Value::of_real(Physical::kF64, 17.25);
    pipeline.has_filter = true;
    pipeline.filter = make_expr(ExprOp::kLess, Physical::kU8, {price, literal});
    RunOptions unpruned;
    unpruned.prune = false;
    for (const Aggregate& asked : {aggregate(AggregateOp::kCountStar), aggregate(AggregateOp::kSum, price),
                                   aggregate(AggregateOp::kMax, price)}) {
      pipeline.aggregates = {asked};
      EXPECT_EQ(outcome(pipeline, unpruned, Device::kCuda), outcome(pipeline, unpruned, Device::kCpu)) << tree;
    }
  }
}

// One column that is filtered and summed, in the encodings that do both at once: ranges of every kind, values of either
// sign, chunks whose last tile is not full.
TEST(GpuPipeline, OneColumnFilteredAndSummed) {
  BASALT_NEEDS_GPU();
  Random random(29);
  std::vector<int64_t> curve;
  std::vector<int32_t> noise;
  for (int64_t i = 0; i < 70'000; ++i) {
    curve.push_back(i * i / 4 - 100'000'000 + static_cast<int64_t>(below(random, 500)));
    noise.push_back(static_cast<int32_t>(below(random, 1 << 20)) - (1 << 19));
  }
  for (const char* tree : {"l3", "packed"}) {
    std::vector<Column> columns;
    columns.push_back(make_fixed(DataType{TypeKind::kInt64, 0, 0, TimeUnit::kMicro}, curve));
    columns.push_back(make_fixed(DataType{TypeKind::kInt32, 0, 0, TimeUnit::kMicro}, noise));
    const TestTable table = write_table(std::move(columns), {tree, tree}, 16384);
    for (const uint32_t index : {0u, 1u}) {
      Subset subset = subset_of(table, {index});
      Pipeline& pipeline = subset.pipeline;
      const Expr v = column_of(subset, 0);
      pipeline.aggregates = {aggregate(AggregateOp::kCountStar), aggregate(AggregateOp::kSum, v),
                             aggregate(AggregateOp::kAvg, v), aggregate(AggregateOp::kCount, v)};
      EXPECT_EQ(outcome(pipeline, {}, Device::kCuda), outcome(pipeline, {}, Device::kCpu)) << tree;
      pipeline.has_filter = true;
      for (const int64_t literal : {int64_t{-200'000'000}, int64_t{-1}, int64_t{0}, int64_t{77'777}}) {
        for (const ExprOp op : {ExprOp::kLess, ExprOp::kGreaterEqual, ExprOp::kEqual, ExprOp::kNotEqual}) {
          pipeline.filter = make_expr(op, Physical::kU8, {v, integer_expr(v.type, literal)});
          EXPECT_EQ(outcome(pipeline, {}, Device::kCuda), outcome(pipeline, {}, Device::kCpu))
              << tree << ", column " << index << ", operator " << static_cast<int>(op) << ", literal " << literal;
        }
      }
    }
  }
}

// Entries that a kernel could not look up as they are stored.
TEST(GpuPipeline, DictionariesWithNestedEntries) {
  BASALT_NEEDS_GPU();
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 30'000; ++i) values.push_back(i * i % 7919 * 1001 - 100'000);
  for (const char* tree : {"dict(packed, l3)", "delta(dict(packed, l3))", "dict(l3, l3)"}) {
    std::vector<Column> columns;
    columns.push_back(make_fixed<int64_t>({TypeKind::kInt64}, values));
    const TestTable table = write_table(std::move(columns), {tree}, 8192);
    Subset subset = subset_of(table, {0});
    subset.pipeline.aggregates.push_back(aggregate(AggregateOp::kSum, column_of(subset, 0)));
    subset.pipeline.aggregates.push_back(aggregate(AggregateOp::kMax, column_of(subset, 0)));
    EXPECT_EQ(gpu().backend->why_not(subset.pipeline), "") << tree;
    EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda), outcome(subset.pipeline, {}, Device::kCpu)) << tree;
  }
}

TEST(GpuPipeline, MemorySmallerThanTheDataChangesNothing) {
  BASALT_NEEDS_GPU();
  const TestTable table = numbers(500'000, 16384);
  const Subset subset = statement_over(table);
  const std::string expected = outcome(subset.pipeline, {}, Device::kCpu);
  gpu().backend->drop_cache();
  RunOptions small;
  small.gpu_memory = 1 << 20;  // the data is about 6 MB
  RunReport report;
  EXPECT_EQ(outcome(subset.pipeline, small, Device::kCuda, &report), expected);
  EXPECT_GT(report.bytes_transferred, small.gpu_memory);
  EXPECT_LE(gpu().backend->cached_bytes(), small.gpu_memory);
  RunOptions tiny;
  tiny.gpu_memory = 1 << 10;
  EXPECT_EQ(outcome(subset.pipeline, tiny, Device::kCuda), to_string(ErrorCode::kOutOfMemory));
}

TEST(GpuPipeline, SecondRunCompilesAndTransfersNothing) {
  BASALT_NEEDS_GPU();
  const TestTable table = numbers(300'000, 65536);
  Subset subset = statement_over(table);
  gpu().backend->drop_cache();
  RunReport first;
  RunReport second;
  const std::string expected = outcome(subset.pipeline, {}, Device::kCuda, &first);
  EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda, &second), expected);
  EXPECT_GT(first.bytes_transferred, 0u);
  EXPECT_EQ(second.bytes_transferred, 0u);
  EXPECT_EQ(second.compile_ms, 0.0);
  EXPECT_EQ(second.tiles.total, first.tiles.total);
  EXPECT_EQ(second.tiles.skipped, first.tiles.skipped);
  // Another literal: the same kernel, the same chunks, another answer.
  subset.pipeline.filter.args[1] = integer_expr(Physical::kI32, 8500);
  RunReport other;
  EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda, &other), outcome(subset.pipeline, {}, Device::kCpu));
  EXPECT_EQ(other.compile_ms, 0.0);
  EXPECT_EQ(other.bytes_transferred, 0u);
}

TEST(GpuPipeline, AFileListedTwiceIsKeptOnce) {
  BASALT_NEEDS_GPU();
  const TestTable table = numbers(300'000, 65536);
  Subset subset = statement_over(table);
  gpu().backend->drop_cache();
  outcome(subset.pipeline, {}, Device::kCuda);
  const uint64_t once = gpu().backend->cached_bytes();
  subset.pipeline.files.push_back(table.file);
  const std::string expected = outcome(subset.pipeline, {}, Device::kCpu);
  gpu().backend->drop_cache();
  for (int round = 0; round < 2; ++round) {
    RunReport report;
    EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda, &report), expected);
    EXPECT_EQ(gpu().backend->cached_bytes(), once);
    EXPECT_EQ(report.bytes_transferred > 0, round == 0);
  }
}

// One range over each column: the kernel counts as the interpreter does, and again when everything is resident.
TEST(GpuPipeline, TilesAreCountedByWhatDecidedThem) {
  BASALT_NEEDS_GPU();
  Random random(8);
  std::vector<int64_t> line;
  std::vector<int64_t> noise;
  std::vector<int64_t> runs;
  std::vector<int64_t> steps;  // bounds of packed tiles decide
  for (int64_t i = 0; i < 64 * int64_t{kTileRows}; ++i) {
    line.push_back(1000 * i + static_cast<int64_t>(below(random, 16)));
    noise.push_back(static_cast<int64_t>(below(random, 1 << 20)));
    runs.push_back(i / 300 * 7919 % 100003);
    steps.push_back(i / kTileRows * 1000 + static_cast<int64_t>(below(random, 100)));
  }
  const DataType type{TypeKind::kInt64, 0, 0, TimeUnit::kMicro};
  std::vector<Column> columns;
  for (const auto& values : {line, noise, runs, steps}) columns.push_back(make_fixed(type, values));
  const TestTable table = write_table(std::move(columns), {"l3", "l3", "l3", "packed"}, 65536);
  const int64_t literals[] = {line[10 * kTileRows + 500], 1 << 19, 50'000, 20'050};
  for (uint32_t i = 0; i < 4; ++i) {
    Subset subset = subset_of(table, {i});
    subset.pipeline.has_filter = true;
    subset.pipeline.filter =
        make_expr(ExprOp::kLess, Physical::kU8, {column_of(subset, 0), integer_expr(Physical::kI64, literals[i])});
    subset.pipeline.aggregates = {aggregate(AggregateOp::kCountStar)};
    RunReport expected;
    const std::string answer = outcome(subset.pipeline, {}, Device::kCpu, &expected);
    for (const char* run : {"first", "second"}) {
      RunReport report;
      EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda, &report), answer) << run << " run, column " << i;
      EXPECT_EQ(report.tiles.total, expected.tiles.total) << i;
      EXPECT_EQ(report.tiles.skipped, expected.tiles.skipped) << i;
      EXPECT_EQ(report.tiles.all_true, expected.tiles.all_true) << i;
      EXPECT_EQ(report.tiles.by_bounds, expected.tiles.by_bounds) << run << " run, column " << i;
      EXPECT_EQ(report.tiles.by_model, expected.tiles.by_model) << run << " run, column " << i;
      EXPECT_EQ(report.tiles.decoded, expected.tiles.decoded) << run << " run, column " << i;
    }
    // Sums read what bounds do not decide, whatever the models are.
    subset.pipeline.aggregates = {aggregate(AggregateOp::kSum, column_of(subset, 0))};
    const std::string sum = outcome(subset.pipeline, {}, Device::kCpu, &expected);
    RunReport report;
    EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda, &report), sum) << "column " << i;
    EXPECT_EQ(report.tiles.by_model, 0u) << i;
    EXPECT_EQ(report.tiles.by_bounds, i == 2 ? 0 : expected.tiles.by_bounds) << i;
  }
}

TEST(GpuPipeline, CancelledRunsLeaveTheBackendUsable) {
  BASALT_NEEDS_GPU();
  const TestTable table = numbers(100'000, 8192);
  const Subset subset = statement_over(table);
  gpu().backend->drop_cache();
  CancelToken cancel;
  cancel.cancel();
  RunOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(outcome(subset.pipeline, options, Device::kCuda), to_string(ErrorCode::kCancelled));
  EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda), outcome(subset.pipeline, {}, Device::kCpu));
}

TEST(GpuBackend, SaysWhatItRunsOn) {
  BASALT_NEEDS_GPU();
  const std::vector<GpuInfo> devices = gpu().backend->devices();
  ASSERT_FALSE(devices.empty());
  EXPECT_FALSE(devices[0].name.empty());
  EXPECT_GE(devices[0].major, 7);
  EXPECT_GT(devices[0].multiprocessors, 0);
  const GpuBandwidth bandwidth = gpu().backend->measure_bandwidth();
  EXPECT_GT(bandwidth.copy_gbs, 1);
  EXPECT_GT(bandwidth.read_gbs, 1);
  EXPECT_GT(bandwidth.host_to_device_gbs, 0.1);
}

TEST(GpuLoader, WithoutABackendThereIsAReason) {
  if (gpu().backend == nullptr) {
    EXPECT_FALSE(gpu().reason.empty());
  } else {
    EXPECT_FALSE(gpu().backend->devices().empty());
  }
}

}  // namespace
}  // namespace basalt::test
