// Arrow's C data interface: what Basalt exports it can import again unchanged, and arrays in every foreign form
// (slices, dictionaries, views, other widths) become the same plain columns.
#include "basalt/core/arrow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "arrow/tables.h"
#include "basalt/core/error.h"

namespace basalt {
namespace {

using test::random_table;

Table round_trip(Table table) {
  ArrowSchema schema;
  export_schema(table.schema, &schema);
  ArrowArray array;
  export_batch(std::move(table), &array);
  const Schema imported = import_schema(schema);
  Table back = import_batch(array, schema, imported);
  array.release(&array);
  schema.release(&schema);
  EXPECT_EQ(array.release, nullptr);
  return back;
}

TEST(Arrow, EveryTypeSurvivesExportAndImport) {
  for (const uint64_t rows : {0, 1, 7, 8, 9, 1000})
    for (const double nulls : {0.0, 0.3, 1.0}) {
      for (const Schema& schema : {test::every_type(), test::every_meaning()}) {
        Table table = random_table(rows, nulls, 42, schema);
        for (Column& column : table.columns) make_canonical(column);
        const Table copy = table;
        const Table back = round_trip(std::move(table));
        EXPECT_EQ(back.schema, copy.schema);
        EXPECT_EQ(back.rows, copy.rows);
        ASSERT_EQ(back.columns.size(), copy.columns.size());
        for (size_t i = 0; i < back.columns.size(); ++i) {
          EXPECT_TRUE(equal(back.columns[i], copy.columns[i])) << copy.schema.fields[i].name << ", rows " << rows;
          EXPECT_EQ(back.columns[i].null_count, copy.columns[i].null_count) << copy.schema.fields[i].name;
        }
      }
    }
}

TEST(ArrowExport, MeaningsHaveArrowsFormats) {
  ArrowSchema schema;
  export_schema(test::every_meaning(), &schema);
  const ArrowSchema& map = *schema.children[0];
  EXPECT_STREQ(map.format, "+m");
  EXPECT_EQ(map.children[0]->flags & ARROW_FLAG_NULLABLE, 0);
  EXPECT_EQ(map.children[0]->children[0]->flags & ARROW_FLAG_NULLABLE, 0);
  EXPECT_NE(map.children[0]->children[1]->flags & ARROW_FLAG_NULLABLE, 0);
  EXPECT_STREQ(schema.children[1]->format, "+w:3");
  EXPECT_STREQ(schema.children[2]->format, "tin");
  EXPECT_EQ(schema.children[2]->n_children, 0);
  EXPECT_STREQ(schema.children[3]->format, "n");
  schema.release(&schema);
}

TEST(ArrowExport, ArraysOfOtherSizesAreDamage) {
  Table table = random_table(5, 0.0, 1, test::every_meaning());
  table.columns[1].offsets.as<int64_t>()[2] -= 1;
  ArrowArray array;
  EXPECT_THROW(export_batch(std::move(table), &array), Error);
}

TEST(ArrowExport, ManyNullArraysComeInSeveralBatches) {
  auto table = std::make_unique<Table>();
  table->rows = 60'000;
  table->schema.fields = {test::every_meaning().fields[1]};
  table->schema.fields[0].array_size = 768;
  table->columns.push_back(make_column(table->schema.fields[0]));
  append_nulls(table->columns[0], table->rows);
  const Schema schema = table->schema;
  ArrowArrayStream stream;
  export_stream(
      schema, [&] { return std::move(table); }, &stream);
  int64_t rows = 0;
  int batches = 0;
  for (;; ++batches) {
    ArrowArray array;
    ASSERT_EQ(stream.get_next(&stream, &array), 0) << stream.get_last_error(&stream);
    if (array.release == nullptr) break;
    rows += array.length;
    EXPECT_EQ(array.children[0]->children[0]->length, array.length * 768);
    array.release(&array);
  }
  EXPECT_EQ(rows, 60'000);
  EXPECT_GT(batches, 1);
  stream.release(&stream);
}

TEST(ArrowExport, NullArraysMayNotTakeAnyNumberOfPlaces) {
  Table table;
  table.rows = 1000;
  table.schema.fields = {test::every_meaning().fields[1]};
  table.schema.fields[0].array_size = 1 << 30;
  table.columns.push_back(make_column(table.schema.fields[0]));
  append_nulls(table.columns[0], 1000);
  ArrowArray array;
  EXPECT_THROW(export_batch(std::move(table), &array), Error);
}

TEST(Arrow, StreamGivesAllTablesThenEnds) {
  int given = 0;
  ArrowArrayStream stream;
  export_stream(
      random_table(0, 0, 1).schema,
      [&]() -> std::unique_ptr<Table> {
        return given++ < 3 ? std::make_unique<Table>(random_table(10, 0.2, 7)) : nullptr;
      },
      &stream);
  int batches = 0;
  for (;;) {
    ArrowArray array;
    ASSERT_EQ(stream.get_next(&stream, &array), 0);
    if (array.release == nullptr) break;
    EXPECT_EQ(array.length, 10);
    ++batches;
    array.release(&array);
  }
  EXPECT_EQ(batches, 3);
  stream.release(&stream);
}

TEST(Arrow, StreamTurnsErrorsIntoText) {
  ArrowArrayStream stream;
  export_stream(
      Schema{}, []() -> std::unique_ptr<Table> { throw Error(ErrorCode::kIo, "x.basalt: gone"); }, &stream);
  ArrowArray array;
  EXPECT_NE(stream.get_next(&stream, &array), 0);
  EXPECT_STREQ(stream.get_last_error(&stream), "x.basalt: gone");
  stream.release(&stream);
}

// Arrays as a foreign program would hand them over. Nothing here owns memory, so release is never called.
struct Foreign {
  ArrowSchema schema{};
  ArrowArray array{};
  std::vector<const void*> buffers;
  std::vector<ArrowSchema*> schema_children;
  std::vector<ArrowArray*> array_children;

  Foreign(const char* format, int64_t length, std::vector<const void*> data, int64_t offset = 0)
      : buffers(std::move(data)) {
    schema.format = format;
    schema.name = "c";
    schema.flags = ARROW_FLAG_NULLABLE;
    array.length = length;
    array.offset = offset;
    array.null_count = !buffers.empty() && buffers[0] != nullptr ? -1 : 0;
    array.n_buffers = static_cast<int64_t>(buffers.size());
    array.buffers = buffers.data();
  }
  Foreign(const Foreign&) = delete;
  Foreign& child(Foreign& other) {
    schema_children.push_back(&other.schema);
    array_children.push_back(&other.array);
    schema.n_children = array.n_children = static_cast<int64_t>(schema_children.size());
    schema.children = schema_children.data();
    array.children = array_children.data();
    return *this;
  }
};

Column import_one(Foreign& column) {
  Foreign batch("+s", column.array.length, {nullptr});
  batch.child(column);
  const Schema schema = import_schema(batch.schema);
  return std::move(import_batch(batch.array, batch.schema, schema).columns[0]);
}

template <typename T>
std::vector<T> values_of(const Column& column) {
  const auto values = column.values.span<T>();
  return {values.begin(), values.end()};
}

std::vector<std::string> strings_of(const Column& column) {
  std::vector<std::string> out;
  for (uint64_t i = 0; i < column.length; ++i)
    out.push_back(column.is_valid(i) ? std::string(column.string_at(i)) : "NULL");
  return out;
}

TEST(ArrowImport, OffsetsMoveValuesAndValidity) {
  const int32_t data[] = {10, 11, 12, 13, 14};
  const uint8_t valid[] = {0b10110};
  Foreign column("i", 3, {valid, data}, 2);
  const Column imported = import_one(column);
  EXPECT_EQ(values_of<int32_t>(imported), (std::vector<int32_t>{12, 0, 14}));
  EXPECT_EQ(imported.null_count, 1u);
  EXPECT_TRUE(imported.is_valid(0));
  EXPECT_FALSE(imported.is_valid(1));
}

TEST(ArrowImport, BooleansBecomeBytes) {
  const uint8_t bits[] = {0b01011010, 0b1};
  Foreign column("b", 6, {nullptr, bits}, 3);
  EXPECT_EQ(values_of<uint8_t>(import_one(column)), (std::vector<uint8_t>{1, 1, 0, 1, 0, 1}));
}

TEST(ArrowImport, DatesInMillisecondsRoundDown) {
  const int64_t millis[] = {-1, 0, 86'399'999, 86'400'000};
  Foreign column("tdm", 4, {nullptr, millis});
  EXPECT_EQ(values_of<int32_t>(import_one(column)), (std::vector<int32_t>{-1, 0, 0, 1}));
}

TEST(ArrowImport, DecimalsTakeTheNarrowestWidth) {
  const int128_t wide[] = {-9999, 5};
  Foreign small("d:4,2", 2, {nullptr, wide});
  EXPECT_EQ(values_of<int16_t>(import_one(small)), (std::vector<int16_t>{-9999, 5}));
  const int32_t narrow[] = {123456789};
  Foreign from32("d:9,2,32", 1, {nullptr, narrow});
  EXPECT_EQ(values_of<int32_t>(import_one(from32)), (std::vector<int32_t>{123456789}));
  const int64_t half[] = {-5};
  Foreign from64("d:20,0,64", 1, {nullptr, half});
  EXPECT_TRUE(values_of<int128_t>(import_one(from64))[0] == -5);
}

TEST(ArrowImport, AScaleIsNotAWidth) {
  const int128_t wide[] = {static_cast<int128_t>(1) << 100, -7};
  Foreign column("d:35,32", 2, {nullptr, wide});
  const Column imported = import_one(column);
  EXPECT_TRUE(imported.values.as<int128_t>()[0] == wide[0]);
  EXPECT_TRUE(imported.values.as<int128_t>()[1] == -7);
}

TEST(ArrowImport, DecimalBeyondItsPrecisionIsAnError) {
  const int128_t wide[] = {10000};
  Foreign column("d:4,2", 1, {nullptr, wide});
  EXPECT_THROW(import_one(column), Error);
}

TEST(ArrowImport, ShortTimesAndLargeStringsWiden) {
  const int32_t seconds[] = {1, 86399};
  Foreign times("tts", 2, {nullptr, seconds});
  EXPECT_EQ(values_of<int64_t>(import_one(times)), (std::vector<int64_t>{1, 86399}));
  const int64_t offsets[] = {0, 1, 3};
  Foreign strings("U", 2, {nullptr, offsets, "abc"});
  EXPECT_EQ(strings_of(import_one(strings)), (std::vector<std::string>{"a", "bc"}));
}

TEST(ArrowImport, SlicedStringsStartAtZeroAgain) {
  const int32_t offsets[] = {0, 2, 4, 7};
  Foreign column("u", 2, {nullptr, offsets, "aabbccc"}, 1);
  const Column imported = import_one(column);
  EXPECT_EQ(strings_of(imported), (std::vector<std::string>{"bb", "ccc"}));
  EXPECT_EQ(imported.offsets.as<int64_t>()[0], 0);
}

TEST(ArrowImport, StringViewsInlineAndInBuffers) {
  const std::string data = "xxthis is longer than twelve";
  std::array<char, 32> views{};
  const int32_t inline_length = 3, long_length = 26, buffer = 0, offset = 2;
  std::memcpy(views.data(), &inline_length, 4);
  std::memcpy(views.data() + 4, "abc", 3);
  std::memcpy(views.data() + 16, &long_length, 4);
  std::memcpy(views.data() + 20, "this", 4);
  std::memcpy(views.data() + 24, &buffer, 4);
  std::memcpy(views.data() + 28, &offset, 4);
  const int64_t sizes[] = {static_cast<int64_t>(data.size())};
  Foreign column("vu", 2, {nullptr, views.data(), data.data(), sizes});
  EXPECT_EQ(strings_of(import_one(column)), (std::vector<std::string>{"abc", "this is longer than twelve"}));
  const int64_t too_short[] = {27};
  Foreign damaged("vu", 2, {nullptr, views.data(), data.data(), too_short});
  EXPECT_THROW(import_one(damaged), Error);
}

TEST(ArrowImport, DictionariesAreDecoded) {
  const int32_t offsets[] = {0, 3, 6};
  Foreign entries("u", 2, {nullptr, offsets, "redsky"});
  const int8_t indices[] = {1, 0, 7, 1};
  const uint8_t valid[] = {0b1011};
  Foreign column("c", 4, {valid, indices});
  column.schema.dictionary = &entries.schema;
  column.array.dictionary = &entries.array;
  EXPECT_EQ(strings_of(import_one(column)), (std::vector<std::string>{"sky", "red", "NULL", "sky"}));
  Foreign damaged("c", 4, {nullptr, indices});
  damaged.schema.dictionary = &entries.schema;
  damaged.array.dictionary = &entries.array;
  EXPECT_THROW(import_one(damaged), Error);
}

TEST(ArrowImport, WhatLiesUnderNullsIsNotLookedAtAndBecomesZero) {
  const uint8_t valid[] = {0b101};
  const int32_t offsets[] = {0, 2, 1, 2};  // the NULL ends before it begins
  Foreign strings("u", 3, {valid, offsets, "ab"});
  EXPECT_EQ(strings_of(import_one(strings)), (std::vector<std::string>{"ab", "NULL", "b"}));
  const int64_t numbers[] = {1, -1, 3};
  Foreign integers("l", 3, {valid, numbers});
  EXPECT_EQ(values_of<int64_t>(import_one(integers)), (std::vector<int64_t>{1, 0, 3}));
  const uint8_t bits[] = {0b111};
  Foreign flags("b", 3, {valid, bits});
  EXPECT_EQ(values_of<uint8_t>(import_one(flags)), (std::vector<uint8_t>{1, 0, 1}));
}

TEST(ArrowImport, NullListsWithElementsBecomeEmpty) {
  const int32_t elements[] = {1, 2, 3, 4, 5};
  Foreign items("i", 5, {nullptr, elements});
  const int32_t offsets[] = {0, 2, 4, 5};
  const uint8_t valid[] = {0b101};
  Foreign column("+l", 3, {valid, offsets});
  column.child(items);
  const Column imported = import_one(column);
  EXPECT_EQ(values_of<int32_t>(imported.children[0]), (std::vector<int32_t>{1, 2, 5}));
  const auto at = imported.offsets.span<int64_t>();
  EXPECT_THAT((std::vector<int64_t>{at.begin(), at.end()}), testing::ElementsAre(0, 2, 2, 3));
}

TEST(ArrowImport, FixedSizeListsBecomeLists) {
  const int16_t elements[] = {1, 2, 3, 4, 5, 6};
  Foreign items("s", 6, {nullptr, elements});
  Foreign column("+w:2", 2, {nullptr}, 1);
  column.child(items);
  EXPECT_EQ(values_of<int16_t>(import_one(column).children[0]), (std::vector<int16_t>{3, 4, 5, 6}));
}

TEST(ArrowImport, StructOffsetAppliesToChildren) {
  const int64_t values[] = {1, 2, 3, 4};
  Foreign inner("l", 3, {nullptr, values}, 1);
  Foreign column("+s", 2, {nullptr}, 1);
  column.child(inner);
  EXPECT_EQ(values_of<int64_t>(import_one(column).children[0]), (std::vector<int64_t>{3, 4}));
}

TEST(ArrowImport, BadOffsetsAndBadUtf8AreErrors) {
  const int32_t falling[] = {0, 3, 1};
  Foreign offsets("u", 2, {nullptr, falling, "abc"});
  EXPECT_THROW(import_one(offsets), Error);
  const int32_t good[] = {0, 2};
  for (const char* text : {"\xc0\x80", "a\xff", "\xed\xa0", "\xe2\x82"}) {
    Foreign column("u", 1, {nullptr, good, text});
    EXPECT_THROW(import_one(column), Error) << text;
    Foreign binary("z", 1, {nullptr, good, text});
    EXPECT_NO_THROW(import_one(binary));
  }
}

TEST(ArrowImport, EveryUnsupportedColumnIsNamedAtOnce) {
  Foreign half("e", 0, {nullptr, nullptr}), duration("tDs", 0, {nullptr, nullptr}), good("i", 0, {nullptr, nullptr});
  half.schema.name = "narrow";
  duration.schema.name = "how_long";
  good.schema.name = "number";
  Foreign batch("+s", 0, {nullptr});
  batch.child(half).child(good).child(duration);
  try {
    import_schema(batch.schema);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("narrow (float16)"), testing::HasSubstr("how_long (duration)"),
                               testing::Not(testing::HasSubstr("number"))));
  }
}

TEST(ArrowImport, IntervalsOfEveryKind) {
  const int32_t months[] = {99, 14, -3};
  Foreign by_month("tiM", 2, {nullptr, months}, 1);
  const Column of_months = import_one(by_month);
  EXPECT_EQ(of_months.children[0].values.as<int32_t>()[0], 14);
  EXPECT_EQ(of_months.children[0].values.as<int32_t>()[1], -3);
  const int32_t day_times[] = {2, 1500, -1, 7};
  Foreign by_day("tiD", 2, {nullptr, day_times});
  const Column of_days = import_one(by_day);
  EXPECT_EQ(of_days.children[1].values.as<int32_t>()[0], 2);
  EXPECT_EQ(of_days.children[2].values.as<int64_t>()[0], 1'500'000);
  EXPECT_EQ(of_days.children[1].values.as<int32_t>()[1], -1);
}

TEST(ArrowImport, ColumnsOfTypeNullHaveNoBuffers) {
  Foreign nothing("n", 9, {});
  const Column column = import_one(nothing);
  EXPECT_EQ(column.length, 9u);
  EXPECT_EQ(column.null_count, 9u);
}

TEST(ArrowImport, UuidKeepsByteOrder) {
  uint8_t bytes[32] = {};
  bytes[0] = 0x01;
  bytes[16] = 0xfe;
  Foreign column("w:16", 2, {nullptr, bytes});
  const int32_t one = 1, key = 20, value = 10;
  std::string metadata(reinterpret_cast<const char*>(&one), 4);
  metadata.append(reinterpret_cast<const char*>(&key), 4).append("ARROW:extension:name");
  metadata.append(reinterpret_cast<const char*>(&value), 4).append("arrow.uuid");
  column.schema.metadata = metadata.data();
  const Column imported = import_one(column);
  EXPECT_EQ(imported.type.kind, TypeKind::kUuid);
  EXPECT_TRUE(values_of<int128_t>(imported)[0] < values_of<int128_t>(imported)[1]);
}

}  // namespace
}  // namespace basalt
