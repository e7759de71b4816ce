// The tables of functions, aggregates and operators say what lowering takes and what the GPU plans, and the page says
// what the tables say.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "basalt/exec/expressions.h"
#include "duckdb.hpp"
#include "duckdb/planner/logical_operator.hpp"
#include "exec/device/generate/generate.h"
#include "sql/expressions.h"
#include "sql/function_table.h"
#include "sql/lower_aggregate.h"
#include "sql/operator_table.h"
#include "sql/support.h"

namespace basalt::testing {
namespace {

constexpr const char* kColumns =
    "i::INT AS i, (i % 7)::INT AS j, i / 8 AS x, (i / 4)::DECIMAL(9,2) AS q, DATE '2020-01-01' + i::INT AS day, "
    "TIMESTAMP '2020-01-01' + to_seconds(i * 3607) AS ts, TIME '00:00:00' + to_seconds(i) AS tod, 'a,b' || i % 50 AS s "
    "FROM range(3000) r(i)";

class FunctionTable : public ::testing::Test {
 protected:
  FunctionTable() : connection_(database_) {
    Session(session_options(Device::kCpu)).convert(std::string("SELECT ") + kColumns, folder_.file("t.basalt"));
    file_ = File::open(folder_.file("t.basalt"));
    const auto made = connection_.Query(std::string("CREATE TABLE t AS SELECT ") + kColumns);
    if (made->HasError()) throw Error(ErrorCode::kInternal, made->GetError());
  }

  // The largest value of an example over the file, lowered.
  Pipeline lowered(const std::string& example) {
    const auto plan = connection_.ExtractPlan("SELECT " + example + " FROM t");
    Pipeline pipeline;
    pipeline.files = {file_};
    const sql::ColumnResolver columns = [&](const duckdb::Expression& reference) {
      return column(*file_, reference.GetName(), pipeline.columns);
    };
    sql::SessionRules rules;
    rules.utc = true;
    rules.ieee_floats = true;
    pipeline.aggregates = {max(sql::lower_expression(*plan->expressions.at(0), columns, rules))};
    return pipeline;
  }

  ScratchFolder folder_;
  duckdb::DuckDB database_{nullptr};
  duckdb::Connection connection_;
  std::shared_ptr<const File> file_;
};

TEST_F(FunctionTable, SaysWhatIsLoweredAndWhatTheGpuPlans) {
  std::set<std::string> names;
  for (const sql::SqlFunction& function : sql::sql_functions()) {
    SCOPED_TRACE(function.example);
    EXPECT_TRUE(names.insert(function.name).second) << function.name << " stands twice in the table";
    try {
      const std::string reason = device::why_not(lowered(function.example));
      EXPECT_EQ(reason.empty(), function.device != sql::OnDevice::kNo) << reason;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST_F(FunctionTable, OthersAreRefusedByName) {
  for (const char* example : {"reverse(s)", "age(ts)", "md5(s)", "sin(x)", "strftime(ts, '%Y')"}) {
    SCOPED_TRACE(example);
    try {
      lowered(example);
      ADD_FAILURE() << "it was lowered";
    } catch (const sql::NotLowered& reason) {
      const std::string name = std::string(example).substr(0, std::string(example).find('('));
      EXPECT_NE(std::string(reason.what()).find(name), std::string::npos) << reason.what();
    }
  }
}

// Whole statements, of which nothing may be left to DuckDB.
class WholeStatements : public ::testing::TestWithParam<Device> {
 protected:
  WholeStatements() : session_(strict(GetParam())) {
    Session(session_options(Device::kCpu)).convert(std::string("SELECT ") + kColumns, folder_.file("t.basalt"));
    session_.execute("CREATE VIEW t AS FROM '" + folder_.file("t.basalt") + "'");
    session_.execute("CREATE VIEW u AS FROM t WHERE i < 1500");
  }
  static SessionOptions strict(Device device) {
    SessionOptions options = session_options(device);
    options.strict = true;
    return options;
  }

  // Why Basalt does not run it; empty: it did.
  std::string refusal(const std::string& statement) {
    try {
      QueryResult result = session_.execute(statement);
      result.to_box();
      const QueryReport& report = result.report();
      return report.in_duckdb.empty() ? "" : report.summary();
    } catch (const Error& error) {
      return error.what();
    }
  }

  ScratchFolder folder_;
  Session session_;
};

TEST_P(WholeStatements, RunWhereTheTableOfOperatorsSays) {
  for (const sql::SqlOperator& one : sql::sql_operators()) {
    SCOPED_TRACE(one.example);
    const std::string reason = refusal(one.example);
    if (one.who == sql::WhoRuns::kDuckDb) {
      EXPECT_NE(reason.find("as --strict asks: "), std::string::npos) << reason;
    } else {
      EXPECT_EQ(reason, "");
    }
  }
}

TEST_P(WholeStatements, HaveEveryAggregateOfTheTable) {
  for (const sql::SqlAggregate& aggregate : sql::sql_aggregates()) {
    if (aggregate.example == nullptr) continue;
    const std::string select = std::string("SELECT ") + aggregate.example + " FROM t WHERE i > 5";
    EXPECT_EQ(refusal(select), "") << select;
    EXPECT_EQ(refusal(select + " GROUP BY j"), "") << select;
  }
  EXPECT_NE(refusal("SELECT median(i) FROM t").find("the aggregate median"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Devices, WholeStatements, ::testing::ValuesIn(test_devices()),
                         [](const auto& device) { return device.param == Device::kCuda ? "cuda" : "cpu"; });

TEST(FunctionPage, IsPrintedFromTheTables) {
  std::ifstream file("docs/sql-on-the-gpu.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const std::string& table : {sql::operator_page(), sql::function_page()}) {
    EXPECT_NE(page.str().find(table), std::string::npos)
        << "docs/sql-on-the-gpu.md must hold what `basalt sql --functions` prints:\n"
        << table;
  }
}

}  // namespace
}  // namespace basalt::testing
