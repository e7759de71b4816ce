// Stages that are planned once, which needs no GPU: the same work is found again, any other is not.
#include <gtest/gtest.h>

#include <set>

#include "exec/device/generate/file_shapes.h"
#include "exec/device/generate/stage_cache.h"
#include "exec/pipeline_key.h"
#include "exec/set_places.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

TestTable two_columns() {
  std::vector<Column> columns;
  columns.push_back(make_fixed<int32_t>({TypeKind::kInt32}, {1, 2, 3, 4}));
  columns.push_back(make_fixed<int64_t>({TypeKind::kInt64}, {5, 6, 7, 8}));
  return write_table(std::move(columns));
}

Expr at_least(int64_t literal) {
  return make_expr(ExprOp::kGreaterEqual, Physical::kU8,
                   {column_expr(0, Physical::kI32), integer_expr(Physical::kI32, literal)});
}

Aggregate aggregate_of(AggregateOp op, Expr argument) {
  Aggregate aggregate;
  aggregate.op = op;
  aggregate.arg = std::move(argument);
  return aggregate;
}

Pipeline sum_of(const TestTable& table, int64_t literal) {
  Pipeline pipeline;
  pipeline.files = {table.file};
  pipeline.columns = table.pipeline_columns();
  pipeline.has_filter = true;
  pipeline.filter = at_least(literal);
  pipeline.aggregates.push_back(aggregate_of(AggregateOp::kSum, column_expr(1, Physical::kI64)));
  return pipeline;
}

TEST(StageCache, PlansTheSameStageOnce) {
  const TestTable table = two_columns();
  device::StageCache cache;
  const auto first = cache.get(sum_of(table, 2));
  ASSERT_EQ(first->reason, "");
  ASSERT_NE(first->plan, nullptr);
  EXPECT_EQ(first->plan->source, device::plan_kernel(device::to_device(sum_of(table, 2))).source);
  EXPECT_EQ(cache.get(sum_of(table, 2)), first);
  EXPECT_EQ(cache.planned(), 1u);
}

TEST(StageCache, LiteralsAreAnotherPlanOfTheSameKernel) {
  const TestTable table = two_columns();
  device::StageCache cache;
  const auto two = cache.get(sum_of(table, 2));
  const auto three = cache.get(sum_of(table, 3));
  EXPECT_NE(two, three);
  EXPECT_EQ(two->plan->source, three->plan->source);
  EXPECT_EQ(cache.planned(), 2u);
}

// Sets belong to a run: where they lie is no part of a plan, and nothing may follow from it.
TEST(StageCache, SetsThatLieElsewhereHaveTheSamePlan) {
  const TestTable table = two_columns();
  const auto asking = [&](const exec::SetPlace& bits, const exec::SetPlace& array) {
    Pipeline pipeline = sum_of(table, 2);
    pipeline.filter = exec::member_of(column_expr(0, Physical::kI32), 0, bits);
    pipeline.aggregates[0].arg = exec::looked_up(column_expr(1, Physical::kI64), 1, array, Physical::kI32, -5, 5);
    return pipeline;
  };
  const exec::SetPlace beyond{100, 10, 4096};  // no value of the file is there
  const exec::SetPlace among{1, 4, 8192};
  device::StageCache cache;
  const auto first = cache.get(asking(beyond, among));
  ASSERT_EQ(first->reason, "");
  const auto second = cache.get(asking(among, beyond));
  EXPECT_EQ(cache.planned(), 1u);
  EXPECT_EQ(first->plan, second->plan);
  ASSERT_EQ(first->plan->sets.size(), 6u);
  EXPECT_NE(first->plan->source.find("exec::is_member_32("), std::string::npos);
  EXPECT_NE(first->plan->source.find("exec::look_up_32<int32_t>("), std::string::npos);
  const std::vector<exec::SetPlace> places = exec::set_places(second->pipeline);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].address, among.address);
  EXPECT_EQ(places[1].least, beyond.least);
}

TEST(StageCache, PlansLaterStagesOnceForTheSameRows) {
  const TestTable table = two_columns();
  Pipeline later = sum_of(table, 2);
  later.files.clear();
  later.sink = Sink::kGroups;
  later.keys = {column_expr(0, Physical::kI32)};
  std::vector<device::ArrayShape> arrays(2);
  for (size_t i = 0; i < arrays.size(); ++i) {
    arrays[i].type = i == 0 ? Physical::kI32 : Physical::kI64;
    arrays[i].stats.rows = 5000;
    arrays[i].stats.min = arrays[i].stats.max = Value::of_null(arrays[i].type);
  }
  device::StageCache cache;
  const auto first = cache.get(later, arrays, 5000);
  ASSERT_EQ(first->reason, "");
  EXPECT_EQ(cache.get(later, arrays, 5000), first);
  EXPECT_NE(cache.get(later, arrays, 5001), first) << "other rows";
  auto others = arrays;
  others[1].nullable = true;
  EXPECT_NE(cache.get(later, others, 5000), first) << "NULLs";
  others = arrays;
  others[0].stats.min = Value::of_integer(Physical::kI32, 0);
  EXPECT_NE(cache.get(later, others, 5000), first) << "bounds";
  EXPECT_EQ(cache.get(later, arrays, 5000), first);
  EXPECT_EQ(cache.planned(), 4u);
}

TEST(StageCache, KeepsRefusals) {
  const TestTable table = two_columns();
  Pipeline pipeline = sum_of(table, 2);
  while (pipeline.columns.size() <= 64) pipeline.columns.push_back(pipeline.columns[0]);
  device::StageCache cache;
  const auto refused = cache.get(pipeline);
  EXPECT_EQ(refused->reason, "more than 64 columns");
  EXPECT_EQ(refused->plan, nullptr);
  EXPECT_EQ(cache.get(pipeline), refused);
}

TEST(StageCache, OtherFilesAreOtherStages) {
  const TestTable table = two_columns();
  const TestTable other = two_columns();
  device::StageCache cache;
  const auto first = cache.get(sum_of(table, 2));
  EXPECT_NE(cache.get(sum_of(other, 2)), first);
  EXPECT_EQ(cache.get(sum_of(table, 2)), first);
}

TEST(StageCache, LetsGoOfAFileThatWasReplaced) {
  TestTable table = two_columns();
  device::StageCache cache;
  const std::weak_ptr<const File> old = table.file;
  cache.get(sum_of(table, 2));
  table.file = File::open(table.path);
  EXPECT_FALSE(old.expired());
  cache.get(sum_of(table, 2));
  EXPECT_TRUE(old.expired());
}

TEST(StageCache, HoldsAsManyStagesAsItSays) {
  const TestTable table = two_columns();
  device::StageCache cache;
  for (int64_t literal = 0; literal <= 1024; ++literal) cache.get(sum_of(table, literal));
  EXPECT_EQ(cache.planned(), 1025u);
  cache.get(sum_of(table, 1024));
  EXPECT_EQ(cache.planned(), 1025u);
  cache.get(sum_of(table, 0));  // the oldest has left
  EXPECT_EQ(cache.planned(), 1026u);
}

TEST(FileShapes, AreFoundOnceForAnOpenFile) {
  TestTable table = two_columns();
  const auto first = device::file_shapes(table.file, 0, false);
  EXPECT_FALSE(first->lacks_values);
  ASSERT_EQ(first->values.size(), 1u);
  EXPECT_GT(first->value_words, 0u);
  EXPECT_EQ(device::file_shapes(table.file, 0, false), first);
  EXPECT_NE(device::file_shapes(table.file, 1, false), first);
  table.file = File::open(table.path);
  EXPECT_NE(device::file_shapes(table.file, 0, false), first);
}

// Every field that a pipeline has changes its key.
TEST(PipelineKey, TellsPipelinesApart) {
  const TestTable table = two_columns();
  const Pipeline plain = sum_of(table, 2);
  std::vector<std::function<void(Pipeline&)>> changes = {
      [](Pipeline& p) { p.columns[0].name = "other"; },
      [](Pipeline& p) { p.columns[1].field_id = 0; },
      [](Pipeline& p) { p.columns[0].type = {TypeKind::kUInt32}; },
      [](Pipeline& p) { p.columns[0].as_codes = true; },
      [](Pipeline& p) { p.has_filter = false; },
      [](Pipeline& p) { p.filter.op = ExprOp::kGreater; },
      [](Pipeline& p) { p.filter.args[1].literal.integer = 3; },
      [](Pipeline& p) { p.filter.args[1].literal.null = true; },
      [](Pipeline& p) { p.filter.args[1].literal.real = 1; },
      [](Pipeline& p) { p.filter.args[1].literal.bytes = "x"; },
      [](Pipeline& p) { p.filter.args[0].column = 1; },
      [](Pipeline& p) { p.filter.args[0].type = Physical::kI64; },
      [](Pipeline& p) { p.filter.limit = 7; },
      [](Pipeline& p) { p.filter.power_of_ten = 2; },
      [](Pipeline& p) { p.filter.from_scale = 2; },
      [](Pipeline& p) { p.filter.factor = 2; },
      [](Pipeline& p) { p.sink = Sink::kGroups; },
      [](Pipeline& p) { p.keys.push_back(p.filter); },
      [](Pipeline& p) { p.rows.push_back(p.filter); },
      [](Pipeline& p) { p.aggregates.clear(); },
      [](Pipeline& p) { p.aggregates[0].op = AggregateOp::kMin; },
      [](Pipeline& p) { p.aggregates[0].avg_scale = 1; },
      [](Pipeline& p) { p.aggregates[0].distinct = true; },
      [](Pipeline& p) { p.aggregates[0].filter = p.filter; },
      [](Pipeline& p) { p.aggregates[0].arg.column = 0; },
      [](Pipeline& p) { p.first.count = 5; },
      [](Pipeline& p) { p.first.ties = true; },
      [](Pipeline& p) { p.first.by = SortKey{}; },
      [](Pipeline& p) { p.first.by = SortKey{1}; },
      [](Pipeline& p) {
        p.first.by = SortKey{0, true};
      },
      [](Pipeline& p) {
        p.first.by = SortKey{0, false, true};
      },
      [](Pipeline& p) { p.order.emplace_back(); },
      [](Pipeline& p) { p.limit = 5; },
      [](Pipeline& p) { p.offset = 5; },
      [](Pipeline& p) { p.output.emplace_back(); },
  };
  std::set<std::string> keys = {exec::pipeline_key(plain)};
  for (size_t i = 0; i < changes.size(); ++i) {
    Pipeline changed = plain;
    changes[i](changed);
    EXPECT_TRUE(keys.insert(exec::pipeline_key(changed)).second) << "change " << i;
  }
  EXPECT_EQ(exec::pipeline_key(sum_of(table, 2)), exec::pipeline_key(plain));
}

}  // namespace
}  // namespace basalt::test
