// The table of functions says what lowering takes and what the GPU plans, and the page says what the table says.
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

TEST(FunctionPage, IsPrintedFromTheTable) {
  std::ifstream file("docs/sql-on-the-gpu.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(sql::function_page()), std::string::npos)
      << "docs/sql-on-the-gpu.md must hold what `basalt sql --functions` prints:\n"
      << sql::function_page();
}

}  // namespace
}  // namespace basalt::testing
