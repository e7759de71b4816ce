// Strings as values on the GPU: keys, extremes, choices and functions of strings in every encoding give the rows that
// the interpreter gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "basalt/core/error.h"
#include "basalt/exec/expressions.h"
#include "cuda/gpu.h"
#include "cuda/pipelines.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

const std::vector<std::string> kTextTrees = {"strings(packed, plain)",
                                             "strings(packed, fsst)",
                                             "strings(rle, fsst(delta))",
                                             "strings(packed, tokens)",
                                             "strings(packed, tokens(packed, packed, dict(packed, strings)))",
                                             "dict(packed, strings(packed, fsst))",
                                             "dict(rle, strings)",
                                             "validity(packed, strings(packed, fsst))",
                                             "validity(rle, dict(packed, strings(packed, plain)))",
                                             ""};

// Strings that are hard to tell apart: empty, with zeros inside, prefixes of each other, long, beyond ASCII.
std::vector<std::string> hard_texts(Random& random, uint64_t rows, uint64_t distinct) {
  std::vector<std::string> list = {"",
                                   std::string(1, '\0'),
                                   std::string(2, '\0'),
                                   "a",
                                   std::string("a\0", 2),
                                   std::string("a\0b", 3),
                                   std::string(300, 'x'),
                                   std::string(301, 'x'),
                                   "gr\u00FCn",
                                   "http://example.com/",
                                   "https://www.example.com/a/b?c=d"};
  list.push_back(std::string(20'000, 'y'));
  list.push_back(std::string(20'000, 'y') + "z");
  while (list.size() < distinct) {
    list.push_back("http://www.site" + std::to_string(below(random, 50)) + ".com/page/" +
                   std::to_string(below(random, distinct)));
  }
  std::vector<std::string> out;
  for (uint64_t i = 0; i < rows; ++i) out.push_back(list[below(random, list.size())]);
  return out;
}

std::vector<std::string> plain_texts(Random& random, uint64_t rows) {
  std::vector<std::string> out;
  for (uint64_t i = 0; i < rows; ++i) {
    out.push_back((below(random, 3) == 0 ? "http://www.Shop" : "https://Shop") + std::to_string(below(random, 400)) +
                  ".com/" + (below(random, 4) == 0 ? "" : "Item/" + std::to_string(below(random, 3000))));
  }
  return out;
}

std::string show_cell(const Column& column, uint64_t row) {
  if (!column.is_valid(row)) return "NULL";
  if (physical_of(column.type) == Physical::kBytes) return "'" + std::string(column.string_at(row)) + "'";
  std::string digits;  // of its bytes, the last one first
  const uint32_t width = width_of(physical_of(column.type));
  for (uint32_t i = width; i > 0; --i) {
    const uint8_t byte = column.values.as<uint8_t>()[row * width + i - 1];
    for (const int nibble : {byte >> 4, byte & 15}) digits += "0123456789abcdef"[nibble];
  }
  return digits;
}

// Rows in any order.
std::vector<std::string> rows_of(const Pipeline& stage, Device device, RunReport& report) {
  RunOptions options;
  options.device = device;
  const Table table = run_query({{stage}}, options, &report);
  std::vector<std::string> out;
  for (uint64_t row = 0; row < table.rows; ++row) {
    std::string text;
    for (const Column& column : table.columns) text += show_cell(column, row) + " | ";
    out.push_back(std::move(text));
  }
  std::ranges::sort(out);
  return out;
}

void expect_same_rows(const Pipeline& stage, const std::string& what) {
  ASSERT_EQ(why_not_gpu({{stage}}), "") << what;
  RunReport cpu;
  RunReport gpu;
  const std::vector<std::string> expected = rows_of(stage, Device::kCpu, cpu);
  const std::vector<std::string> rows = rows_of(stage, Device::kCuda, gpu);
  EXPECT_EQ(gpu.ran_on, Device::kCuda) << what;
  ASSERT_EQ(rows.size(), expected.size()) << what;
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].substr(0, 500), expected[i].substr(0, 500)) << what << ", row " << i << " of " << rows.size();
    ASSERT_EQ(rows[i], expected[i]) << what << ", row " << i;
  }
}

Field field_of(const std::string& name, TypeKind kind) {
  Field field;
  field.name = name;
  field.type = {kind};
  return field;
}

// Groups by keys, with a count, and what is asked for beside it.
Pipeline groups_by(const Pipeline& from, std::vector<Expr> keys, std::vector<Aggregate> aggregates = {}) {
  Pipeline stage = from;
  stage.sink = Sink::kGroups;
  stage.keys = std::move(keys);
  stage.aggregates = std::move(aggregates);
  stage.aggregates.push_back(aggregate(AggregateOp::kCountStar));
  for (const Expr& key : stage.keys) {
    const TypeKind kind = key.type == Physical::kBytes ? TypeKind::kBinary
                          : key.type == Physical::kU8  ? TypeKind::kBool
                          : key.type == Physical::kI32 ? TypeKind::kInt32
                                                       : TypeKind::kInt64;
    stage.output.push_back(field_of("key", kind));
  }
  for (const Aggregate& one : stage.aggregates) {
    const Physical type = result_type(one);
    const TypeKind kind = type == Physical::kBytes  ? TypeKind::kBinary
                          : type == Physical::kI128 ? TypeKind::kInt128
                          : type == Physical::kF64  ? TypeKind::kFloat64
                                                    : TypeKind::kInt64;
    stage.output.push_back(field_of("aggregate", kind));
  }
  return stage;
}

struct TextTable {
  TestTable table;
  Subset subset;

  Expr column(uint32_t i) const { return column_of(subset, i); }
};

// Two columns of strings and one of numbers.
TextTable make_table(uint64_t seed, const std::string& first, const std::string& second, bool plain) {
  Random random(seed);
  const uint64_t rows = 9'000 + below(random, 9'000);
  const auto texts = [&](uint64_t distinct) {
    return make_strings(plain ? plain_texts(random, rows) : hard_texts(random, rows, distinct));
  };
  const auto with_nulls = [&](Column column, const std::string& tree) {
    if (tree.starts_with("validity")) {
      std::vector<uint64_t> nulls;
      for (uint64_t i = 0; i < rows; ++i) {
        if (below(random, 7) == 0) nulls.push_back(i);
      }
      set_nulls(column, nulls);
    }
    return column;
  };
  std::vector<Column> columns;
  columns.push_back(with_nulls(texts(3000), first));
  columns.push_back(with_nulls(texts(200), second));
  std::vector<int32_t> numbers;
  for (uint64_t i = 0; i < rows; ++i) numbers.push_back(static_cast<int32_t>(below(random, 20)));
  columns.push_back(make_fixed<int32_t>({TypeKind::kInt32}, numbers));
  TextTable out;
  out.table = write_table(std::move(columns), {first, second, ""}, 8192);
  out.subset = subset_of(out.table, {0, 1, 2});
  return out;
}

TEST(GpuTexts, KeysOfStringsInEveryEncoding) {
  BASALT_NEEDS_GPU();
  for (size_t i = 0; i < kTextTrees.size(); ++i) {
    const std::string& first = kTextTrees[i];
    const std::string& second = kTextTrees[(i + 3) % kTextTrees.size()];
    const TextTable made = make_table(i + 1, first, second, false);
    const Pipeline& from = made.subset.pipeline;
    const std::string what = first + " and " + second;
    expect_same_rows(groups_by(from, {made.column(0)}), "one key, " + what);
    expect_same_rows(groups_by(from, {made.column(1), made.column(2)}), "a key and a number, " + what);
    expect_same_rows(groups_by(from, {made.column(0), made.column(1)}), "two keys, " + what);
    expect_same_rows(
        groups_by(from, {made.column(2)},
                  {aggregate(AggregateOp::kMin, made.column(0)), aggregate(AggregateOp::kMax, made.column(1)),
                   aggregate(AggregateOp::kCount, made.column(0))}),
        "extremes, " + what);
    expect_same_rows(
        groups_by(from, {},
                  {aggregate(AggregateOp::kMin, made.column(1)), aggregate(AggregateOp::kMax, made.column(0))}),
        "extremes of all, " + what);
  }
}

TEST(GpuTexts, FiltersLeaveRows) {
  BASALT_NEEDS_GPU();
  const TextTable made = make_table(21, "strings(packed, fsst)", "strings(packed, tokens)", false);
  Pipeline from = made.subset.pipeline;
  from.has_filter = true;
  from.filter = make_expr(ExprOp::kLike, Physical::kU8, {made.column(0), bytes_expr("%www%")});
  expect_same_rows(groups_by(from, {made.column(1)}, {aggregate(AggregateOp::kMin, made.column(0))}), "LIKE");
  from.filter = make_expr(ExprOp::kEqual, Physical::kU8, {made.column(0), made.column(1)});
  expect_same_rows(groups_by(from, {made.column(1)}), "two columns compared");
  from.filter = make_expr(ExprOp::kLess, Physical::kU8, {made.column(0), made.column(1)});
  expect_same_rows(groups_by(from, {made.column(2)}), "two columns in order");
  from.filter = make_expr(ExprOp::kGreater, Physical::kU8, {made.column(2), integer_expr(Physical::kI32, 1000)});
  expect_same_rows(groups_by(from, {made.column(1)}), "no row at all");
}

// Ids of tokens that are encoded as rle have no filter: every distinct string is looked at.
TEST(GpuTexts, FiltersOfStringsThatCannotBeTestedAsTheyAreStored) {
  BASALT_NEEDS_GPU();
  const TextTable made =
      make_table(25, "strings(packed, tokens(rle, packed, strings))", "strings(packed, plain)", false);
  Pipeline from = made.subset.pipeline;
  from.has_filter = true;
  for (const Expr& filter : {make_expr(ExprOp::kLike, Physical::kU8, {made.column(0), bytes_expr("%/1_%")}),
                             make_expr(ExprOp::kNotEqual, Physical::kU8, {made.column(0), bytes_expr("")}),
                             make_expr(ExprOp::kGreater, Physical::kU8, {made.column(0), bytes_expr("http")})}) {
    from.filter = filter;
    expect_same_rows(groups_by(from, {made.column(1)}), "a filter");
  }
}

TEST(GpuTexts, ChoicesAmongColumnsAndLiterals) {
  BASALT_NEEDS_GPU();
  const TextTable made = make_table(31, "validity(packed, strings(packed, fsst))", "strings(packed, plain)", false);
  const Pipeline& from = made.subset.pipeline;
  const Expr small = make_expr(ExprOp::kLess, Physical::kU8, {made.column(2), integer_expr(Physical::kI32, 7)});
  const Expr choice = make_expr(ExprOp::kCase, Physical::kBytes, {small, made.column(0), bytes_expr("")});
  const Expr either = make_expr(ExprOp::kCase, Physical::kBytes, {small, made.column(0), made.column(1)});
  const Expr coalesced = make_expr(ExprOp::kCoalesce, Physical::kBytes, {made.column(0), bytes_expr("a")});
  const Expr lesser = make_expr(ExprOp::kLeast, Physical::kBytes, {made.column(0), made.column(1), bytes_expr("b")});
  expect_same_rows(groups_by(from, {choice}), "CASE with a literal");
  expect_same_rows(groups_by(from, {either, made.column(1)}), "CASE of two columns");
  expect_same_rows(groups_by(from, {coalesced}), "coalesce");
  expect_same_rows(groups_by(from, {lesser}), "least");
  expect_same_rows(groups_by(from, {made.column(2)}, {aggregate(AggregateOp::kMax, choice)}), "extremes of a choice");
}

TEST(GpuTexts, FunctionsOfStrings) {
  BASALT_NEEDS_GPU();
  for (const char* tree : {"strings(packed, fsst)", "validity(packed, dict(packed, strings))"}) {
    const TextTable made = make_table(41, tree, "strings(packed, plain)", true);
    const Pipeline& from = made.subset.pipeline;
    const Expr text = made.column(0);
    const auto number = [](int64_t value) { return integer_expr(Physical::kI64, value); };
    const auto made_text = [&](ExprOp op, std::vector<Expr> args) {
      return make_expr(op, Physical::kBytes, std::move(args));
    };
    const Expr host = made_text(ExprOp::kRegexpReplace,
                                {text, bytes_expr("^https?://(?:www\\.)?([^/]+)/.*$"), bytes_expr("\\1"), number(0)});
    const std::vector<std::pair<std::string, Expr>> functions = {
        {"length", make_expr(ExprOp::kLength, Physical::kI64, {text})},
        {"strlen", make_expr(ExprOp::kByteLength, Physical::kI64, {text})},
        {"strpos", make_expr(ExprOp::kPosition, Physical::kI64, {text, bytes_expr("Item")})},
        {"substring", made_text(ExprOp::kSubstring, {text, number(7), number(9)})},
        {"right", made_text(ExprOp::kSuffix, {text, number(5)})},
        {"left without the end", made_text(ExprOp::kDropSuffix, {text, number(5)})},
        {"lpad", made_text(ExprOp::kLeftPad, {text, number(60), bytes_expr("-+")})},
        {"rpad", made_text(ExprOp::kRightPad, {text, number(60), bytes_expr("-+")})},
        {"repeat", made_text(ExprOp::kRepeat, {text, number(3)})},
        {"split_part", made_text(ExprOp::kSplitPart, {text, bytes_expr("/"), number(3)})},
        {"split_part from the end", made_text(ExprOp::kSplitPart, {text, bytes_expr("/"), number(-1)})},
        {"ascii", make_expr(ExprOp::kCodePoint, Physical::kI64, {text})},
        {"upper", made_text(ExprOp::kUpper, {text})},
        {"lower of a part", made_text(ExprOp::kLower, {made_text(ExprOp::kSubstring, {text, number(8), number(6)})})},
        {"concat", made_text(ExprOp::kConcat, {bytes_expr("<"), text, bytes_expr(">")})},
        {"trim", made_text(ExprOp::kTrim, {text, bytes_expr("ht:/0123456789"), number(3)})},
        {"replace", made_text(ExprOp::kReplace, {text, bytes_expr("http"), bytes_expr("ftp")})},
        {"regexp_replace", host},
        {"regexp_replace of all",
         made_text(ExprOp::kRegexpReplace, {text, bytes_expr("[0-9]+?|(o|I)"), bytes_expr("<\\1>"), number(1)})},
        {"LIKE", make_expr(ExprOp::kLike, Physical::kU8, {text, bytes_expr("%Item%9")})},
    };
    for (const auto& [name, function] : functions) {
      expect_same_rows(groups_by(from, {function}), name + " as a key, " + tree);
    }
    expect_same_rows(groups_by(from, {host},
                               {aggregate(AggregateOp::kAvg, functions[1].second), aggregate(AggregateOp::kMin, text),
                                aggregate(AggregateOp::kMax, host)}),
                     "what a referrer's host says");
  }
}

TEST(GpuTexts, LettersBeyondAsciiAreTheInterpreters) {
  BASALT_NEEDS_GPU();
  const TextTable made = make_table(51, "strings(packed, fsst)", "strings(packed, plain)", false);
  const Pipeline stage =
      groups_by(made.subset.pipeline, {make_expr(ExprOp::kUpper, Physical::kBytes, {made.column(0)})});
  RunReport cpu;
  RunReport any;
  const std::vector<std::string> expected = rows_of(stage, Device::kCpu, cpu);
  EXPECT_EQ(rows_of(stage, Device::kAuto, any), expected);
  EXPECT_NE(any.why_cpu, "");
  EXPECT_THROW(rows_of(stage, Device::kCuda, any), Error);
}

TEST(GpuTexts, SeveralFilesShareTheirStrings) {
  BASALT_NEEDS_GPU();
  const TextTable a = make_table(61, "strings(packed, fsst)", "strings(packed, plain)", false);
  const TextTable b = make_table(62, "dict(packed, strings)", "strings(packed, tokens)", false);
  Pipeline from = a.subset.pipeline;
  from.files = {a.table.file, b.table.file, a.table.file};
  expect_same_rows(groups_by(from, {a.column(0)}, {aggregate(AggregateOp::kMax, a.column(1))}), "three files");
}

TEST(GpuTexts, ManyStringsFitAMemoryThatIsSmall) {
  BASALT_NEEDS_GPU();
  Random random(71);
  std::vector<std::string> texts;
  for (int i = 0; i < 400'000; ++i) texts.push_back("https://example.org/" + std::to_string(below(random, 150'000)));
  std::vector<Column> columns;
  columns.push_back(make_strings(texts));
  const TestTable table = write_table(std::move(columns), {"strings(packed, fsst)"}, 65'536);
  const Subset subset = subset_of(table, {0});
  const Pipeline stage =
      groups_by(subset.pipeline, {column_of(subset, 0)}, {aggregate(AggregateOp::kMin, column_of(subset, 0))});
  expect_same_rows(stage, "many strings");
  // Only strings of rows that pass have numbers.
  Pipeline from = subset.pipeline;
  from.has_filter = true;
  for (const char* pattern : {"%77%", "%1234", "nothing"}) {
    from.filter = make_expr(ExprOp::kLike, Physical::kU8, {column_of(subset, 0), bytes_expr(pattern)});
    expect_same_rows(groups_by(from, {column_of(subset, 0)}, {aggregate(AggregateOp::kMax, column_of(subset, 0))}),
                     std::string("many strings like ") + pattern);
  }
  RunOptions options;
  options.device = Device::kCpu;
  const uint64_t expected = run_query({{stage}}, options).rows;
  options.device = Device::kCuda;
  options.gpu_memory = 256ull << 20;
  gpu().backend->drop_cache();
  EXPECT_EQ(run_query({{stage}}, options).rows, expected);
}

}  // namespace
}  // namespace basalt::test
