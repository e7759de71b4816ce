// Statements that use strings as values, as kernels see them: numbers in arrays, and what these are made of.
#include <gtest/gtest.h>

#include <algorithm>

#include "cuda/gpu.h"
#include "cuda/pipelines.h"
#include "exec/device/generate/generate.h"
#include "exec/device/generate/texts.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

class TextPlans : public ::testing::Test {
 protected:
  TextPlans() {
    std::vector<std::string> urls;
    std::vector<std::string> words;
    std::vector<int32_t> numbers;
    for (int i = 0; i < 5000; ++i) {
      urls.push_back("http://example.com/" + std::to_string(i * 7919 % 4001));
      words.push_back(i % 3 == 0 ? "red" : "blue");
      numbers.push_back(i % 10);
    }
    std::vector<Column> columns;
    columns.push_back(make_strings(urls));
    columns.push_back(make_strings(words));
    columns.push_back(make_fixed<int32_t>({TypeKind::kInt32}, numbers));
    columns.push_back(make_strings(urls));
    set_nulls(columns[3], {7, 8, 9});
    table_ = write_table(std::move(columns), {"strings(packed, fsst)", "dict(packed, strings)", "", ""});
    subset_ = subset_of(table_, {0, 1, 2, 3});
    stage_ = subset_.pipeline;
    stage_.sink = Sink::kGroups;
  }

  Expr url() const { return column_of(subset_, 0); }
  Expr word() const { return column_of(subset_, 1); }
  Expr number() const { return column_of(subset_, 2); }
  Expr other_url() const { return column_of(subset_, 3); }
  Expr is_small() const { return make_expr(ExprOp::kLess, Physical::kU8, {number(), integer_expr(Physical::kI32, 5)}); }

  static uint64_t arrays_in(const device::DevicePipeline& device) {
    return static_cast<uint64_t>(
        std::ranges::count_if(device.arrays, [](const auto& array) { return array.has_value(); }));
  }

  TestTable table_;
  Subset subset_;
  Pipeline stage_;
};

TEST_F(TextPlans, KeysWithoutADictionaryAreArrays) {
  stage_.keys = {url(), number()};
  stage_.aggregates = {aggregate(AggregateOp::kCountStar)};
  const device::DevicePipeline device = device::to_device(stage_);
  EXPECT_EQ(device::plan_stage(device).reason, "");
  EXPECT_EQ(arrays_in(device), 1u);
  EXPECT_FALSE(device.texts.ordered);
  EXPECT_EQ(device.pipeline.keys[0].type, Physical::kU32);
  const uint32_t place = device.pipeline.keys[0].column;
  ASSERT_TRUE(device.texts.arrays[place]);
  EXPECT_EQ(device.texts.arrays[place]->function.op, ExprOp::kColumn);
  EXPECT_EQ(device.texts.arrays[place]->field_id, 0u);
  // Nobody reads the strings themselves.
  for (const PipelineColumn& column : device.pipeline.columns) EXPECT_NE(physical_of(column.type), Physical::kBytes);
}

// A filter that was asked before is an array of flags, and what only it read is not read again.
TEST_F(TextPlans, FlagsStandForAFilter) {
  stage_.keys = {url()};
  stage_.aggregates = {aggregate(AggregateOp::kCountStar)};
  const device::TextNumbers known{4096, {}};
  device::DevicePipeline device = device::to_device(stage_, &known);
  const uint32_t flags = device::filter_by_flags(device);
  EXPECT_TRUE(device.pipeline.has_filter);
  EXPECT_EQ(device.pipeline.filter.column, flags);
  EXPECT_EQ(arrays_in(device), 2u);
  EXPECT_FALSE(device.texts.is_made(flags));
  EXPECT_EQ(device::plan_stage(device).reason, "");
}

TEST_F(TextPlans, DictionariesAreReadByTheirCodes) {
  stage_.keys = {word()};
  stage_.aggregates = {aggregate(AggregateOp::kMax, word()), aggregate(AggregateOp::kCount, word())};
  const device::DevicePipeline device = device::to_device(stage_);
  EXPECT_EQ(device::plan_stage(device).reason, "");
  EXPECT_TRUE(device.texts.empty());
  EXPECT_NE(device.codes[device.pipeline.keys[0].column], nullptr);
  EXPECT_EQ(device.pipeline.aggregates[0].arg.column, device.pipeline.keys[0].column);
}

TEST_F(TextPlans, OrderIsAskedForWhereItMatters) {
  stage_.keys = {number()};
  stage_.aggregates = {aggregate(AggregateOp::kMin, url())};
  EXPECT_TRUE(device::to_device(stage_).texts.ordered);
  stage_.aggregates = {aggregate(AggregateOp::kCountStar)};
  stage_.keys = {make_expr(ExprOp::kCase, Physical::kI32,
                           {make_expr(ExprOp::kLess, Physical::kU8, {url(), other_url()}), number(), number()})};
  EXPECT_TRUE(device::to_device(stage_).texts.ordered);
  stage_.keys = {url()};
  EXPECT_FALSE(device::to_device(stage_).texts.ordered);
  stage_.first.by = SortKey{};
  stage_.first.count = 10;
  EXPECT_TRUE(device::to_device(stage_).texts.ordered);
}

TEST_F(TextPlans, LiteralsHaveNumbersToo) {
  const Expr choice = make_expr(ExprOp::kCase, Physical::kBytes, {is_small(), url(), bytes_expr("b")});
  const Expr equal =
      make_expr(ExprOp::kIn, Physical::kU8, {choice, bytes_expr("a"), bytes_expr("b"), null_expr(Physical::kBytes)});
  stage_.keys = {choice, equal};
  stage_.aggregates = {aggregate(AggregateOp::kCountStar)};
  const device::DevicePipeline planned = device::to_device(stage_);
  EXPECT_EQ(device::plan_stage(planned).reason, "");
  EXPECT_EQ(planned.texts.literals, (std::vector<std::string>{"b", "a"}));
  device::TextNumbers known;
  known.count = 1000;
  known.literals = {70, 3};
  const device::DevicePipeline device = device::to_device(stage_, &known);
  EXPECT_EQ(device.pipeline.keys[0].args[2].literal.integer, 70);
  EXPECT_EQ(device.pipeline.keys[1].args[1].literal.integer, 3);
  EXPECT_EQ(device.pipeline.keys[1].args[2].literal.integer, 70);
  EXPECT_TRUE(device.pipeline.keys[1].args[3].literal.null);
  EXPECT_EQ(device.arrays[device.pipeline.keys[0].args[1].column]->stats.max.integer, 1023);
}

TEST_F(TextPlans, FunctionsAreArraysOfTheirResults) {
  const Expr length = make_expr(ExprOp::kByteLength, Physical::kI64, {other_url()});
  const Expr part = make_expr(ExprOp::kSubstring, Physical::kBytes,
                              {url(), integer_expr(Physical::kI64, 3), integer_expr(Physical::kI64, 9)});
  stage_.keys = {make_expr(ExprOp::kUpper, Physical::kBytes, {part})};
  stage_.aggregates = {aggregate(AggregateOp::kAvg, length), aggregate(AggregateOp::kSum, length)};
  const device::DevicePipeline device = device::to_device(stage_);
  EXPECT_EQ(device::plan_stage(device).reason, "");
  EXPECT_EQ(arrays_in(device), 2u);
  const device::ArrayShape& lengths = *device.arrays[device.pipeline.aggregates[0].arg.column];
  EXPECT_EQ(lengths.type, Physical::kI64);
  EXPECT_TRUE(lengths.nullable);
}

TEST_F(TextPlans, FunctionsOfSeveralColumnsAreEvaluatedByRow) {
  const Expr known = make_expr(ExprOp::kCoalesce, Physical::kBytes, {other_url(), bytes_expr("none")});
  stage_.keys = {make_expr(ExprOp::kConcat, Physical::kBytes, {word(), other_url(), word()}),
                 make_expr(ExprOp::kConcat, Physical::kBytes, {url(), known})};
  stage_.aggregates = {aggregate(AggregateOp::kSum, make_expr(ExprOp::kLength, Physical::kI64, {known}))};
  const device::DevicePipeline device = device::plan_stage(device::to_device(stage_));
  EXPECT_EQ(device.reason, "");
  EXPECT_EQ(arrays_in(device), 3u);
  const auto array_of = [&](const Expr& expr) { return *device.texts.arrays[expr.column]; };
  const device::TextArray both = array_of(device.pipeline.keys[0]);
  EXPECT_TRUE(both.by_row);
  EXPECT_EQ(both.field_id, word().column);
  EXPECT_EQ(both.others, std::vector<uint32_t>{other_url().column});
  EXPECT_EQ(both.function.args[1].column, 1u);
  EXPECT_EQ(both.function.args[2].column, 0u);
  EXPECT_TRUE(device.arrays[device.pipeline.keys[0].column]->nullable);
  // What stands for NULL is none.
  EXPECT_FALSE(device.arrays[device.pipeline.keys[1].column]->nullable);
  EXPECT_FALSE(device.arrays[device.pipeline.aggregates[0].arg.column]->nullable);
  EXPECT_TRUE(array_of(device.pipeline.aggregates[0].arg).by_row);
}

TEST_F(TextPlans, FiltersTestStringsAsTheyAreStored) {
  stage_.keys = {url()};
  stage_.aggregates = {aggregate(AggregateOp::kCountStar)};
  stage_.has_filter = true;
  stage_.filter = make_expr(ExprOp::kAnd, Physical::kU8,
                            {make_expr(ExprOp::kLike, Physical::kU8, {url(), bytes_expr("%1%")}),
                             make_expr(ExprOp::kEqual, Physical::kU8, {url(), other_url()})});
  const device::DevicePipeline device = device::to_device(stage_);
  EXPECT_EQ(device::plan_stage(device).reason, "");
  EXPECT_EQ(arrays_in(device), 2u);
  EXPECT_EQ(device.pipeline.filter.args[0].args[0].type, Physical::kBytes);
  EXPECT_EQ(device.pipeline.filter.args[1].args[0].type, Physical::kU32);
}

// Which rows pass is asked before their strings are numbered.
TEST_F(TextPlans, NumbersOfRowsThatPassNeedNoColumns) {
  stage_.sink = Sink::kRows;
  stage_.has_filter = true;
  stage_.filter = make_expr(ExprOp::kLike, Physical::kU8, {url(), bytes_expr("%1%")});
  const device::DevicePipeline device = device::plan_stage(device::to_device(stage_));
  EXPECT_EQ(device.reason, "");
  EXPECT_TRUE(device.texts.empty());
  ASSERT_TRUE(device.sources);
  EXPECT_TRUE(device.sources->columns.empty());
  ASSERT_NE(device.plan, nullptr);
  ASSERT_TRUE(device.plan->rows);
  EXPECT_NE(device.plan->source.find("writer.put(0, place, static_cast<uint64_t>(first_row"), std::string::npos);
}

// Functions of choices are choices among their results.
TEST_F(TextPlans, FunctionsAreTakenIntoChoices) {
  const Expr choice = make_expr(ExprOp::kCase, Physical::kBytes, {is_small(), url(), bytes_expr("Red")});
  stage_.keys = {make_expr(ExprOp::kUpper, Physical::kBytes, {choice}),
                 make_expr(ExprOp::kLength, Physical::kI64,
                           {make_expr(ExprOp::kLower, Physical::kBytes,
                                      {make_expr(ExprOp::kCoalesce, Physical::kBytes, {other_url(), word()})})})};
  stage_.aggregates = {aggregate(AggregateOp::kCountStar)};
  const device::DevicePipeline device = device::plan_stage(device::to_device(stage_));
  EXPECT_EQ(device.reason, "");
  const Expr& upper = device.pipeline.keys[0];
  ASSERT_EQ(upper.op, ExprOp::kCase);
  EXPECT_EQ(device.texts.arrays[upper.args[1].column]->function.op, ExprOp::kUpper);
  EXPECT_EQ(upper.args[2].op, ExprOp::kLiteral);
  EXPECT_EQ(device.texts.literals, std::vector<std::string>{"RED"});
  const Expr& length = device.pipeline.keys[1];
  ASSERT_EQ(length.op, ExprOp::kCase);
  EXPECT_EQ(length.type, Physical::kI64);
  EXPECT_EQ(length.args[0].op, ExprOp::kIsNotNull);
  EXPECT_EQ(device.texts.arrays[length.args[1].column]->function.op, ExprOp::kLength);
  EXPECT_EQ(device.texts.arrays[length.args[2].column]->function.op, ExprOp::kLength);
}

// Nothing but literals: their numbers need strings, too.
TEST_F(TextPlans, LiteralsAloneAreNumbered) {
  stage_.keys = {make_expr(ExprOp::kCase, Physical::kBytes, {is_small(), bytes_expr("a"), bytes_expr("b")})};
  stage_.aggregates = {aggregate(AggregateOp::kCountStar)};
  const device::DevicePipeline device = device::to_device(stage_);
  EXPECT_EQ(device::plan_stage(device).reason, "");
  EXPECT_FALSE(device.texts.empty());
  EXPECT_EQ(arrays_in(device), 0u);
}

TEST_F(TextPlans, LaterGroupsReadPlacesInOrderAndNumbers) {
  stage_.files.clear();
  std::vector<device::ArrayShape> shapes(4);
  for (device::ArrayShape& shape : shapes) {
    shape.type = Physical::kU32;
    shape.stats.rows = 5000;
    shape.stats.min = Value::of_integer(Physical::kU32, 0);
    shape.stats.max = Value::of_integer(Physical::kU32, 99);
  }
  shapes[2].type = Physical::kI32;
  shapes[3].nullable = true;
  auto list = std::make_shared<exec::TextCodes>();
  list->entries.offsets.assign(101, 0);
  shapes[1].listed = list;
  stage_.keys = {word(), url()};
  stage_.aggregates = {aggregate(AggregateOp::kMax, word()), aggregate(AggregateOp::kCount, other_url()),
                       aggregate(AggregateOp::kSum, make_expr(ExprOp::kLength, Physical::kI64, {url()}))};
  const device::DevicePipeline device = device::plan_stage(device::to_device(stage_, shapes, 5000));
  EXPECT_EQ(device.reason, "");
  const auto is_made = [&](const Expr& expr) { return device.texts.is_made(expr.column); };
  EXPECT_FALSE(is_made(device.pipeline.keys[0]));
  EXPECT_EQ(device.codes[device.pipeline.keys[0].column], list);
  EXPECT_TRUE(is_made(device.pipeline.keys[1]));
  EXPECT_EQ(device.pipeline.aggregates[0].arg.column, device.pipeline.keys[0].column);
  EXPECT_FALSE(is_made(device.pipeline.aggregates[1].arg));  // only counted
  EXPECT_EQ(device.pipeline.aggregates[1].arg.type, Physical::kU32);
  EXPECT_TRUE(is_made(device.pipeline.aggregates[2].arg));
  EXPECT_FALSE(device.texts.ordered);
  stage_.aggregates[0] = aggregate(AggregateOp::kMax, url());
  EXPECT_TRUE(device::to_device(stage_, shapes, 5000).texts.ordered);
}

}  // namespace
}  // namespace basalt::test
