// Plans that are kept for all texts that differ in literals only: used where every literal of the same kind would be
// planned alike, with DuckDB's answers for each of them, and never where a literal decides more than a comparison.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <random>

#include "sql/statement_shape.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

using ::testing::ElementsAre;

constexpr const char* kRows =
    "select i::bigint as id, (i % 7)::tinyint as few, (i % 1000)::smallint - 500 as middle, "
    "(i * 37 % 100000)::integer as large, (i % 977)::decimal(9, 2) / 4 as price, (i % 91)::double / 8 as ratio, "
    "date '2020-01-01' + (i % 400)::integer as day, timestamp '2020-01-01 00:00:00' + interval (i % 5000) hour as "
    "moment, "
    "case when i % 11 = 0 then null else 'name ' || (i % 53) end as name, i % 2 = 0 as even, (i % 3)::float as real4 "
    "from range(20000) t(i)";

class KeptShapes : public ::testing::TestWithParam<Device> {
 protected:
  KeptShapes() : session_(whole(GetParam())), duck_(session_options(Device::kCpu)) {
    file_ = folder_.file("rows.basalt");
    write(file_, kRows);
    duck_.execute("set basalt_lowering = false");
  }

  static SessionOptions whole(Device device) {
    SessionOptions options = session_options(device);
    options.strict = device == Device::kCpu;  // which would leave groups to DuckDB
    return options;
  }

  static void write(const std::string& path, const std::string& query) {
    Session(session_options(Device::kCpu)).convert(query, path);
  }

  std::string from() const { return " from '" + file_ + "' "; }

  // Whether the text ran by a plan that was kept; it gives what DuckDB gives.
  bool is_kept(const std::string& text) {
    QueryResult result = session_.execute(text);
    const bool kept = result.report().kept_plan;
    std::vector<std::string> names;
    for (const ResultColumn& column : result.columns()) names.push_back(column.name);
    std::vector<std::string> rows = rows_of(std::move(result));
    QueryResult expected = duck_.execute(text);
    std::vector<std::string> expected_names;
    for (const ResultColumn& column : expected.columns()) expected_names.push_back(column.name);
    std::vector<std::string> expected_rows = rows_of(std::move(expected));
    std::sort(rows.begin(), rows.end());
    std::sort(expected_rows.begin(), expected_rows.end());
    EXPECT_EQ(rows, expected_rows) << text;
    EXPECT_EQ(names, expected_names) << text;
    return kept;
  }

  ScratchFolder folder_;
  std::string file_;
  Session session_;
  Session duck_;
};

TEST(StatementShape, HasParametersForOneSideOfComparisons) {
  const auto shape = [](const std::string& text) { return sql::shape_of(text).text; };
  EXPECT_EQ(shape("select 1 from t where a = 5 and b<-2.50 or c >= 'it''s' limit 3"),
            "select 1 from t where a = $1 and b<$2 or c >= $3 limit $4");
  EXPECT_EQ(shape("select 1 from t where a > 3 order by a limit 10 offset 5;"),
            "select 1 from t where a > $1 order by a limit $2 offset $3;");
  EXPECT_EQ(shape("select * from t where d between date '2020-01-01' and cast('2020-02-01' AS date)"),
            "select * from t where d between $1 and $2");
  EXPECT_EQ(shape("select * from t where d < timestamp '2020-01-01 10:00:00' group by d having count(*) > 10"),
            "select * from t where d < $1 group by d having count(*) > $2");
  const sql::StatementShape literals = sql::shape_of("select * from t where a <> 'it''s' and b = - 7;");
  ASSERT_EQ(literals.literals.size(), 2U);
  EXPECT_EQ(literals.literals[0].text, "it's");
  EXPECT_EQ(literals.literals[1].text, "-7");
}

TEST(StatementShape, HasParametersForListsPatternsAndSums) {
  const auto shape = [](const std::string& text) {
    const sql::StatementShape found = sql::shape_of(text);
    std::string out = found.text;
    for (const sql::ShapeLiteral& literal : found.literals) out += "|" + literal.text;
    return out;
  };
  EXPECT_EQ(shape("where a in (1, -2) and b not in ('x','it''s')"),
            "where a in ($1, $2) and b not in ($3,$4)|1|-2|x|it's");
  EXPECT_EQ(shape("where a like '%x_' or b not like 'y%'"), "where a like $1 or b not like $2|%x_|y%");
  EXPECT_EQ(shape("where a <= 1 + 10 and b between 0.06 - 0.01 and 0.06+0.1"),
            "where a <= $1 and b between $2 and $3|11|0.05|0.16");
  EXPECT_EQ(shape("where a = -5 - 1.50"), "where a = $1|-6.50");
  EXPECT_EQ(shape("where d < date '1994-11-30' + interval '3' month and d > date '2000-02-29' - interval 1 year"),
            "where d < $1 and d > $2|1995-02-28 00:00:00|1999-02-28 00:00:00");
  EXPECT_EQ(shape("where d in (cast('2020-01-01' as date) - interval '90 days')"),
            "where d in ($1)|2019-10-03 00:00:00");
}

TEST(StatementShape, KnowsWhichLiteralsAreEqual) {
  EXPECT_THAT(sql::shape_of("where a = 5 and t.b = 5 or a = 5 and t.b = 5 or a < 5 or b = 5").equals,
              ElementsAre(1, 2, 1, 2, 5, 6));
  EXPECT_THAT(sql::shape_of("where f(a, 1) in ('x', 'y', 'x') or f(a, 1) in ('y') or g(a, 1) in ('x')").equals,
              ElementsAre(1, 2, 1, 2, 5));
  EXPECT_THAT(sql::common_equals({1, 1, 1, 4, 1}, {1, 1, 3, 3, 1}), ElementsAre(1, 1, 3, 4, 1));
}

TEST(StatementShape, LeavesLiteralsThatDecideMore) {
  for (const char* text : {
           "select 1, 'a' from t order by 2 limit 0 offset b",
           "select a from t limit 10 % union select a from t limit 1000 union select a from t limit 5 * 2",
           "select a from t limit '7' offset 2.0",
           "select * from t where a in (1, b, 3) or a in (null, 2) or a in ((1, 2)) or a in (select 1)",
           "select * from t where b like 'a$%' escape '$' and b like 'a' || 'b' and b ilike 'x'",
           "select * from t where a = 5 + b",
           "select * from t where a < 5::bigint",
           "select * from t where a = 5 * 2 and b < '1' || '2'",
           "select * from t where a = 5 + 2 * 3 and b = 1 - 2 - 3 and c = 2147483647 + 1",
           "select * from t where a > date '2020-01-01' + interval 1 hour",
           "select * from t where a > date '2020-01-01' + interval 1.5 day",
           "select * from t where a > date '2020-01-01' + interval (1) day",
           "select * from t where a > date 'infinity' - interval 1 day",
           "select * from t where a = 1e3 or a = 0x10 or a = 1_000",
           "select * from t where a = e'x\\n' and b = $$text$$",
           "select * from t where a = 5 /* five */ and b = 6 -- six",
           "select * from t where 5 < a and 'x' = b",
           "select * from t where a between b and 7",
           "select * from t where a = 'x' collate nocase",
           "select * from t where a = $1 and b = 5",
           "select * from t where a = ? and b = 5",
           "select date_trunc('month', d), substring(s, 1, 2) from t",
           "select * from t where a = 'unclosed",
       }) {
    EXPECT_TRUE(sql::shape_of(text).literals.empty()) << text << "\n" << sql::shape_of(text).text;
  }
}

TEST(StatementShape, BindsWhatItsTypeHoldsExactly) {
  using Kind = sql::ShapeLiteral::Kind;
  using duckdb::LogicalType;
  const auto value = [](Kind kind, const std::string& text, const LogicalType& type) {
    const auto bound = sql::value_of({kind, text}, type);
    return bound ? bound->type().ToString() + " " + bound->ToString() : "nothing";
  };
  EXPECT_EQ(value(Kind::kInteger, "-128", LogicalType::TINYINT), "TINYINT -128");
  EXPECT_EQ(value(Kind::kInteger, "128", LogicalType::TINYINT), "nothing");
  EXPECT_EQ(value(Kind::kInteger, "-1", LogicalType::UBIGINT), "nothing");
  EXPECT_EQ(value(Kind::kInteger, "1", LogicalType::BOOLEAN), "nothing");
  EXPECT_EQ(value(Kind::kInteger, "1", LogicalType::VARCHAR), "nothing");
  EXPECT_EQ(value(Kind::kInteger, "1", LogicalType::FLOAT), "nothing");
  EXPECT_EQ(value(Kind::kDecimal, "1.0", LogicalType::INTEGER), "nothing");
  EXPECT_EQ(value(Kind::kDecimal, "0.25", LogicalType::DECIMAL(9, 2)), "DECIMAL(9,2) 0.25");
  EXPECT_EQ(value(Kind::kDecimal, "0.255", LogicalType::DECIMAL(9, 2)), "nothing");
  EXPECT_EQ(value(Kind::kInteger, "100", LogicalType::DECIMAL(4, 2)), "nothing");
  EXPECT_EQ(value(Kind::kDecimal, "-0.1", LogicalType::DOUBLE), "DOUBLE -0.1");
  EXPECT_EQ(value(Kind::kInteger, "9007199254740993", LogicalType::DOUBLE), "nothing");
  EXPECT_EQ(value(Kind::kText, "2020-02-29", LogicalType::DATE), "DATE 2020-02-29");
  EXPECT_EQ(value(Kind::kText, "2021-02-29", LogicalType::DATE), "nothing");
  EXPECT_EQ(value(Kind::kText, "infinity", LogicalType::DATE), "nothing");
  EXPECT_EQ(value(Kind::kText, "5", LogicalType::INTEGER), "nothing");
  EXPECT_EQ(value(Kind::kText, "\xff", LogicalType::VARCHAR), "nothing");
  EXPECT_EQ(value(Kind::kDate, "2020-01-02", LogicalType::TIMESTAMP), "TIMESTAMP 2020-01-02 00:00:00");
  EXPECT_EQ(value(Kind::kMoment, "2020-01-02 10:00:00", LogicalType::DATE), "nothing");
  EXPECT_EQ(value(Kind::kMoment, "2020-01-02 00:00:00", LogicalType::DATE), "DATE 2020-01-02");
}

TEST_P(KeptShapes, ServeTheThirdAndLaterTexts) {
  const auto text = [&](const std::string& few, const std::string& price, const std::string& day,
                        const std::string& name) {
    return "select name, count(*), sum(price) as total, max(moment)" + from() + "where few <> " + few +
           " and price < " + price + " and day >= '" + day + "' and name > '" + name +
           "' group by name having count(*) > 3 order by total desc, name limit 5";
  };
  EXPECT_FALSE(is_kept(text("1", "100.25", "2020-03-01", "name 2")));
  EXPECT_TRUE(is_kept(text("2", "90.75", "2020-02-01", "name 3")));
  EXPECT_TRUE(is_kept(text("0", "12.50", "2020-01-01", "")));
  EXPECT_TRUE(is_kept(text("-128", "0.01", "2021-12-31", "it''s")));
  EXPECT_TRUE(is_kept(text("127", "999.99", "0001-01-01", "name 1")));
  EXPECT_TRUE(is_kept(text("1", "100.25", "2020-03-01", "name 2"))) << "the same text";
}

TEST_P(KeptShapes, AreNotUsedWhereALiteralHasAnotherType) {
  const auto text = [&](const std::string& literal) {
    return "select count(*), sum(id)" + from() + "where few < " + literal;
  };
  EXPECT_FALSE(is_kept(text("3")));
  EXPECT_TRUE(is_kept(text("4")));
  EXPECT_FALSE(is_kept(text("128")));
  EXPECT_FALSE(is_kept(text("3000000000")));
  EXPECT_FALSE(is_kept(text("2.5")));
  EXPECT_FALSE(is_kept(text("1e0")));
  EXPECT_FALSE(is_kept(text("'5'")));
  EXPECT_FALSE(is_kept(text("null")));
  EXPECT_FALSE(is_kept(text("5 * 1")));
  EXPECT_FALSE(is_kept(text("100 + 100")));
  EXPECT_TRUE(is_kept(text("5 - 1")));
  EXPECT_TRUE(is_kept(text("-128")));
  EXPECT_TRUE(is_kept(text("127")));
}

// Literals from which DuckDB learns that a filter always holds, never holds, or says what another one does.
TEST_P(KeptShapes, DoNotRememberWhatFollowedFromALiteral) {
  for (const auto& [first, second, third] : std::vector<std::array<std::string, 3>>{
           {"few = 5 and few < 7", "few = 6 and few < 7", "few = 9 and few < 7"},
           {"few >= 5 and few <= 5", "few >= 4 and few <= 4", "few >= 3 and few <= 6"},
           {"large < 5000000", "large < 6000000", "large < 50"},
           {"large > 5000000", "large > 6000000", "large > 50"},
           {"few > 1 and few > 2", "few > 3 and few > 5", "few > 6 and few > 1"},
           {"few = 1 or few = 2", "few = 4 or few = 5", "few = 1 or few = 5"},
           {"middle + 3 > 6", "middle + 3 > 8", "middle + 3 > -32768"},
           {"few = middle and few < 3", "few = middle and few < 9", "few = middle and few < 1"},
           {"not (few < 3)", "not (few < 5)", "not (few < 0)"},
       }) {
    const std::string select =
        "select count(*), min(few < large), max(case when few < 4 then 1 else 2 end) as c" + from() + "where ";
    const std::string by_alias = "select few, few < 5 as below, count(*) as n" + from() + "where ";
    for (const std::string& condition : {first, second, third, first}) {
      is_kept(select + condition);
      is_kept(by_alias + condition + " group by all order by 1, 2");
    }
  }
}

TEST_P(KeptShapes, AreNotUsedForNamesWithLiterals) {
  EXPECT_FALSE(is_kept("select few > 3, count(*)" + from() + "group by 1"));
  EXPECT_FALSE(is_kept("select few > 4, count(*)" + from() + "group by 1"));
  EXPECT_FALSE(is_kept("select count(*) filter (where few > 3)" + from()));
  EXPECT_FALSE(is_kept("select count(*) filter (where few > 4)" + from()));
  EXPECT_FALSE(is_kept("select few > 3 as b, count(*)" + from() + "group by b"));
  EXPECT_TRUE(is_kept("select few > 4 as b, count(*)" + from() + "group by b"));
}

TEST_P(KeptShapes, DependOnAllOtherLiterals) {
  const auto text = [&](const std::string& few, const std::string& rest) {
    return "select few, name, count(*) as n" + from() + "where few < " + few + " " + rest;
  };
  for (const std::string rest :
       {"group by 1, 2 order by 3, 1, 2 limit 2", "group by 1, 2 order by 3, 1, 2 limit 1000",
        "group by 1, 2 order by 2, 1 limit 3 offset 0", "and name ilike 'name 1%' group by 1, 2",
        "and name ilike 'name 1' group by 1, 2", "and middle in (1, 2) group by 1, 2",
        "and middle in (1, 2, 9) group by 1, 2", "and moment < date '2020-01-01' + interval 40 hour group by 1, 2",
        "and moment < date '2020-01-01' + interval 80 hour group by 1, 2"}) {
    EXPECT_FALSE(is_kept(text("5", rest))) << rest;
    is_kept(text("6", rest));
    is_kept(text("3", rest));
  }
}

TEST_P(KeptShapes, ServeNumbersOfRows) {
  const auto rows = [&](const std::string& few, const std::string& count) {
    return "select id, name, price" + from() + "where few = " + few + " order by price desc, id limit " + count;
  };
  EXPECT_FALSE(is_kept(rows("1", "10")));
  EXPECT_TRUE(is_kept(rows("1", "3")));
  EXPECT_TRUE(is_kept(rows("5", "999")));
  EXPECT_FALSE(is_kept(rows("5", "0"))) << "nothing is read then";
  EXPECT_FALSE(is_kept(rows("5", "5000"))) << "DuckDB may be faster";
  const auto groups = [&](const std::string& count, const std::string& skipped) {
    return "select name, sum(large) as total" + from() + "where few < 4 group by name having count(*) > 2 " +
           "order by total, name limit " + count + " offset " + skipped;
  };
  EXPECT_FALSE(is_kept(groups("4", "3")));
  EXPECT_TRUE(is_kept(groups("9", "1")));
  EXPECT_TRUE(is_kept(groups("100", "50")));
  const auto any = [&](const std::string& count) {
    return "select few" + from() + "where few = 3 and middle = 10 limit " + count;
  };
  EXPECT_FALSE(is_kept(any("2")));
  EXPECT_TRUE(is_kept(any("5")));
}

TEST_P(KeptShapes, ServeListsPatternsAndSums) {
  const std::vector<std::vector<std::string>> conditions = {
      {"name in ('name 1', 'name 2')", "name in ('x', '')", "name in ('name 7', 'name 7')",
       "name in ('it''s', 'name 9')"},
      {"few in (1, 2, 3, 4, 5, 6, 7, 8)", "few in (0, 9, 8, 7, -1, 5, 6, 3)", "few in (1, 1, 1, 1, 1, 1, 1, 1)"},
      {"price not in (1.25, 2.5)", "price not in (0.5, 12.75)", "price not in (3.25, 99.0)"},
      {"day in ('2020-01-05', '2020-02-05')", "day in ('2020-03-05', '2020-04-05')",
       "day in ('2021-01-01', '0001-01-01')"},
      {"name like '%5%'", "name like 'name 1%'", "name like '%2'", "name like 'name 3'", "name like ''",
       "name like '%'", "name like 'na_e%4_'", "name like 'name\\_3'", "name like '%%'"},
      {"name not like '%5%'", "name not like 'name 1%'", "name not like 'name 3'", "name not like '%n%e%1%'"},
      {"large <= 100 + 10", "large <= 5000 - 10", "large <= 0 - 5", "large <= 99 + 0"},
      {"price between 0.06 + 1 and 5.5 + 0.25", "price between 12 - 0.5 and 20 + 0.75",
       "price between 5 - 1.0 and 9 - 1.5"},
      {"day < date '2020-01-31' + interval '1' month", "day < date '2020-05-31' - interval '90 days'",
       "day < cast('2019-01-01' as date) + interval 1 year", "day < date '2020-06-30' - interval 3 months"},
      {"moment >= date '2020-01-31' + interval 2 month", "moment >= timestamp '2020-01-31 10:30:00' - interval 1 day",
       "moment >= date '2020-02-29' + interval 1 years"},
  };
  for (const auto& texts : conditions) {
    for (size_t i = 0; i < texts.size(); ++i) {
      const bool kept =
          is_kept("select few, count(*) as n, min(name)" + from() + "where " + texts[i] + " group by few");
      EXPECT_EQ(kept, i > 0) << texts[i];
    }
  }
}

TEST_P(KeptShapes, AreDroppedWhenFilesOrSettingsChange) {
  const auto text = [&](int least) {
    return "select count(*), sum(id)" + from() + "where id >= " + std::to_string(least);
  };
  is_kept(text(1));
  EXPECT_TRUE(is_kept(text(2)));
  write(file_, std::string(kRows) + " where i < 5000");
  EXPECT_FALSE(is_kept(text(3)));
  EXPECT_TRUE(is_kept(text(4)));
  session_.execute("set basalt_pruning = false");
  EXPECT_FALSE(is_kept(text(5)));
  EXPECT_TRUE(is_kept(text(6)));
  session_.execute("set basalt_pruning = true");
  // The same column of another type.
  write(file_, "select i::decimal(12, 3) as id from range(3000) t(i)");
  EXPECT_FALSE(is_kept(text(7)));
  EXPECT_TRUE(is_kept(text(8)));
  std::filesystem::remove(file_);
  EXPECT_THROW(session_.execute(text(9)), Error);
  write(file_, kRows);
  EXPECT_FALSE(is_kept(text(10)));
}

TEST_P(KeptShapes, WorkInsideTransactionsAndBehindErrors) {
  const auto text = [&](const std::string& least) {
    return "select count(*)" + from() + "where day >= '" + least + "'";
  };
  session_.execute("begin");
  EXPECT_FALSE(is_kept(text("2020-01-03")));
  EXPECT_TRUE(is_kept(text("2020-02-03")));
  session_.execute("commit");
  EXPECT_FALSE(is_kept(text("2020-01-03")));
  EXPECT_TRUE(is_kept(text("2020-01-04")));
  EXPECT_THROW(rows_of(session_, text("2020-02-31")), Error);
  EXPECT_TRUE(is_kept(text("2020-01-05")));
  // An error while the rows are read.
  const auto overflow = [&](const std::string& most) {
    return "select max(id * 9000000000000000000)" + from() + "where few < " + most;
  };
  for (const char* most : {"5", "6", "4"}) EXPECT_THROW(rows_of(session_, overflow(most)), Error);
  EXPECT_TRUE(is_kept(text("2020-01-06")));
}

// A statement's parts come from one source of chance, its literals from another: statements of one shape differ in
// these.
class RandomStatement {
 public:
  RandomStatement(uint64_t structure, std::mt19937_64& literals) : structure_(structure), literals_(literals) {}

  std::string text(const std::string& from) {
    const std::vector<std::pair<std::string, std::string>> heads = {
        {"select count(*), sum(large), min(day)", ""},
        {"select few, count(*), max(price)", " group by few"},
        {"select name, few + 1 as next, count(*)", " group by 1, 2"},
        {"select few < middle as b, min(large < 3) as c, count(*)", " group by 1"}};
    const auto& [head, tail] = heads[structure_() % heads.size()];
    std::string where = condition();
    if (structure_() % 2 == 0) where += (structure_() % 4 == 0 ? " or " : " and ") + condition();
    if (structure_() % 4 == 0) where = "not (" + where + ")";
    return head + from + "where " + where + tail;
  }

 private:
  // With a literal of the column's kind, or near it.
  std::string condition() {
    const std::vector<std::string> ops = {"=", "<>", "<", "<=", ">", ">="};
    const std::string op = " " + ops[structure_() % ops.size()] + " ";
    switch (structure_() % 9) {
      case 0: return "few" + op + pick({"0", "1", "6", "7", "-1", "-128", "127", "128", "255", "3.0", "2.5", "null"});
      case 1: return "middle" + op + pick({"0", "499", "500", "-500", "32767", "-32768", "32768", "17"});
      case 2: return "large" + op + pick({"0", "99999", "100000", "2147483647", "2147483648", "-5", "777"});
      case 3: return "price" + op + pick({"0", "1.25", "0.5", "100.125", "243.75", "1000000", "99999999", "-1.00"});
      case 4: return "ratio" + op + pick({"0", "0.125", "11.25", "3.3", "100", "1e1", "-0.0"});
      case 5:
        return "day" + op +
               pick({"'2020-01-01'", "'2020-06-30'", "'2021-02-03'", "date '2020-03-01'",
                     "date '2020-03-01' + interval 1 day", "date '2020-03-01' - interval '2' month", "'infinity'",
                     "'2020-1-5'"});
      case 6:
        return "moment" + op +
               pick({"'2020-01-01'", "'2020-01-02 03:00:00'", "date '2020-02-01'", "timestamp '2020-05-01 01:00:00'"});
      case 7: return "name" + op + pick({"''", "'name 5'", "'name 50'", "'Name'", "'o''clock'", "'zzz'", "null"});
      default:
        return pick({"few between 1 and 3", "few between 2 and 2", "few between 5 and 1", "middle between -5 and 5",
                     "price between 1.25 and 2.50", "name in ('name 1', 'name 2')", "few in (1, 2)", "few in (1, 5)",
                     "name like 'name 1'", "name like 'name 1%'", "name like '%1'", "name in ('name 5', 'x')",
                     "even = true", "id % 7 = 3", "id % 7 = 5", "few = few", "few < middle"});
    }
  }
  std::string pick(const std::vector<std::string>& from) { return from[literals_() % from.size()]; }

  std::mt19937_64 structure_;
  std::mt19937_64& literals_;
};

TEST_P(KeptShapes, GiveWhatDuckDbGivesForRandomLiterals) {
  std::mt19937_64 literals(20261118);
  size_t kept = 0;
  const uint64_t structures = kQuick ? 15 : 100;
  constexpr int kTexts = 6;
  for (uint64_t structure = 0; structure < structures; ++structure) {
    for (int i = 0; i < kTexts; ++i) {
      kept += is_kept(RandomStatement(structure, literals).text(from())) ? 1 : 0;
    }
  }
  EXPECT_GT(kept, structures * kTexts / 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, KeptShapes, ::testing::ValuesIn(test_devices()),
                         [](const auto& device) { return device.param == Device::kCpu ? "Cpu" : "Cuda"; });

}  // namespace
}  // namespace basalt::testing
