#include "sql/kept_shapes.h"

#include <algorithm>
#include <map>

#include "basalt/cuda/backend.h"
#include "duckdb/optimizer/optimizer.hpp"
#include "duckdb/parser/keyword_helper.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/planner.hpp"
#include "sql/expressions.h"
#include "sql/kept_statements.h"
#include "sql/operator.h"
#include "sql/parameters.h"
#include "sql/scan.h"

namespace basalt::sql {

namespace {

// While a shape is planned.
class ShapePlanning {
 public:
  explicit ShapePlanning(StatementLog& log) : log_(log) { log_.keeps_statements = log_.plans_shape = true; }
  ~ShapePlanning() { log_.keeps_statements = log_.plans_shape = false; }
  ShapePlanning(const ShapePlanning&) = delete;
  ShapePlanning& operator=(const ShapePlanning&) = delete;

 private:
  StatementLog& log_;
};

// While a statement is planned in whose place a query of Basalt's runs.
class StandIn {
 public:
  StandIn(StatementLog& log, std::shared_ptr<const LoweredQuery> query) : log_(log) {
    log_.stands_for = std::move(query);
  }
  ~StandIn() { log_.stands_for = nullptr; }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;
  // Not where DuckDB's optimizer is switched off.
  bool is_taken() const { return log_.stands_for == nullptr; }

 private:
  StatementLog& log_;
};

// Parameters for equal literals of the same type as one: DuckDB takes common parts out of an OR, and reads once what
// two subqueries share. (Its binder does not take a parameter twice.)
void unite_equal_parameters(duckdb::LogicalOperator& plan, const std::vector<size_t>& equals) {
  std::map<size_t, duckdb::LogicalType> types;
  visit_parameters(plan, [&](duckdb::BoundParameterExpression& parameter) {
    types[std::stoul(parameter.identifier)] = parameter.return_type;
  });
  visit_parameters(plan, [&](duckdb::BoundParameterExpression& parameter) {
    const size_t first = equals.at(std::stoul(parameter.identifier) - 1);
    const auto type = types.find(first);
    if (type != types.end() && type->second == parameter.return_type) parameter.identifier = std::to_string(first);
  });
}

// Whether a plan reads .basalt files, and nothing else.
bool reads_only_basalt(const duckdb::LogicalOperator& node, bool& reads) {
  if (node.type == duckdb::LogicalOperatorType::LOGICAL_GET) {
    reads = true;
    return is_scan(node.Cast<duckdb::LogicalGet>().function);
  }
  return std::ranges::all_of(node.children, [&](const auto& child) { return reads_only_basalt(*child, reads); });
}

bool reads_only_basalt(const duckdb::LogicalOperator& plan) {
  bool reads = false;
  return reads_only_basalt(plan, reads) && reads;
}

// Of a column that is made from a literal.
bool names_a_parameter(const std::string& name) { return name.find('$') != std::string::npos; }

// A statement with these columns that runs a query of Basalt's; nullptr if DuckDB does not give them as they are.
std::shared_ptr<duckdb::PreparedStatement> statement_for(duckdb::Connection& connection,
                                                         const duckdb::vector<std::string>& names,
                                                         std::shared_ptr<const LoweredQuery> query) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "SELECT NULL::" : ", NULL::") + query->types[i].ToString() + " AS " +
            duckdb::KeywordHelper::WriteQuoted(names[i], '"');
  }
  const duckdb::vector<duckdb::LogicalType> types = query->types;
  const StandIn stand_in(*StatementLog::of(*connection.context), std::move(query));
  std::shared_ptr<duckdb::PreparedStatement> statement(connection.Prepare(text).release());
  const bool alike = !statement->HasError() && statement->GetNames() == names && statement->GetTypes() == types;
  return alike && stand_in.is_taken() ? statement : nullptr;
}

}  // namespace

void KeptShapes::note(duckdb::ClientContext& context, const StatementShape& shape,
                      std::shared_ptr<duckdb::PreparedStatement> statement) {
  const auto log = StatementLog::of(context);
  const bool usable = log->sources.whole && is_planned_alike(*log, statement->GetStatementProperties());
  if (shape.literals.empty() || shape.text.size() > kMostTextBytes || !usable) return;
  const std::string key = shape.key();
  const Entry* known = entries_.find(key);
  if (known != nullptr && known->statement != nullptr) return;
  Entry entry;
  entry.statement = std::move(statement);
  entry.planned = log->planned();
  entry.equals = shape.equals;
  entries_.put(key, std::move(entry));
}

// Names of columns must be the same, which those made from expressions with literals are not.
void KeptShapes::plan_shape(duckdb::Connection& connection, const StatementShape& shape, Entry& entry) {
  duckdb::ClientContext& context = *connection.context;
  const auto log = StatementLog::of(context);
  const ShapePlanning planning(*log);
  entry.tried = true;
  entry.plan = nullptr;
  duckdb::vector<std::string> names;
  std::shared_ptr<const LoweredQuery> first;
  context.RunFunctionInTransaction([&] {
    try {  // an error that left this function would end a transaction of the user
      duckdb::Parser parser(context.GetParserOptions());
      parser.ParseQuery(shape.text);
      auto& statements = parser.statements;
      if (statements.size() != 1 || statements[0]->type != duckdb::StatementType::SELECT_STATEMENT) return;
      duckdb::Planner planner(context);
      planner.CreatePlan(std::move(statements[0]));
      if (!planner.plan || !planner.properties.bound_all_parameters) return;
      if (entry.statement == nullptr) {
        if (!reads_only_basalt(*planner.plan) || std::ranges::any_of(planner.names, names_a_parameter)) return;
      } else if (planner.names != entry.statement->GetNames() || planner.types != entry.statement->GetTypes()) {
        return;
      }
      unite_equal_parameters(*planner.plan, entry.equals);
      duckdb::Optimizer optimizer(*planner.binder, context);
      auto plan = optimizer.Optimize(std::move(planner.plan));
      if (!is_planned_alike(*log, planner.properties)) return;
      auto lowered = lower_query(context, *plan, shape.literals);
      if (lowered->types != planner.types || !would_run(context, *lowered)) return;
      entry.planned = log->planned();
      entry.planned.used_basalt = true;
      entry.plan = std::move(plan);
      names = std::move(planner.names);
      first = std::move(lowered);
    } catch (const std::exception&) {  // the statement itself says what is wrong with it, if anything is
    }
  });
  if (entry.plan == nullptr || entry.statement != nullptr) return;
  entry.statement = statement_for(connection, names, std::move(first));
  if (entry.statement == nullptr) entry.plan = nullptr;
}

std::optional<KeptShapes::Bound> KeptShapes::begin(duckdb::Connection& connection, const StatementShape& shape) {
  duckdb::ClientContext& context = *connection.context;
  if (shape.literals.empty() || shape.text.size() > kMostTextBytes) return std::nullopt;
  if (device_setting(context) == Device::kCpu || gpu().backend == nullptr) return std::nullopt;
  if (!flag_setting(context, "basalt_lowering")) return std::nullopt;
  const std::string key = shape.key();
  if (entries_.find(key) != nullptr) return std::nullopt;
  Entry entry;
  entry.equals = shape.equals;
  entries_.put(key, std::move(entry));
  return find(connection, shape);
}

std::optional<KeptShapes::Bound> KeptShapes::find(duckdb::Connection& connection, const StatementShape& shape) {
  if (shape.literals.empty()) return std::nullopt;
  duckdb::ClientContext& context = *connection.context;
  const std::string key = shape.key();
  Entry* entry = entries_.find(key);
  if (entry == nullptr) return std::nullopt;
  const auto log = StatementLog::of(context);
  if (!are_unchanged(context, entry->planned.sources)) {
    entries_.erase(key);
    return std::nullopt;
  }
  std::vector<size_t> equals = common_equals(entry->equals, shape.equals);
  if (!entry->tried || equals != entry->equals) {
    entry->equals = std::move(equals);
    plan_shape(connection, shape, *entry);
  }
  if (entry->plan == nullptr) return std::nullopt;
  try {
    Bound bound{entry->statement, lower_query(context, *entry->plan, shape.literals)};
    log->set_planned(entry->planned);
    return bound;
  } catch (const std::exception&) {  // a literal that its type cannot hold
    return std::nullopt;
  }
}

}  // namespace basalt::sql
