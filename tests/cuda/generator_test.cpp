// The generator without a GPU: its text for TPC-H Q6 word for word, what the text depends on and what not, and the
// cache of compiled kernels. That every text compiles is nvrtc_check's to say.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>

#include "codec/dict/layout.h"
#include "core/float_key.h"
#include "cuda/query/sample_pipelines.h"
#include "cuda/runtime/kernel_cache.h"
#include "cuda/runtime/nvrtc.h"
#include "cuda/runtime/prelude.h"
#include "exec/filter_sum.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string source_of(const samples::Sample& sample) {
  return device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows).source;
}

TEST(Generator, Q6ReadsAsAListOfSteps) {
  // After a wanted change: build/…/tests/nvrtc_check --print "TPC-H Q6" > tests/cuda/q6_kernel.txt
  EXPECT_EQ(source_of(samples::q6()), read_text("tests/cuda/q6_kernel.txt"));
}

TEST(Generator, LearnedColumnsAreTestedLikeAnyOther) {
  // After a wanted change: build/…/tests/nvrtc_check --print "learned ranges" > tests/cuda/learned_kernel.txt
  EXPECT_EQ(source_of(samples::learned_ranges()), read_text("tests/cuda/learned_kernel.txt"));
}

TEST(Generator, RowsAreWrittenByAStep) {
  // After a wanted change: build/…/tests/nvrtc_check --print "rows" > tests/cuda/rows_kernel.txt
  EXPECT_EQ(source_of(samples::rows()), read_text("tests/cuda/rows_kernel.txt"));
  // After a wanted change: build/…/tests/nvrtc_check --print "first rows" > tests/cuda/first_rows_kernel.txt
  EXPECT_EQ(source_of(samples::first_rows()), read_text("tests/cuda/first_rows_kernel.txt"));
}

TEST(Generator, JoinsAreLookedUpByTheStepsOfAScan) {
  // After a wanted change: build/…/tests/nvrtc_check --print "looked-up joins" > tests/cuda/looked_up_kernel.txt
  EXPECT_EQ(source_of(samples::looked_up_joins()), read_text("tests/cuda/looked_up_kernel.txt"));
}

TEST(Generator, TestsOfStringsAreStepsLikeOthers) {
  // After a wanted change: build/…/tests/nvrtc_check --print "tests of strings" > tests/cuda/strings_kernel.txt
  EXPECT_EQ(source_of(samples::tests_of_strings()), read_text("tests/cuda/strings_kernel.txt"));
}

TEST(Generator, OneColumnIsFilteredAndSummedAtOnce) {
  // After a wanted change: build/…/tests/nvrtc_check --print "sum(v) where v is between, l3" >
  // tests/cuda/filter_sum_kernel.txt
  EXPECT_EQ(source_of(samples::sum_between("l3", TypeKind::kInt64, {})), read_text("tests/cuda/filter_sum_kernel.txt"));
}

TEST(Generator, TilesOfDecimalsAreFilteredByGroupsWhereTheyAreOnlyTested) {
  // After a wanted change: build/…/tests/nvrtc_check --print "count(*) where v is below, galp(packed) of 8 bytes" >
  // tests/cuda/tile_group_kernel.txt
  EXPECT_EQ(source_of(samples::count_decimals(TypeKind::kFloat64, {14, 15, 16})),
            read_text("tests/cuda/tile_group_kernel.txt"));
  const auto by_groups = [](const samples::Sample& sample) {
    return source_of(sample).find("TileGroupFilter<") != std::string::npos;
  };
  samples::Sample read = samples::count_decimals(TypeKind::kFloat64, {14});
  read.pipeline.aggregates.push_back(samples::aggregate(AggregateOp::kMax, samples::column(read.pipeline, 0)));
  EXPECT_FALSE(by_groups(read));
  samples::Sample tested_twice = samples::count_decimals(TypeKind::kFloat64, {14});
  Pipeline& p = tested_twice.pipeline;
  p.filter = samples::call(
      ExprOp::kAnd, Physical::kU8,
      {p.filter, samples::test(ExprOp::kNotEqual, samples::column(p, 0), samples::real(Physical::kF64, 3))});
  EXPECT_FALSE(by_groups(tested_twice));
}

// Filter sums are asked for where they are all that a statement wants and where their sums are exact.
TEST(Generator, OtherStatementsAreListsOfSteps) {
  const auto at_once = [](const samples::Sample& sample) {
    return source_of(sample).find("filter_sum") != std::string::npos;
  };
  const auto changed = [](const auto& change) {
    samples::Sample sample = samples::sum_between("packed", TypeKind::kInt64, {16});
    change(sample);
    return sample;
  };
  const Expr v = samples::column(samples::sum_between("packed", TypeKind::kInt64, {16}).pipeline, 0);
  EXPECT_TRUE(at_once(changed([](samples::Sample&) {})));
  EXPECT_TRUE(at_once(samples::sum_between("galp(packed)", TypeKind::kFloat32, {16})));
  EXPECT_TRUE(at_once(changed([](samples::Sample& s) { s.pipeline.has_filter = false; })));
  EXPECT_TRUE(at_once(changed([&](samples::Sample& s) {
    s.pipeline.aggregates.push_back(samples::aggregate(AggregateOp::kAvg, v));
    s.pipeline.aggregates.push_back(samples::aggregate(AggregateOp::kCount, v));
  })));
  EXPECT_FALSE(at_once(samples::sum_between("galp(delta(packed))", TypeKind::kFloat64, {16})));
  EXPECT_FALSE(at_once(samples::sum_between("galp(plain)", TypeKind::kFloat64, {})));
  EXPECT_FALSE(at_once(samples::sum_between("delta(packed)", TypeKind::kInt64, {16})));
  EXPECT_FALSE(at_once(samples::sum_between("l3", TypeKind::kInt16, {})));
  EXPECT_FALSE(at_once(
      changed([&](samples::Sample& s) { s.pipeline.aggregates.push_back(samples::aggregate(AggregateOp::kMax, v)); })));
  EXPECT_FALSE(at_once(changed([&](samples::Sample& s) {
    s.pipeline.filter = samples::test(ExprOp::kNotEqual, v, samples::integer(Physical::kI64, 7));
  })));
  EXPECT_FALSE(at_once(changed([](samples::Sample& s) { s.pipeline.aggregates.resize(1); })));  // count(*) alone
  // Floats where the CPU adds them as they are stored, too.
  for (const auto& [kind, physical] :
       {std::pair(TypeKind::kFloat64, Physical::kF64), std::pair(TypeKind::kFloat32, Physical::kF32)}) {
    samples::Sample floats = samples::sum_between("galp(packed)", kind, {16});
    Pipeline& p = floats.pipeline;
    const Expr d = samples::column(p, 0);
    const Expr three = samples::real(physical, 3);
    const auto test = [&](ExprOp op) { return samples::test(op, d, three); };
    const std::pair<Expr, bool> filters[] = {
        {test(ExprOp::kEqual), true},
        {samples::test(ExprOp::kGreater, three, d), true},
        {samples::call(ExprOp::kAnd, Physical::kU8, {test(ExprOp::kLess), test(ExprOp::kGreaterEqual)}), true},
        {test(ExprOp::kNotEqual), false},
        {samples::call(ExprOp::kOr, Physical::kU8, {test(ExprOp::kLess), test(ExprOp::kEqual)}), false},
        {samples::call(ExprOp::kIn, Physical::kU8, {d, three, samples::real(physical, 5)}), false}};
    for (const auto& [filter, expected] : filters) {
      p.filter = filter;
      EXPECT_EQ(exec::is_float_filter_sum(p), expected) << static_cast<int>(filter.op);
      EXPECT_EQ(at_once(floats), expected) << static_cast<int>(filter.op);
    }
  }
  EXPECT_FALSE(at_once(changed([](samples::Sample& s) { s.columns[0].validity = {s.columns[0].values[0]}; })));
  EXPECT_FALSE(at_once(changed([](samples::Sample& s) {
    s.columns[0].stats.max = Value::of_integer(Physical::kI64, int128_t{1} << 59);  // 32 of them leave 64 bits
  })));
}

// Patterns are tables, made for each chunk: another pattern needs no other kernel.
TEST(Generator, NoTextDependsOnPatterns) {
  samples::Sample sample = samples::comments();
  const device::KernelPlan before = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  Expr& like = sample.pipeline.filter.args[1].args[0];
  like.args[1] = samples::text("%other%");
  const device::KernelPlan after = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  EXPECT_EQ(before.source, after.source);
  ASSERT_EQ(after.texts.size(), 1u);
  EXPECT_EQ(after.texts[0].column, 1u);
  EXPECT_EQ(after.texts[0].table_at + 1, after.slot_words);
  EXPECT_TRUE(after.texts[0].automaton->matches("another"));
  EXPECT_FALSE(before.texts[0].automaton->matches("another"));
}

TEST(Generator, LiteralsAreParametersAndNoTextDependsOnThem) {
  samples::Sample sample = samples::q6();
  const device::KernelPlan before = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  sample.pipeline.filter.args[0].args[1].literal.integer += 365;
  sample.pipeline.filter.args[4].args[1].literal.integer = 3000;
  const device::KernelPlan after = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  EXPECT_EQ(before.source, after.source);
  ASSERT_EQ(before.literals.size(), after.literals.size());
  EXPECT_NE(before.literals[0].low, after.literals[0].low);
  EXPECT_EQ(after.literals.back().low, 2999u);  // quantity < 3000
}

TEST(Generator, ContradictionsAndLimitsOfTypesStayInsideTheType) {
  samples::Sample sample = samples::count_below();
  // No value lies below the smallest: an empty range, not one that wraps.
  sample.pipeline.filter.args[1].literal.integer = INT32_MIN;
  device::KernelPlan plan = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  ASSERT_EQ(plan.literals.size(), 2u);
  EXPECT_GT(static_cast<int32_t>(plan.literals[0].low), static_cast<int32_t>(plan.literals[1].low));
  sample.pipeline.filter.op = ExprOp::kGreaterEqual;
  plan = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  EXPECT_EQ(static_cast<int32_t>(plan.literals[0].low), INT32_MIN);
}

// Keys of floats: what lies below 0.0 has negative ones, and nothing lies above NaN.
TEST(Generator, LiteralsOfFloatsAreKeys) {
  samples::Sample sample = samples::decimals();
  const device::KernelPlan plan = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  ASSERT_EQ(plan.literals.size(), 4u);
  EXPECT_EQ(static_cast<int64_t>(plan.literals[0].low), float_key(9.5));
  EXPECT_EQ(static_cast<int64_t>(plan.literals[1].low), float_key(19.25) - 1);
  EXPECT_EQ(static_cast<int64_t>(plan.literals[2].low), float_key(21.5f) + 1);
  EXPECT_NE(plan.source.find("price_column::test<Test::kBetween>"), std::string::npos);
  Expr& literal = sample.pipeline.filter.args[2].args[1];
  literal.literal = Value::of_real(Physical::kF32, std::numeric_limits<double>::quiet_NaN());
  const device::KernelPlan above_nan = device::plan_kernel(sample.pipeline, sample.columns, samples::kSampleRows);
  EXPECT_GT(static_cast<int64_t>(above_nan.literals[2].low), static_cast<int64_t>(above_nan.literals[3].low));
}

TEST(Generator, OddColumnNamesBecomeIdentifiers) {
  samples::Sample sample = samples::q6();
  sample.pipeline.columns[0].name = "int";
  sample.pipeline.columns[1].name = "größe (m²)";
  sample.pipeline.columns[2].name = "2nd";
  sample.pipeline.columns[3].name = "int";
  const std::string source = source_of(sample);
  EXPECT_NE(source.find("using int_column ="), std::string::npos);
  EXPECT_NE(source.find("using column2nd_column ="), std::string::npos);
  EXPECT_NE(source.find("using int_3_column ="), std::string::npos);
  for (const char c : source) EXPECT_GE(static_cast<unsigned char>(c), 9u);
}

// All aliases that a kernel gives to the encodings of its columns.
std::vector<std::string> aliases_in(const std::string& source) {
  std::vector<std::string> names;
  const std::regex alias("using (\\w+) =");
  for (auto found = std::sregex_iterator(source.begin(), source.end(), alias); found != std::sregex_iterator();
       ++found) {
    names.push_back((*found)[1]);
  }
  return names;
}

TEST(Generator, NoTwoColumnsShareAnIdentifier) {
  const std::vector<std::array<const char*, 4>> cases = {
      {"a b", "a_b_2", "a_b", "c"},     {"a b", "a_b_3", "a_b_2", "a_b"}, {"a_b", "a b", "a-b", "a_b_1"},
      {"a_b_3", "a_b_2", "a b", "a.b"}, {"", " ", "  ", "column"},        {"2", "_2", "column2", "column_2"},
      {"é", "è", "__", "column__"},     {"x", "X", "x ", "x_"},
  };
  for (const auto& names : cases) {
    samples::Sample sample = samples::q6();
    for (size_t i = 0; i < names.size(); ++i) sample.pipeline.columns[i].name = names[i];
    std::vector<std::string> aliases = aliases_in(source_of(sample));
    ASSERT_EQ(aliases.size(), names.size());
    std::sort(aliases.begin(), aliases.end());
    EXPECT_EQ(std::unique(aliases.begin(), aliases.end()), aliases.end()) << names[0] << ", " << names[1];
  }
}

// A column's identifiers end in these words: what kernels include must not declare any such name at its top level.
TEST(Generator, NoColumnSharesAnIdentifierWithThePrelude) {
  const std::regex declared("\\n(?:[\\w:<>*& ]+ )?(\\w+_(?:column|validity|texts|filter|filter_sum))\\b[ (=<{]");
  for (size_t i = 0; i < cuda::kPreludeHeaderCount; ++i) {
    const std::string text = cuda::kPreludeHeaders[i].text;
    std::smatch found;
    EXPECT_FALSE(std::regex_search(text, found, declared)) << cuda::kPreludeHeaders[i].name << ": " << found[1];
  }
}

TEST(Generator, WidthsAreThoseThatHoldNearlyAllTiles) {
  std::vector<uint64_t> tiles(65, 0);
  tiles[12] = 900;
  tiles[11] = 80;
  tiles[3] = 15;
  tiles[30] = 5;
  EXPECT_EQ(device::common_widths(tiles, 3), (std::vector<uint32_t>{11, 12}));
  EXPECT_EQ(device::common_widths(tiles, 1), (std::vector<uint32_t>{12}));
  const auto with = [](const char* tree, const std::vector<uint32_t>& widths) {
    return device::with_widths(samples::reader_of(tree, Physical::kU64).type, widths).text();
  };
  EXPECT_EQ(with("dict(packed, packed)", {6}),
            "Dict<uint64_t, Packed<uint32_t, Widths<6>>, Packed<uint64_t, Widths<6>>>");
  EXPECT_EQ(with("packed", {11, 12}), "Packed<uint64_t, Widths<11, 12>>");
  EXPECT_EQ(with("packed", {}), "Packed<uint64_t>");
  EXPECT_EQ(with("plain", {6}), "Plain<uint64_t>");
}

// Each column of 128-bit runs takes a tile of 16 KiB: two fit into a block, three do not, and a file's columns are
// refused before anything is compiled.
TEST(Generator, SharedMemoryOfOneExpressionIsKnownBeforehand) {
  samples::Sample sample;
  for (const char* name : {"a", "b", "c"}) {
    samples::add_column(sample, name, {TypeKind::kDecimal, 38, 0, TimeUnit::kMicro}, {"rle(packed, packed)"}, 10, 0,
                        1000, {10});
  }
  Pipeline& p = sample.pipeline;
  Expr expr = samples::call(ExprOp::kAdd, Physical::kI128, {samples::column(p, 0), samples::column(p, 1)});
  p.aggregates.push_back(samples::aggregate(AggregateOp::kSum, expr));
  EXPECT_EQ(device::plan_kernel(p, sample.columns, samples::kSampleRows).scratch_bytes, 2u * (256 + 16 * 1024));
  EXPECT_LE(device::plan_kernel(p, sample.columns, samples::kSampleRows).scratch_bytes, device::kMostScratch);
  p.aggregates.push_back(samples::aggregate(
      AggregateOp::kSum, samples::call(ExprOp::kAdd, Physical::kI128, {expr, samples::column(p, 2)})));
  EXPECT_GT(device::plan_kernel(p, sample.columns, samples::kSampleRows).scratch_bytes, device::kMostScratch);
}

// Every tree that a file can hold has a reader, a descriptor that fits its slot, and a plan.
TEST(Generator, PlansEveryFixedWidthColumnOfRandomFiles) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    const TestTable table = random_table(random, 20000, 8192);
    Pipeline pipeline;
    pipeline.files = {table.file};
    for (const PipelineColumn& column : table.pipeline_columns()) {
      if (width_of(physical_of(column.type)) == 0) continue;
      pipeline.columns.push_back(column);
      Aggregate sum;
      sum.op = AggregateOp::kSum;
      sum.arg = column_expr(static_cast<uint32_t>(pipeline.columns.size() - 1), physical_of(column.type));
      pipeline.aggregates.push_back(sum);
    }
    ASSERT_EQ(device::why_not(pipeline), "");
    const device::KernelPlan plan = device::plan_kernel(device::to_device(pipeline));
    for (size_t i = 0; i < pipeline.columns.size(); ++i) {
      const device::ColumnPlan& column = plan.columns[i];
      for (const ColumnChunkInfo& chunk : table.file->column(pipeline.columns[i].field_id).chunks) {
        const NodeView root = device::shape_of(chunk);
        const device::ChunkReaders readers = device::readers_of(root);
        EXPECT_NE(std::find(column.shapes.values.begin(), column.shapes.values.end(), readers.values),
                  column.shapes.values.end());
        std::vector<uint64_t> addresses(256, 1);
        std::vector<uint64_t> words;
        size_t next = 0;
        device::append_descriptor(*readers.value_node, addresses, next, words);
        EXPECT_EQ(words.size(), device::descriptor_words(*readers.value_node));
        EXPECT_LE(words.size(), column.shapes.value_words);
      }
    }
  }
}

// Looking values up in a nested array would be most of a kernel.
TEST(Generator, EntriesOfDictionariesLiePlainOnTheDevice) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 5000; ++i) values.push_back(i * 7919 % 601 * 1000);
  std::vector<Column> columns;
  columns.push_back(make_fixed<int64_t>({TypeKind::kInt64}, values));
  const TestTable table = write_table(std::move(columns), {"delta(dict(packed, l3))"});
  const ColumnChunkInfo& chunk = table.file->column(0).chunks[0];
  const NodeView root = device::shape_of(chunk);
  EXPECT_EQ(to_string(tree_of(root)), "delta(dict(packed, plain))");
  const NodeView& entries = root.children[0].children[dict::kEntries];
  EXPECT_EQ(device::sizes_of_placed_entries(chunk), std::vector<uint64_t>{entries.count * sizeof(int64_t)});
  EXPECT_EQ(entries.streams.at(0).size(), entries.count * sizeof(int64_t));
}

// What kernels read of `ans` is what another kernel has made of it: bytes where there are few symbols.
TEST(Generator, ArraysHaveAFormOfTheirOwnOnTheDevice) {
  for (const int64_t symbols : {3, 1000}) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < 5000; ++i) values.push_back(i * 7919 % symbols * 7);
    std::vector<Column> columns;
    columns.push_back(make_fixed<int64_t>({TypeKind::kInt64}, values));
    const TestTable table = write_table(std::move(columns), {"dict(ans, packed)"});
    const ColumnChunkInfo& chunk = table.file->column(0).chunks[0];
    const uint64_t bytes = 5 * uint64_t{kTileRows} * (symbols > 256 ? 2 : 1);
    EXPECT_EQ(device::device_form_bytes(chunk), bytes);
    const NodeView root = device::shape_of(chunk);
    EXPECT_EQ(to_string(tree_of(root)), "dict(ans, packed)");
    const NodeView& codes = root.children[dict::kCodes];
    ASSERT_EQ(codes.streams.size(), 1u);
    EXPECT_EQ(codes.streams[0].size(), bytes);
    EXPECT_EQ(device::readers_of(root).values.type.text(), "Dict<uint64_t, Ans<uint32_t>, Packed<uint64_t>>");
    EXPECT_EQ(device::descriptor_words(codes), 4u);
    const Pipeline pipeline = all_columns_of(table);
    EXPECT_EQ(device::why_not(pipeline), "");
  }
}

TEST(Generator, PlansTestsOfStringsAndSaysWhyNot) {
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) texts.push_back("text " + std::to_string(i % 700));
  std::vector<Column> columns;
  for (int i = 0; i < 3; ++i) columns.push_back(make_strings(texts));
  const TestTable table =
      write_table(std::move(columns), {"strings(packed, fsst)", "strings(packed, tokens(rle, packed, strings))", ""});
  Pipeline pipeline;
  pipeline.files = {table.file};
  pipeline.columns = table.pipeline_columns();
  pipeline.aggregates.push_back({});
  pipeline.has_filter = true;
  const auto like = [](uint32_t column, std::string pattern) {
    return make_expr(ExprOp::kLike, Physical::kU8,
                     {column_expr(column, Physical::kBytes), bytes_expr(std::move(pattern))});
  };
  const auto why_not = [&](Expr filter) {
    pipeline.filter = std::move(filter);
    return device::why_not(pipeline);
  };
  EXPECT_EQ(why_not(like(0, "%7%")), "");
  EXPECT_EQ(why_not(like(2, "%7%")), "");
  EXPECT_EQ(why_not(make_expr(ExprOp::kIsNull, Physical::kU8, {column_expr(1, Physical::kBytes)})), "");
  EXPECT_EQ(why_not(like(1, "%7%")), "");  // ids of tokens that are encoded as rle: each string is looked at once
  EXPECT_NE(why_not(like(0, std::string(300, 'x'))).find("states"), std::string::npos);
  // Strings that are more than tested have numbers.
  EXPECT_EQ(why_not(make_expr(ExprOp::kEqual, Physical::kU8,
                              {column_expr(0, Physical::kBytes), column_expr(2, Physical::kBytes)})),
            "");
  Aggregate smallest;
  smallest.op = AggregateOp::kMin;
  smallest.arg = column_expr(0, Physical::kBytes);
  pipeline.aggregates.push_back(smallest);
  EXPECT_EQ(why_not(like(0, "%7%")), "");
}

TEST(KernelCache, KeepsCompiledKernelsAndIgnoresDamagedOnes) {
  std::string reason;
  const std::unique_ptr<cuda::Nvrtc> nvrtc = cuda::Nvrtc::find(&reason);
  if (nvrtc == nullptr) GTEST_SKIP() << "skipped: " << reason;
  const fs::path folder = fs::temp_directory_path() / ("basalt_cache_" + std::to_string(getpid()));
  const char* previous = std::getenv("XDG_CACHE_HOME");
  const std::string saved = previous == nullptr ? "" : previous;
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const cuda::PreludeHeader headers[] = {{"number.h", "constexpr int kNumber = 7;\n"}};
  const std::string source = "#include \"number.h\"\nextern \"C\" __global__ void k(int* out) { *out = kNumber; }\n";
  const cuda::CompiledKernel first = nvrtc->compile(source, headers, 1, 9, 0, true);
  const cuda::CompiledKernel second = nvrtc->compile(source, headers, 1, 9, 0, true);
  EXPECT_FALSE(first.from_cache);
  EXPECT_GT(first.compile_ms, 0);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.compile_ms, 0);
  EXPECT_EQ(first.cubin, second.cubin);
  EXPECT_FALSE(nvrtc->compile(source, headers, 1, 8, 0, true).from_cache) << "another architecture";
  const cuda::PreludeHeader changed[] = {{"number.h", "constexpr int kNumber = 8;\n"}};
  EXPECT_FALSE(nvrtc->compile(source, changed, 1, 9, 0, true).from_cache) << "another header";
  for (const auto& entry : fs::directory_iterator(cuda::kernel_cache_folder())) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(40);
    file.put('\x55').put('\x55').put('\x55');
  }
  EXPECT_FALSE(nvrtc->compile(source, headers, 1, 9, 0, true).from_cache) << "a damaged entry";
  EXPECT_THROW(nvrtc->compile("this is no CUDA", headers, 1, 9, 0, false), Error);
  if (saved.empty()) {
    unsetenv("XDG_CACHE_HOME");
  } else {
    setenv("XDG_CACHE_HOME", saved.c_str(), 1);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace basalt::test
