// Sinks of rows as kernels see them, without a GPU: which columns they read, and where what leaves comes from.
#include <gtest/gtest.h>

#include <algorithm>

#include "exec/device/generate/generate.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

Pipeline rows_of_all(const TestTable& table) {
  Pipeline pipeline;
  pipeline.files = {table.file};
  pipeline.columns = table.pipeline_columns();
  pipeline.sink = Sink::kRows;
  for (uint32_t i = 0; i < table.columns.size(); ++i) {
    pipeline.rows.push_back(column_expr(i, physical_of(table.columns[i].type)));
    Field& field = pipeline.output.emplace_back();
    field.name = pipeline.columns[i].name;
    field.type = table.columns[i].type;
  }
  return pipeline;
}

// A number, strings with a dictionary and strings without.
TestTable number_and_texts() {
  std::vector<int64_t> numbers;
  std::vector<std::string> listed;
  std::vector<std::string> others;
  for (int64_t i = 0; i < 3000; ++i) {
    numbers.push_back(i);
    listed.push_back("word " + std::to_string(i % 7));
    others.push_back("text " + std::to_string(i * 977 % 3000));
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType::bigint(), numbers));
  columns.push_back(make_strings(listed));
  columns.push_back(make_strings(others));
  return write_table(std::move(columns), {"packed", "dict(packed, strings(packed, plain))", "strings(packed, plain)"});
}

TEST(RowsPlan, FewRowsNeedWhatTheFilterAndTheOrderRead) {
  Random random(1);
  const TestTable table = random_table(random, 5000, 8192);
  Pipeline pipeline = rows_of_all(table);
  pipeline.has_filter = true;
  pipeline.filter =
      make_expr(ExprOp::kLess, Physical::kU8, {column_expr(3, Physical::kI32), integer_expr(Physical::kI32, 5)});
  pipeline.order = {{4, true, false}};
  pipeline.limit = 10;
  const device::DevicePipeline device = device::to_device(pipeline);
  ASSERT_TRUE(device.sources.has_value());
  EXPECT_TRUE(device.sources->late);
  EXPECT_EQ(device.pipeline.columns.size(), 2u);
  EXPECT_TRUE(device.pipeline.output.empty());
  EXPECT_EQ(device::why_not(pipeline), "");
  // An error is one also in a row that does not leave.
  pipeline.rows[11] = make_expr(ExprOp::kAdd, Physical::kI64,
                                {column_expr(13, Physical::kI64), integer_expr(Physical::kI64, INT64_MAX)});
  pipeline.output[11].type = DataType::bigint();
  EXPECT_EQ(device::to_device(pipeline).pipeline.columns.size(), 3u);
}

// A planner may write conjuncts as it likes, and put columns where it meets them.
TEST(RowsPlan, TheOrderOfConjunctsMakesNoOtherKernel) {
  const TestTable table = number_and_texts();
  const auto number = [](ExprOp op, int64_t value) {
    return make_expr(op, Physical::kU8, {column_expr(0, Physical::kI64), integer_expr(Physical::kI64, value)});
  };
  const auto like = [](uint32_t column, const char* pattern) {
    return make_expr(ExprOp::kLike, Physical::kU8, {column_expr(column, Physical::kBytes), bytes_expr(pattern)});
  };
  const auto source = [&](std::vector<Expr> conjuncts) {
    Pipeline pipeline = rows_of_all(table);
    pipeline.has_filter = true;
    pipeline.filter = make_expr(ExprOp::kAnd, Physical::kU8, std::move(conjuncts));
    const device::DevicePipeline device = device::plan_stage(device::to_device(pipeline));
    return device.plan == nullptr ? device.reason : device.plan->source;
  };
  const Expr above = number(ExprOp::kGreater, 10);
  const Expr below = number(ExprOp::kLess, 2000);
  const Expr word = like(1, "%3");
  const Expr text = like(2, "text 1%");
  const std::string expected = source({above, below, word, text});
  EXPECT_NE(expected.find("basalt_scan"), std::string::npos) << expected;
  EXPECT_EQ(source({text, word, below, above}), expected);
  EXPECT_EQ(source({word, above, text, below}), expected);
}

TEST(RowsPlan, ManyRowsAreEvaluatedAndTheirStringsComeLate) {
  const TestTable table = number_and_texts();
  Pipeline pipeline = rows_of_all(table);
  const device::DevicePipeline device = device::to_device(pipeline);
  EXPECT_FALSE(device.sources->late);
  ASSERT_EQ(device.sources->columns.size(), 3u);
  EXPECT_EQ(device.sources->columns[0].row, 0u);
  EXPECT_EQ(device.sources->columns[1].row, 1u);
  EXPECT_NE(device.sources->columns[1].listed, nullptr);
  EXPECT_FALSE(device.sources->columns[2].row.has_value());
  EXPECT_EQ(device.sources->columns[2].texts_of, 2u);
  EXPECT_EQ(device.pipeline.columns.size(), 2u);
  EXPECT_TRUE(device.texts.empty());
  EXPECT_EQ(device::why_not(pipeline), "");
}

// Strings of one text and one of few numbers are listed as the numbers are.
TEST(RowsPlan, NumberedStringsOfFewNumbersAreReadByTheirCodes) {
  std::vector<std::string> brands;
  for (uint64_t i = 0; i < 20'000; ++i) brands.push_back("Brand#" + std::to_string(99 - i * i % 7 * 10));
  std::vector<Column> columns;
  for (uint32_t i = 0; i < 3; ++i) columns.push_back(make_strings(brands));
  set_nulls(columns[1], {0, 77, 19'999});
  const TestTable table =
      write_table(std::move(columns),
                  {"numbered(dict(packed, plain))", "numbered(dict(packed, packed))", "numbered(packed)"}, 8192);
  Pipeline pipeline = rows_of_all(table);
  const device::DevicePipeline device = device::to_device(pipeline);
  EXPECT_EQ(device::plan_stage(device).reason, "");
  ASSERT_EQ(device.sources->columns.size(), 3u);
  EXPECT_EQ(device.sources->columns[2].listed, nullptr);
  for (size_t i = 0; i < 2; ++i) {
    const std::shared_ptr<const exec::TextCodes> listed = device.sources->columns[i].listed;
    ASSERT_NE(listed, nullptr) << "column " << i;
    ASSERT_EQ(listed->entries.size(), 4u);
    EXPECT_EQ(listed->entries.at(0), "Brand#59");
    EXPECT_EQ(listed->entries.at(3), "Brand#99");
    // Chunks have all four in one order or another.
    ASSERT_EQ(listed->chunks.at(0).size(), 3u);
    for (std::vector<uint32_t> codes : listed->chunks[0]) {
      std::ranges::sort(codes);
      EXPECT_EQ(codes, (std::vector<uint32_t>{0, 1, 2, 3}));
    }
  }
  pipeline.order = {{0, true, false}};
  pipeline.limit = 10;
  EXPECT_TRUE(device::to_device(pipeline).pipeline.columns[0].as_codes);
}

TEST(RowsPlan, FewStringsAreTheirOwnList) {
  const std::vector<std::string> names = {"PERU", "CHINA", "", "PERU", "ALGERIA"};
  std::vector<Column> columns;
  columns.push_back(make_strings(names));
  columns.push_back(make_strings(names));
  set_nulls(columns[1], {1});
  const TestTable table = write_table(std::move(columns), {"strings(packed, plain)", "strings(packed, fsst)"});
  const device::DevicePipeline device = device::to_device(rows_of_all(table));
  EXPECT_EQ(device::plan_stage(device).reason, "");
  for (const device::RowsSources::Source& source : device.sources->columns) ASSERT_NE(source.listed, nullptr);
  const exec::TextCodes& listed = *device.sources->columns[0].listed;
  ASSERT_EQ(listed.entries.size(), 4u);
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(listed.entries.at(listed.chunks.at(0).at(0).at(i)), names[i]);
  // Not where they are many.
  std::vector<Column> many;
  many.push_back(make_strings(std::vector<std::string>(257, "a")));
  const TestTable longer = write_table(std::move(many), {"strings(packed, plain)"});
  EXPECT_EQ(device::to_device(rows_of_all(longer)).sources->columns[0].listed, nullptr);
}

TEST(RowsPlan, StringsAreOrderedByTheirDictionaryOrByNumbers) {
  const TestTable table = number_and_texts();
  Pipeline pipeline = rows_of_all(table);
  pipeline.limit = 10;
  pipeline.order = {{1, false, false}};
  const device::DevicePipeline by_codes = device::to_device(pipeline);
  EXPECT_TRUE(by_codes.texts.empty());
  ASSERT_EQ(by_codes.pipeline.columns.size(), 1u);
  EXPECT_TRUE(by_codes.pipeline.columns[0].as_codes);
  EXPECT_EQ(device::why_not(pipeline), "");
  pipeline.order = {{2, false, false}};
  const device::DevicePipeline by_numbers = device::to_device(pipeline);
  EXPECT_TRUE(by_numbers.texts.ordered);
  ASSERT_EQ(by_numbers.pipeline.columns.size(), 1u);
  EXPECT_TRUE(by_numbers.arrays[0].has_value());
  EXPECT_EQ(device::why_not(pipeline), "");
  // Behind another key, strings are the host's to compare, unless too many rows are equal in that.
  pipeline.order = {{0, false, false}, {2, false, false}};
  const device::DevicePipeline cut = device::to_device(pipeline);
  EXPECT_TRUE(cut.sources->cut_order);
  EXPECT_EQ(cut.pipeline.order.size(), 1u);
  EXPECT_TRUE(cut.texts.empty());
  const device::DevicePipeline whole = device::rows_to_device(pipeline, {}, 0, nullptr, true);
  EXPECT_FALSE(whole.sources->cut_order);
  EXPECT_EQ(whole.pipeline.order.size(), 2u);
  EXPECT_TRUE(whole.texts.ordered);
  // A function of strings, of more rows than the host evaluates.
  pipeline.order.clear();
  pipeline.limit = kAllRows;
  pipeline.rows = {make_expr(ExprOp::kUpper, Physical::kBytes, {column_expr(2, Physical::kBytes)})};
  pipeline.output.resize(1);
  pipeline.output[0].type = {TypeKind::kUtf8};
  const device::DevicePipeline upper = device::to_device(pipeline);
  EXPECT_TRUE(upper.sources->columns[0].numbered);
  EXPECT_FALSE(upper.texts.empty());
  EXPECT_EQ(device::why_not(pipeline), "");
}

TEST(RowsPlan, WordsHoldAsManyKeysAsFit) {
  const TestTable table = number_and_texts();
  Pipeline pipeline = rows_of_all(table);
  pipeline.order = {{0, false, false}, {1, true, false}};
  device::KernelPlan plan = device::plan_kernel(device::to_device(pipeline));
  EXPECT_EQ(plan.rows->word_bits, (std::vector<uint32_t>{12 + 3}));
  EXPECT_FALSE(plan.rows->first_only);
  pipeline.limit = 10;
  plan = device::plan_kernel(device::to_device(pipeline));
  EXPECT_TRUE(plan.rows->first_only);
  EXPECT_EQ(plan.rows->word_bits, (std::vector<uint32_t>{12 + 3 + 16}));  // the number of the row makes them differ
}

// Behind the first stage strings are places in lists, which is enough to hand them on. What compares or computes them
// needs numbers.
TEST(RowsPlan, LaterStagesNumberTheStringsThatTheyComputeWith) {
  const TestTable table = number_and_texts();
  Pipeline stage = rows_of_all(table);
  stage.files.clear();
  std::vector<device::ArrayShape> arrays(3);
  arrays[0].type = Physical::kI64;
  arrays[1].type = arrays[2].type = Physical::kU32;
  for (device::ArrayShape& array : arrays) array.stats.rows = 3000;
  auto list = std::make_shared<exec::TextCodes>();
  list->entries.offsets = {0, 0, 0, 0};
  arrays[1].listed = list;
  arrays[2].nullable = true;
  const auto planned = [&] { return device::plan_stage(device::to_device(stage, arrays, 3000)); };

  const device::DevicePipeline handed_on = planned();
  EXPECT_EQ(handed_on.reason, "");
  EXPECT_TRUE(handed_on.texts.empty());
  EXPECT_EQ(handed_on.sources->columns[2].texts_of, 2u);
  EXPECT_EQ(handed_on.sources->columns[2].row, 2u);

  stage.order = {{1, false, false}};  // a list in order
  const device::DevicePipeline by_places = planned();
  EXPECT_EQ(by_places.reason, "");
  EXPECT_TRUE(by_places.texts.empty());
  stage.order = {{2, false, false}};  // one that is in none
  const device::DevicePipeline by_numbers = planned();
  EXPECT_EQ(by_numbers.reason, "");
  EXPECT_TRUE(by_numbers.texts.ordered);
  ASSERT_EQ(by_numbers.pipeline.rows.size(), 4u);  // the order reads numbers, what leaves are places
  EXPECT_EQ(by_numbers.pipeline.output.size(), 3u);
  const uint32_t numbers = by_numbers.pipeline.rows[3].column;
  EXPECT_TRUE(by_numbers.texts.is_made(numbers));
  EXPECT_FALSE(by_numbers.texts.is_made(by_numbers.pipeline.rows[2].column));
  EXPECT_TRUE(by_numbers.arrays[numbers]->nullable);
  stage.order.clear();

  const Expr listed = column_expr(1, Physical::kBytes);
  const Expr other = column_expr(2, Physical::kBytes);
  stage.rows[0] = make_expr(ExprOp::kLength, Physical::kI64, {listed});
  EXPECT_EQ(planned().reason, "");
  EXPECT_EQ(planned().texts.arrays.size(), planned().pipeline.columns.size());
  stage.rows[0] = column_expr(0, Physical::kI64);
  stage.has_filter = true;
  stage.filter = make_expr(ExprOp::kEqual, Physical::kU8, {listed, other});
  EXPECT_EQ(planned().reason, "");
  EXPECT_EQ(planned().pipeline.filter.args[0].type, Physical::kU32);
  stage.filter = make_expr(ExprOp::kLike, Physical::kU8, {other, bytes_expr("%a%")});
  EXPECT_EQ(planned().reason, "");
  EXPECT_EQ(planned().pipeline.filter.op, ExprOp::kColumn);
  stage.filter = make_expr(ExprOp::kIsNull, Physical::kU8, {other});  // places say that, too
  EXPECT_EQ(planned().reason, "");
  EXPECT_TRUE(planned().texts.empty());
}

}  // namespace
}  // namespace basalt::test
