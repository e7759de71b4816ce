// Statements that test strings, on both backends: equal values, tests of what is resident transfer nothing, and tables
// of tests count against the memory.
#include <functional>

#include "basalt/exec/expressions.h"
#include "cuda/gpu.h"
#include "cuda/pipelines.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

// Strings of every encoding, tested as they are stored.
TEST(GpuPipeline, RandomTestsOfStringsGiveTheInterpretersAnswers) {
  BASALT_NEEDS_GPU();
  const std::vector<std::string> trees = {"strings(packed, plain)",
                                          "strings(packed, fsst)",
                                          "strings(packed, tokens)",
                                          "dict(packed, strings)",
                                          "dict(rle, strings(packed, fsst))",
                                          "validity(packed, strings(packed, fsst(packed)))",
                                          ""};
  uint32_t on_gpu = 0;
  uint32_t statements = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const uint64_t rows = 20000 + below(random, 20000);
    std::vector<Column> columns;
    columns.push_back(random_column(random, {TypeKind::kUtf8, 0, 0, TimeUnit::kMicro}, rows));
    columns.push_back(random_column(random, {TypeKind::kBinary, 0, 0, TimeUnit::kMicro}, rows));
    columns.push_back(random_column(random, {TypeKind::kInt32, 0, 0, TimeUnit::kMicro}, rows));
    const TestTable table = write_table(std::move(columns), {trees[seed % trees.size()], "", ""}, 8192);
    for (int round = 0; round < 5; ++round) {
      Subset subset = subset_of(table, {0, 1, 2});
      Pipeline& pipeline = subset.pipeline;
      pipeline.has_filter = true;
      pipeline.filter = random_predicate(random, subset.columns, 2, false);
      pipeline.aggregates.push_back(aggregate(AggregateOp::kCountStar));
      pipeline.aggregates.push_back(aggregate(AggregateOp::kSum, column_of(subset, 2)));
      pipeline.aggregates.push_back(aggregate(AggregateOp::kCount, column_of(subset, 0)));
      ++statements;
      if (!gpu().backend->why_not(pipeline).empty()) continue;  // two columns compared, NULL as a literal
      ++on_gpu;
      RunReport report;
      const std::string expected = outcome(pipeline, {}, Device::kCpu);
      EXPECT_EQ(outcome(pipeline, {}, Device::kCuda, &report), expected) << "seed " << seed << "\n"
                                                                         << report.kernel_source;
      EXPECT_EQ(report.ran_on, Device::kCuda) << "seed " << seed;
      EXPECT_EQ(report.tiles.texts_decoded, 0u) << "seed " << seed;
      RunOptions unpruned;
      unpruned.prune = false;
      EXPECT_EQ(outcome(pipeline, unpruned, Device::kCuda), expected) << "seed " << seed << ", unpruned";
      EXPECT_EQ(outcome(pipeline, {}, Device::kCuda), expected) << "seed " << seed << ", again";
    }
  }
  EXPECT_GT(on_gpu, statements / 3);
}

// Another pattern on strings that are on the device already: nothing is transferred but its tables.
TEST(GpuPipeline, PatternsShareChunksAndKernels) {
  BASALT_NEEDS_GPU();
  std::vector<std::string> texts;
  for (int i = 0; i < 30000; ++i)
    texts.push_back("order " + std::to_string(i * 7919 % 100003) + " of special requests");
  std::vector<Column> columns;
  columns.push_back(make_strings(texts));
  const TestTable table = write_table(std::move(columns), {"strings(packed, fsst)"}, 8192);
  Subset subset = subset_of(table, {0});
  Pipeline& pipeline = subset.pipeline;
  pipeline.has_filter = true;
  pipeline.aggregates.push_back(aggregate(AggregateOp::kCountStar));
  bool first = true;
  for (const char* pattern : {"%special%requests%", "%77%", "order 1%", "%77%"}) {
    pipeline.filter = make_expr(ExprOp::kLike, Physical::kU8, {column_of(subset, 0), bytes_expr(pattern)});
    RunReport report;
    EXPECT_EQ(outcome(pipeline, {}, Device::kCuda, &report), outcome(pipeline, {}, Device::kCpu)) << pattern;
    EXPECT_EQ(report.ran_on, Device::kCuda);
    EXPECT_GT(report.tiles.texts_in_place, 0u);
    EXPECT_EQ(report.bytes_transferred > 0, first) << pattern;
    first = false;
  }
}

// A statement that counts rows of the first column under a filter.
Subset filtered(const TestTable& table, const std::function<Expr(Expr)>& filter) {
  Subset subset = subset_of(table, {0});
  subset.pipeline.has_filter = true;
  subset.pipeline.filter = filter(column_of(subset, 0));
  subset.pipeline.aggregates.push_back(aggregate(AggregateOp::kCountStar));
  return subset;
}
Subset liked(const TestTable& table, const std::string& pattern) {
  return filtered(table, [&](Expr text) {
    return make_expr(ExprOp::kLike, Physical::kU8, {std::move(text), bytes_expr(pattern)});
  });
}

TestTable words(uint64_t rows, uint64_t distinct, const std::string& tree) {
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < rows; ++i) texts.push_back("word " + std::to_string(i * 7919 % distinct) + " of many words");
  std::vector<Column> columns;
  columns.push_back(make_strings(texts));
  return write_table(std::move(columns), {tree}, 8192);
}

// Dictionaries of chunks with thousands of entries: ranges of them, scattered ones, all and none pass.
TEST(GpuPipeline, EntriesOfLongDictionariesAreTestedOnTheDevice) {
  BASALT_NEEDS_GPU();
  for (const char* tree :
       {"dict(packed, strings(packed, fsst))", "dict(l3, strings)", "dict(packed, strings(packed, tokens))"}) {
    const TestTable table = words(60'000, 20'011, tree);
    for (const char* pattern : {"%77%", "word 1%", "word 12345 of many words", "nothing", "%"}) {
      const Subset subset = liked(table, pattern);
      RunReport report;
      EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda, &report), outcome(subset.pipeline, {}, Device::kCpu))
          << tree << ", " << pattern;
      EXPECT_EQ(report.ran_on, Device::kCuda);
    }
  }
}

// For sanitizers.
TEST(GpuSmall, EntriesOfALongDictionary) {
  BASALT_NEEDS_GPU();
  const TestTable table = words(9'000, 5'003, "dict(packed, strings(packed, fsst))");
  Subset subset = liked(table, "%77%");
  EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda), outcome(subset.pipeline, {}, Device::kCpu));
  // Strings as values behind the same filter.
  subset.pipeline.aggregates.push_back(aggregate(AggregateOp::kMin, column_of(subset, 0)));
  EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda), outcome(subset.pipeline, {}, Device::kCpu));
}

// Automata over the ids of large dictionaries are larger than what they are put to.
TEST(GpuPipeline, TablesOfStringTestsCountAgainstTheMemory) {
  BASALT_NEEDS_GPU();
  const TestTable table = words(100'000, 5003, "strings(packed, tokens)");
  const Subset nulls =
      filtered(table, [](Expr text) { return make_expr(ExprOp::kIsNotNull, Physical::kU8, {std::move(text)}); });
  const Subset subset = liked(table, "%9%8%7%6%5%4%3%2%1%");
  const std::string expected = outcome(subset.pipeline, {}, Device::kCpu);
  gpu().backend->drop_cache();
  RunOptions all;
  all.prune = false;
  EXPECT_EQ(outcome(nulls.pipeline, all, Device::kCuda), outcome(nulls.pipeline, {}, Device::kCpu));
  const uint64_t chunks = gpu().backend->cached_bytes();
  gpu().backend->drop_cache();
  EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda), expected);
  const uint64_t with_tables = gpu().backend->cached_bytes();
  EXPECT_GT(with_tables, chunks + 100'000);
  for (const uint64_t share : {2, 3}) {
    gpu().backend->drop_cache();
    RunOptions small;
    small.gpu_memory = with_tables / share;
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(outcome(subset.pipeline, small, Device::kCuda), expected) << share;
      EXPECT_LE(gpu().backend->cached_bytes(), small.gpu_memory);
    }
  }
  // Not even one chunk and its table: an error where the GPU was asked for, else the CPU, which is said.
  gpu().backend->drop_cache();
  RunOptions tiny;
  tiny.gpu_memory = with_tables / 40;
  EXPECT_EQ(outcome(subset.pipeline, tiny, Device::kCuda), to_string(ErrorCode::kOutOfMemory));
  RunReport report;
  EXPECT_EQ(outcome(subset.pipeline, tiny, Device::kAuto, &report), expected);
  EXPECT_EQ(report.ran_on, Device::kCpu);
  EXPECT_NE(report.why_cpu.find("tests of strings"), std::string::npos) << report.why_cpu;
}

// A first test of strings that another statement brought to the device: they are neither transferred nor kept twice.
TEST(GpuPipeline, StringsThatAreThereAreTestedThere) {
  BASALT_NEEDS_GPU();
  for (const char* tree :
       {"strings(packed, plain)", "strings(packed, fsst)", "strings(packed, tokens)", "dict(packed, strings)"}) {
    SCOPED_TRACE(tree);
    const TestTable table = words(100'000, 5003, tree);
    const Subset nulls =
        filtered(table, [](Expr text) { return make_expr(ExprOp::kIsNotNull, Physical::kU8, {std::move(text)}); });
    const Subset subset = liked(table, "%99%");
    RunOptions all;
    all.prune = false;
    RunReport loading;
    RunReport again;
    gpu().backend->drop_cache();
    EXPECT_EQ(outcome(nulls.pipeline, all, Device::kCuda, &loading), outcome(nulls.pipeline, {}, Device::kCpu));
    EXPECT_GT(loading.bytes_transferred, 0u);
    EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda, &again), outcome(subset.pipeline, {}, Device::kCpu));
    EXPECT_EQ(again.bytes_transferred, 0u);
    const uint64_t beside = gpu().backend->cached_bytes();
    gpu().backend->drop_cache();
    EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda), outcome(subset.pipeline, {}, Device::kCpu));
    EXPECT_EQ(gpu().backend->cached_bytes(), beside);
  }
}

TEST(GpuPipeline, ChunksWithEqualDictionariesShareATable) {
  BASALT_NEEDS_GPU();
  const uint64_t distinct = 5003;
  const TestTable table = words(100'000, distinct, "dict(packed, strings(packed, plain))");
  gpu().backend->drop_cache();
  uint64_t before = 0;
  for (const char* pattern : {"%99%", "%7%8%", "word 1%"}) {
    const Subset subset = liked(table, pattern);
    EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda), outcome(subset.pipeline, {}, Device::kCpu)) << pattern;
    const uint64_t now = gpu().backend->cached_bytes();
    if (before > 0) {
      EXPECT_LT(now - before, 2 * distinct / 8) << "a bit for each entry, once for full chunks and once for the last";
    }
    before = now;
  }
}

TEST(GpuPipeline, RegularExpressionsLengthsAndParts) {
  BASALT_NEEDS_GPU();
  for (const char* tree :
       {"strings(packed, plain)", "strings(packed, fsst)", "strings(packed, tokens)", "dict(packed, strings)"}) {
    const TestTable table = words(30'000, 977, tree);
    const std::vector<std::function<Expr(Expr)>> filters = {
        [](Expr text) { return regexp(std::move(text), "^word (1|[2-5]+7?) of .*s$"); },
        [](Expr text) { return greater(length(std::move(text)), literal(int64_t{20})); },
        [](Expr text) { return equal(byte_length(std::move(text)), literal(int64_t{21})); },
        [](Expr text) {
          return in_list(substring(std::move(text), 5, 2), {literal("13"), literal("31"), literal("7 ")});
        },
    };
    for (const auto& filter : filters) {
      const Subset subset = filtered(table, filter);
      RunReport report;
      EXPECT_EQ(outcome(subset.pipeline, {}, Device::kCuda, &report), outcome(subset.pipeline, {}, Device::kCpu))
          << tree;
      EXPECT_EQ(report.ran_on, Device::kCuda);
      EXPECT_EQ(report.tiles.texts_decoded, 0u);
    }
  }
}

}  // namespace
}  // namespace basalt::test
