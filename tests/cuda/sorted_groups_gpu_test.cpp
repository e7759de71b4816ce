// Groups of sorted keys: which statistics prove that they are, and their groups on the GPU against the interpreter's.
#include <algorithm>
#include <limits>

#include "basalt/exec/expressions.h"
#include "cuda/group_statements.h"
#include "exec/device/generate/generate.h"

namespace basalt::test {
namespace {

enum SortedColumn : uint32_t {
  kRising,   // runs of four on average
  kFalling,  // runs of hundreds, of any 64 bits less one
  kName,     // strings by their codes
  kUnique,
  kWithNull,  // sorted, but for NULL
  kOfChunks,  // sorted in each chunk only
  kAmount,    // with NULLs
  kReal,      // with infinities
  kBalance,   // of 128 bits
  kSortedColumns
};

constexpr uint64_t kChunkRows = 8192;

TestTable sorted_table(uint64_t rows) {
  Random random(rows);
  std::vector<int64_t> rising(rows), falling(rows), unique(rows), with_null(rows), of_chunks(rows);
  std::vector<std::string> names(rows);
  std::vector<int32_t> amounts(rows);
  std::vector<double> reals(rows);
  std::vector<int128_t> balances(rows);
  std::vector<uint64_t> no_amount;
  int64_t key = -5;
  int64_t large = INT64_MAX / 4;
  for (uint64_t i = 0; i < rows; ++i) {
    if (below(random, 4) == 0) key += 1 + static_cast<int64_t>(below(random, 3));
    if (below(random, 300) == 0) large -= static_cast<int64_t>(random() >> 12);
    rising[i] = key;
    falling[i] = large;
    unique[i] = static_cast<int64_t>(i * 3);
    with_null[i] = key;
    of_chunks[i] = static_cast<int64_t>(i % kChunkRows / 5);
    names[i] = "name " + std::to_string(1000 + i * 40 / rows);
    amounts[i] = static_cast<int32_t>(below(random, 4000)) - 2000;
    reals[i] = i % 977 == 5 ? std::numeric_limits<double>::infinity() : static_cast<double>(below(random, 1000)) / 7;
    balances[i] = (static_cast<int128_t>(below(random, 700)) - 350) * 100'000'000'000'000'000 * 1'000'000'000;
    if (below(random, 5) == 0) no_amount.push_back(i);
  }
  const DataType bigint{TypeKind::kInt64, 0, 0, kMicro};
  std::vector<Column> columns;
  columns.push_back(make_fixed(bigint, rising));
  columns.push_back(make_fixed(bigint, falling));
  columns.push_back(make_strings(names));
  columns.push_back(make_fixed(bigint, unique));
  columns.push_back(make_fixed(bigint, with_null));
  columns.push_back(make_fixed(bigint, of_chunks));
  columns.push_back(make_fixed(DataType{TypeKind::kInt32, 0, 0, kMicro}, amounts));
  columns.push_back(make_fixed(DataType{TypeKind::kFloat64, 0, 0, kMicro}, reals));
  columns.push_back(make_fixed(DataType{TypeKind::kDecimal, 38, 2, kMicro}, balances));
  set_nulls(columns[kWithNull], {rows / 2});
  set_nulls(columns[kAmount], no_amount);
  std::vector<std::string> trees(kSortedColumns);
  trees[kName] = "dict(packed, strings(packed, plain))";
  return write_table(std::move(columns), trees, kChunkRows);
}

std::vector<Statement> statements_by(const TestTable& table, const std::string& name, uint32_t key) {
  Pipeline p;
  p.columns = table.pipeline_columns();
  const auto in = [&](uint32_t index) { return column_in(p, index); };
  Aggregate some = of(AggregateOp::kSum, in(kAmount));
  some.filter = make_expr(ExprOp::kGreater, Physical::kU8, {in(kAmount), integer_expr(Physical::kI32, 1500)});
  const std::vector<Aggregate> few = {of(AggregateOp::kSum, in(kAmount))};
  const std::vector<Aggregate> all = {
      aggregate(AggregateOp::kCountStar),
      of(AggregateOp::kCount, in(kAmount)),
      of(AggregateOp::kSum, in(kUnique)),
      of(AggregateOp::kSum, in(kBalance)),
      of(AggregateOp::kAvg, in(kReal)),
      of(AggregateOp::kMin, in(kReal)),
      of(AggregateOp::kMax, in(kAmount)),
      of(AggregateOp::kMin, in(kBalance)),
      of(AggregateOp::kFirst, in(kAmount)),
      of(AggregateOp::kLast, in(kUnique)),
      of(AggregateOp::kAnyValue, in(kBalance)),
      of(AggregateOp::kVarSamp, make_expr(ExprOp::kCast, Physical::kF64, {in(kAmount)})),
      some};
  std::vector<Statement> out = {make_statement(table, "one sum by " + name, {key}, few),
                                make_statement(table, "all by " + name, {key}, all)};
  // What a filter leaves: most rows, every row of few groups, none of most tiles.
  for (const auto& [column, least] : {std::pair{kAmount, -1900}, {kUnique, 3 * 12'000}, {kAmount, 1995}}) {
    for (size_t i = 0; i < 2; ++i) {
      Statement filtered = out[i];
      filtered.name += ", filtered";
      filtered.pipeline.has_filter = true;
      const Expr value = in(column);
      filtered.pipeline.filter = make_expr(ExprOp::kGreater, Physical::kU8, {value, integer_expr(value.type, least)});
      out.push_back(std::move(filtered));
    }
  }
  return out;
}

const std::vector<std::pair<std::string, uint32_t>> kSortedKeys = {
    {"rising keys", kRising}, {"falling keys", kFalling}, {"names", kName}, {"unique keys", kUnique}};

// Of so few names the states fit every lane.
TEST(SortedGroups, AreRunsWhereStatisticsProveIt) {
  const TestTable table = sorted_table(30'000);
  const auto rung_by = [&](uint32_t key) {
    const Statement statement =
        make_statement(table, "", {key}, {of(AggregateOp::kSum, column_expr(kUnique, Physical::kI64))});
    return device::plan_kernel(device::to_device(statement.pipeline)).groups->rung;
  };
  EXPECT_EQ(rung_by(kRising), device::GroupRung::kRuns);
  EXPECT_EQ(rung_by(kFalling), device::GroupRung::kRuns);
  EXPECT_EQ(rung_by(kUnique), device::GroupRung::kRuns);
  EXPECT_EQ(rung_by(kName), device::GroupRung::kLanes);
  EXPECT_NE(rung_by(kWithNull), device::GroupRung::kRuns);
  EXPECT_NE(rung_by(kOfChunks), device::GroupRung::kRuns);
  EXPECT_NE(rung_by(kAmount), device::GroupRung::kRuns);
  // The same file twice falls where it begins again.
  Statement twice = make_statement(table, "", {kRising}, {aggregate(AggregateOp::kCountStar)});
  twice.pipeline.files.push_back(table.file);
  EXPECT_NE(device::plan_kernel(device::to_device(twice.pipeline)).groups->rung, device::GroupRung::kRuns);
  // Which values a group has had is asked for by its number, which a run does not have before it ends.
  const Statement distinct =
      make_statement(table, "", {kRising}, {of(AggregateOp::kCount, column_expr(kAmount, Physical::kI32), true)});
  EXPECT_NE(device::plan_kernel(device::to_device(distinct.pipeline)).groups->rung, device::GroupRung::kRuns);
}

TEST(SortedGroups, AreAllPlanned) {
  const TestTable table = sorted_table(20'000);
  const Setting forced("BASALT_GROUP_RUNG", "runs");
  for (const auto& [name, key] : kSortedKeys) {
    for (const Statement& statement : statements_by(table, name, key)) {
      EXPECT_EQ(device::why_not(statement.pipeline), "") << statement.name;
      const std::string source = device::plan_kernel(device::to_device(statement.pipeline)).source;
      EXPECT_NE(source.find("using Groups = RunGroups<"), std::string::npos) << statement.name;
    }
  }
}

void expect_runs(const TestTable& table, const std::string& slots, const std::string& hash_bits) {
  const Setting forced("BASALT_GROUP_RUNG", "runs");
  const Setting first_slots("BASALT_GROUP_SLOTS", slots);
  const Setting bits("BASALT_GROUP_HASH_BITS", hash_bits);
  for (const auto& [name, key] : kSortedKeys) {
    for (const Statement& statement : statements_by(table, name, key)) {
      const GroupRows expected = run_on(statement.pipeline, Device::kCpu);
      for (const char* run : {"first", "second"}) {
        RunReport report;
        EXPECT_EQ(differences(statement.pipeline, expected, run_on(statement.pipeline, Device::kCuda, &report)), "")
            << statement.name << ", " << run << " run, slots " << slots << "\n"
            << report.kernel_source;
        EXPECT_EQ(report.ran_on, Device::kCuda) << statement.name << ": " << report.why_cpu;
        EXPECT_NE(report.kernel_source.find("RunGroups<"), std::string::npos) << statement.name;
      }
    }
  }
}

TEST(GpuSortedGroups, RunsGiveTheInterpretersGroups) {
  BASALT_NEEDS_GPU();
  expect_runs(sorted_table(100'000), "", "");
}

TEST(GpuSortedGroups, RoomThatBeginsTooSmallIsTakenAgain) {
  BASALT_NEEDS_GPU();
  expect_runs(sorted_table(30'000), "2", "");
}

TEST(GpuSortedGroups, CollidingHashesChangeNothing) {
  BASALT_NEEDS_GPU();
  expect_runs(sorted_table(5'000), "", "2");
}

// Few rows, for compute-sanitizer.
TEST(GpuSmall, SortedGroups) {
  BASALT_NEEDS_GPU();
  expect_runs(sorted_table(2'500), "16", "");
}

// A next stage reads the groups where they are; a limit takes the first of an order.
TEST(GpuSortedGroups, RunsBecomeColumnsOnTheDevice) {
  BASALT_NEEDS_GPU();
  const TestTable table = sorted_table(100'000);
  for (const uint32_t key : {kRising, kUnique}) {
    for (const Statement& statement : statements_by(table, "a key", key)) {
      Pipeline next;
      next.sink = Sink::kRows;
      next.output = statement.pipeline.output;
      for (uint32_t i = 0; i < next.output.size(); ++i) {
        next.columns.push_back({i, next.output[i].name, next.output[i].type});
        next.rows.push_back(column_in(next, i));
      }
      next.has_filter = true;
      next.filter =
          make_expr(ExprOp::kGreaterEqual, Physical::kU8, {column_in(next, 0), integer_expr(Physical::kI64, 9)});
      EXPECT_EQ(differences(statement.pipeline, run_on(statement.pipeline, Device::kCpu, nullptr, &next),
                            run_on(statement.pipeline, Device::kCuda, nullptr, &next)),
                "")
          << statement.name;
    }
  }
  Statement statement = make_statement(table, "first", {kRising}, {aggregate(AggregateOp::kCountStar)});
  GroupRows expected = run_on(statement.pipeline, Device::kCpu);
  std::vector<int128_t> counts;
  for (const auto& [key, values] : expected) counts.push_back(values[0].integer);
  std::ranges::nth_element(counts, counts.begin() + 9, std::ranges::greater());
  std::erase_if(expected, [&](const auto& group) { return group.second[0].integer < counts[9]; });
  statement.pipeline.first = {SortKey{1, true, false}, true, 10};
  EXPECT_EQ(differences(statement.pipeline, expected, run_on(statement.pipeline, Device::kCuda)), "");
}

// Where a room for all runs would take too much, they are found in partitions.
TEST(GpuSortedGroups, RunsThatDoNotFitAreFoundInPartitions) {
  BASALT_NEEDS_GPU();
  const TestTable table = sorted_table(1'000'000);
  Query query{
      {make_statement(table, "", {kUnique}, {of(AggregateOp::kSum, column_expr(kUnique, Physical::kI64))}).pipeline}};
  RunOptions options;
  options.device = Device::kCuda;
  options.gpu_memory = uint64_t{16} << 20;
  RunReport report;
  const Table groups = run_query(query, options, &report);
  EXPECT_EQ(report.ran_on, Device::kCuda) << report.why_cpu;
  EXPECT_NE(report.steps.at(0).rung.find("partitions"), std::string::npos) << report.steps.at(0).rung;
  ASSERT_EQ(groups.rows, 1'000'000u);
  const auto* keys = groups.columns[0].values.as<int64_t>();
  const auto* sums = groups.columns[1].values.as<int128_t>();
  std::vector<int64_t> found(keys, keys + groups.rows);
  for (uint64_t i = 0; i < groups.rows; ++i) ASSERT_EQ(static_cast<int64_t>(sums[i]), keys[i]);
  std::ranges::sort(found);
  for (uint64_t i = 0; i < groups.rows; ++i) ASSERT_EQ(found[i], static_cast<int64_t>(3 * i));
  gpu().backend->drop_cache();
}

}  // namespace
}  // namespace basalt::test
