// Files as other writers make them: columns whose names differ in case only, members without names, no columns at all.
// SQL reads each value under one name and tells it from all others, also where statistics answer alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "basalt/core/arrow.h"
#include "basalt/file/reader.h"
#include "basalt/file/writer.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

using ::testing::ElementsAre;

Field integer(const std::string& name) {
  Field field;
  field.name = name;
  field.type = DataType{TypeKind::kInt32};
  return field;
}

// Rows of integers: row r of column c is 10 c + r.
Table numbers(const std::vector<std::string>& names, uint64_t rows) {
  Table table;
  table.rows = rows;
  for (const std::string& name : names) {
    table.schema.fields.push_back(integer(name));
    Column& column = table.columns.emplace_back(make_column(table.schema.fields.back()));
    column.length = rows;
    for (uint64_t row = 0; row < rows; ++row) {
      const auto value = static_cast<int32_t>(10 * table.columns.size() - 10 + row);
      column.values.append(&value, sizeof(value));
    }
  }
  number_fields(table.schema);
  return table;
}

std::string write(const ScratchFolder& folder, const std::string& name, Table table) {
  const std::string path = folder.file(name);
  Writer writer(path, table.schema);
  writer.append(std::move(table));
  writer.finish();
  return path;
}

class SqlNames : public ::testing::TestWithParam<Device> {
 protected:
  ScratchFolder folder_;
  Session session_{session_options(GetParam())};
  std::vector<std::string> rows(const std::string& query) { return rows_of(session_, query); }
};

TEST_P(SqlNames, ThatDifferInCaseOnly) {
  const std::string path = write(folder_, "cases.basalt", numbers({"a", "A", "A_1", "b", "B"}, 5));
  const std::string from = " from '" + path + "'";
  EXPECT_THAT(rows("select column_name from (describe" + from + ")"), ElementsAre("a", "A_2", "A_1", "b", "B_1"));
  EXPECT_THAT(rows("select *" + from + " limit 1"), ElementsAre("0|10|20|30|40"));
  EXPECT_THAT(rows("select min(a), min(a_2), max(a_1), max(B), max(b_1)" + from), ElementsAre("0|10|24|34|44"));
  EXPECT_THAT(rows("select sum(a), sum(a_2), sum(a_1), sum(b), sum(b_1)" + from), ElementsAre("10|60|110|160|210"));
  for (const std::string column : {"a", "a_2", "a_1", "b", "b_1"}) {
    EXPECT_THAT(rows("select count(*), sum(" + column + ") - count(*) * min(" + column + ")" + from + " where " +
                     column + " % 10 >= 3"),
                ElementsAre("2|1"));
    EXPECT_THAT(rows("select a" + from + " where " + column + " % 10 = 4"), ElementsAre("4"));
  }
  EXPECT_THAT(rows("select count(*)" + from + " where a_2 > 11 and a < 4"), ElementsAre("2"));
  session_.execute("copy (select *" + from + ") to '" + folder_.file("copy.parquet") + "'");
  EXPECT_THAT(rows("select max(a), max(\"A_2\"), max(\"A_1\") from '" + folder_.file("copy.parquet") + "'"),
              ElementsAre("4|14|24"));
}

TEST_P(SqlNames, OfMembers) {
  Table table = numbers({"x", "X", ""}, 3);
  Field outer;
  outer.name = "s";
  outer.type = DataType{TypeKind::kStruct};
  outer.children = table.schema.fields;
  Column column = make_column(outer);
  column.length = 3;
  column.children = std::move(table.columns);
  table.columns.clear();
  table.columns.push_back(std::move(column));
  table.schema.fields = {outer};
  number_fields(table.schema);
  const std::string path = write(folder_, "members.basalt", std::move(table));
  EXPECT_THAT(rows("select s.x, s.x_1, s.f3 from '" + path + "'"), ElementsAre("0|10|20", "1|11|21", "2|12|22"));
}

TEST_P(SqlNames, WithoutColumnsRowsCanBeCounted) {
  const std::string path = write(folder_, "none.basalt", numbers({}, 5));
  EXPECT_EQ(File::open(path)->rows(), 5u);
  const std::string from = " from '" + path + "'";
  EXPECT_THAT(rows("select count(*)" + from), ElementsAre("5"));
  EXPECT_THAT(rows("select *" + from + " limit 2"), ElementsAre("0", "1"));
  EXPECT_THAT(rows("select max(file_row_number)" + from + " where file_row_number < 3"), ElementsAre("2"));
}

TEST_P(SqlNames, OfArrowColumnsAreMadeDistinctWhenTheyAreWritten) {
  const std::vector<std::string> given = {"a", "A", "", "a"};
  bool done = false;
  ArrowArrayStream stream;
  export_stream(
      numbers(given, 0).schema,
      [&]() -> std::unique_ptr<Table> {
        return std::exchange(done, true) ? nullptr : std::make_unique<Table>(numbers(given, 3));
      },
      &stream);
  const std::string path = folder_.file("arrow.basalt");
  EXPECT_EQ(write_arrow_stream(path, &stream).notices.size(), 3u);
  std::vector<std::string> names;
  const auto file = File::open(path);
  for (const Field& field : file->schema().fields) names.push_back(field.name);
  EXPECT_THAT(names, ElementsAre("a", "A_1", "f3", "a_2"));
  EXPECT_THAT(rows("select max(a), max(a_1), max(f3), max(a_2) from '" + path + "'"), ElementsAre("2|12|22|32"));
}

INSTANTIATE_TEST_SUITE_P(Devices, SqlNames, ::testing::ValuesIn(test_devices()),
                         [](const auto& test) { return test.param == Device::kCpu ? "cpu" : "cuda"; });

}  // namespace
}  // namespace basalt::testing
