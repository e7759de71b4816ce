// Columns of doubles for measurements: as many exceptions as asked for, and repetitions that differ but take as many
// bytes.
#include "gen/floats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"
#include "codec/galp/exceptions.h"

namespace basalt {
namespace {

Node encoded(const std::vector<double>& values) {
  Values view;
  view.type = Physical::kF64;
  view.count = values.size();
  view.data = values.data();
  return encode_tree(view, Tree{"galp", {{"packed", {}}}});
}

TEST(Floats, MadeColumnsHaveTheirWidthAndExceptions) {
  for (const gen::DecimalColumn& column : gen::decimal_columns()) {
    constexpr uint64_t kTiles = 20;
    const std::vector<double> values = gen::decimal_values(column, kTiles * kTileRows);
    const Node node = encoded(values);
    // The encoder may find a pair with a few more.
    for (const uint32_t count : galp::exception_counts(view_of(node)))
      EXPECT_NEAR(count, column.exceptions, 8) << column.name;
    const double bits = 8.0 * static_cast<double>(node.children[0].encoded_bytes()) / (kTiles * kTileRows);
    EXPECT_NEAR(bits, column.width, 1.1) << column.name;
    EXPECT_EQ(gen::decimal_values(column, kTileRows), std::vector<double>(values.begin(), values.begin() + kTileRows))
        << column.name;
  }
}

TEST(Floats, RepetitionsDifferAndKeepTheirShape) {
  const std::vector<double> once = gen::decimal_values({"", 14, 25, 3}, 3 * kTileRows + 100);
  const std::vector<double> many = gen::repeated(once, 31 * kTileRows);
  ASSERT_EQ(many.size(), 30u * kTileRows);  // whole tiles, whole repetitions
  EXPECT_TRUE(std::equal(many.begin(), many.begin() + 3 * kTileRows, once.begin()));
  const Node node = encoded(many);
  const std::vector<uint32_t> counts = galp::exception_counts(view_of(node));
  for (uint32_t again = 1; again < 10; ++again) {
    size_t same = 0;
    for (uint32_t i = 0; i < 3 * kTileRows; ++i) same += many[again * 3 * kTileRows + i] == once[i] ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(same), 3 * 25, 3 * 8) << again;  // exceptions stay
  }
  for (size_t tile = 0; tile < counts.size(); ++tile) EXPECT_NEAR(counts[tile], 25, 8) << tile;
}

TEST(Floats, ShortAndIrregularOnesAreRepeatedToo) {
  const std::vector<double> few = {1.5, -0.0, std::nan(""), 2.25};
  const std::vector<double> many = gen::repeated(few, 11);
  ASSERT_EQ(many.size(), 8u);
  EXPECT_EQ(std::bit_cast<uint64_t>(many[5]), std::bit_cast<uint64_t>(few[1]));
  EXPECT_EQ(gen::repeated(few, 1).size(), few.size());
}

TEST(Floats, FilesOfTextAndOfBits) {
  const std::string path = ::testing::TempDir() + "floats_test";
  const std::vector<double> values = {1.25, -3e-7, 12345678.875};
  std::ofstream(path + ".csv") << "1.25\r\n-3e-7\n\n12345678.875\n";
  std::ofstream(path + ".f64", std::ios::binary).write(reinterpret_cast<const char*>(values.data()), 24);
  std::ofstream(path + "_bad.csv") << "1.25\nabc\n";
  std::ofstream(path + "_empty.csv") << "";
  EXPECT_EQ(gen::read_doubles(path + ".csv"), values);
  EXPECT_EQ(gen::read_doubles(path + ".f64"), values);
  for (const char* end : {"_bad.csv", "_empty.csv", "_missing.csv"}) {
    EXPECT_THROW(gen::read_doubles(path + end), Error) << end;
  }
  for (const char* end : {".csv", ".f64", "_bad.csv", "_empty.csv"}) std::remove((path + end).c_str());
}

}  // namespace
}  // namespace basalt
