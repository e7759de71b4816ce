// What groups are made of: sums of floats that do not depend on the order of rows, and keys as words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/float_key.h"
#include "exec/cpu/group_table.h"
#include "exec/cpu/string_pool.h"
#include "exec/fixed_sum.h"
#include "exec/group_keys.h"
#include "exec/variance.h"

namespace basalt::exec {
namespace {

TEST(FixedSum, GivesSingleValuesBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const int top = static_cast<int>(random() % 600) - 300;
    const double value = std::ldexp(static_cast<double>(static_cast<int64_t>(random())), top - 63);
    const int32_t fraction = fraction_bits(exponent_above(value), 1'000'000);
    EXPECT_EQ(from_fixed(to_fixed(value, fraction), fraction), value) << value;
  }
  EXPECT_EQ(from_fixed(to_fixed(0.0, 50), 50), 0.0);
  EXPECT_EQ(from_fixed(to_fixed(-0.0, 50), 50), 0.0);
}

TEST(FixedSum, DoesNotDependOnTheOrder) {
  std::mt19937_64 random(2);
  std::vector<double> values;
  for (int i = 0; i < 5000; ++i) {
    values.push_back(
        std::ldexp(static_cast<double>(static_cast<int64_t>(random())), static_cast<int>(random() % 80) - 100));
  }
  int32_t top = kLeastExponent;
  for (const double value : values) top = std::max(top, exponent_above(value));
  const int32_t fraction = fraction_bits(top, values.size());
  long double exact = 0;
  int128_t first = 0;
  for (const double value : values) {
    first += to_fixed(value, fraction);
    exact += static_cast<long double>(value);
  }
  for (int round = 0; round < 5; ++round) {
    std::shuffle(values.begin(), values.end(), random);
    int128_t sum = 0;
    for (const double value : values) sum += to_fixed(value, fraction);
    EXPECT_EQ(sum, first);
  }
  EXPECT_NEAR(from_fixed(first, fraction), static_cast<double>(exact), 1e-15 * std::abs(static_cast<double>(exact)));
}

TEST(FixedSum, RemembersWhatIsNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(special_of(1.5), 0u);
  EXPECT_EQ(special_of(std::numeric_limits<double>::max()), 0u);
  EXPECT_EQ(with_specials(3, special_of(kInfinity)), kInfinity);
  EXPECT_EQ(with_specials(3, special_of(-kInfinity)), -kInfinity);
  EXPECT_TRUE(std::isnan(with_specials(3, special_of(kInfinity) | special_of(-kInfinity))));
  EXPECT_TRUE(std::isnan(with_specials(3, special_of(std::nan("")))));
  EXPECT_EQ(with_specials(3, 0), 3);
}

TEST(FixedSum, RoundsHalvesToEven) {
  const int128_t odd = (int128_t{1} << 60) + (1 << 7);  // half of a last digit above 2^60
  EXPECT_EQ(from_fixed(odd, 0), std::ldexp(1.0, 60));
  EXPECT_EQ(from_fixed(odd + 1, 0), std::ldexp(1.0, 60) + 256);
  EXPECT_EQ(from_fixed(-(odd + 1), 0), -(std::ldexp(1.0, 60) + 256));
}

// Against the two passes that a textbook takes, in long doubles, also for values that lie close together far from zero.
TEST(FixedSum, GivesVariances) {
  std::mt19937_64 random(4);
  for (const double offset : {0.0, 1e3, -1e9}) {
    for (const double spread : {1.0, 1e-3, 1e6}) {
      std::vector<double> values;
      for (int i = 0; i < 1000; ++i) {
        values.push_back(offset + spread * (static_cast<double>(random() % 1'000'000) / 1e6 - 0.5));
      }
      int32_t top = kLeastExponent;
      long double mean = 0;
      for (const double value : values) {
        top = std::max(top, exponent_above(value));
        mean += static_cast<long double>(value) / static_cast<long double>(values.size());
      }
      SquareSums sums;
      sums.rows = values.size();
      sums.fraction = fraction_bits(top, 100'000'000);
      sums.square_fraction = fraction_bits(2 * top, 100'000'000);
      long double distances = 0;
      for (const double value : values) {
        sums.sum += to_fixed(value, sums.fraction);
        sums.squares += square_to_fixed(value, sums.square_fraction);
        distances += (static_cast<long double>(value) - mean) * (static_cast<long double>(value) - mean);
      }
      const auto expected = static_cast<double>(distances / static_cast<long double>(values.size()));
      // Squares are cut off behind their last digit, which only values far from zero show.
      const double allowed = 1e-12 * expected + 2 * std::ldexp(1.0, -sums.square_fraction);
      EXPECT_NEAR(variance(sums, 0), expected, allowed) << offset << " ± " << spread;
      EXPECT_NEAR(variance(sums, 1), expected * 1000 / 999, allowed) << offset << " ± " << spread;
    }
  }
  EXPECT_EQ(square_to_fixed(-1.5, 10), static_cast<int128_t>(2304));
  EXPECT_EQ(square_to_fixed(0.0, 100), static_cast<int128_t>(0));
  EXPECT_EQ(square_to_fixed(1e-300, 100), static_cast<int128_t>(0));
}

Expr column(uint32_t index, Physical type) {
  Expr expr;
  expr.op = ExprOp::kColumn;
  expr.column = index;
  expr.type = type;
  return expr;
}

Statistics range(Physical type, int128_t low, int128_t high, bool nulls) {
  Statistics stats;
  stats.rows = 100;
  stats.null_count = nulls ? 1 : 0;
  stats.min = Value::of_integer(type, low);
  stats.max = Value::of_integer(type, high);
  return stats;
}

TEST(KeyLayout, MakesKeysAsShortAsTheirRangesAllow) {
  const Statistics small = range(Physical::kI64, 1000, 1003, false);
  const Statistics nullable = range(Physical::kI32, -2, 1, true);
  KeyLayout keys;
  keys.add(column(0, Physical::kI64), {&small, &nullable});
  keys.add(column(1, Physical::kI32), {&small, &nullable});
  EXPECT_EQ(keys.words(), 1u);
  EXPECT_EQ(keys.bits(), 2u + 3u);
  EXPECT_EQ(keys.combinations(1000), 4u * 5u);
  EXPECT_EQ(keys.combinations(19), std::nullopt);
  const KeyPart& second = keys.parts()[1];
  EXPECT_TRUE(second.null_code);
  EXPECT_EQ(integer_of_code(second, 1, 0), -2);
  EXPECT_EQ(integer_of_code(second, 4, 0), 1);
}

TEST(KeyLayout, FindsRoomForNullBesideFullWords) {
  const Statistics full = range(Physical::kI64, INT64_MIN, INT64_MAX, true);
  KeyLayout keys;
  keys.add(column(0, Physical::kI64), {&full});
  EXPECT_EQ(keys.words(), 2u);
  EXPECT_TRUE(keys.parts()[0].null_flag);
  EXPECT_EQ(keys.combinations(~uint64_t{0}), std::nullopt);
  KeyLayout wide;
  wide.add(column(0, Physical::kI128), {nullptr});
  EXPECT_EQ(wide.words(), 3u);
  EXPECT_TRUE(wide.parts()[0].two_words);
}

TEST(KeyLayout, LeavesOutNullAndWhatTakesNoBits) {
  const Statistics full = range(Physical::kI64, INT64_MIN, INT64_MAX, true);
  const Statistics same = range(Physical::kI64, 5, 5, false);
  KeyLayout keys;
  keys.add(column(0, Physical::kI64), {&full, &same}, false);
  keys.add(column(1, Physical::kI64), {&full, &same});
  EXPECT_EQ(keys.words(), 1u);
  EXPECT_EQ(keys.parts()[1].bits, 0u);
  EXPECT_EQ(keys.parts()[1].shift, 0u);
}

TEST(KeyLayout, FloatsComeBackFromTheirKeys) {
  for (const double value : {0.0, 1.5, -2.25, 1e300, -1e-300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(float_of_key(float_key(value), Physical::kF64), value);
  }
  EXPECT_EQ(float_of_key(float_key(-1.25f), Physical::kF32), -1.25);
  EXPECT_TRUE(std::isnan(float_of_key(float_key(std::nan("")), Physical::kF64)));
}

TEST(GroupTable, NumbersRowsInTheOrderTheyAreMet) {
  std::mt19937_64 random(3);
  for (const uint32_t words : {1u, 2u, 5u}) {
    GroupTable table(words, 64);
    std::vector<std::vector<uint64_t>> rows;
    for (int i = 0; i < 3000; ++i) {
      std::vector<uint64_t> row(words);
      for (uint64_t& word : row) word = random();
      EXPECT_EQ(table.number_of(row.data()), static_cast<uint32_t>(i));
      rows.push_back(row);
    }
    for (uint32_t i = 0; i < rows.size(); ++i) EXPECT_EQ(table.number_of(rows[i].data()), i);
    EXPECT_EQ(table.size(), rows.size());
  }
  GroupTable direct(1, 3);
  const uint64_t six = 6;
  const uint64_t beyond = 6 + 8;  // what statistics that lie may bring
  EXPECT_EQ(direct.number_of(&six), 0u);
  EXPECT_EQ(direct.number_of(&beyond), 0u);
}

TEST(StringPool, GivesEqualTextsOneNumber) {
  StringPool pool;
  const std::string long_text(100, 'x');
  EXPECT_EQ(pool.number_of("a"), 0u);
  EXPECT_EQ(pool.number_of(""), 1u);
  EXPECT_EQ(pool.number_of(long_text), 2u);
  EXPECT_EQ(pool.number_of(std::string("a")), 0u);
  EXPECT_EQ(pool.number_of(std::string(long_text)), 2u);
  EXPECT_EQ(pool.number_of(std::string("a\0", 2)), 3u);
  EXPECT_EQ(pool.at(2), long_text);
}

}  // namespace
}  // namespace basalt::exec
