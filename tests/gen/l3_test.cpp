// The columns of the L3 paper: the formulas where they are known, the character of the originals elsewhere, and values
// that depend neither on the machine nor on how they are asked for.
#include "gen/l3.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "basalt/core/error.h"
#include "gen/exact_math.h"
#include "gen/random.h"

namespace basalt {
namespace {

// Values as 64 bits, signed ones sign-extended.
void append_values(const L3Set& set, const Table& table, std::vector<uint64_t>& out) {
  const Buffer& bytes = table.columns.at(0).values;
  for (uint64_t i = 0; i < table.rows; ++i) {
    if (set.type == TypeKind::kUInt64) out.push_back(bytes.as<uint64_t>()[i]);
    if (set.type == TypeKind::kUInt32) out.push_back(bytes.as<uint32_t>()[i]);
    if (set.type == TypeKind::kInt32) out.push_back(static_cast<uint64_t>(int64_t{bytes.as<int32_t>()[i]}));
  }
}

std::vector<uint64_t> values_of(const std::string& name, uint64_t most, uint64_t piece = 65'536) {
  const L3Set& set = find_l3_set(name);
  L3Generator generator(set, std::min(most, set.rows));
  std::vector<uint64_t> out;
  for (Table table = generator.next(piece); table.rows != 0; table = generator.next(piece))
    append_values(set, table, out);
  EXPECT_EQ(out.size(), std::min(most, set.rows)) << name;
  return out;
}

// The share of rows that equal the row before.
double repetition(const std::vector<uint64_t>& values) {
  uint64_t equal = 0;
  for (size_t i = 1; i < values.size(); ++i) equal += values[i] == values[i - 1] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(values.size());
}

// The mean width of a frame of reference over 256 rows.
double frame_bits(const std::vector<uint64_t>& values) {
  uint64_t bits = 0, frames = 0;
  for (size_t i = 0; i + 256 <= values.size(); i += 256, ++frames) {
    const auto [low, high] = std::minmax_element(values.begin() + static_cast<ptrdiff_t>(i),
                                                 values.begin() + static_cast<ptrdiff_t>(i + 256));
    bits += static_cast<uint64_t>(std::bit_width(*high - *low));
  }
  return static_cast<double>(bits) / static_cast<double>(frames);
}

TEST(ExactMath, AgreesWithTheStandardLibrary) {
  for (int i = 1; i < 20'000; ++i) {
    const double x = 0.035 * i - 350;
    ASSERT_NEAR(gen::exponential(x) / std::exp(x), 1, 1e-15) << x;
    ASSERT_NEAR(gen::sine(13 * x), std::sin(13 * x), 1e-15) << 13 * x;
    const double y = 1e-3 * i * i;
    ASSERT_NEAR(gen::natural_log(y), std::log(y), 1e-15 * (1 + std::abs(std::log(y)))) << y;
    const double p = i / 20'000.0;
    ASSERT_NEAR(0.5 * std::erfc(-gen::normal_quantile(p) / std::sqrt(2.0)), p, 1e-14) << p;
  }
  EXPECT_NEAR(gen::normal_quantile(1e-13), -7.348796102800677, 1e-12);
}

TEST(L3Sets, AreTheTwentyOfThePaper) {
  std::set<std::string> names;
  for (const L3Set& set : l3_sets()) {
    names.insert(set.name);
    EXPECT_EQ(&find_l3_set(set.name), &set);
    const Schema schema = l3_schema(set);
    ASSERT_EQ(schema.fields.size(), 1u);
    EXPECT_EQ(schema.fields[0].name, "value");
    EXPECT_FALSE(schema.fields[0].nullable);
  }
  EXPECT_EQ(names.size(), 20u);
  EXPECT_EQ(find_l3_set("cosmos").type, TypeKind::kInt32);
  EXPECT_EQ(find_l3_set("books").type, TypeKind::kUInt32);
  EXPECT_EQ(find_l3_set("osm").rows, 800'000'000u);
}

TEST(L3Sets, WhatDoesNotExistIsNamed) {
  try {
    find_l3_set("books2");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("books2"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("linear, normal"), std::string::npos);
  }
  EXPECT_THROW(L3Generator(find_l3_set("adult"), 30'001), Error);
}

TEST(L3Sets, PiecesOfAnySizeGiveTheSameRows) {
  for (const L3Set& set : l3_sets()) {
    EXPECT_EQ(values_of(set.name, 3000, 37), values_of(set.name, 3000)) << set.name;
    EXPECT_EQ(values_of(set.name, 1).size(), 1u) << set.name;
    L3Generator nothing(set, 0);
    EXPECT_EQ(nothing.next(10).rows, 0u);
  }
}

TEST(L3Sets, FewerRowsAreTheBeginningOfMore) {
  for (const char* name : {"books", "wiki", "planet", "libio", "ml", "poisson", "facebook", "osm", "movieid",
                           "medicare", "cosmos", "polylog", "exp", "poly"}) {
    std::vector<uint64_t> more = values_of(name, 20'000);
    more.resize(5000);
    EXPECT_EQ(values_of(name, 5000), more) << name;
  }
}

TEST(L3Sets, AreSortedWherePromised) {
  for (const L3Set& set : l3_sets()) {
    const std::vector<uint64_t> values = values_of(set.name, 300'000);
    EXPECT_EQ(std::is_sorted(values.begin(), values.end()), set.sorted) << set.name;
  }
}

TEST(L3Sets, LinearAndNormalReachOverAllOf32Bits) {
  for (const uint64_t rows : {2u, 1000u, 100'001u}) {
    const std::vector<uint64_t> linear = values_of("linear", rows), normal = values_of("normal", rows);
    for (uint64_t i = 0; i < rows; ++i) {
      const auto product = static_cast<unsigned __int128>(0xFFFFFFFFu) * i;
      ASSERT_EQ(linear[i], static_cast<uint64_t>(product / (rows - 1)));
      ASSERT_NEAR(static_cast<double>(normal[i] + normal[rows - 1 - i]), 4294967295.0, 2.0);  // symmetric
    }
    EXPECT_EQ(normal.front(), 0u);
    EXPECT_EQ(normal.back(), 0xFFFFFFFFu);
  }
}

TEST(L3Sets, PoissonComesInBursts) {
  const std::vector<uint64_t> times = values_of("poisson", 300'000);
  std::vector<uint64_t> bursts;
  uint64_t rows = 1;
  double sum = 0, squares = 0, gaps = 0;
  for (size_t i = 1; i < times.size(); ++i, ++rows) {
    const auto gap = static_cast<double>(times[i] - times[i - 1]);
    if (gap > 1e8) {
      EXPECT_NEAR(gap, 1e12, 1e10);
      bursts.push_back(rows);
      rows = 0;
      continue;
    }
    sum += gap;
    squares += (gap - 2e6) * (gap - 2e6);
    ++gaps;
  }
  EXPECT_NEAR(sum / gaps, 2e6, 20);
  EXPECT_NEAR(std::sqrt(squares / gaps), std::sqrt(2e6), 10);
  EXPECT_GE(*std::min_element(bursts.begin(), bursts.end()), 1500u);
  EXPECT_LE(*std::max_element(bursts.begin(), bursts.end()), 2000u);
}

TEST(L3Sets, CosmosFollowsItsFormula) {
  const std::vector<uint64_t> values = values_of("cosmos", 200'000);
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = (static_cast<double>(i) + 10) / (60 * std::acos(-1.0));
    const double noise =
        static_cast<double>(static_cast<int64_t>(values[i])) - (std::sin(x) + std::sin(3 * x) / 10) * 1e6;
    ASSERT_LT(std::abs(noise), 600);
    squares += noise * noise;
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size())), 100, 1);
}

TEST(L3Sets, PolylogBendsEvery500Rows) {
  const std::vector<uint64_t> values = values_of("polylog", 100'000);
  for (size_t i = 0; i + 500 <= values.size(); i += 500) {
    const uint64_t half = values[i + 250] - values[i], whole = values[i + 499] - values[i];
    // Polynomials do most of their growth in the second half, logarithms in the first.
    if (i / 500 % 2 == 0)
      ASSERT_LT(half, whole / 2) << i;
    else
      ASSERT_GT(half, whole / 2) << i;
  }
}

TEST(L3Sets, RepeatAsTheOriginalsDo) {
  const double libio = repetition(values_of("libio", 500'000));
  EXPECT_GT(1 / (1 - libio), 90);  // mean run
  EXPECT_LT(1 / (1 - libio), 130);
  EXPECT_GT(repetition(values_of("house", 2'200'000)), 0.98);
  EXPECT_NEAR(repetition(values_of("site", 250'000)), 0.94, 0.005);
  EXPECT_NEAR(repetition(values_of("weight", 25'000)), 0.992, 0.003);
  EXPECT_NEAR(repetition(values_of("adult", 30'000)), 0.987, 0.005);
  const double wiki = repetition(values_of("wiki", 500'000));
  EXPECT_GT(wiki, 0.2);
  EXPECT_LT(wiki, 0.5);
  EXPECT_LT(repetition(values_of("books", 500'000)), 0.01);
}

TEST(L3Sets, IdentifiersSpreadAsTheOriginalsDo) {
  const std::vector<uint64_t> osm = values_of("osm", 300'000), medicare = values_of("medicare", 300'000);
  EXPECT_GT(osm.front(), uint64_t{1} << 53);
  EXPECT_NEAR(frame_bits(osm), 36.6, 1);
  EXPECT_NEAR(frame_bits(medicare), 38, 0.1);
  for (size_t i = 0; i + 256 <= medicare.size(); i += 256) {
    const auto [low, high] = std::minmax_element(medicare.begin() + static_cast<ptrdiff_t>(i),
                                                 medicare.begin() + static_cast<ptrdiff_t>(i + 256));
    ASSERT_LT(*high - *low, uint64_t{1} << 38);
  }
}

TEST(L3Sets, FilmsAscendPerUser) {
  const std::vector<uint64_t> films = values_of("movieid", 500'000);
  uint64_t users = 1;
  for (size_t i = 1; i < films.size(); ++i) {
    ASSERT_NE(films[i], films[i - 1]);
    users += films[i] < films[i - 1] ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(films.size()) / static_cast<double>(users), 140, 10);
  EXPECT_LE(*std::max_element(films.begin(), films.end()), 131'262u);
  EXPECT_GT(*std::max_element(films.begin(), films.end()), 100'000u);
  EXPECT_NEAR(frame_bits(films), 15, 1.5);
}

TEST(L3Sets, ValuesNeverChange) {
  const std::map<std::string, uint64_t> expected = {
      {"linear", 16417528598904673411u},   {"normal", 15515775608226785118u},  {"books", 11695871699907517597u},
      {"wiki", 5831751402202920207u},      {"planet", 10463209521913954180u},  {"libio", 4515030944202734647u},
      {"ml", 7966938027020762466u},        {"poisson", 16786502659138882605u}, {"facebook", 17645903415666427213u},
      {"osm", 9886369073299191411u},       {"movieid", 795172175013985872u},   {"house", 18035696993888888921u},
      {"medicare", 15884711750668412690u}, {"cosmos", 2546405784507830281u},   {"polylog", 2166411296456063033u},
      {"exp", 17879167322255118307u},      {"poly", 14541635603572997974u},    {"site", 16207209883496794951u},
      {"weight", 4115050523838999508u},    {"adult", 14296574183773384467u},
  };
  for (const L3Set& set : l3_sets()) {
    uint64_t hash = 0;
    for (const uint64_t value : values_of(set.name, 50'000)) hash = gen::mix(hash + value);
    const auto found = expected.find(set.name);
    EXPECT_TRUE(found != expected.end() && found->second == hash) << set.name << " is " << hash;
  }
}

}  // namespace
}  // namespace basalt
