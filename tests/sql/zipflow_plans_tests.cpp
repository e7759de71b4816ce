// The 24 plans of ZipFlow's paper as our trees, over columns of TPC-H: they parse and print the same, hold their
// columns and give them back; and the made rows are what they promise.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "basalt/core/error.h"
#include "basalt/encoding/tree.h"
#include "gen/tpch/rows.h"
#include "gen/zipflow.h"

namespace basalt::testing {
namespace {

using gen::ZipflowColumn;
using gen::ZipflowPlan;

std::vector<ZipflowColumn> columns_of_tpch(double scale) {
  std::vector<ZipflowColumn> columns(gen::zipflow_plans().begin(), gen::zipflow_plans().end());
  const TpchRows maker(scale);
  for (const char* name : {"lineitem", "orders", "partsupp"}) {
    // In two parts, so that words get numbers in the first that others come before in the second.
    const uint64_t units = maker.units(name);
    for (const auto& [begin, end] : {std::pair{uint64_t{0}, units / 3}, std::pair{units / 3, units}}) {
      const Table rows = maker.make(name, begin, end);
      for (ZipflowColumn& column : columns) {
        for (size_t i = 0; i < rows.columns.size(); ++i) {
          if (rows.schema.fields[i].name == column.plan().column) column.append(rows.columns[i]);
        }
      }
    }
  }
  for (ZipflowColumn& column : columns) column.finish();
  return columns;
}

void expect_decodes_to(const Node& node, const Values& values) {
  const NodeView view = view_of(node);
  validate_tree(view);
  const auto reader = open_reader(view);
  std::vector<int64_t> numbers(kTileRows);
  StringRows texts;
  for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) {
    const uint64_t first = uint64_t{tile} * kTileRows;
    const uint32_t rows = rows_in_tile(values.count, tile);
    if (values.type != Physical::kBytes) {
      reader->decode_tile(tile, numbers.data());
      for (uint32_t i = 0; i < rows; ++i) ASSERT_EQ(numbers[i], values.as<int64_t>()[first + i]) << "row " << first + i;
      continue;
    }
    texts.clear();
    reader->decode_tile(tile, texts);
    ASSERT_EQ(texts.size(), rows);
    for (uint32_t i = 0; i < rows; ++i) ASSERT_EQ(texts.at(i), values.string(first + i)) << "row " << first + i;
  }
  EXPECT_FALSE(reader->corrupt());
}

TEST(ZipflowPlans, ParseAndPrintTheSame) {
  EXPECT_EQ(gen::zipflow_plans().size(), 24u);
  for (const ZipflowPlan& plan : gen::zipflow_plans()) {
    EXPECT_EQ(to_string(parse_tree(plan.tree)), plan.tree) << plan.column;
    if (plan.instead == nullptr) continue;
    EXPECT_EQ(to_string(parse_tree(plan.instead)), plan.instead) << plan.column;
  }
}

TEST(ZipflowPlans, HoldTheirColumns) {
  for (const ZipflowColumn& column : columns_of_tpch(0.01)) {
    SCOPED_TRACE(column.plan().column);
    ASSERT_GT(column.rows(), 7000u);
    const Values values = column.values(0, column.rows());
    const Tree tree = bind_tree(parse_tree(column.plan().tree), values.type);
    const Node node = encode_tree(values, tree);
    EXPECT_EQ(tree_of(view_of(node)), tree);
    EXPECT_LT(node.encoded_bytes(), column.plain_bytes() / 2);
    expect_decodes_to(node, values);
    // And rows that begin elsewhere.
    const Values part = column.values(1000, column.rows() - 77);
    expect_decodes_to(encode_tree(part, tree), part);
  }
}

TEST(ZipflowPlans, WordsAreNumberedInTheirOrder) {
  const std::vector<ZipflowColumn> columns = columns_of_tpch(0.01);
  const TpchRows maker(0.01);
  const Table rows = maker.make("lineitem", 0, maker.units("lineitem"));
  for (const ZipflowColumn& column : columns) {
    if (std::string_view(column.plan().column) != "l_shipmode") continue;
    const size_t field = [&] {
      for (size_t i = 0;; ++i)
        if (rows.schema.fields.at(i).name == "l_shipmode") return i;
    }();
    std::map<int64_t, std::string_view> words;
    const Values values = column.values(0, column.rows());
    for (uint64_t i = 0; i < values.count; ++i) {
      const auto [at, fresh] = words.emplace(values.as<int64_t>()[i], rows.columns[field].string_at(i));
      ASSERT_EQ(at->second, rows.columns[field].string_at(i)) << fresh;
    }
    std::string_view before;
    for (const auto& [number, word] : words) {
      EXPECT_LT(before, word);
      before = word;
    }
    EXPECT_EQ(words.size(), 7u);
    EXPECT_EQ(words.rbegin()->first, 6);
  }
}

TEST(ZipflowRows, RunsHaveTheirLengths) {
  constexpr uint64_t kRows = 1 << 20;
  EXPECT_EQ(gen::zipflow_run_lengths().size(), 14u);
  for (const gen::RunLengths& lengths : gen::zipflow_run_lengths()) {
    SCOPED_TRACE(lengths.name);
    const std::vector<int64_t> rows = gen::rows_of_runs(lengths, kRows);
    ASSERT_EQ(rows.size(), kRows);
    std::set<uint64_t> found;
    uint64_t length = 1;
    for (uint64_t i = 1; i < kRows; ++i, ++length) {
      ASSERT_LT(rows[i], 1 << 24);
      if (rows[i] == rows[i - 1]) continue;
      found.insert(length);
      length = 0;
    }
    if (lengths.longest == 0) {
      EXPECT_GT(found.size(), 5u);
      continue;
    }
    const uint64_t longest = std::max(lengths.longest, lengths.outlier);
    EXPECT_GE(*found.begin(), lengths.shortest);
    EXPECT_LE(*found.rbegin(), longest);
    EXPECT_LT(*found.begin(), lengths.shortest + longest / 10 + 1);
    EXPECT_GT(*found.rbegin(), longest - longest / 10 - 1);
  }
}

TEST(ZipflowRows, SkewsCarryTheirBits) {
  constexpr uint64_t kRows = 1 << 20;
  EXPECT_EQ(gen::zipflow_skews().size(), 16u);
  for (const gen::SkewedBytes& skew : gen::zipflow_skews()) {
    std::vector<double> counts(256);
    for (const uint8_t value : gen::rows_of_skew(skew, kRows)) ++counts[value];
    double bits = 0;
    for (const double count : counts) bits -= count > 0 ? count / kRows * std::log2(count / kRows) : 0;
    EXPECT_NEAR(bits, skew.bits, 0.01) << skew.rare;
    EXPECT_NEAR(counts[0] / kRows, skew.frequent(), 0.002) << skew.rare;
  }
}

}  // namespace
}  // namespace basalt::testing
