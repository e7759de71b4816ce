// Random tables in the forms in which other programs may hand them over: whatever lies under NULLs of any level,
// outside of slices or in dictionaries, the same columns come in, in canonical form.
#include <gtest/gtest.h>

#include "arrow/tables.h"
#include "basalt/core/error.h"
#include "core/arrow_reader.h"
#include "support/foreign_arrow.h"
#include "support/random_tables.h"

namespace basalt {
namespace {

Table read_all(ArrowArrayStream* stream) {
  arrow::StreamReader reader(stream, "test", nullptr);
  Table all;
  all.schema = reader.schema();
  for (const Field& field : all.schema.fields) all.columns.push_back(make_column(field));
  while (const std::unique_ptr<Table> table = reader.next()) {
    for (size_t i = 0; i < all.columns.size(); ++i) append_rows(all.columns[i], table->columns[i], 0, table->rows);
    all.rows += table->rows;
  }
  return all;
}

TEST(ForeignArrow, RandomTablesComeInCanonicalForm) {
  const uint64_t first = test::first_random_seed();
  const uint64_t count = test::random_table_count(2000);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed);
    const Table table = test::any_table(random, {.most_rows = 1000});
    ArrowArrayStream stream;
    test::foreign_stream({table}, seed, {}, &stream);
    ASSERT_EQ(test::difference(table, read_all(&stream)), "") << "BASALT_RANDOM_SEED=" << seed;
  }
}

TEST(ForeignArrow, ImportedStreamsAreCanonicalArrow) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const Table table = test::any_table(random, {.most_rows = 100});
    ArrowArrayStream foreign, stream;
    test::foreign_stream({table, table}, seed, {}, &foreign);
    import_stream(&foreign, nullptr, &stream);
    Table twice = table;
    for (size_t i = 0; i < table.columns.size(); ++i) append_rows(twice.columns[i], table.columns[i], 0, table.rows);
    twice.rows *= 2;
    ASSERT_EQ(test::difference(twice, read_all(&stream)), "") << "seed " << seed;
  }
}

TEST(CanonicalForm, NullsReachEveryLevelBelow) {
  // struct(list(struct(a))) with values everywhere and NULLs on the two upper levels only.
  const Field a = test::field("a", {TypeKind::kInt32});
  const Field inner = test::field("element", {TypeKind::kStruct}, {a});
  const Field list = test::field("l", {TypeKind::kList}, {inner});
  const Field outer = test::field("s", {TypeKind::kStruct}, {list});
  Column column = make_column(outer);
  column.length = 3;
  column.null_count = 1;
  column.validity.push(uint8_t{0b101});
  Column& lists = column.children[0];
  lists.length = 3;
  for (const int64_t end : {1, 3, 5}) lists.offsets.push(end);
  Column& structs = lists.children[0];
  structs.length = 5;
  structs.null_count = 1;
  structs.validity.push(uint8_t{0b01111});
  structs.children[0].length = 5;
  for (const int32_t value : {10, 11, 12, 13, 14}) structs.children[0].values.push(value);
  make_canonical(column);
  EXPECT_EQ(lists.null_count, 1u);
  EXPECT_FALSE(lists.is_valid(1));
  EXPECT_EQ(lists.offsets.as<int64_t>()[3], 3);
  EXPECT_EQ(structs.length, 3u);
  EXPECT_EQ(structs.null_count, 1u);
  EXPECT_EQ(structs.children[0].null_count, 1u);
  EXPECT_FALSE(structs.children[0].is_valid(2));
  EXPECT_EQ(structs.children[0].values.as<int32_t>()[1], 13);
}

TEST(ArrowNotices, TypesThatAreNotKeptAreNamed) {
  struct Case {
    const char* format;
    const char* notice;
  };
  for (const Case& known : {Case{"tsn:Europe/Berlin", "the time zone Europe/Berlin"}, Case{"tdm", "cut to days"},
                            Case{"w:5", "fixed size"}, Case{"tsn:UTC", ""}, Case{"ttn", ""}, Case{"tsn:", ""}}) {
    ArrowSchema column{}, table{};
    column.format = known.format;
    column.name = "c";
    ArrowSchema* children[] = {&column};
    table.format = "+s";
    table.n_children = 1;
    table.children = children;
    Notices notices;
    import_schema(table, &notices);
    ASSERT_EQ(notices.size(), *known.notice == 0 ? 0u : 1u) << known.format;
    for (const std::string& notice : notices) EXPECT_NE(notice.find(known.notice), std::string::npos) << notice;
  }
}

TEST(ArrowNotices, WideDecimalsAreRefusedByName) {
  ArrowSchema column{}, table{};
  column.format = "d:50,2,256";
  column.name = "money";
  ArrowSchema* children[] = {&column};
  table.format = "+s";
  table.n_children = 1;
  table.children = children;
  try {
    import_schema(table);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("money (decimal256(50,2))"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace basalt
