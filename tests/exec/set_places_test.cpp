// What expressions ask of sets that lie in memory: bits by numbers, and values by numbers.
#include <gtest/gtest.h>

#include <vector>

#include "basalt/exec/expressions.h"
#include "exec/set_places.h"
#include "exec/tables.h"

namespace basalt::test {
namespace {

std::vector<Value> run_over(const TestTable& table, std::vector<Aggregate> aggregates, const Expr* filter,
                            RunReport* report) {
  Pipeline pipeline;
  pipeline.files = {table.file};
  pipeline.columns = table.pipeline_columns();
  pipeline.aggregates = std::move(aggregates);
  pipeline.has_filter = filter != nullptr;
  if (filter != nullptr) pipeline.filter = *filter;
  RunOptions options;
  options.device = Device::kCpu;
  return run_pipeline(pipeline, options, report);
}

template <typename T>
int64_t address(const std::vector<T>& values) {
  return reinterpret_cast<int64_t>(values.data());
}

TEST(SetPlaces, MembersAreFoundByTheirBits) {
  constexpr int64_t kLeast = -1000;
  constexpr int64_t kCount = 40000;
  std::vector<uint32_t> bits((kCount + 31) / 32, 0);
  const auto is_in = [&](int64_t value) { return value >= kLeast && value < kLeast + kCount && value % 7 == 0; };
  for (int64_t place = 0; place < kCount; ++place) {
    if (is_in(kLeast + place)) bits[place / 32] |= 1u << place % 32;
  }
  std::vector<int32_t> values;
  std::vector<uint64_t> nulls;
  int64_t expected = 0;
  for (int32_t i = 0; i < 200000; ++i) {
    values.push_back(i - 50000);
    if (i % 11 == 0) nulls.push_back(i);
    if (i % 11 != 0 && is_in(values.back())) expected += values.back();
  }
  Column column = make_fixed({TypeKind::kInt32}, values);
  set_nulls(column, nulls);
  const TestTable table = write_table({std::move(column)}, {}, 65536);
  const Expr value = column_expr(0, Physical::kI32);
  const Expr member = exec::member_of(value, 0, {kLeast, kCount, address(bits)});
  RunReport report;
  EXPECT_EQ(run_over(table, {sum(value)}, &member, &report)[0].integer, expected);
  EXPECT_GT(report.tiles.skipped, report.tiles.total / 2);  // most rows lie outside
  EXPECT_LT(report.tiles.skipped, report.tiles.total);
}

// 0 beyond the numbers, NULL for NULL.
template <typename T>
void look_up(Physical type, T low, T high) {
  const std::vector<T> values = {5, low, high, 0, 12};
  Column column = make_fixed<int32_t>({TypeKind::kInt32}, {-21, -20, -19, -18, -17, -16, -15, 7, 1000000});
  set_nulls(column, {7});
  const TestTable table = write_table({std::move(column)}, {}, 65536);
  const exec::SetPlace place{-20, static_cast<int64_t>(values.size()), address(values)};
  const Expr found = exec::looked_up(column_expr(0, Physical::kI32), 0, place, type, low, high);
  const std::vector<Value> results =
      run_over(table, {sum(found), min(found), max(found), count(found)}, nullptr, nullptr);
  SCOPED_TRACE(to_string(type));
  EXPECT_EQ(results[0].integer, static_cast<int128_t>(low) + high + 17);
  EXPECT_EQ(results[1].integer, std::min<int128_t>(low, 0));
  EXPECT_EQ(results[2].integer, high);
  EXPECT_EQ(results[3].integer, 8);
}

TEST(SetPlaces, ValuesOfEveryWidthAreLookedUp) {
  look_up<int8_t>(Physical::kI8, -128, 127);
  look_up<uint8_t>(Physical::kU8, 0, 255);
  look_up<int16_t>(Physical::kI16, -32768, 32767);
  look_up<uint16_t>(Physical::kU16, 0, 65535);
  look_up<int32_t>(Physical::kI32, -2147483647, 2147483647);
  look_up<uint32_t>(Physical::kU32, 0, 4294967295);
  look_up<int64_t>(Physical::kI64, -(int64_t{1} << 62), int64_t{1} << 62);
}

}  // namespace
}  // namespace basalt::test
