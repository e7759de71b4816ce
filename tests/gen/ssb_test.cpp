// The Star Schema generator: cardinalities, domains, keys that match, and rows that do not depend on how they are asked
// for.
#include "gen/ssb.h"

#include <gtest/gtest.h>

#include <set>

#include "basalt/core/error.h"

namespace basalt {
namespace {

const Column& column(const Table& table, const std::string& name) {
  for (size_t i = 0; i < table.schema.fields.size(); ++i)
    if (table.schema.fields[i].name == name) return table.columns[i];
  throw Error(ErrorCode::kInvalidArgument, "no column " + name);
}
int32_t number(const Table& table, const std::string& name, uint64_t row) {
  return column(table, name).values.as<int32_t>()[row];
}

TEST(Ssb, CardinalitiesFollowTheScale) {
  const SsbGenerator one(1), eight(8), tenth(0.1);
  EXPECT_NEAR(static_cast<double>(one.rows(SsbTable::kLineorder)), 6e6, 100);
  EXPECT_EQ(one.rows(SsbTable::kCustomer), 30'000u);
  EXPECT_EQ(one.rows(SsbTable::kSupplier), 2'000u);
  EXPECT_EQ(one.rows(SsbTable::kPart), 200'000u);
  EXPECT_EQ(eight.rows(SsbTable::kPart), 800'000u);
  EXPECT_EQ(tenth.rows(SsbTable::kPart), 20'000u);
  EXPECT_EQ(tenth.rows(SsbTable::kDate), 2'556u);
  EXPECT_THROW(SsbGenerator(0), Error);
  EXPECT_THROW(SsbGenerator(-1), Error);
}

TEST(Ssb, AnyRangeGivesTheSameRows) {
  const SsbGenerator generator(0.001);
  for (const SsbTable table : ssb_tables()) {
    const Table whole = generator.generate(table, 0, generator.rows(table));
    ASSERT_EQ(whole.rows, generator.rows(table));
    Table parts = generator.generate(table, 0, 0);
    for (uint64_t begin = 0; begin < whole.rows; begin += 37) {
      const Table part = generator.generate(table, begin, begin + 37);
      for (size_t i = 0; i < part.columns.size(); ++i) append_rows(parts.columns[i], part.columns[i], 0, part.rows);
    }
    for (size_t i = 0; i < whole.columns.size(); ++i)
      EXPECT_TRUE(equal(whole.columns[i], parts.columns[i])) << whole.schema.fields[i].name;
  }
}

TEST(Ssb, LinesKeepTheRulesOfTheBenchmark) {
  const SsbGenerator generator(0.01);
  const Table lines = generator.generate(SsbTable::kLineorder, 0, generator.rows(SsbTable::kLineorder));
  const Table dates = generator.generate(SsbTable::kDate, 0, generator.rows(SsbTable::kDate));
  std::set<int32_t> days;
  for (uint64_t i = 0; i < dates.rows; ++i) days.insert(number(dates, "d_datekey", i));
  EXPECT_EQ(days.size(), 2'556u);
  EXPECT_EQ(*days.begin(), 19920101);
  EXPECT_EQ(*days.rbegin(), 19981230);

  std::set<int32_t> discounts, quantities;
  const int64_t* order_keys = column(lines, "lo_orderkey").values.as<int64_t>();
  int64_t charged = 0;
  for (uint64_t i = 0; i < lines.rows; ++i) {
    const int32_t part = number(lines, "lo_partkey", i), discount = number(lines, "lo_discount", i);
    const int32_t price = number(lines, "lo_extendedprice", i);
    ASSERT_TRUE(part >= 1 && part <= static_cast<int32_t>(generator.rows(SsbTable::kPart)));
    ASSERT_GE(number(lines, "lo_custkey", i), 1);
    ASSERT_LE(number(lines, "lo_custkey", i), static_cast<int32_t>(generator.rows(SsbTable::kCustomer)));
    ASSERT_GE(number(lines, "lo_suppkey", i), 1);
    ASSERT_LE(number(lines, "lo_suppkey", i), static_cast<int32_t>(generator.rows(SsbTable::kSupplier)));
    ASSERT_TRUE(days.contains(number(lines, "lo_orderdate", i)));
    ASSERT_TRUE(days.contains(number(lines, "lo_commitdate", i)));
    ASSERT_LT(number(lines, "lo_orderdate", i), number(lines, "lo_commitdate", i));
    ASSERT_EQ(price, number(lines, "lo_quantity", i) * ssb_part_price(part));
    ASSERT_EQ(number(lines, "lo_revenue", i), static_cast<int64_t>(price) * (100 - discount) / 100);
    discounts.insert(discount);
    quantities.insert(number(lines, "lo_quantity", i));
    const bool first = i == 0 || order_keys[i] != order_keys[i - 1];
    ASSERT_EQ(number(lines, "lo_linenumber", i), first ? 1 : number(lines, "lo_linenumber", i - 1) + 1);
    if (!first) {
      ASSERT_EQ(number(lines, "lo_orderdate", i), number(lines, "lo_orderdate", i - 1));
    }
    charged = (first ? 0 : charged) +
              static_cast<int64_t>(price) * (100 - discount) * (100 + number(lines, "lo_tax", i)) / 10000;
    if (i + 1 == lines.rows || order_keys[i + 1] != order_keys[i]) {
      ASSERT_EQ(number(lines, "lo_ordtotalprice", i), charged);
    }
  }
  EXPECT_EQ(discounts.size(), 11u);
  EXPECT_EQ(quantities.size(), 50u);
  EXPECT_EQ(*quantities.rbegin(), 50);
}

TEST(Ssb, DimensionsHaveTheKnownHierarchies) {
  const SsbGenerator generator(1);
  const Table parts = generator.generate(SsbTable::kPart, 0, 20'000);
  std::set<std::string> brands, categories;
  for (uint64_t i = 0; i < parts.rows; ++i) {
    const std::string brand(column(parts, "p_brand1").string_at(i)), category(column(parts, "p_category").string_at(i));
    ASSERT_TRUE(brand.starts_with(category));
    ASSERT_TRUE(category.starts_with(column(parts, "p_mfgr").string_at(i)));
    brands.insert(brand);
    categories.insert(category);
  }
  EXPECT_EQ(categories.size(), 25u);
  EXPECT_EQ(brands.size(), 1000u);

  const Table customers = generator.generate(SsbTable::kCustomer, 0, 30'000);
  std::set<std::string> cities, nations, regions;
  for (uint64_t i = 0; i < customers.rows; ++i) {
    cities.insert(std::string(column(customers, "c_city").string_at(i)));
    nations.insert(std::string(column(customers, "c_nation").string_at(i)));
    regions.insert(std::string(column(customers, "c_region").string_at(i)));
  }
  EXPECT_EQ(cities.size(), 250u);
  EXPECT_EQ(nations.size(), 25u);
  EXPECT_EQ(regions.size(), 5u);
  EXPECT_TRUE(cities.contains("UNITED KI1"));
}

uint64_t fingerprint(const Table& table) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](const Buffer& bytes) {
    for (const uint8_t byte : bytes.span<uint8_t>()) hash = (hash ^ byte) * 0x100000001b3u;
  };
  for (const Column& part : table.columns) {
    add(part.values);
    add(part.bytes);
  }
  return hash;
}

TEST(Ssb, ValuesNeverChange) {
  const SsbGenerator generator(0.001);
  const std::vector<uint64_t> expected = {13357721939229156418u, 11707738062173761106u, 6451720311091892663u,
                                          16466122051038776509u, 2013268657579225220u};
  for (size_t i = 0; i < expected.size(); ++i) {
    const SsbTable table = ssb_tables()[i];
    EXPECT_EQ(fingerprint(generator.generate(table, 0, generator.rows(table))), expected[i]) << to_string(table);
  }
}

}  // namespace
}  // namespace basalt
