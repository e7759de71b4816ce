#include "sql/lower_statement.h"

#include "duckdb/optimizer/optimizer.hpp"
#include "duckdb/planner/planner.hpp"
#include "sql/expressions.h"
#include "sql/lower.h"
#include "sql/state.h"

namespace basalt::sql {

namespace {

struct LeavesPlans {
  explicit LeavesPlans(duckdb::ClientContext& context) : log(StatementLog::of(context)) { log->leaves_plans = true; }
  ~LeavesPlans() { log->leaves_plans = false; }
  std::shared_ptr<StatementLog> log;
};

}  // namespace

Query lower_statement(duckdb::ClientContext& context, const std::string& text,
                      const duckdb::case_insensitive_map_t<duckdb::BoundParameterData>& values) {
  auto statements = context.ParseStatements(text);
  if (statements.size() != 1 || statements[0]->type != duckdb::StatementType::SELECT_STATEMENT) {
    throw Error(ErrorCode::kInvalidArgument, "one query was expected");
  }
  const LeavesPlans leaves_plans(context);
  Query query;
  std::string reason;  // thrown behind the transaction, which may be the user's
  context.RunFunctionInTransaction([&] {
    duckdb::Planner planner(context);
    planner.parameter_data = values;  // become constants where they stand
    planner.CreatePlan(std::move(statements[0]));
    auto plan = duckdb::Optimizer(*planner.binder, context).Optimize(std::move(planner.plan));
    try {
      query = lower_query(context, *plan)->query;
    } catch (const NotLowered& not_lowered) {
      reason = not_lowered.what();
      return;
    }
    std::vector<Field>& output = query.stages.back().output;
    for (size_t i = 0; i < output.size(); ++i) output[i].name = planner.names.at(i);
  });
  if (query.stages.empty()) throw Error(ErrorCode::kUnsupported, "Basalt's own engine does not run it: " + reason);
  return query;
}

}  // namespace basalt::sql
