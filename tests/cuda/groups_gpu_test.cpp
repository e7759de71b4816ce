// Groups on the GPU against the interpreter, on every rung that can take a statement: keys of every type and width,
// NULL, NaN and −0.0 among them, one key with nearly all rows, tables that begin too small, hashes that collide.
#include <algorithm>
#include <limits>
#include <set>

#include "basalt/exec/expressions.h"
#include "cuda/group_statements.h"
#include "exec/device/generate/generate.h"

namespace basalt::test {
namespace {

enum GroupColumn : uint32_t { kSmall, kId, kReal, kBalance, kText, kAmount, kWild, kMany };

// kId, kReal and kBalance have few values that go together, so that there are less than 256 groups: as many as hashes
// of two bits can take. kWild has infinities, which leave statistics without a bound; kMany has 3000 values.
TestTable table_of_groups(uint64_t rows, bool wild_has_nan) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Random random(rows);
  std::vector<int32_t> small(rows);
  std::vector<int64_t> ids(rows);
  std::vector<double> reals(rows);
  std::vector<int128_t> balances(rows);
  std::vector<std::string> texts(rows);
  std::vector<int32_t> amounts(rows);
  std::vector<double> wild(rows);
  std::vector<int64_t> many(rows);
  const std::vector<double> few_reals = {0.0, -0.0, kNan, 1.5, -2.25, 1e300, -1e-300, 7};
  std::vector<uint64_t> no_small, no_id, no_real, no_balance, no_text, no_amount;
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t skewed = below(random, 100) == 0 ? below(random, 9) : 3;
    const uint64_t kind = below(random, 20);
    small[i] = static_cast<int32_t>(skewed) - 4;
    ids[i] = kind == 3 ? INT64_MIN : kind == 4 ? INT64_MAX : static_cast<int64_t>(kind * 0x0123456789ABCDEFull);
    reals[i] = few_reals[kind % few_reals.size()];
    balances[i] = (static_cast<int128_t>(kind % 7) - 3) * 100'000'000'000'000'000 * 1'000'000'000;
    texts[i] = "text " + std::to_string(kind % 6);
    amounts[i] = static_cast<int32_t>(below(random, 40)) - 20;
    many[i] = static_cast<int64_t>(i * 7919 % 3000);
    wild[i] = static_cast<double>(below(random, 1000)) / 7;
    if (i % 97 == 5) wild[i] = i % 2 == 0 ? kInfinity : -kInfinity;
    if (wild_has_nan && i % 331 == 5) wild[i] = kNan;
    if (skewed == 8) no_small.push_back(i);
    if (kind == 0) no_id.push_back(i);
    if (kind == 1) no_real.push_back(i);
    if (kind == 2) no_balance.push_back(i);
    if (kind == 5) no_text.push_back(i);
    if (below(random, 5) == 0) no_amount.push_back(i);
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType{TypeKind::kInt32, 0, 0, kMicro}, small));
  columns.push_back(make_fixed(DataType{TypeKind::kInt64, 0, 0, kMicro}, ids));
  columns.push_back(make_fixed(DataType{TypeKind::kFloat64, 0, 0, kMicro}, reals));
  columns.push_back(make_fixed(DataType{TypeKind::kDecimal, 38, 2, kMicro}, balances));
  columns.push_back(make_strings(texts));
  columns.push_back(make_fixed(DataType{TypeKind::kInt32, 0, 0, kMicro}, amounts));
  columns.push_back(make_fixed(DataType{TypeKind::kFloat64, 0, 0, kMicro}, wild));
  columns.push_back(make_fixed(DataType{TypeKind::kInt64, 0, 0, kMicro}, many));
  set_nulls(columns[kSmall], no_small);
  set_nulls(columns[kId], no_id);
  set_nulls(columns[kReal], no_real);
  set_nulls(columns[kBalance], no_balance);
  set_nulls(columns[kText], no_text);
  set_nulls(columns[kAmount], no_amount);
  return write_table(std::move(columns),
                     {"", "", "", "", "validity(packed, dict(packed, strings(packed, plain)))", "", "", ""}, 8192);
}

using KeyLists = std::vector<std::pair<std::string, std::vector<uint32_t>>>;
const KeyLists kFewGroups = {{"no key", {}},
                             {"a small key", {kSmall}},
                             {"a key of 64 bits", {kId}},
                             {"floats", {kReal}},
                             {"decimals", {kBalance}},
                             {"texts", {kText}},
                             {"several keys", {kSmall, kId, kReal, kBalance, kText}}};

const KeyLists kManyGroups = {{"many", {kMany}}, {"many and others", {kMany, kSmall, kReal, kBalance, kText}}};

// A stage that keeps nearly all groups by kMany.
Pipeline filter_behind(const Pipeline& groups) {
  Pipeline next;
  next.sink = Sink::kRows;
  next.output = groups.output;
  for (uint32_t i = 0; i < next.output.size(); ++i) {
    next.columns.push_back({i, next.output[i].name, next.output[i].type});
    next.rows.push_back(column_in(next, i));
  }
  next.has_filter = true;
  next.filter = make_expr(ExprOp::kGreaterEqual, Physical::kU8, {column_in(next, 0), integer_expr(Physical::kI64, 9)});
  return next;
}

std::vector<Statement> all_statements(const TestTable& table, const KeyLists& keys = kFewGroups) {
  Pipeline p;
  p.columns = table.pipeline_columns();
  const auto in = [&](uint32_t index) { return column_in(p, index); };
  const auto filtered = [&](Aggregate aggregate, int64_t least) {
    aggregate.filter = make_expr(ExprOp::kGreater, Physical::kU8, {in(kAmount), integer_expr(Physical::kI32, least)});
    return aggregate;
  };
  const std::vector<Aggregate> plain = {
      aggregate(AggregateOp::kCountStar),         of(AggregateOp::kCount, in(kAmount)),
      of(AggregateOp::kSum, in(kAmount)),         of(AggregateOp::kAvg, in(kWild)),
      of(AggregateOp::kMin, in(kReal)),           of(AggregateOp::kMax, in(kAmount)),
      filtered(of(AggregateOp::kSum, in(kId)), 3)};
  const std::vector<Aggregate> distinct = {of(AggregateOp::kCount, in(kId), true),
                                           of(AggregateOp::kCount, in(kReal), true),
                                           of(AggregateOp::kCount, in(kBalance), true),
                                           of(AggregateOp::kCount, in(kText), true),
                                           of(AggregateOp::kSum, in(kAmount), true),
                                           of(AggregateOp::kAvg, in(kAmount), true),
                                           filtered(of(AggregateOp::kCount, in(kId), true), 0),
                                           of(AggregateOp::kMax, in(kAmount), true)};
  const std::vector<Aggregate> records = {of(AggregateOp::kMin, in(kBalance)),
                                          of(AggregateOp::kMax, in(kBalance)),
                                          of(AggregateOp::kFirst, in(kAmount)),
                                          of(AggregateOp::kLast, in(kAmount)),
                                          of(AggregateOp::kAnyValue, in(kAmount)),
                                          of(AggregateOp::kLast, in(kReal)),
                                          of(AggregateOp::kFirst, in(kBalance)),
                                          of(AggregateOp::kMin, in(kText)),
                                          of(AggregateOp::kMax, in(kText)),
                                          of(AggregateOp::kLast, in(kText)),
                                          filtered(of(AggregateOp::kFirst, in(kId)), 18)};
  const Expr amount = make_expr(ExprOp::kCast, Physical::kF64, {in(kAmount)});
  const std::vector<Aggregate> variances = {of(AggregateOp::kVarPop, amount), of(AggregateOp::kVarSamp, amount),
                                            of(AggregateOp::kStddevPop, amount), of(AggregateOp::kStddevSamp, amount),
                                            filtered(of(AggregateOp::kVarSamp, amount), 17)};
  const Expr product = make_expr(ExprOp::kMultiply, Physical::kF64, {in(kWild), amount});
  const std::vector<Aggregate> unknown = {of(AggregateOp::kSum, in(kWild)), of(AggregateOp::kSum, product),
                                          of(AggregateOp::kAvg, product), filtered(of(AggregateOp::kSum, product), 0)};
  std::vector<Statement> out;
  for (const auto& [name, list] : keys) {
    out.push_back(make_statement(table, "plain by " + name, list, plain));
    out.push_back(make_statement(table, "distinct by " + name, list, distinct));
    out.push_back(make_statement(table, "records by " + name, list, records));
    out.push_back(make_statement(table, "variances by " + name, list, variances));
    out.push_back(make_statement(table, "unknown floats by " + name, list, unknown));
  }
  return out;
}

const char* const kRungTypes[] = {"LaneGroups<", "BlockGroups<", "DenseGroups<", "HashGroups<", "WideGroups<"};
const char* const kRungNames[] = {"lanes", "blocks", "array", "hash", "wide"};

void expect_all_rungs(const TestTable& table, const std::string& slots, const std::string& hash_bits) {
  const Setting first_slots("BASALT_GROUP_SLOTS", slots);
  const Setting bits("BASALT_GROUP_HASH_BITS", hash_bits);
  std::set<std::string> taken;
  for (const Statement& statement : all_statements(table)) {
    ASSERT_EQ(gpu().backend->why_not(statement.pipeline), "") << statement.name;
    const GroupRows expected = run_on(statement.pipeline, Device::kCpu);
    std::set<std::string> seen;  // kernels: a rung that cannot take a statement leaves it to another
    for (size_t rung = 0; rung < std::size(kRungNames); ++rung) {
      const Setting forced("BASALT_GROUP_RUNG", kRungNames[rung]);
      RunReport report;
      const GroupRows found = run_on(statement.pipeline, Device::kCuda, &report);
      EXPECT_EQ(report.ran_on, Device::kCuda) << statement.name << ": " << report.why_cpu;
      EXPECT_EQ(differences(statement.pipeline, expected, found), "")
          << statement.name << ", asked for " << kRungNames[rung] << ", slots " << slots << "\n"
          << report.kernel_source;
      if (report.kernel_source.find(kRungTypes[rung]) == std::string::npos) continue;
      taken.insert(kRungNames[rung]);
      EXPECT_EQ(differences(statement.pipeline, expected, run_on(statement.pipeline, Device::kCuda)), "")
          << statement.name << ", again";
    }
  }
  EXPECT_EQ(taken.size(), std::size(kRungNames)) << "a rung that no statement was run on";
}

// Where there is no GPU: the interpreter runs them, and they have kernels.
TEST(GroupStatements, AreAllPlanned) {
  const TestTable table = table_of_groups(3000, true);
  for (const Statement& statement : all_statements(table)) {
    EXPECT_EQ(device::why_not(statement.pipeline), "") << statement.name;
    EXPECT_FALSE(run_on(statement.pipeline, Device::kCpu).empty()) << statement.name;
    for (size_t rung = 0; rung < std::size(kRungNames); ++rung) {
      const Setting forced("BASALT_GROUP_RUNG", kRungNames[rung]);
      const std::string source = device::plan_kernel(device::to_device(statement.pipeline)).source;
      EXPECT_NE(source.find("using Groups = "), std::string::npos) << statement.name << ", " << kRungNames[rung];
    }
  }
}

TEST(GroupStatements, OfManyGroupsAreFiltered) {
  const TestTable table = table_of_groups(6000, true);
  for (const Statement& statement : all_statements(table, kManyGroups)) {
    const Pipeline next = filter_behind(statement.pipeline);
    EXPECT_EQ(device::why_not(statement.pipeline), "") << statement.name;
    EXPECT_GT(run_on(statement.pipeline, Device::kCpu, nullptr, &next).size(), 2900u) << statement.name;
  }
}

TEST(GpuGroups, EveryRungGivesTheInterpretersGroups) {
  BASALT_NEEDS_GPU();
  expect_all_rungs(table_of_groups(30'000, true), "", "");
}

TEST(GpuGroups, TablesThatBeginTooSmallStartAgain) {
  BASALT_NEEDS_GPU();
  expect_all_rungs(table_of_groups(10'000, false), "2", "");
}

TEST(GpuGroups, CollidingHashesChangeNothing) {
  BASALT_NEEDS_GPU();
  expect_all_rungs(table_of_groups(200, false), "", "2");  // as many as a row of neighbours holds
}

// Each partition's groups are found by a run of their own.
TEST(GpuGroups, PartitionsTogetherAreTheInterpretersGroups) {
  BASALT_NEEDS_GPU();
  const TestTable table = table_of_groups(30'000, true);
  const Setting forced("BASALT_GROUP_RUNG", "partitions");
  for (const KeyLists& keys : {kFewGroups, kManyGroups}) {
    for (const Statement& statement : all_statements(table, keys)) {
      const GroupRows expected = run_on(statement.pipeline, Device::kCpu);
      for (const char* run : {"first", "second"}) {
        RunReport report;
        EXPECT_EQ(differences(statement.pipeline, expected, run_on(statement.pipeline, Device::kCuda, &report)), "")
            << statement.name << ", " << run << " run";
        EXPECT_EQ(report.rows, 30'000u) << statement.name;
        const bool divided = report.steps.at(0).rung.find("in 4 partitions") != std::string::npos;
        EXPECT_EQ(divided, !statement.pipeline.keys.empty()) << statement.name << ": " << report.steps.at(0).rung;
      }
    }
  }
  for (const Statement& statement : all_statements(table, kManyGroups)) {
    const Pipeline next = filter_behind(statement.pipeline);
    EXPECT_EQ(differences(statement.pipeline, run_on(statement.pipeline, Device::kCpu, nullptr, &next),
                          run_on(statement.pipeline, Device::kCuda, nullptr, &next)),
              "")
        << statement.name << ", filtered";
  }
}

// Few rows, for compute-sanitizer.
TEST(GpuSmall, GroupsOfEveryKind) {
  BASALT_NEEDS_GPU();
  const TestTable table = table_of_groups(1500, true);
  const Setting slots("BASALT_GROUP_SLOTS", "16");
  for (const Statement& statement : all_statements(table)) {
    EXPECT_EQ(differences(statement.pipeline, run_on(statement.pipeline, Device::kCpu),
                          run_on(statement.pipeline, Device::kCuda)),
              "")
        << statement.name;
  }
}

// As many groups as rows nearly: two words of key, a table that grows several times, and the first groups of an order.
TEST(GpuGroups, ManyWideGroupsGrowTheirTable) {
  BASALT_NEEDS_GPU();
  Random random(7);
  const uint64_t rows = 300'000;
  std::vector<int64_t> watches(rows);
  std::vector<int64_t> addresses(rows);
  std::vector<int32_t> sizes(rows);
  for (uint64_t i = 0; i < rows; ++i) {
    watches[i] = static_cast<int64_t>(random());
    addresses[i] = static_cast<int64_t>(random());
    if (i > 0 && i % 10 == 0) watches[i] = watches[i - 1], addresses[i] = addresses[i - 1];
    sizes[i] = static_cast<int32_t>(below(random, 1000));
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType{TypeKind::kInt64, 0, 0, kMicro}, watches));
  columns.push_back(make_fixed(DataType{TypeKind::kInt64, 0, 0, kMicro}, addresses));
  columns.push_back(make_fixed(DataType{TypeKind::kInt32, 0, 0, kMicro}, sizes));
  const TestTable table = write_table(std::move(columns), {}, 65536);
  Statement statement =
      make_statement(table, "many", {0, 1},
                     {aggregate(AggregateOp::kCountStar), of(AggregateOp::kSum, column_expr(2, Physical::kI32)),
                      of(AggregateOp::kCount, column_expr(2, Physical::kI32), true)});
  const GroupRows expected = run_on(statement.pipeline, Device::kCpu);
  for (const char* slots : {"", "2", "1024"}) {
    const Setting first_slots("BASALT_GROUP_SLOTS", slots);
    for (const char* run : {"first", "second"}) {
      RunReport report;
      const GroupRows found = run_on(statement.pipeline, Device::kCuda, &report);
      EXPECT_EQ(differences(statement.pipeline, expected, found), "") << run << " run, slots " << slots;
      EXPECT_EQ(report.rows, rows) << run << " run, slots " << slots;
      EXPECT_NE(report.kernel_source.find("WideGroups<2"), std::string::npos);
    }
  }
  // Groups are equal to the last of the first by their sum: all of them leave.
  statement.pipeline.first = {SortKey{3, true, false}, true, 10};
  std::vector<int128_t> sums;
  for (const auto& [key, values] : expected) sums.push_back(values[1].integer);
  std::ranges::nth_element(sums, sums.begin() + 9, std::ranges::greater());
  GroupRows largest;
  for (const auto& [key, values] : expected) {
    if (values[1].integer >= sums[9]) largest.emplace(key, values);
  }
  EXPECT_EQ(differences(statement.pipeline, largest, run_on(statement.pipeline, Device::kCuda)), "");
  // Without an order any ten will do.
  statement.pipeline.first = {std::nullopt, false, 10};
  const GroupRows some = run_on(statement.pipeline, Device::kCuda);
  EXPECT_EQ(some.size(), 10u);
  GroupRows among;
  for (const auto& [key, values] : expected) {
    if (some.contains(key)) among.emplace(key, values);
  }
  EXPECT_EQ(differences(statement.pipeline, among, some), "");
}

// Groups that a next stage filters stay on the device, where their keys and aggregates become columns.
TEST(GpuGroups, ManyGroupsBecomeColumnsOnTheDevice) {
  BASALT_NEEDS_GPU();
  const TestTable table = table_of_groups(30'000, true);
  for (const Statement& statement : all_statements(table, kManyGroups)) {
    const Pipeline next = filter_behind(statement.pipeline);
    const GroupRows expected = run_on(statement.pipeline, Device::kCpu, nullptr, &next);
    for (const char* rung : {"", "hash", "wide"}) {
      const Setting forced("BASALT_GROUP_RUNG", rung);
      EXPECT_EQ(differences(statement.pipeline, expected, run_on(statement.pipeline, Device::kCuda, nullptr, &next)),
                "")
          << statement.name << ", rung " << rung;
    }
  }
}

// Variances of what is no number are the interpreter's errors.
TEST(GpuGroups, VariancesOfInfinitiesAreErrors) {
  BASALT_NEEDS_GPU();
  const TestTable table = table_of_groups(3000, true);
  const Statement statement =
      make_statement(table, "wild", {kSmall}, {of(AggregateOp::kVarPop, column_expr(kWild, Physical::kF64))});
  for (const Device device : {Device::kCpu, Device::kCuda}) {
    try {
      run_on(statement.pipeline, device);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOutOfRange);
    }
  }
}

}  // namespace
}  // namespace basalt::test
