// The session's own face: results in every form, the report, splitting, cancelling, Arrow in and out, convert.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "sql/support.h"

namespace basalt::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : session_(session_options(Device::kCpu)) {}

  // `rows` rows: id ascending, `n` with holes, a word.
  std::string make_file(const std::string& name, uint64_t rows) {
    const std::string path = folder_.file(name);
    session_.convert(
        "select i as id, case when i % 4 = 0 then null else i end as n, 'w' || i % 50 as word from range(" +
            std::to_string(rows) + ") t(i)",
        path);
    return path;
  }

  ScratchFolder folder_;
  Session session_;
};

ErrorCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "there was no error";
  return ErrorCode::kInternal;
}

TEST_F(SessionTest, SplitsStatements) {
  std::string rest;
  EXPECT_THAT(session_.split("select ';' as \"a;b\"; -- c;\nselect $$;$$; /* ; */ select 3", &rest),
              ElementsAre("select ';' as \"a;b\";", " -- c;\nselect $$;$$;"));
  EXPECT_EQ(rest, " /* ; */ select 3");
  EXPECT_THAT(session_.split("select 1; ; -- nothing\n"), ElementsAre("select 1;"));
  session_.split("select 'open; ", &rest);
  EXPECT_EQ(rest, "select 'open; ");
  session_.split("select e'it\\'s; ' /* open ;", &rest);
  EXPECT_EQ(rest, "select e'it\\'s; ' /* open ;");
}

TEST_F(SessionTest, RunsStatementsWithParametersWithoutDuckDb) {
  const std::string from = " from " + quote_literal(make_file("t.basalt", 300000));
  session_.execute("set basalt_strict = true");
  const std::string query = "select count(*), min(word)" + from + " where id between $low and $high and word <> $word";
  for (const auto& [low, high, expected] :
       std::vector<std::array<std::string, 3>>{{"10", "19", "10"}, {"5000", "5000", "1"}, {"-5", "-1", "0"}}) {
    QueryResult result = session_.execute(
        query, {{"low", "BIGINT", low}, {"high", "INTEGER", high}, {"word", "VARCHAR", "no such word"}});
    const std::vector<std::string> rows = rows_of(std::move(result));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].substr(0, rows[0].find('|')), expected);
  }
  QueryResult told = session_.execute("select sum(n)" + from + " where id < ?", {{"1", "BIGINT", "10"}});
  told.to_box();
  const QueryReport& report = told.report();
  EXPECT_EQ(report.in_basalt.size(), 1u) << report.summary();
  EXPECT_TRUE(report.in_duckdb.empty()) << report.summary();
  EXPECT_GT(report.tiles.skipped, 200u) << report.summary();
}

TEST_F(SessionTest, TakesValuesForParameters) {
  const std::vector<Parameter> by_place = {{"1", "BIGINT", "40"}, {"2", "VARCHAR", "it's"}, {"3", "DATE", {}}};
  EXPECT_THAT(rows_of(session_.execute("select ? + 2, ?, ?", by_place)), ElementsAre("42|it's|"));
  EXPECT_THAT(rows_of(session_.execute("select $b - $a", {{"a", "INTEGER", "1"}, {"b", "DECIMAL(4, 1)", "2.5"}})),
              ElementsAre("1.5"));
  EXPECT_EQ(code_of([&] { session_.execute("select ?", {{"1", "INTEGER", "x"}}); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([&] { session_.execute("select ?, ?", {{"1", "INTEGER", "1"}}); }), ErrorCode::kInvalidArgument);
}

TEST_F(SessionTest, AsksItsOwnerForUnknownTables) {
  SessionOptions options = session_options(Device::kCpu);
  int opened = 0;
  options.find_table = [&](const std::string& name) -> StreamOpener {
    if (name != "mine") return {};
    return [&](ArrowArrayStream* out) {
      ++opened;
      auto table = std::make_shared<Table>();
      table->add<int64_t>("a", DataType::bigint(), {1, 2, 3})
          .add<std::string>("b", DataType::varchar(), {"x", "y", "z"});
      const Schema schema = table->schema;
      export_stream(
          schema,
          [table, given = false]() mutable {
            return std::exchange(given, true) ? nullptr : std::make_unique<Table>(*table);
          },
          out);
    };
  };
  Session session(options);
  EXPECT_THAT(rows_of(session, "select b from mine where a > 1 order by a"), ElementsAre("y", "z"));
  EXPECT_THAT(rows_of(session, "select sum(l.a) from mine l join mine r using (a)"), ElementsAre("6"));
  EXPECT_GE(opened, 3);  // anew for each scan
  EXPECT_EQ(code_of([&] { session.execute("select * from yours"); }), ErrorCode::kInvalidArgument);
}

TEST_F(SessionTest, ReachesFilesThroughItsOwner) {
  make_file("a.basalt", 100);
  make_file("b.basalt", 50);
  int opened = 0;
  SessionOptions options = session_options(Device::kCpu);
  options.remote_files.find = [](const std::string& pattern) -> std::vector<std::string> {
    if (pattern == "far://day=*/x.basalt") return {"far://day=1/a.basalt", "far://day=2/b.basalt"};
    if (pattern.find('*') != std::string::npos) return {};
    return {pattern};
  };
  options.remote_files.open = [&](const std::string& name) {
    ++opened;
    if (!name.starts_with("far://")) throw Error(ErrorCode::kIo, name + ": nobody knows it");
    return File::open(folder_.file(name.substr(name.rfind('/') + 1)));
  };
  Session session(options);
  EXPECT_THAT(rows_of(session, "select count(*), max(id) from 'far://a.basalt' where id >= 10"), ElementsAre("90|99"));
  EXPECT_EQ(opened, 1);
  EXPECT_THAT(
      rows_of(session, "select day, count(*) from read_basalt('far://day=*/x.basalt') group by day order by day"),
      ElementsAre("1|100", "2|50"));
  EXPECT_EQ(opened, 3);
  EXPECT_EQ(code_of([&] { session.execute("from 'other://a.basalt'"); }), ErrorCode::kIo);
  EXPECT_THROW(session.execute("from 'far://none*.basalt'"), Error);
  // What has another ending is left to DuckDB.
  EXPECT_THROW(session.execute("from 'far://a.parquet'"), Error);
  EXPECT_THROW(session_.execute("from 'far://a.basalt'"), Error);
}

TEST_F(SessionTest, LowersQueriesForCallersWhoRunThem) {
  const std::string path = make_file("lowered.basalt", 5000);
  const Query query = session_.lower("select id as key, n from '" + path + "' where id >= 4000 and n is not null");
  ASSERT_EQ(query.stages.size(), 1u);
  const Table rows = run_query(query, {});
  EXPECT_EQ(rows.rows, 750u);
  EXPECT_EQ(rows.schema.fields[0].name, "key");
  const std::vector<Parameter> bounds = {{"1", "BIGINT", "10"}, {"2", "BIGINT", "15"}};
  const Query between = session_.lower("select id from '" + path + "' where id >= ? and id < ?", bounds);
  EXPECT_EQ(run_query(between, {}).rows, 5u);
  EXPECT_EQ(code_of([&] { session_.lower("select row_number() over () from '" + path + "'"); }),
            ErrorCode::kUnsupported);
  EXPECT_EQ(code_of([&] { session_.lower("create table t (a int)"); }), ErrorCode::kInvalidArgument);
  // The next statement is lowered as always.
  EXPECT_FALSE(session_.execute("select sum(id) from '" + path + "'").report().kept_plan);
  QueryResult sum = session_.execute("select count(n) from '" + path + "'");
  EXPECT_THAT(rows_of(std::move(sum)), ElementsAre("3750"));
}

TEST_F(SessionTest, GivesTheLastResultOfSeveralStatements) {
  EXPECT_THAT(rows_of(session_, "create table t as select 1 as a; insert into t values (2); select sum(a) from t"),
              ElementsAre("3"));
  EXPECT_EQ(code_of([&] { session_.execute("  "); }), ErrorCode::kInvalidArgument);
}

TEST_F(SessionTest, RendersABox) {
  QueryResult result = session_.execute("select 42 as answer, 'x' as word");
  EXPECT_EQ(result.to_box(),
            "┌────────┬─────────┐\n│ answer │  word   │\n│ int32  │ varchar │\n├────────┼─────────┤\n"
            "│     42 │ x       │\n└────────┴─────────┘\n");
  EXPECT_TRUE(result.has_rows());
  EXPECT_EQ(result.report().rows, 1u);
  EXPECT_FALSE(session_.execute("set threads = 2").has_rows());
}

TEST_F(SessionTest, WritesCsvAndJson) {
  const std::string query =
      "select 1 as i, 'a,\"b' as s, null::int as n, '' as e, [1, null] as l, {'k': 'v\\', 'd': 1.5} as o, "
      "'nan'::double as f, "
      "true as b, date '2024-02-29' as day, '{\"raw\": 1}'::json as j";
  std::string csv;
  session_.execute(query).write_csv([&](std::string_view part) { csv += part; });
  EXPECT_EQ(csv,
            "i,s,n,e,l,o,f,b,day,j\n1,\"a,\"\"b\",,\"\",\"[1, NULL]\",\"{'k': v\\, 'd': 1.5}\",nan,true,2024-02-29,"
            "\"{\"\"raw\"\": 1}\"\n");
  std::string json;
  session_.execute(query).write_json([&](std::string_view part) { json += part; });
  EXPECT_EQ(json,
            "[\n{\"i\":1,\"s\":\"a,\\\"b\",\"n\":null,\"e\":\"\",\"l\":[1,null],\"o\":{\"k\":\"v\\\\\",\"d\":1.5},"
            "\"f\":\"nan\",\"b\":true,\"day\":\"2024-02-29\",\"j\":{\"raw\": 1}}\n]\n");
  json.clear();
  session_.execute("select i from range(2) t(i)").write_json([&](std::string_view part) { json += part; }, true);
  EXPECT_EQ(json, "{\"i\":0}\n{\"i\":1}\n");
  json.clear();
  session_.execute("select 1 as a limit 0").write_json([&](std::string_view part) { json += part; });
  EXPECT_EQ(json, "[]\n");
}

TEST_F(SessionTest, WritesDecimalsBelowOneAsJsonNumbers) {
  std::string text;
  session_.execute("select -0.5::decimal(2,2) d, [0.25::decimal(2,2)] l").write_json([&](auto part) { text += part; });
  EXPECT_EQ(text, "[\n{\"d\":-0.50,\"l\":[0.25]}\n]\n");
}

// As DuckDB writes them, of every width and scale.
TEST_F(SessionTest, WritesNumbersAsTheirTextsAre) {
  const std::string values =
      "select unnest(['0', '7', '-7', '99', '-128', '127', '9223372036854775807', '-9223372036854775808', "
      "'9223372036854775808', '10000000000000000000', '-10000000000000000001', '100000000000000000000000000000', "
      "'170141183460469231731687303715884105727', '-170141183460469231731687303715884105728'])";
  for (const char* type :
       {"tinyint", "smallint", "integer", "bigint", "hugeint", "decimal(4,1)", "decimal(4,4)", "decimal(9,2)",
        "decimal(18,0)", "decimal(18,18)", "decimal(38,0)", "decimal(38,5)", "decimal(38,30)", "decimal(38,38)"}) {
    const std::string as_type = std::string("select try_cast(v as ") + type + ") as n from (" + values + ") t(v)";
    const std::string less =
        " union all select try_cast(v::double / 1e20 as " + std::string(type) + ") from (" + values + ") t(v)";
    std::string csv;
    session_.execute("select n, n::varchar as text from (" + as_type + less + ")")
        .write_csv([&](auto part) { csv += part; }, false);
    std::istringstream lines(csv);
    for (std::string line; std::getline(lines, line);) {
      const size_t comma = line.find(',');
      EXPECT_EQ(line.substr(0, comma), line.substr(comma + 1)) << type;
    }
  }
}

TEST_F(SessionTest, GivesTables) {
  QueryResult result = session_.execute("select i, i::varchar as s from range(200000) t(i)");
  uint64_t rows = 0;
  while (auto table = result.next()) {
    ASSERT_EQ(table->columns.size(), 2u);
    EXPECT_EQ(table->columns[0].values.as<int64_t>()[0], static_cast<int64_t>(rows));
    EXPECT_EQ(table->columns[1].string_at(0), std::to_string(rows));
    rows += table->rows;
  }
  EXPECT_EQ(rows, 200000u);
  EXPECT_EQ(result.report().rows, 200000u);
}

TEST_F(SessionTest, PassesArrowOutAndIn) {
  ArrowArrayStream stream{};
  QueryResult result =
      session_.execute("select i as a, case when i % 2 = 0 then 's' || i end as b from range(5000) t(i)");
  result.to_arrow(&stream);
  Session other(session_options(Device::kCpu));
  other.register_arrow("incoming", &stream);
  EXPECT_EQ(stream.release, nullptr);
  EXPECT_THAT(rows_of(other, "select count(*), sum(a), count(b), max(b) from incoming"),
              ElementsAre("5000|12497500|2500|s998"));
  EXPECT_EQ(result.report().rows, 5000u);
}

TEST_F(SessionTest, ArrowStreamsTellWhyTheyEnd) {
  ArrowArrayStream stream{};
  QueryResult result = session_.execute("select range from range(100000000000)");
  result.to_arrow(&stream);
  const auto next = [&] {
    ArrowArray array{};
    const int status = stream.get_next(&stream, &array);
    if (array.release != nullptr) array.release(&array);
    return status;
  };
  EXPECT_EQ(next(), 0);
  session_.interrupt();
  int status = 0;
  while (status == 0) status = next();
  EXPECT_EQ(status, ECANCELED);
  EXPECT_STREQ(stream.get_last_error(&stream), "the statement was cancelled");
  stream.release(&stream);
}

TEST_F(SessionTest, ReportsWhereAStatementRan) {
  const std::string from = " from " + quote_literal(make_file("t.basalt", 300000));
  QueryResult lowered = session_.execute("select sum(n), count(*)" + from + " where id >= 290000");
  lowered.to_box();
  EXPECT_THAT(lowered.report().in_basalt, ElementsAre("sum, count over t.basalt"));
  EXPECT_TRUE(lowered.report().in_duckdb.empty());
  EXPECT_GT(lowered.report().tiles.skipped, 200u);
  EXPECT_THAT(lowered.report().summary(), HasSubstr("1 row in "));
  QueryResult grouped = session_.execute("select word, count(*)" + from + " where id < 50000 group by word");
  grouped.to_box();
  EXPECT_TRUE(grouped.report().in_basalt.empty());
  EXPECT_THAT(grouped.report().in_duckdb,
              ElementsAre("GROUP BY (DuckDB is measured faster with these groups on the CPU)"));
  EXPECT_GT(grouped.report().tiles.skipped, 200u);
  QueryResult counted = session_.execute("select count(*)" + from);
  counted.to_box();
  EXPECT_THAT(counted.report().summary(), HasSubstr("footers"));
  QueryResult plain = session_.execute("select 1");
  EXPECT_FALSE(plain.report().used_basalt);
}

TEST_F(SessionTest, JoinsAndTopNPruneTheScan) {
  const std::string file = quote_literal(make_file("t.basalt", 300000));
  QueryResult join = session_.execute("select count(word) from " + file +
                                      " join (select 250000 + i as id from range(5) t(i)) k using (id)");
  join.to_box();
  EXPECT_GT(join.report().tiles.skipped, 200u) << join.report().summary();
}

TEST_F(SessionTest, ExplainShowsTheOperatorAndPruning) {
  const std::string from = " from " + quote_literal(make_file("t.basalt", 300000));
  const std::string plan = session_.execute("explain select sum(n)" + from + " where id < 10").explain_text();
  EXPECT_THAT(plan, HasSubstr("BASALT_QUERY"));
  EXPECT_THAT(plan, HasSubstr("id<10"));
  const std::string run = session_.execute("explain analyze select max(word)" + from + " where id < 10").explain_text();
  EXPECT_THAT(run, HasSubstr("Tiles Skipped"));
  const std::string lowered =
      session_.execute("explain analyze select sum(n)" + from + " where id < 10").explain_text();
  EXPECT_THAT(lowered, HasSubstr("Tiles Skipped"));
}

TEST_F(SessionTest, ExplainSaysWhyDuckDbScans) {
  const std::string from = " from " + quote_literal(make_file("t.basalt", 3000));
  std::string plan;
  for (const std::string& line : rows_of(session_, "explain (format json) select word, count(*)" + from +
                                                       " where bit_count(n) > 2 group by word order by word limit 3")) {
    plan += line;
  }
  EXPECT_THAT(plan, HasSubstr("the function bit_count"));
}

// Of all files that stages read, not of the first one alone.
TEST_F(SessionTest, ExplainSpeaksOfEveryTableOfAJoin) {
  const std::string large = quote_literal(make_file("large.basalt", 300000));
  const std::string small = quote_literal(folder_.file("small.basalt"));
  session_.execute("copy (select i as id, i % 7 as colour from range(1000) t(i)) to " + small);
  session_.execute("set basalt_strict = true");
  const std::string query =
      "select colour, sum(n) from " + large + " l join " + small + " s on l.id = s.id where l.id < 10 group by colour";
  std::string plan;
  for (const std::string& line : rows_of(session_, "explain (format json) " + query)) plan += line;
  EXPECT_THAT(plan, ContainsRegex("statistics leave [0-9]+ of [23][0-9][0-9] tiles"));
  std::string run;
  for (const std::string& line : rows_of(session_, "explain (analyze, format json) " + query)) run += line;
  for (const char* column : {"large.basalt id: ", "small.basalt id: ", "n: ", "colour: "})
    EXPECT_THAT(run, HasSubstr(column));
}

TEST_F(SessionTest, ExplainCountsTilesThatModelsDecide) {
  const std::string file = quote_literal(folder_.file("line.basalt"));
  session_.execute("copy (select 10 * i + i * i % 7 as id from range(100000) t(i)) to " + file +
                   " (encodings {id: 'l3'})");
  for (const std::string what : {"count(*)", "max(id % 5)"}) {
    const std::string run =
        session_.execute("explain analyze select " + what + " from " + file + " where id < 5000").explain_text();
    EXPECT_THAT(run, HasSubstr("Tiles By Models: 1")) << run;
  }
}

TEST_F(SessionTest, CancelsAStatementAndStaysUsable) {
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    session_.interrupt();
  });
  EXPECT_EQ(code_of([&] { rows_of(session_, "select count(*) from range(100000000000) a(i) where hash(i) % 7 = 3"); }),
            ErrorCode::kCancelled);
  other.join();
  EXPECT_THAT(rows_of(session_, "select 1"), ElementsAre("1"));
}

TEST_F(SessionTest, ExplainAnalyzeShowsEachStep) {
  const std::string from = " from " + quote_literal(make_file("t.basalt", 300000));
  session_.execute("set basalt_strict = true");
  const std::string run = session_
                              .execute("explain analyze select word, count(*) as c" + from +
                                       " where id < 100000 group by word order by c desc, word limit 3")
                              .explain_text();
  EXPECT_THAT(run, HasSubstr("Step 1"));
  EXPECT_THAT(run, HasSubstr("rows 300000 -> 50"));
  EXPECT_THAT(run, HasSubstr("Step 2"));
  EXPECT_THAT(run, HasSubstr("rows 50 -> 3"));
  EXPECT_THAT(run, HasSubstr("Encodings"));
  EXPECT_THAT(run, HasSubstr("decoded from"));
}

TEST_F(SessionTest, CancelsBasaltsOwnStagesAndStaysUsable) {
  const std::string from = " from " + quote_literal(make_file("t.basalt", kQuick ? 300'000 : 3'000'000));
  session_.execute("set basalt_strict = true");
  const std::string text = "select id, count(*), max(n)" + from + " group by id order by id desc";
  std::chrono::steady_clock::time_point asked;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    asked = std::chrono::steady_clock::now();
    session_.interrupt();
  });
  EXPECT_EQ(code_of([&] { rows_of(session_, text); }), ErrorCode::kCancelled);
  const auto ended = std::chrono::steady_clock::now();
  other.join();
  EXPECT_LT(ended - asked, std::chrono::milliseconds(kQuick ? 5000 : 500));
  EXPECT_THAT(rows_of(session_, "select count(*)" + from + " where id < 10"), ElementsAre("10"));
}

TEST_F(SessionTest, CancelledConvertLeavesNoFile) {
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    session_.interrupt();
  });
  EXPECT_EQ(code_of([&] {
              session_.convert("select i, hash(i) as h from range(10000000000) t(i)", folder_.file("x.basalt"));
            }),
            ErrorCode::kCancelled);
  other.join();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(SessionTest, ConvertReportsProgressAndColumns) {
  WriteOptions write;
  uint64_t seen = 0;
  write.progress = [&](const WriteProgress& progress) { seen = std::max(seen, progress.rows); };
  write.sort_columns = {"a"};
  write.encodings["a"] = parse_tree("plain");
  const WriteSummary summary =
      session_.convert("select i as a, 'same' as b from range(300000) t(i);", folder_.file("x.basalt"), write);
  EXPECT_EQ(summary.rows, 300000u);
  EXPECT_EQ(seen, 300000u);
  ASSERT_EQ(summary.columns.size(), 2u);
  EXPECT_EQ(summary.columns[0].path, "a");
  EXPECT_THAT(summary.columns[0].trees.at(0), HasSubstr("plain"));
  EXPECT_THAT(File::open(folder_.file("x.basalt"))->sort_columns(), ElementsAre("a"));
}

TEST_F(SessionTest, ErrorsKeepTheirKind) {
  EXPECT_EQ(code_of([&] { session_.execute("selec 1"); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([&] { rows_of(session_, "select cast(1000 as tinyint)"); }), ErrorCode::kOutOfRange);
  const std::string path = make_file("t.basalt", 1000);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_EQ(code_of([&] { rows_of(session_, "select * from " + quote_literal(path)); }), ErrorCode::kCorrupt);
  if (gpu().backend == nullptr) {
    EXPECT_EQ(code_of([&] { Session cuda(session_options(Device::kCuda)); }), ErrorCode::kDevice);
    EXPECT_EQ(code_of([&] { session_.set_device(Device::kCuda); }), ErrorCode::kDevice);
    EXPECT_EQ(session_.device(), Device::kCpu);
  }
}

TEST_F(SessionTest, ListsTables) {
  rows_of(session_, "create table b (x int, y varchar); create view a as select 1 as one");
  const std::vector<TableInfo> tables = session_.tables();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].name, "a");
  EXPECT_EQ(tables[0].kind, "view");
  EXPECT_EQ(tables[1].columns.at(1).type, "VARCHAR");
  EXPECT_THAT(session_.schema_sql("b"), HasSubstr("CREATE TABLE b(x INTEGER, y VARCHAR)"));
  EXPECT_EQ(session_.describe("select 1::decimal(9,2) as d").at(0).type, "DECIMAL(9,2)");
}

TEST_F(SessionTest, CopiesToOtherFormats) {
  const std::string query = "select i, 'x' || i as s from range(10) t(i)";
  session_.copy_to_parquet(query, folder_.file("x.parquet"));
  session_.copy_to_csv(query, folder_.file("x.csv"));
  session_.copy_to_json(query, folder_.file("x.json"));
  for (const char* name : {"x.parquet", "x.csv", "x.json"}) {
    EXPECT_THAT(rows_of(session_, "select sum(i), max(s) from (" + query_for_file(folder_.file(name)) + ")"),
                ElementsAre("45|x9"))
        << name;
  }
  EXPECT_EQ(code_of([&] { session_.copy_to_csv("select error('no')", folder_.file("y.csv")); }),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 3);
  EXPECT_EQ(code_of([] { query_for_file("x.unknown"); }), ErrorCode::kInvalidArgument);
}

TEST_F(SessionTest, SeesAFileThatWasReplaced) {
  const std::string path = make_file("t.basalt", 1000);
  EXPECT_THAT(rows_of(session_, "select sum(id) from " + quote_literal(path)), ElementsAre("499500"));
  make_file("t.basalt", 10);
  EXPECT_THAT(rows_of(session_, "select sum(id) from " + quote_literal(path)), ElementsAre("45"));
}

}  // namespace
}  // namespace basalt::testing
