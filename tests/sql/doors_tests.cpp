// Random tables through every door in both directions: Arrow in memory and as IPC, SQL, Parquet, CSV and JSON. Values
// and NULL counts of every level must come back; DuckDB reads and writes what is not ours, and so is the judge.
//
// BASALT_RANDOM_TABLES=10000 BASALT_RANDOM_SEED=1 runs more of them; a failure names its seed.
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "basalt/file/ipc.h"
#include "basalt/file/verify.h"
#include "core/arrow_reader.h"
#include "sql/support.h"
#include "support/foreign_arrow.h"
#include "support/random_tables.h"

namespace basalt::testing {
namespace {

template <typename Next>
Table collect(const Schema& schema, const Next& next) {
  Table all;
  all.schema = schema;
  for (const Field& field : all.schema.fields) all.columns.push_back(make_column(field));
  while (const std::unique_ptr<Table> table = next()) {
    all.schema = table->schema;
    for (size_t i = 0; i < all.columns.size(); ++i) append_rows(all.columns[i], table->columns[i], 0, table->rows);
    all.rows += table->rows;
  }
  return all;
}

Table rows_of(ArrowArrayStream* stream) {
  arrow::StreamReader reader(stream, "test", nullptr);
  return collect(reader.schema(), [&] { return reader.next(); });
}

std::string read_query(const std::string& path) { return "select * from read_basalt(" + quote_literal(path) + ")"; }

// A field as SQL sees it: one unit for times of day and for instants.
void to_sql(Field& field, Column& column) {
  const bool instant = field.type.kind == TypeKind::kTimestampTz && field.type.unit != TimeUnit::kMicro;
  const bool time = field.type.kind == TypeKind::kTime && field.type.unit < TimeUnit::kMicro;
  if (instant || time) {
    static constexpr int64_t kMicros[] = {1'000'000, 1'000, 1};
    for (uint64_t row = 0; row < column.length; ++row) {
      int64_t& value = column.values.as<int64_t>()[row];
      if (!column.is_valid(row)) continue;
      if (field.type.unit == TimeUnit::kNano)
        value = value / 1000 - (value % 1000 < 0);
      else
        value *= kMicros[static_cast<int>(field.type.unit)];
    }
    field.type.unit = column.type.unit = TimeUnit::kMicro;
  }
  for (size_t i = 0; i < field.children.size(); ++i) to_sql(field.children[i], column.children[i]);
}

Table as_sql(Table table) {
  for (size_t i = 0; i < table.columns.size(); ++i) to_sql(table.schema.fields[i], table.columns[i]);
  return table;
}

template <typename Test>
bool any_field(const Field& field, const Test& test) {
  if (test(field.type)) return true;
  return std::any_of(field.children.begin(), field.children.end(),
                     [&](const Field& child) { return any_field(child, test); });
}

// The columns of which no part is of a kind that the format at hand cannot carry.
template <typename Test>
Table without(const Table& table, const Test& lost) {
  Table kept;
  kept.rows = table.rows;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (any_field(table.schema.fields[i], lost)) continue;
    kept.schema.fields.push_back(table.schema.fields[i]);
    kept.columns.push_back(table.columns[i]);
  }
  number_fields(kept.schema);
  return kept;
}

WriteOptions write_options() {
  WriteOptions options;
  options.threads = 1;
  options.chunk_rows = 8192;
  return options;
}

class Doors : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }

  void expect_same(const Table& expected, const Table& actual, const char* door) const {
    const std::string found = test::difference(expected, actual);
    EXPECT_EQ(found, "") << door << ", BASALT_RANDOM_SEED=" << seed_ << " BASALT_RANDOM_TABLES=1";
  }

  void expect_sound(const std::string& file) {
    EXPECT_NO_THROW(verify_file(*File::open(file), pool_)) << "BASALT_RANDOM_SEED=" << seed_;
  }

  Table select(const std::string& query, const Schema& schema) {
    QueryResult result = session_.execute(query);
    return collect(schema, [&] { return result.next(); });
  }

  // In: an Arrow stream in memory, as others write it. The file that is left serves the other doors.
  void through_arrow(const Table& table) {
    ArrowArrayStream stream;
    test::foreign_stream({table}, seed_, {}, &stream);
    write_arrow_stream(path("a.basalt"), &stream, write_options());
    expect_same(table, read_table(*File::open(path("a.basalt"))), "Arrow in");
    expect_sound(path("a.basalt"));
    stream_file(File::open(path("a.basalt")), {}, &stream);
    expect_same(table, rows_of(&stream), "Arrow out");
  }

  void through_ipc(const Table& table) {
    const IpcKind kind = seed_ % 2 == 0 ? IpcKind::kFile : IpcKind::kStream;
    ArrowArrayStream stream;
    test::foreign_stream({table}, seed_, {.offsets = false, .dictionaries = false, .views = false}, &stream);
    write_ipc(&stream, path("in.arrow"), kind);
    open_ipc(path("in.arrow"), &stream);
    write_arrow_stream(path("ipc.basalt"), &stream, write_options());
    expect_same(table, read_table(*File::open(path("ipc.basalt"))), "IPC in");
    stream_file(File::open(path("ipc.basalt")), {}, &stream);
    write_ipc(&stream, path("out.arrow"), kind);
    open_ipc(path("out.arrow"), &stream);
    expect_same(table, rows_of(&stream), "IPC out");
  }

  // Paths of all members that structs lead to, with their numbers of values.
  static void list_members(const Field& field, const Column& column, const std::string& expression,
                           std::vector<std::pair<std::string, uint64_t>>& out) {
    out.push_back({expression, column.length - column.null_count});
    if (field.type.kind != TypeKind::kStruct) return;
    for (size_t i = 0; i < field.children.size(); ++i)
      list_members(field.children[i], column.children[i],
                   "struct_extract(" + expression + ", " + quote_literal(field.children[i].name) + ")", out);
  }

  void through_sql(const Table& table) {
    const Table expected = as_sql(table);
    expect_same(expected, select(read_query(path("a.basalt")), expected.schema), "SQL out");
    session_.convert(read_query(path("a.basalt")), path("sql.basalt"), write_options());
    expect_same(expected, read_table(*File::open(path("sql.basalt"))), "SQL in");
    expect_sound(path("sql.basalt"));

    std::vector<std::pair<std::string, uint64_t>> members;
    for (size_t i = 0; i < table.columns.size(); ++i)
      list_members(table.schema.fields[i], table.columns[i], quote_identifier(table.schema.fields[i].name), members);
    std::string query, counts;
    for (const auto& [expression, count] : members) {
      query += (query.empty() ? "select count(" : ", count(") + expression + ")";
      counts += (counts.empty() ? "" : "|") + std::to_string(count);
    }
    EXPECT_EQ(testing::rows_of(session_, query + " from read_basalt(" + quote_literal(path("a.basalt")) + ")"),
              std::vector<std::string>{counts})
        << "counts, BASALT_RANDOM_SEED=" << seed_;
  }

  // {'a': 'INTEGER', …}, for readers that are told the types.
  std::string column_types(const std::string& query) {
    std::string text;
    for (const ResultColumn& column : session_.describe(query))
      text += (text.empty() ? "{" : ", ") + quote_literal(column.name) + ": " + quote_literal(column.type);
    return text + "}";
  }

  std::string query_of(const Table& table) const {
    std::string columns;
    for (const Field& field : table.schema.fields)
      columns += (columns.empty() ? "" : ", ") + quote_identifier(field.name);
    return "select " + columns + " from read_basalt(" + quote_literal(path("a.basalt")) + ")";
  }

  void through_parquet(const Table& whole) {
    const Table table = as_sql(without(whole, [](const DataType& type) { return type.kind == TypeKind::kInt128; }));
    if (table.columns.empty()) return;
    session_.copy_to_parquet(query_of(table), path("t.parquet"));
    // Parquet has no seconds.
    std::string cast;
    for (const ResultColumn& column : session_.describe(query_of(table)))
      cast += (cast.empty() ? "select " : ", ") + quote_identifier(column.name) + "::" + column.type + " as " +
              quote_identifier(column.name);
    const std::string query = cast + " from read_parquet(" + quote_literal(path("t.parquet")) + ")";
    expect_same(table, select(query, table.schema), "Parquet out");
    session_.convert(query, path("parquet.basalt"), write_options());
    expect_same(table, read_table(*File::open(path("parquet.basalt"))), "Parquet in");
  }

  // Once as DuckDB writes the text to a file, once as results are written to standard output.
  void through_json(const Table& whole) {
    // Readers of JSON take long numbers for doubles.
    const auto lost = [](const DataType& type) {
      return type.kind == TypeKind::kInt128 || type.kind == TypeKind::kBinary ||
             (type.kind == TypeKind::kDecimal && type.precision > 15);
    };
    const Table table = as_sql(without(whole, lost));
    if (table.columns.empty()) return;
    const std::string types = column_types(query_of(table));
    session_.copy_to_json(query_of(table), path("t.json"), true);
    expect_same(
        table,
        select("select * from read_json(" + quote_literal(path("t.json")) + ", columns = " + types + ")", table.schema),
        "JSON to a file");
    write_text("u.json", [&](const TextSink& sink) { session_.execute(query_of(table)).write_json(sink, true); });
    expect_same(table,
                select("select * from read_json(" + quote_literal(path("u.json")) +
                           ", format = 'newline_delimited', columns = " + types + ")",
                       table.schema),
                "JSON as a result");
  }

  void through_csv(const Table& whole) {
    const Table table = as_sql(without(
        whole, [](const DataType& type) { return type.kind == TypeKind::kList || type.kind == TypeKind::kStruct; }));
    if (table.columns.empty()) return;
    const std::string options =
        ", header = true, allow_quoted_nulls = false, auto_detect = false, quote = '\"', escape = "
        "'\"', columns = " +
        column_types(query_of(table)) + ")";
    session_.copy_to_csv(query_of(table), path("t.csv"));
    expect_same(table, select("select * from read_csv(" + quote_literal(path("t.csv")) + options, table.schema),
                "CSV to a file");
    write_text("u.csv", [&](const TextSink& sink) { session_.execute(query_of(table)).write_csv(sink); });
    expect_same(table, select("select * from read_csv(" + quote_literal(path("u.csv")) + options, table.schema),
                "CSV as a result");
  }

  template <typename Write>
  void write_text(const std::string& name, const Write& write) {
    std::ofstream file(path(name), std::ios::binary);
    write([&](std::string_view text) { file.write(text.data(), static_cast<std::streamsize>(text.size())); });
  }

  void through_every_door() {
    std::mt19937_64 random(seed_);
    const bool extremes = random() % 3 == 0;
    const Table table = test::any_table(random, {.extremes = extremes});
    through_arrow(table);
    through_ipc(table);
    through_sql(table);
    if (extremes) return;
    through_parquet(table);
    through_json(table);
    through_csv(table);
  }

  ScratchFolder folder_;
  ThreadPool pool_{1};
  Session session_{session_options(Device::kCpu)};
  uint64_t seed_ = 0;
};

// Files of the first version hold values there.
TEST_F(Doors, ValuesUnderNullStructsOfAFileAreNull) {
  for (const auto& [file, column, member] :
       {std::array{"chunks", "s", "x"}, std::array{"types", "struct", "b"}, std::array{"types", "struct", "c"}}) {
    const std::string from = std::string(" from 'tests/golden/v1/") + file + ".basalt'";
    const std::string value = quote_identifier(column) + "." + quote_identifier(member);
    EXPECT_EQ(testing::rows_of(session_, "select count(*) > 0, count(" + value + ")" + from + " where " +
                                             quote_identifier(column) + " is null"),
              std::vector<std::string>{"true|0"})
        << file;
    const std::string columns = quote_identifier(column) + ", " + value + " as m";
    session_.copy_to_parquet("select " + columns + from, path("golden.parquet"));
    EXPECT_EQ(testing::rows_of(session_, "select " + columns + from),
              testing::rows_of(session_, "select * from " + quote_literal(path("golden.parquet"))))
        << file;
  }
}

TEST_F(Doors, RandomTablesPassUnchanged) {
  const uint64_t first = test::first_random_seed();
  const uint64_t count = test::random_table_count(300);
  const auto faults = [] {
    return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  };
  constexpr int kMostFaults = 20;
  for (seed_ = first; seed_ < first + count && faults() < kMostFaults; ++seed_) {
    try {
      through_every_door();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << ", BASALT_RANDOM_SEED=" << seed_;
    }
  }
}

}  // namespace
}  // namespace basalt::testing
