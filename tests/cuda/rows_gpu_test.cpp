// Rows on the GPU against the interpreter, row by row: filters that keep none, some and all, limits and offsets, orders
// by one and several keys with ties at their ends, strings, several files, memory that is smaller than the data.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "cuda/gpu.h"
#include "cuda/pipelines.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

Field row_field(const std::string& name, const DataType& type) {
  Field field;
  field.name = name;
  field.type = type;
  return field;
}

// All columns of a subset as they are.
void give_all_columns(Subset& subset) {
  Pipeline& pipeline = subset.pipeline;
  pipeline.sink = Sink::kRows;
  pipeline.rows.clear();
  pipeline.output.clear();
  for (uint32_t i = 0; i < pipeline.columns.size(); ++i) {
    pipeline.rows.push_back(column_of(subset, i));
    pipeline.output.push_back(row_field(pipeline.columns[i].name, pipeline.columns[i].type));
  }
}

std::string row_value(const Column& column, uint64_t row) {
  if (!column.is_valid(row)) return "NULL";
  if (physical_of(column.type) == Physical::kBytes) return "'" + std::string(column.string_at(row)) + "'";
  return show(value_at(column, row));
}

// The first difference in words; empty: there is none.
std::string difference(const Table& got, const Table& wanted) {
  if (got.rows != wanted.rows) return std::to_string(got.rows) + " rows, not " + std::to_string(wanted.rows);
  if (got.columns.size() != wanted.columns.size()) return "another number of columns";
  for (size_t c = 0; c < wanted.columns.size(); ++c) {
    if (equal(got.columns[c], wanted.columns[c])) continue;
    for (uint64_t row = 0; row < wanted.rows; ++row) {
      const std::string a = row_value(got.columns[c], row);
      const std::string b = row_value(wanted.columns[c], row);
      if (a != b) return "row " + std::to_string(row) + ", column " + std::to_string(c) + ": " + a + ", not " + b;
    }
    return "column " + std::to_string(c) + " has other bits or counts of NULLs";
  }
  return {};
}

struct RowsOutcome {
  Table rows;
  std::string error;
  RunReport report;
};

RowsOutcome run_rows_on(const Pipeline& pipeline, Device device, RunOptions options = {}) {
  RowsOutcome out;
  options.device = device;
  Query query;
  query.stages = {pipeline};
  try {
    out.rows = run_query(query, options, &out.report);
  } catch (const Error& error) {
    out.error = std::string(to_string(error.code())) + ": " + error.what();
  }
  return out;
}

void expect_same_rows(const Pipeline& pipeline, const std::string& what, const RunOptions& options = {}) {
  const RowsOutcome wanted = run_rows_on(pipeline, Device::kCpu);
  const std::string reason = gpu().backend->why_not(pipeline);
  if (reason.find("more shared memory") != std::string::npos) return;  // too many nested columns at once
  ASSERT_EQ(reason, "") << what;
  const RowsOutcome got = run_rows_on(pipeline, Device::kCuda, options);
  ASSERT_EQ(got.error, wanted.error) << what << "\n" << got.report.kernel_source;
  EXPECT_EQ(difference(got.rows, wanted.rows), "") << what << "\n" << got.report.kernel_source;
  EXPECT_EQ(got.report.ran_on, wanted.error.empty() ? Device::kCuda : Device::kCpu) << what;
  const RowsOutcome again = run_rows_on(pipeline, Device::kCuda, options);
  EXPECT_EQ(difference(again.rows, wanted.rows), "") << what << ", again";
}

std::vector<uint32_t> shuffled_columns(Random& random, const TestTable& table, size_t most) {
  std::vector<uint32_t> chosen(table.columns.size());
  std::iota(chosen.begin(), chosen.end(), 0u);
  std::shuffle(chosen.begin(), chosen.end(), random);
  chosen.resize(std::min(most, chosen.size()));
  return chosen;
}

// Random predicates over columns of fixed width: those over strings are tested elsewhere.
Expr fixed_predicate(Random& random, const Subset& subset) {
  std::vector<uint32_t> fixed;
  for (uint32_t i = 0; i < subset.columns.size(); ++i) {
    if (width_of(physical_of(subset.columns[i]->type)) > 0) fixed.push_back(i);
  }
  const uint32_t place = fixed[below(random, fixed.size())];
  Expr predicate = random_predicate(random, {subset.columns[place]}, 2, false);
  const std::function<void(Expr&)> move_columns = [&](Expr& expr) {
    if (expr.op == ExprOp::kColumn) expr.column = place;
    for (Expr& arg : expr.args) move_columns(arg);
  };
  move_columns(predicate);
  return predicate;
}

TEST(GpuRows, OfRandomTables) {
  BASALT_NEEDS_GPU();
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    const TestTable table = random_table(random, 20'000 + below(random, 30'000), 8192 * (1 + below(random, 3)));
    Subset subset = subset_of(table, shuffled_columns(random, table, 8));
    give_all_columns(subset);
    Pipeline& pipeline = subset.pipeline;
    const std::string what = "seed " + std::to_string(seed);
    expect_same_rows(pipeline, what + ", all rows");
    pipeline.has_filter = true;
    pipeline.filter = fixed_predicate(random, subset);
    expect_same_rows(pipeline, what + ", some rows");
    pipeline.limit = 1 + below(random, 3000);
    pipeline.offset = below(random, 5000);
    expect_same_rows(pipeline, what + ", some rows with a limit");
    pipeline.filter = integer_expr(Physical::kU8, 0);
    expect_same_rows(pipeline, what + ", no row");
  }
}

TEST(GpuRows, LimitsAndOffsets) {
  BASALT_NEEDS_GPU();
  Random random(21);
  const TestTable table = random_table(random, 50'000, 16384);
  Subset subset = subset_of(table, {3, 4, 11, 14});
  give_all_columns(subset);
  Pipeline& pipeline = subset.pipeline;
  for (const bool filtered : {false, true}) {
    pipeline.has_filter = filtered;
    if (filtered) pipeline.filter = make_expr(ExprOp::kIsNotNull, Physical::kU8, {column_of(subset, 0)});
    for (const uint64_t limit : {uint64_t{0}, uint64_t{1}, uint64_t{10}, uint64_t{1024}, uint64_t{1500}, kAllRows}) {
      for (const uint64_t offset : {uint64_t{0}, uint64_t{5}, uint64_t{20'000}, uint64_t{1'000'000}}) {
        pipeline.limit = limit;
        pipeline.offset = offset;
        expect_same_rows(pipeline, std::string(filtered ? "filtered" : "all") + ", limit " + std::to_string(limit) +
                                       " offset " + std::to_string(offset));
      }
    }
  }
}

TEST(GpuRows, OrdersOfRandomTables) {
  BASALT_NEEDS_GPU();
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(100 + seed);
    const TestTable table = random_table(random, 20'000 + below(random, 30'000), 8192 * (1 + below(random, 3)));
    Subset subset = subset_of(table, shuffled_columns(random, table, 6));
    give_all_columns(subset);
    Pipeline& pipeline = subset.pipeline;
    pipeline.has_filter = seed % 2 == 0;
    if (pipeline.has_filter) pipeline.filter = fixed_predicate(random, subset);
    for (uint32_t i = 0; i < subset.columns.size() && pipeline.order.size() < 1 + seed % 3; ++i) {
      if (width_of(physical_of(subset.columns[i]->type)) == 0) continue;
      pipeline.order.push_back({i, below(random, 2) == 0, below(random, 2) == 0});
    }
    for (const uint64_t limit : {uint64_t{1}, uint64_t{10}, uint64_t{1000}, uint64_t{5000}, kAllRows}) {
      for (const uint64_t offset : {uint64_t{0}, uint64_t{37}, uint64_t{1'000'000}}) {
        pipeline.limit = limit;
        pipeline.offset = offset;
        expect_same_rows(pipeline, "seed " + std::to_string(seed) + ", limit " + std::to_string(limit) + " offset " +
                                       std::to_string(offset));
      }
    }
  }
}

// Enough tiles that a sample of them sets the threshold.
TestTable many_rows() {
  constexpr uint64_t kRows = 700'000;
  Random random(5);
  std::vector<int64_t> ascending(kRows);
  std::vector<int32_t> few(kRows);
  std::vector<double> reals(kRows);
  std::vector<std::string> words(kRows);
  for (uint64_t i = 0; i < kRows; ++i) {
    ascending[i] = static_cast<int64_t>(3 * i) - 1'000'000;
    few[i] = static_cast<int32_t>(below(random, 4));
    reals[i] = below(random, 50) == 0 ? std::numeric_limits<double>::quiet_NaN()
                                      : static_cast<double>(below(random, 1'000'000)) / 8 - 60'000;
    words[i] = "word " + std::to_string(below(random, 300));
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType::bigint(), ascending));
  columns.push_back(make_fixed(DataType::integer(), few));
  columns.push_back(make_fixed(DataType::real(), reals));
  columns.push_back(make_strings(words));
  return write_table(std::move(columns), {"packed", "packed", "plain", "dict(packed, strings(packed, plain))"}, 131072);
}

TEST(GpuRows, FirstOfManyRows) {
  BASALT_NEEDS_GPU();
  const TestTable table = many_rows();
  Subset subset = subset_of(table, {0, 1, 2, 3});
  give_all_columns(subset);
  Pipeline& pipeline = subset.pipeline;
  const std::vector<std::vector<SortKey>> orders = {
      {{0, false, false}},                    // the first tile has them all
      {{0, true, false}},                     // the last one, which no sample has
      {{1, false, false}},                    // most rows are equal
      {{1, true, true}, {2, true, false}},    // NaN first
      {{2, false, true}, {0, true, false}},   //
      {{3, false, false}, {2, false, false}}  // strings by their dictionary
  };
  for (size_t i = 0; i < orders.size(); ++i) {
    pipeline.order = orders[i];
    for (const uint64_t limit : {uint64_t{10}, uint64_t{1024}, uint64_t{30'000}}) {
      pipeline.limit = limit;
      pipeline.offset = limit == 10 ? 5 : 0;
      expect_same_rows(pipeline, "order " + std::to_string(i) + ", limit " + std::to_string(limit));
    }
  }
}

TEST(GpuRows, BatchesInLittleMemory) {
  BASALT_NEEDS_GPU();
  const TestTable table = many_rows();
  Subset subset = subset_of(table, {0, 1, 2});
  give_all_columns(subset);
  Pipeline& pipeline = subset.pipeline;
  RunOptions little;
  little.gpu_memory = 8 << 20;  // the columns have about 9 MB
  pipeline.order = {{2, true, false}};
  pipeline.limit = 20;
  gpu().backend->drop_cache();
  expect_same_rows(pipeline, "the first of an order", little);
  pipeline.order.clear();
  pipeline.limit = 2000;
  pipeline.has_filter = true;
  pipeline.filter =
      make_expr(ExprOp::kGreater, Physical::kU8, {column_of(subset, 0), integer_expr(Physical::kI64, 500'000)});
  expect_same_rows(pipeline, "a limit", little);
  pipeline.limit = kAllRows;
  pipeline.has_filter = false;
  const RowsOutcome all = run_rows_on(pipeline, Device::kCuda, little);
  EXPECT_NE(all.error.find("rows need"), std::string::npos) << all.error;
  little.gpu_memory = 64 << 20;
  expect_same_rows(pipeline, "all rows", little);
}

TEST(GpuRows, SeveralFiles) {
  BASALT_NEEDS_GPU();
  const auto table_of = [](uint64_t seed, uint64_t rows) {
    Random random(seed);
    std::vector<int64_t> numbers(rows);
    std::vector<std::string> texts(rows);
    std::vector<int32_t> few(rows);
    for (uint64_t i = 0; i < rows; ++i) {
      numbers[i] = static_cast<int64_t>(below(random, 1000));
      few[i] = static_cast<int32_t>(below(random, 3));
      texts[i] = std::string(below(random, 30), static_cast<char>('a' + below(random, 26)));
    }
    std::vector<Column> columns;
    columns.push_back(make_fixed(DataType::bigint(), numbers));
    columns.push_back(make_strings(texts));
    set_nulls(columns.back(), {0, 77, rows - 1});
    columns.push_back(make_fixed(DataType::integer(), few));
    return write_table(std::move(columns), {"packed", "strings(packed, fsst(packed))", "packed"}, 8192);
  };
  const TestTable first = table_of(1, 10'001);
  const TestTable second = table_of(2, 777);
  const TestTable third = table_of(3, 20'000);
  Subset subset = subset_of(first, {0, 1, 2});
  Pipeline& pipeline = subset.pipeline;
  pipeline.files = {first.file, second.file, third.file, second.file};
  give_all_columns(subset);
  expect_same_rows(pipeline, "all");
  pipeline.order = {{0, true, false}};
  expect_same_rows(pipeline, "in order");
  pipeline.limit = 40;
  expect_same_rows(pipeline, "the first");
  pipeline.limit = 4000;
  pipeline.offset = 100;
  expect_same_rows(pipeline, "many of the first");
  // Strings without a dictionary, by numbers in their order.
  pipeline.order = {{1, false, true}, {0, false, false}};
  expect_same_rows(pipeline, "in the order of strings");
  pipeline.limit = 40;
  expect_same_rows(pipeline, "the first in the order of strings");
  pipeline.order = {{1, true, false}};
  expect_same_rows(pipeline, "the last in the order of strings");
  // Strings behind another key, in which some rows are equal, or most of them.
  pipeline.order = {{0, true, false}, {1, true, true}};
  expect_same_rows(pipeline, "strings behind a key");
  pipeline.order = {{2, false, false}, {1, false, false}};
  expect_same_rows(pipeline, "strings behind a key of few values");
  pipeline.order.clear();
  pipeline.limit = 10;
  pipeline.offset = 10'000;
  expect_same_rows(pipeline, "over the end of a file");
}

TEST(GpuRows, ExpressionsAndTheirErrors) {
  BASALT_NEEDS_GPU();
  const TestTable table = many_rows();
  Subset subset = subset_of(table, {0, 1, 3});
  Pipeline& pipeline = subset.pipeline;
  pipeline.sink = Sink::kRows;
  const Expr a = column_of(subset, 0);
  const Expr large = integer_expr(Physical::kI64, std::numeric_limits<int64_t>::max() - 5000);
  pipeline.rows = {make_expr(ExprOp::kAdd, Physical::kI64, {a, integer_expr(Physical::kI64, 1)}),
                   make_expr(ExprOp::kLess, Physical::kU8, {a, integer_expr(Physical::kI64, 5)}), a, a,
                   integer_expr(Physical::kI64, 42)};
  pipeline.output = {row_field("more", DataType::bigint()), row_field("less", {TypeKind::kBool}),
                     row_field("a", DataType::bigint()), row_field("b", DataType::bigint()),
                     row_field("c", DataType::bigint())};
  expect_same_rows(pipeline, "expressions");
  pipeline.order = {{1, false, false}, {0, true, false}};
  pipeline.limit = 10;
  expect_same_rows(pipeline, "in order");
  // Functions of strings: by number where many rows leave, and else on the host.
  pipeline.rows.push_back(make_expr(ExprOp::kUpper, Physical::kBytes, {column_of(subset, 2)}));
  pipeline.output.push_back(row_field("upper", {TypeKind::kUtf8}));
  expect_same_rows(pipeline, "with letters");
  pipeline.limit = 3000;
  expect_same_rows(pipeline, "with letters of many rows");
  pipeline.limit = 10;
  pipeline.rows.push_back(make_expr(ExprOp::kLength, Physical::kI64, {column_of(subset, 2)}));
  pipeline.output.push_back(row_field("length", DataType::bigint()));
  expect_same_rows(pipeline, "with lengths");
  // Rows that do not leave raise errors.
  pipeline.rows.push_back(make_expr(ExprOp::kAdd, Physical::kI64, {a, large}));
  pipeline.output.push_back(row_field("overflow", DataType::bigint()));
  pipeline.order = {{2, false, false}};
  const RowsOutcome failed = run_rows_on(pipeline, Device::kCuda);
  EXPECT_EQ(failed.error, run_rows_on(pipeline, Device::kCpu).error);
  EXPECT_FALSE(failed.error.empty());
}

// A column that is filtered by, then one for each tree, all of strings that have no list.
TestTable fetched_table(uint64_t seed, uint64_t rows, const std::vector<std::string>& trees, uint64_t chunk_rows) {
  Random random(seed);
  std::vector<int64_t> numbers(rows);
  for (int64_t& number : numbers) number = static_cast<int64_t>(below(random, 1000));
  const std::set<uint64_t> nulls = {0, rows / 3, rows / 2, rows - 1};
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType::bigint(), numbers));
  for (const std::string& tree : trees) {
    std::vector<std::string> texts(rows);
    for (std::string& text : texts) {
      const std::string digits = std::to_string(1'000'000 + below(random, 1'000'000));
      text = tree.starts_with("numbered") ? "Text#" + digits : std::string(below(random, 4), ' ') + "a text " + digits;
      if (!tree.starts_with("numbered") && below(random, 50) == 0) text.clear();
    }
    columns.push_back(make_strings(texts));
    if (columns.size() % 2 == 0) set_nulls(columns.back(), {nulls.begin(), nulls.end()});
  }
  std::vector<std::string> all = {"packed"};
  all.insert(all.end(), trees.begin(), trees.end());
  return write_table(std::move(columns), all, chunk_rows);
}

const std::vector<std::string> kFetchedTrees = {"strings(packed, plain)",
                                                "strings(plain, plain)",
                                                "strings(packed, fsst)",
                                                "strings(rle, fsst(delta))",
                                                "strings(packed, tokens)",
                                                "strings(packed, tokens(packed, packed, dict(packed, strings)))",
                                                "numbered(packed)",
                                                "numbered(delta)",
                                                ""};

TEST(GpuRows, StringsThatAreFetchedInEveryEncoding) {
  BASALT_NEEDS_GPU();
  const TestTable first = fetched_table(1, 30'001, kFetchedTrees, 8192);
  const TestTable second = fetched_table(2, 1025, kFetchedTrees, 8192);
  std::vector<uint32_t> chosen(first.columns.size());
  std::iota(chosen.begin(), chosen.end(), 0u);
  Subset subset = subset_of(first, chosen);
  Pipeline& pipeline = subset.pipeline;
  give_all_columns(subset);
  pipeline.rows.push_back(column_of(subset, 1));  // twice
  pipeline.output.push_back(row_field("again", pipeline.columns[1].type));
  for (const bool several : {false, true}) {
    if (several) pipeline.files = {second.file, first.file, second.file};
    const std::string where = several ? ", several files" : "";
    pipeline.order.clear();
    pipeline.limit = kAllRows;
    pipeline.has_filter = false;
    expect_same_rows(pipeline, "all rows" + where);
    pipeline.has_filter = true;
    for (const int64_t most : {-1, 0, 20, 700}) {
      pipeline.filter =
          make_expr(ExprOp::kLessEqual, Physical::kU8, {column_of(subset, 0), integer_expr(Physical::kI64, most)});
      expect_same_rows(pipeline, "rows up to " + std::to_string(most) + where);
    }
    pipeline.order = {{0, true, false}};
    expect_same_rows(pipeline, "rows in order" + where);
    pipeline.limit = 5000;
    pipeline.offset = several ? 17 : 0;
    expect_same_rows(pipeline, "first rows of an order" + where);
    pipeline.order.clear();
    expect_same_rows(pipeline, "first rows" + where);
    pipeline.offset = 0;
  }
}

TEST(GpuRows, StringsThatAreFetchedFromALongDictionary) {
  BASALT_NEEDS_GPU();
  constexpr uint64_t kRows = 300'000;
  std::vector<int64_t> numbers(kRows);
  std::vector<std::string> texts(kRows);
  for (uint64_t i = 0; i < kRows; ++i) {
    numbers[i] = static_cast<int64_t>(i * 7 % 1000);
    texts[i] = "entry " + std::to_string(i * 13 % kRows);
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType::bigint(), numbers));
  columns.push_back(make_strings(texts));
  const TestTable table = write_table(std::move(columns), {"packed", "dict(packed, strings(packed, fsst))"});
  Subset subset = subset_of(table, {0, 1});
  give_all_columns(subset);
  expect_same_rows(subset.pipeline, "all rows");
  subset.pipeline.has_filter = true;
  subset.pipeline.filter =
      make_expr(ExprOp::kLess, Physical::kU8, {column_of(subset, 0), integer_expr(Physical::kI64, 5)});
  expect_same_rows(subset.pipeline, "few rows");
}

TEST(GpuRows, StringsThatAreFetchedInLittleMemory) {
  BASALT_NEEDS_GPU();
  const TestTable table = fetched_table(3, 200'000, {"strings(packed, plain)", "strings(packed, fsst)"}, 32'768);
  Subset subset = subset_of(table, {0, 1, 2});
  give_all_columns(subset);
  RunOptions little;
  little.gpu_memory = 64 << 20;  // a third of it holds some chunks, not all
  gpu().backend->drop_cache();
  expect_same_rows(subset.pipeline, "in pieces", little);
  little.gpu_memory = 12 << 20;
  const RowsOutcome none = run_rows_on(subset.pipeline, Device::kCuda, little);
  EXPECT_NE(none.error.find("strings of rows need"), std::string::npos) << none.error;
  gpu().backend->drop_cache();
}

// One text and few numbers: read by the codes of the numbers.
TEST(GpuRows, NumberedStringsOfFewNumbers) {
  BASALT_NEEDS_GPU();
  constexpr uint64_t kRows = 30'000;
  Random random(6);
  std::vector<int64_t> numbers(kRows);
  std::vector<std::string> brands(kRows);
  for (uint64_t i = 0; i < kRows; ++i) {
    numbers[i] = static_cast<int64_t>(below(random, 1000));
    brands[i] = "Brand#" + std::to_string(10 + below(random, 10 + i / 1000));
  }
  std::vector<Column> columns;
  columns.push_back(make_fixed(DataType::bigint(), numbers));
  columns.push_back(make_strings(brands));
  columns.push_back(make_strings(brands));
  set_nulls(columns.back(), {0, 77, 20'000, kRows - 1});
  const TestTable table =
      write_table(std::move(columns), {"packed", "numbered(dict(packed, plain))", "numbered(dict(rle, packed))"}, 8192);
  Subset subset = subset_of(table, {0, 1, 2});
  Pipeline& pipeline = subset.pipeline;
  give_all_columns(subset);
  expect_same_rows(pipeline, "all rows");
  pipeline.has_filter = true;
  pipeline.filter = make_expr(ExprOp::kNotEqual, Physical::kU8, {column_of(subset, 1), bytes_expr("Brand#12")});
  expect_same_rows(pipeline, "rows of other brands");
  pipeline.order = {{2, true, false}, {0, false, false}};
  expect_same_rows(pipeline, "in the order of brands");
  pipeline.limit = 3000;
  expect_same_rows(pipeline, "first in the order of brands");
  pipeline.limit = 20;
  expect_same_rows(pipeline, "few in the order of brands");
}

// Of a small table every row is an entry; of a larger one the last chunk may be small.
TEST(GpuRows, FewStrings) {
  BASALT_NEEDS_GPU();
  for (const uint64_t rows : {uint64_t{1}, uint64_t{25}, uint64_t{256}, uint64_t{257}, uint64_t{8192 + 25}}) {
    const TestTable table =
        fetched_table(rows, rows, {"strings(packed, plain)", "strings(packed, fsst)", "strings(packed, tokens)"}, 8192);
    Subset subset = subset_of(table, {0, 1, 2, 3});
    Pipeline& pipeline = subset.pipeline;
    give_all_columns(subset);
    const std::string what = std::to_string(rows) + " rows";
    expect_same_rows(pipeline, what);
    pipeline.has_filter = true;
    pipeline.filter = make_expr(ExprOp::kLike, Physical::kU8, {column_of(subset, 2), bytes_expr("%a text 1%3%")});
    expect_same_rows(pipeline, what + ", filtered");
    pipeline.order = {{3, true, true}, {1, false, false}};
    expect_same_rows(pipeline, what + ", in order");
    pipeline.limit = 7;
    expect_same_rows(pipeline, what + ", the first in order");
    pipeline.files = {table.file, table.file};
    expect_same_rows(pipeline, what + ", twice");
  }
}

// The second run reads what the first has left on the device.
TEST(GpuRows, StringsThatAreFetchedStayOnTheDevice) {
  BASALT_NEEDS_GPU();
  const TestTable table = fetched_table(4, 40'000, {"strings(packed, plain)", "numbered(packed)"}, 8192);
  Subset subset = subset_of(table, {0, 1, 2});
  give_all_columns(subset);
  gpu().backend->drop_cache();
  EXPECT_GT(run_rows_on(subset.pipeline, Device::kCuda).report.bytes_transferred, 0u);
  EXPECT_EQ(run_rows_on(subset.pipeline, Device::kCuda).report.bytes_transferred, 0u);
}

}  // namespace
}  // namespace basalt::test
