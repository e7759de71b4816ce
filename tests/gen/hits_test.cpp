// Page views in the shape of a given table: rows that do not depend on how they are asked for, shares and skew as
// documented, what queries ask for by value, and tables that nobody thought of.
#include "gen/hits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "basalt/core/error.h"
#include "basalt/core/threads.h"
#include "gen/hits_planted.h"
#include "gen/hits_rules.h"

namespace basalt {
namespace {

Schema page_views() {
  Schema schema;
  const auto add = [&](const char* name, const DataType& type) {
    Field field;
    field.name = name;
    field.type = type;
    field.nullable = false;
    schema.fields.push_back(field);
  };
  const DataType small{TypeKind::kInt16};
  add("WatchID", DataType::bigint());
  add("CounterID", DataType::integer());
  add("EventTime", DataType::timestamp());
  add("EventDate", DataType::date());
  add("UserID", DataType::bigint());
  add("ClientIP", DataType::integer());
  add("RegionID", DataType::integer());
  add("URL", DataType::varchar());
  add("Referer", DataType::varchar());
  add("Title", DataType::varchar());
  add("SearchPhrase", DataType::varchar());
  add("SearchEngineID", small);
  add("AdvEngineID", small);
  add("TraficSourceID", small);
  add("IsRefresh", small);
  add("IsLink", small);
  add("DontCountHits", small);
  add("ResolutionWidth", small);
  add("WindowClientWidth", small);
  add("WindowClientHeight", small);
  add("MobilePhoneModel", DataType::varchar());
  add("RefererHash", DataType::bigint());
  add("URLHash", DataType::bigint());
  return schema;
}

class Rows {
 public:
  explicit Rows(Table table) : table_(std::move(table)) {}
  uint64_t count() const { return table_.rows; }
  const Column& column(const std::string& name) const {
    for (size_t i = 0; i < table_.schema.fields.size(); ++i)
      if (table_.schema.fields[i].name == name) return table_.columns[i];
    throw Error(ErrorCode::kInvalidArgument, "no column " + name);
  }
  int64_t number(const std::string& name, uint64_t row) const {
    const Column& from = column(name);
    switch (physical_of(from.type)) {
      case Physical::kI16: return from.values.as<int16_t>()[row];
      case Physical::kI32: return from.values.as<int32_t>()[row];
      default: return from.values.as<int64_t>()[row];
    }
  }
  std::string_view text(const std::string& name, uint64_t row) const { return column(name).string_at(row); }

  template <typename Test>
  double share(Test test) const {
    uint64_t found = 0;
    for (uint64_t row = 0; row < count(); ++row) found += test(row) ? 1 : 0;
    return static_cast<double>(found) / static_cast<double>(count());
  }
  double share_of_empty(const std::string& name) const {
    return share([&](uint64_t row) { return text(name, row).empty(); });
  }
  double distinct_texts(const std::string& name) const {
    std::set<std::string_view> found;
    for (uint64_t row = 0; row < count(); ++row) found.insert(text(name, row));
    return static_cast<double>(found.size()) / static_cast<double>(count());
  }
  double distinct_numbers(const std::string& name) const {
    std::set<int64_t> found;
    for (uint64_t row = 0; row < count(); ++row) found.insert(number(name, row));
    return static_cast<double>(found.size()) / static_cast<double>(count());
  }

 private:
  Table table_;
};

constexpr uint64_t kRows = 200'000;
constexpr int64_t kFirstDay = 15887;  // 2013-07-01 in days since 1970
const Rows& many_rows() {
  static const Rows rows(HitsGenerator(page_views(), kRows, 1).generate(0, kRows));
  return rows;
}

TEST(Hits, AnyRangeGivesTheSameRows) {
  const HitsGenerator generator(page_views(), 10'000, 7);
  const Table whole = generator.generate(0, 20'000);
  ASSERT_EQ(whole.rows, 10'000u);
  Table parts = generator.generate(0, 0);
  for (uint64_t begin = 0; begin < whole.rows; begin += 777) {
    const Table part = generator.generate(begin, begin + 777);
    for (size_t i = 0; i < part.columns.size(); ++i) append_rows(parts.columns[i], part.columns[i], 0, part.rows);
  }
  for (size_t i = 0; i < whole.columns.size(); ++i)
    EXPECT_TRUE(equal(whole.columns[i], parts.columns[i])) << whole.schema.fields[i].name;
}

TEST(Hits, OneThreadAndFourMakeTheSameRows) {
  const HitsGenerator generator(page_views(), 50'000, 3);
  const auto made_by = [&](uint32_t threads) {
    std::vector<Table> batches(10);
    ThreadPool pool(threads);
    pool.parallel_for(batches.size(), [&](uint64_t i) { batches[i] = generator.generate(i * 5'000, (i + 1) * 5'000); });
    return batches;
  };
  const std::vector<Table> one = made_by(1), four = made_by(4);
  for (size_t batch = 0; batch < one.size(); ++batch)
    for (size_t i = 0; i < one[batch].columns.size(); ++i)
      ASSERT_TRUE(equal(one[batch].columns[i], four[batch].columns[i])) << one[batch].schema.fields[i].name;
}

TEST(Hits, AnotherSeedMakesOtherRows) {
  const Rows one(HitsGenerator(page_views(), 1'000, 1).generate(0, 1'000));
  const Rows two(HitsGenerator(page_views(), 1'000, 2).generate(0, 1'000));
  EXPECT_FALSE(equal(one.column("URL"), two.column("URL")));
  EXPECT_FALSE(equal(one.column("WatchID"), two.column("WatchID")));
}

TEST(Hits, SharesAreThoseOfTheDocument) {
  const Rows& rows = many_rows();
  EXPECT_NEAR(rows.share_of_empty("SearchPhrase"), 0.87, 0.01);
  EXPECT_NEAR(rows.share_of_empty("Referer"), 0.20, 0.02);
  EXPECT_NEAR(rows.share_of_empty("Title"), 0.15, 0.01);
  EXPECT_NEAR(rows.share_of_empty("MobilePhoneModel"), 0.94, 0.01);
  EXPECT_EQ(rows.share_of_empty("URL"), 0);
  EXPECT_NEAR(rows.share([&](uint64_t row) { return rows.number("AdvEngineID", row) != 0; }), 0.0063, 0.002);
  EXPECT_NEAR(rows.share([&](uint64_t row) { return rows.number("IsRefresh", row) != 0; }), 0.08, 0.005);
  EXPECT_NEAR(rows.share([&](uint64_t row) { return rows.number("DontCountHits", row) != 0; }), 0.05, 0.005);
  EXPECT_NEAR(rows.distinct_texts("URL"), 0.18, 0.03);
  EXPECT_NEAR(rows.distinct_texts("Referer"), 0.20, 0.04);
  EXPECT_NEAR(rows.distinct_texts("Title"), 0.05, 0.02);
  EXPECT_NEAR(rows.distinct_texts("SearchPhrase"), 0.06, 0.01);
  EXPECT_NEAR(rows.distinct_numbers("UserID"), 0.17, 0.02);
  EXPECT_NEAR(rows.distinct_numbers("ClientIP"), 0.10, 0.02);
  EXPECT_EQ(rows.distinct_numbers("WatchID"), 1);
}

TEST(Hits, SomeAddressesAreMuchMoreFrequentThanOthers) {
  const Rows& rows = many_rows();
  std::map<std::string_view, uint64_t> counts;
  for (uint64_t row = 0; row < rows.count(); ++row) ++counts[rows.text("URL", row)];
  uint64_t most = 0, once = 0;
  for (const auto& [address, count] : counts) {
    most = std::max(most, count);
    once += count == 1 ? 1 : 0;
  }
  EXPECT_GT(most, kRows / 1'000);
  EXPECT_GT(once, counts.size() / 5);
}

TEST(Hits, SitesLieTogetherAndInThemDaysFollowEachOther) {
  const Rows& rows = many_rows();
  std::set<int64_t> seen;
  std::map<int64_t, uint64_t> sizes;
  for (uint64_t row = 0; row < rows.count(); ++row) {
    const int64_t site = rows.number("CounterID", row);
    ++sizes[site];
    if (row > 0 && rows.number("CounterID", row - 1) == site) {
      ASSERT_GE(rows.number("EventDate", row), rows.number("EventDate", row - 1));
    } else {
      ASSERT_TRUE(seen.insert(site).second) << site;
    }
  }
  EXPECT_NEAR(static_cast<double>(sizes.size()), kRows / 100.0, kRows / 2'000.0);
  uint64_t largest = 0;
  for (const auto& [site, size] : sizes) largest = std::max(largest, size);
  EXPECT_GT(largest, kRows / 50);
}

TEST(Hits, TimesAreInJuly2013AndDatesAreTheirDays) {
  const Rows& rows = many_rows();
  constexpr int64_t kDay = int64_t{86'400} * 1'000'000;
  std::set<int64_t> days;
  for (uint64_t row = 0; row < rows.count(); ++row) {
    const int64_t day = rows.number("EventDate", row);
    ASSERT_EQ(rows.number("EventTime", row) / kDay, day);
    days.insert(day);
  }
  EXPECT_EQ(days.size(), 31u);
  EXPECT_EQ(*days.begin(), kFirstDay);
}

TEST(Hits, PhrasesComeWithASearchEngineAndItsReferer) {
  const Rows& rows = many_rows();
  for (uint64_t row = 0; row < rows.count(); ++row) {
    const bool searched = !rows.text("SearchPhrase", row).empty();
    ASSERT_EQ(rows.number("SearchEngineID", row) != 0, searched);
    if (searched) {
      ASSERT_TRUE(rows.text("Referer", row).starts_with("http://search.")) << rows.text("Referer", row);
    }
  }
}

// What queries ask for: as often as the document says, also in a small table.
TEST(Hits, PlantedValuesOccur) {
  using namespace gen;
  for (const uint64_t count : {uint64_t{100'000}, kRows}) {
    const Rows rows = count == kRows ? many_rows() : Rows(HitsGenerator(page_views(), count, 1).generate(0, count));
    const auto all = static_cast<double>(count);
    const auto planted = [&](uint64_t row) { return rows.number("CounterID", row) == kPlantedSiteId; };
    const auto number_is = [&](const char* name, uint64_t row, uint64_t value) {
      return rows.number(name, row) == static_cast<int64_t>(value);
    };
    const double site = kPlantedSite.share_of(all), in_site = all * site;
    EXPECT_NEAR(rows.share(planted), site, 0.001);
    const auto expect_in_site = [&](const char* what, auto test, const Planted& wanted) {
      const double found = rows.share([&](uint64_t row) { return planted(row) && test(row); });
      EXPECT_NEAR(found / site, wanted.share_of(in_site), 0.03) << what;
    };
    expect_in_site(
        "home", [&](uint64_t row) { return number_is("URLHash", row, kPlantedHomeHash); }, kPlantedHome);
    expect_in_site(
        "referer", [&](uint64_t row) { return number_is("RefererHash", row, kPlantedRefererHash); }, kPlantedReferer);
    expect_in_site(
        "link", [&](uint64_t row) { return rows.number("IsLink", row) != 0; }, kPlantedLinks);
    expect_in_site(
        "days",
        [&](uint64_t row) {
          const int64_t day = rows.number("EventDate", row) - kFirstDay - kFirstPlantedDay;
          return day >= 0 && day < kPlantedDayCount;
        },
        kPlantedDays);

    const double users = all * rows.share([&](uint64_t row) { return number_is("UserID", row, kPlantedUserId); });
    EXPECT_GE(users, kPlantedUserSessions);
    EXPECT_LT(users, 64.0 * kPlantedUserSessions);
    const auto has = [&](const char* name, const char* word) {
      return rows.share([&](uint64_t row) { return rows.text(name, row).find(word) != std::string_view::npos; });
    };
    EXPECT_NEAR(has("URL", "google"), kGoogleAddresses.share_of(all), 0.0003);
    EXPECT_NEAR(has("URL", ".google."), kGoogleAddresses.share_of(all) / 2, 0.0003);
    EXPECT_NEAR(has("Title", "Google"), kGoogleTitles.share_of(all), 0.0005);
    EXPECT_GT(rows.share([&](uint64_t row) { return number_is("TraficSourceID", row, 6); }), 0.01);
    EXPECT_GT(rows.share([&](uint64_t row) { return rows.number("TraficSourceID", row) == -1; }), 0.4);
  }
}

TEST(Hits, ValuesNeverChange) {
  const Table table = HitsGenerator(page_views(), 20'000, 1).generate(0, 20'000);
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](const Buffer& bytes) {
    for (const uint8_t byte : bytes.span<uint8_t>()) hash = (hash ^ byte) * 0x100000001b3u;
  };
  for (const Column& column : table.columns) {
    add(column.values);
    add(column.bytes);
  }
  EXPECT_EQ(hash, 7180610157279020002u);
}

TEST(Hits, NamesAreCutIntoWords) {
  using gen::words_of_name;
  using testing::ElementsAre;
  EXPECT_THAT(words_of_name("RefererRegionID"), ElementsAre("referer", "region", "id"));
  EXPECT_THAT(words_of_name("URLHash"), ElementsAre("url", "hash"));
  EXPECT_THAT(words_of_name("FUniqID"), ElementsAre("f", "uniq", "id"));
  EXPECT_THAT(words_of_name("page_url"), ElementsAre("page", "url"));
  EXPECT_THAT(words_of_name("SilverlightVersion3"), ElementsAre("silverlight", "version", "3"));
  EXPECT_THAT(words_of_name("__x__"), ElementsAre("x"));
  EXPECT_THAT(words_of_name(""), ElementsAre());
}

TEST(Hits, AnyTableOfPlainTypesIsFilled) {
  Schema schema;
  const auto add = [&](const char* name, const DataType& type) {
    Field field;
    field.name = name;
    field.type = type;
    schema.fields.push_back(field);
  };
  add("flag", DataType{TypeKind::kBool});
  add("tiny", DataType{TypeKind::kInt8});
  add("user_id", DataType{TypeKind::kUInt8});
  add("region", DataType{TypeKind::kUInt16});
  add("price", DataType::decimal(15, 2));
  add("wide_price", DataType::decimal(38, 2));
  add("huge", DataType{TypeKind::kInt128});
  add("ratio", DataType::real());
  add("small_ratio", DataType{TypeKind::kFloat32});
  add("at", DataType{TypeKind::kTimestampTz, 0, 0, TimeUnit::kSecond});
  add("clock", DataType{TypeKind::kTime});
  add("comment", DataType::varchar());
  const HitsGenerator generator(schema, 5'000, 1);
  const Table table = generator.generate(0, 5'000);
  for (size_t i = 0; i < table.columns.size(); ++i) {
    EXPECT_EQ(table.columns[i].length, 5'000u) << schema.fields[i].name;
    EXPECT_EQ(table.columns[i].null_count, 0u);
    const bool text = table.columns[i].type.kind == TypeKind::kUtf8;
    EXPECT_EQ(table.columns[i].values.size(), text ? 0 : 5'000u * width_of(physical_of(table.columns[i].type)))
        << schema.fields[i].name;
  }
  for (uint64_t row = 0; row < 5'000; ++row) ASSERT_LE(table.columns[0].values.as<uint8_t>()[row], 1);
}

TEST(Hits, TypesThatAreNotMadeAreAllNamed) {
  Schema schema = page_views();
  schema.fields[0].type = DataType{TypeKind::kUuid};
  schema.fields[7].type = DataType{TypeKind::kBinary};
  try {
    HitsGenerator(schema, 10, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("WatchID"), testing::HasSubstr("URL")));
  }
  EXPECT_THROW(HitsGenerator(page_views(), 0, 1), Error);
  EXPECT_THROW(HitsGenerator(Schema{}, 10, 1), Error);
}

}  // namespace
}  // namespace basalt
