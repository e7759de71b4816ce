// The CPU's loops over rows: those of every instruction set that this machine has make the bits that the functions of
// scale.h make of one row, with no product fused into a sum and no subnormal flushed.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <random>

#include "codec/galp/row_table.h"
#include "codec/galp_values.h"
#include "core/instruction_set.h"

namespace basalt {
namespace {

using galp::Arithmetic;
using galp::BitsOf;
using galp::IntOf;
using galp::RowTable;
using galp::Scale;
using testing::decimals;
using testing::special_values;

template <typename T>
const RowTable<T>& of_type(const galp::RowTables& tables) {
  if constexpr (sizeof(T) == 8) {
    return tables.of_double;
  } else {
    return tables.of_float;
  }
}

// check(type, table), for both types.
template <typename Check>
void for_every_table(Check check) {
  const auto take = [&](const char* name, const galp::RowTables& tables) {
    SCOPED_TRACE(name);
    check(double{}, of_type<double>(tables));
    check(float{}, of_type<float>(tables));
  };
  take("baseline", galp::rows_baseline::kTables);
#if defined(__x86_64__)
  if (instruction_set() != InstructionSet::kBaseline) take("AVX2", galp::rows_avx2::kTables);
  if (instruction_set() == InstructionSet::kAvx512) take("AVX-512", galp::rows_avx512::kTables);
#endif
}

// The numbers of rows that encoders and readers ask loops for: any, and for some only whole rows of lanes.
constexpr uint32_t kAnyRows[] = {1, 2, 31, 32, 33, 255, 1000, 1023, 1024};
constexpr uint32_t kWholeRows[] = {32, 64, 96, 256, 1024};

// A tile of decimals, of floats of any bits, and of all that are special.
template <typename T>
std::vector<T> any_values(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values = decimals<T>(kTileRows, 3000, 100, seed);
  const std::vector<T> special = special_values<T>();
  for (size_t i = 0; i < special.size(); ++i) values[(i * 7 + seed) % kTileRows] = special[i];
  for (size_t i = 5; i < values.size(); i += 9) values[i] = testing::random_bits<T>(random);
  return values;
}

// Integers of any size, half of them small.
template <typename T>
std::vector<IntOf<T>> any_integers(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<IntOf<T>> integers(kTileRows);
  for (IntOf<T>& integer : integers) {
    const auto size = static_cast<BitsOf<T>>(random()) >> random() % Arithmetic<T>::kBits;
    integer = static_cast<IntOf<T>>(random() % 2 == 0 ? size : BitsOf<T>{0} - size);
  }
  return integers;
}

template <typename T>
bool same_bits(const T* a, const T* b, uint32_t rows) {
  return std::memcmp(a, b, rows * sizeof(T)) == 0;
}

TEST(GalpRows, MachinesUseLoopsThatAreTested) {
  bool found = false;
  for_every_table([&](auto type, const auto& table) { found |= &table == &galp::row_table<decltype(type)>(); });
  EXPECT_TRUE(found);
}

TEST(GalpRows, ScalingDoesAsEncode) {
  for_every_table([]<typename T>(T, const RowTable<T>& loops) {
    const std::vector<T> values = any_values<T>(5);
    T d[kTileRows];
    BitsOf<T> held[kTileRows];
    for (uint32_t number = 0; number < galp::pairs_of(Arithmetic<T>::kBits); ++number) {
      const auto scale = Scale<T>::of(galp::pair_of(number));
      const uint32_t rows = kWholeRows[number % std::size(kWholeRows)];
      const uint32_t exceptions = loops.scale(values.data(), rows, scale, d, held);
      galp::FloatRange<T> range;
      loops.widen(d, rows, range);
      galp::BitsRange<T> others;
      loops.widen_exceptions(values.data(), held, rows, others);
      uint32_t expected = 0;
      galp::FloatRange<T> expected_range;
      galp::BitsRange<T> expected_others;
      for (uint32_t i = 0; i < rows; ++i) {
        const galp::Scaled<T> scaled = galp::encode(values[i], scale);
        ASSERT_EQ(held[i], scaled.exception == 1 ? BitsOf<T>{0} : static_cast<BitsOf<T>>(~BitsOf<T>{0})) << values[i];
        if (scaled.exception == 1) {
          ++expected;
          ASSERT_TRUE(d[i] != d[i]) << "no NaN at an exception";
          const BitsOf<T> bits = galp::bits_of(values[i]);
          expected_others = {std::min(expected_others.low, bits), std::max(expected_others.high, bits)};
        } else {
          ASSERT_EQ(galp::bits_of(d[i]), galp::bits_of(scaled.d));
          expected_range = {std::min(expected_range.low, scaled.d), std::max(expected_range.high, scaled.d)};
        }
      }
      EXPECT_EQ(exceptions, expected);
      EXPECT_EQ(range.low, expected_range.low);
      EXPECT_EQ(range.high, expected_range.high);
      EXPECT_EQ(others.low, expected_others.low);
      EXPECT_EQ(others.high, expected_others.high);
    }
  });
}

TEST(GalpRows, IntegersOfFloatsAndSpansOfPatterns) {
  for_every_table([]<typename T>(T, const RowTable<T>& loops) {
    using Int = IntOf<T>;
    for (const uint32_t rows : kAnyRows) {
      std::vector<T> whole;
      for (const Int integer : any_integers<T>(rows)) whole.push_back(static_cast<T>(integer / 2));
      whole[rows - 1] = Arithmetic<T>::limit(0);
      whole[0] = -Arithmetic<T>::limit(0);
      Int integers[kTileRows];
      loops.to_integers(whole.data(), rows, integers);
      for (uint32_t i = 0; i < rows; ++i) ASSERT_EQ(integers[i], static_cast<Int>(whole[i]));

      const std::vector<T> values = any_values<T>(rows);
      Int low = std::numeric_limits<Int>::max();
      Int high = std::numeric_limits<Int>::min();
      for (uint32_t i = 0; i < rows; ++i) {
        low = std::min(low, static_cast<Int>(galp::bits_of(values[i])));
        high = std::max(high, static_cast<Int>(galp::bits_of(values[i])));
      }
      EXPECT_EQ(loops.span_of_bits(values.data(), rows), static_cast<BitsOf<T>>(high) - static_cast<BitsOf<T>>(low));
    }
  });
}

// A dictionary of the upper parts of the first values, which are different ones.
template <typename T>
galp::Dictionary dictionary_of(const std::vector<T>& values, uint32_t left_bits, uint32_t most) {
  galp::Dictionary out{static_cast<uint16_t>(left_bits), 0, {}};
  for (const T value : values) {
    const auto left = static_cast<uint16_t>(galp::bits_of(value) >> (Arithmetic<T>::kBits - left_bits));
    auto* end = out.entries + out.size;
    if (out.size < most && std::find(out.entries, end, left) == end) out.entries[out.size++] = left;
  }
  return out;
}

TEST(GalpRows, PatternsAreSplitAndJoined) {
  for_every_table([]<typename T>(T, const RowTable<T>& loops) {
    using Bits = BitsOf<T>;
    for (uint32_t left_bits = 1; left_bits <= galp::kMaxLeftBits; ++left_bits) {
      const uint32_t rows = kAnyRows[left_bits % std::size(kAnyRows)];
      const uint32_t right_bits = Arithmetic<T>::kBits - left_bits;
      const std::vector<T> values = any_values<T>(left_bits);
      const galp::Dictionary dictionary = dictionary_of(values, left_bits, 1 + left_bits % galp::kMaxEntries);
      T parts[kTileRows];
      Bits held[kTileRows];
      const uint32_t exceptions = loops.split(values.data(), rows, dictionary, parts, held);
      uint32_t expected = 0;
      Bits all = 0;
      for (uint32_t i = 0; i < rows; ++i) {
        const Bits bits = galp::bits_of(values[i]);
        const auto* end = dictionary.entries + dictionary.size;
        const auto* entry = std::find(dictionary.entries, end, bits >> right_bits);
        expected += entry == end ? 1 : 0;
        ASSERT_EQ(held[i], entry == end ? Bits{0} : static_cast<Bits>(~Bits{0}));
        const auto index = static_cast<Bits>(entry == end ? 0 : entry - dictionary.entries);
        const auto right = static_cast<Bits>(bits & static_cast<Bits>(low_bits(right_bits)));
        ASSERT_EQ(galp::bits_of(parts[i]), static_cast<Bits>(index << right_bits | right));
        all |= index;
      }
      EXPECT_EQ(exceptions, expected);

      Bits differences[galp::kMaxEntries];
      for (uint32_t i = 0; i < galp::kMaxEntries; ++i) {
        differences[i] = static_cast<Bits>((static_cast<Bits>(dictionary.entries[i]) - i) << right_bits);
      }
      IntOf<T> numbers[kTileRows];
      std::memcpy(numbers, parts, sizeof(parts));
      T joined[kTileRows];
      EXPECT_EQ(loops.join_parts(numbers, rows, differences, right_bits, joined), all);
      for (uint32_t i = 0; i < rows; ++i) {
        if (held[i] != 0) {
          ASSERT_EQ(galp::bits_of(joined[i]), galp::bits_of(values[i]));
        }
      }
    }
  });
}

// Integers at and beyond the largest for which the short way is right.
template <typename T>
std::vector<IntOf<T>> integers_up_to(int64_t most, uint64_t seed) {
  std::vector<IntOf<T>> integers = any_integers<T>(seed);
  for (IntOf<T>& integer : integers) {
    const auto kept = static_cast<int64_t>(integer) % (most + 1);
    integer = static_cast<IntOf<T>>(kept);
  }
  integers[0] = static_cast<IntOf<T>>(most);
  integers[1 % integers.size()] = static_cast<IntOf<T>>(-most);
  return integers;
}

TEST(GalpRows, DecodingDoesAsDecode) {
  for_every_table([]<typename T>(T, const RowTable<T>& loops) {
    T out[kTileRows];
    for (uint32_t number = 0; number < galp::pairs_of(Arithmetic<T>::kBits); ++number) {
      const auto scale = Scale<T>::of(galp::pair_of(number));
      const uint32_t rows = kAnyRows[number % std::size(kAnyRows)];
      const std::vector<IntOf<T>> any = any_integers<T>(number);
      loops.decode(any.data(), rows, scale, out);
      ASSERT_TRUE(same_bits(out, testing::decoded<T>(number, any).data(), rows)) << "pair " << number;

      const int64_t most = std::min(galp::small_limit(T{}), static_cast<int64_t>(scale.limit));
      const std::vector<IntOf<T>> small = integers_up_to<T>(most, number);
      const std::vector<T> values = testing::decoded<T>(number, small);
      loops.decode_small(small.data(), rows, scale, out);
      ASSERT_TRUE(same_bits(out, values.data(), rows)) << "pair " << number;
    }
  });
}

TEST(GalpRows, OnlySmallIntegersPassForSmall) {
  for_every_table([]<typename T>(T, const RowTable<T>& loops) {
    using Int = IntOf<T>;
    const auto scale = Scale<T>::of({0, 0});
    T out[kTileRows];
    const auto most_bits = static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(galp::small_limit(T{})))) - 1;
    for (uint32_t bits = 0; bits <= most_bits; ++bits) {
      for (const uint32_t rows : kAnyRows) {
        const Int power = Int{1} << bits;
        for (const Int last :
             {power - 1, power, -power, -power - 1, std::numeric_limits<Int>::max(), std::numeric_limits<Int>::min()}) {
          std::vector<Int> integers = integers_up_to<T>(power - 1, bits);
          integers[rows - 1] = last;
          const bool small = last >= -power && last < power;
          ASSERT_EQ(loops.decode_if_small(integers.data(), rows, scale, bits, out), small) << bits << " bits, " << last;
          if (small) {
            ASSERT_TRUE(same_bits(out, testing::decoded<T>(0, integers).data(), rows));
          }
          ASSERT_EQ(loops.within(integers.data(), rows, power), last >= -power && last <= power) << last;
        }
      }
    }
  });
}

// The compiler may not know the numbers, or it would do the sums itself.
template <typename T>
T hidden(T value) {
  volatile T there = value;
  return there;
}

// (1 + x)(1 − x) − 1 is −x² rounded once, and 0 where the product is rounded by itself.
TEST(GalpRows, ProductsAreRoundedBeforeTheyAreAdded) {
  const auto check = []<typename T>(T) {
    const T x = std::ldexp(T{1}, -std::numeric_limits<T>::digits / 2 - 3);
    EXPECT_EQ(galp::sum(galp::multiply(hidden(1 + x), hidden(1 - x)), hidden(T{-1})), T{0});
    EXPECT_NE(std::fma(hidden(1 + x), hidden(1 - x), hidden(T{-1})), T{0});
  };
  check(double{});
  check(float{});
}

// Two products, rounded one by one, differ from any wider form of them here; loops make the first.
TEST(GalpRows, ProductsAreRoundedOneByOne) {
  for_every_table([]<typename T>(T, const RowTable<T>& loops) {
    constexpr bool kDouble = sizeof(T) == 8;
    const galp::Pair pair = kDouble ? galp::Pair{14, 13} : galp::Pair{7, 6};
    const auto scale = Scale<T>::of(pair);
    T values[kTileRows];
    for (uint32_t i = 0; i < kTileRows; ++i) values[i] = static_cast<T>(i + 1) / 10;
    uint32_t differ = 0;
    for (const T value : values) {
      const T first = hidden(static_cast<T>(hidden(value) * hidden(scale.up)));
      const T second = hidden(static_cast<T>(first * hidden(scale.down)));
      EXPECT_EQ(galp::multiply(galp::multiply(value, scale.up), scale.down), second);
      const long double wide = static_cast<long double>(value) * static_cast<long double>(scale.up);
      differ += static_cast<T>(wide * static_cast<long double>(scale.down)) != second ? 1 : 0;
    }
    EXPECT_GT(differ, 0u);
    // The same in the other direction, where what a loop makes can be seen.
    IntOf<T> integers[kTileRows];
    for (uint32_t i = 0; i < kTileRows; ++i) integers[i] = static_cast<IntOf<T>>(i * 3 + 1);
    T out[kTileRows];
    const auto back = Scale<T>::of({pair.e, 2});
    loops.decode_small(integers, kTileRows, back, out);
    for (uint32_t i = 0; i < kTileRows; ++i) {
      const T product = hidden(static_cast<T>(static_cast<T>(integers[i]) * hidden(T{100})));
      ASSERT_EQ(out[i], hidden(static_cast<T>(product * hidden(back.back))));
    }
  });
}

// A machine that takes subnormals for zero would take them for values that come back.
TEST(GalpRows, SubnormalsAreNotFlushed) {
  const auto check = []<typename T>(T) {
    using Limits = std::numeric_limits<T>;
    EXPECT_EQ(galp::bits_of(galp::multiply(hidden(Limits::denorm_min()), hidden(T{10}))), 10u);
    EXPECT_EQ(galp::bits_of(galp::multiply(hidden(Limits::min()), hidden(T{0.5}))), galp::bits_of(Limits::min()) / 2);
  };
  check(double{});
  check(float{});
  for_every_table([]<typename T>(T, const RowTable<T>& loops) {
    std::array<T, kTileRows> values;
    for (uint32_t i = 0; i < kTileRows; ++i) values[i] = galp::float_of(static_cast<BitsOf<T>>(i));
    T d[kTileRows];
    BitsOf<T> held[kTileRows];
    // All but zero itself: no integer is so small.
    EXPECT_EQ(loops.scale(values.data(), kTileRows, Scale<T>::of({2, 1}), d, held), kTileRows - 1);
    EXPECT_NE(held[0], 0u);
  });
}

}  // namespace
}  // namespace basalt
