// What expressions ask of sets that lie in memory: bits by numbers, and values by numbers.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "basalt/exec/expressions.h"
#include "exec/scalar.h"
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

// The least value beyond the numbers, NULL for NULL.
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
  // Three numbers are not there; one row has none.
  EXPECT_EQ(results[0].integer, 4 * static_cast<int128_t>(low) + high + 17);
  EXPECT_EQ(results[1].integer, low);
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

// What a set has for numbers of 32 bits says of each of them what the whole set does.
TEST(SetPlaces, PartsForNumbersOf32Bits) {
  const std::vector<uint32_t> bits = {0x90000005, 0xF00000F1, 0x12345678, 0xFFFFFFFF};
  std::vector<int16_t> values;
  for (int16_t i = 0; i < 128; ++i) values.push_back(static_cast<int16_t>(3 * i - 50));
  constexpr int64_t kFirst = std::numeric_limits<int32_t>::min();
  constexpr int64_t kLast = std::numeric_limits<int32_t>::max();
  for (const int64_t least :
       {int64_t{-96}, kFirst, kFirst - 32, kFirst - 96, kFirst - 128, kLast - 127, kLast - 31, kLast + 1,
        int64_t{1} << 32, -(int64_t{1} << 32), (int64_t{1} << 32) + kFirst, int64_t{1} << 62}) {
    const exec::SetPlace set{least, 128, address(bits)};
    const exec::SetPlace array{least, 128, address(values)};
    const exec::SetPlace near = exec::within_32_bits(set, 1);
    const exec::SetPlace near_array = exec::within_32_bits(array, 16);
    for (const int64_t middle : {least, int64_t{-50}, int64_t{0}, kFirst + 200, kLast - 200}) {
      for (int64_t number = middle - 200; number <= middle + 200; ++number) {
        if (number < kFirst || number > kLast) continue;
        const auto value = static_cast<int32_t>(number);
        ASSERT_EQ(exec::is_member_32(value, static_cast<uint32_t>(near.least), static_cast<uint32_t>(near.count),
                                     near.address),
                  exec::is_member(number, set.least, set.count, set.address))
            << number << " of a set from " << least;
        ASSERT_EQ(exec::look_up_32<int16_t>(value, static_cast<uint32_t>(near_array.least),
                                            static_cast<uint32_t>(near_array.count), near_array.address, -999),
                  exec::look_up<int16_t>(number, array.least, array.count, array.address, -999))
            << number << " of an array from " << least;
      }
    }
  }
}

}  // namespace
}  // namespace basalt::test
