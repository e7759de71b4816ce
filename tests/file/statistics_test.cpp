// Statistics that come from a dictionary's codes are those that a look at every row gives.
#include <gtest/gtest.h>

#include "basalt/encoding/tree.h"
#include "file/test_files.h"

namespace basalt::test {
namespace {

constexpr uint64_t kRows = 40000;

std::string text_of(const Value& value) {
  if (value.null) return "NULL";
  if (value.type == Physical::kBytes) return value.bytes;
  return is_float(value.type) ? std::to_string(value.real) : std::to_string(static_cast<int64_t>(value.integer));
}

std::string text_of(const Statistics& stats) {
  std::string text = std::to_string(stats.rows) + " rows, " + std::to_string(stats.null_count) + " NULLs, " +
                     text_of(stats.min) + " to " + text_of(stats.max) + ", about " + std::to_string(stats.distinct);
  for (const bool flag : {stats.min_exact, stats.max_exact, stats.has_nan, stats.ascending, stats.descending,
                          stats.strict, stats.constant, stats.dense}) {
    text += flag ? " 1" : " 0";
  }
  return text;
}

std::vector<std::string> statistics_under(const NamedColumn& column, const std::string& tree) {
  TemporaryFolder folder;
  WriteOptions options = chunks_of(16384);
  options.encodings = {{column.field.name, parse_tree(tree)}};
  write(folder.path("t.basalt"), make_table(kRows, {column}), options);
  const auto file = File::open(folder.path("t.basalt"));
  std::vector<std::string> texts = {text_of(file->statistics(0))};
  for (const ColumnChunkInfo& chunk : file->column(0).chunks) {
    texts.push_back("chunk: " + text_of(chunk.stats));
    for (const Statistics& zone : chunk.zones) texts.push_back("zone: " + text_of(zone));
  }
  return texts;
}

TEST(Statistics, OfStringsAreTheSameFromCodesAndRows) {
  const std::string prefix(70, 'p');
  const std::vector<std::pair<const char*, std::function<std::string(uint64_t)>>> patterns = {
      {"few", [](uint64_t i) { return "v" + std::to_string(scramble(i) % 7); }},
      {"many", [](uint64_t i) { return std::to_string(scramble(i) % 5000); }},
      {"rising", [](uint64_t i) { return std::to_string(1000000 + i); }},
      {"rising in steps", [](uint64_t i) { return std::to_string(1000000 + i / 100); }},
      {"falling", [](uint64_t i) { return std::to_string(2000000 - i); }},
      {"one", [](uint64_t) { return "same"; }},
      {"one exception", [](uint64_t i) { return i == 16384 ? "a" : "b"; }},
      {"empty and long", [&](uint64_t i) { return i % 3 == 0 ? "" : prefix + std::to_string(i % 11); }},
  };
  for (const auto& [name, value] : patterns) {
    for (const TypeKind kind : {TypeKind::kUtf8, TypeKind::kBinary}) {
      for (const bool nulls : {false, true}) {
        SCOPED_TRACE(std::string(name) + (nulls ? " with NULLs" : ""));
        const IsNull is_null = [&](uint64_t i) { return nulls && scramble(i) % 5 == 0; };
        const NamedColumn column = strings("s", kind, kRows, value, is_null);
        EXPECT_EQ(statistics_under(column, "dict(packed, strings(packed, plain))"),
                  statistics_under(column, "strings(packed, plain)"));
      }
    }
  }
}

TEST(Statistics, OfNumbersAreTheSameFromCodesAndRows) {
  for (const bool nulls : {false, true}) {
    const IsNull is_null = [&](uint64_t i) { return nulls && i % 16384 < 10; };
    const NamedColumn few = integers(
        "n", type_of(TypeKind::kInt64), kRows,
        [](uint64_t i) { return static_cast<int64_t>(scramble(i) % 3000) * 1000003 - 7; }, is_null);
    EXPECT_EQ(statistics_under(few, "dict(packed, plain)"), statistics_under(few, "packed"));
    const NamedColumn zeros = reals(
        "x", TypeKind::kFloat64, kRows,
        [](uint64_t i) { return i % 3 == 0   ? -0.0
                                : i % 3 == 1 ? 0.0
                                             : static_cast<double>(i % 50); }, is_null);
    EXPECT_EQ(statistics_under(zeros, "dict(packed, plain)"), statistics_under(zeros, "plain"));
  }
}

}  // namespace
}  // namespace basalt::test
