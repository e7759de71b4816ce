#include "sql/lower_aggregate.h"

#include <map>

#include "sql/expressions.h"

namespace basalt::sql {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;

namespace {

const std::map<std::string, AggregateOp>& known_aggregates() {
  static const std::map<std::string, AggregateOp> known = {
      {"count_star", AggregateOp::kCountStar},
      {"count", AggregateOp::kCount},
      {"sum", AggregateOp::kSum},
      {"sum_no_overflow", AggregateOp::kSum},
      {"avg", AggregateOp::kAvg},
      {"mean", AggregateOp::kAvg},
      {"min", AggregateOp::kMin},
      {"max", AggregateOp::kMax},
      {"bool_and", AggregateOp::kMin},
      {"bool_or", AggregateOp::kMax},
      {"first", AggregateOp::kFirst},
      {"arbitrary", AggregateOp::kFirst},
      {"last", AggregateOp::kLast},
      {"any_value", AggregateOp::kAnyValue},
      {"var_pop", AggregateOp::kVarPop},
      {"var_samp", AggregateOp::kVarSamp},
      {"variance", AggregateOp::kVarSamp},
      {"stddev_pop", AggregateOp::kStddevPop},
      {"stddev_samp", AggregateOp::kStddevSamp},
      {"stddev", AggregateOp::kStddevSamp},
  };
  return known;
}

void require_number(const std::string& name, const LogicalType& type) {
  const bool number = type.IsIntegral() || type.id() == LogicalTypeId::DECIMAL || type.id() == LogicalTypeId::DOUBLE ||
                      type.id() == LogicalTypeId::FLOAT || type.id() == LogicalTypeId::BOOLEAN;
  if (!number) throw NotLowered(name + " of " + type.ToString());
}

}  // namespace

std::string aggregate_word(const duckdb::BoundAggregateExpression& bound) {
  const std::string& name = bound.function.name;
  if (name == "count_star") return "count";
  return name == "sum_no_overflow" ? "sum" : name;
}

Aggregate lower_aggregate(const duckdb::BoundAggregateExpression& bound,
                          const std::function<Expr(const duckdb::Expression&)>& lower) {
  const std::string& name = bound.function.name;
  const auto known = known_aggregates().find(name);
  // Windows have count() without arguments for it.
  const bool counts_all = name == "count_star" || (name == "count" && bound.children.empty());
  const size_t arguments = counts_all ? 0 : 1;
  if (known == known_aggregates().end() || bound.children.size() != arguments) {
    throw NotLowered("the aggregate " + name);
  }
  if (bound.order_bys && !bound.order_bys->orders.empty()) throw NotLowered(name + "(… ORDER BY)");
  Aggregate aggregate;
  aggregate.op = counts_all ? AggregateOp::kCountStar : known->second;
  // Of minima and maxima equal arguments change nothing.
  aggregate.distinct =
      bound.IsDistinct() && aggregate.op != AggregateOp::kMin && aggregate.op != AggregateOp::kMax && arguments == 1;
  if (bound.filter) aggregate.filter = lower(*bound.filter);
  if (arguments == 0) return aggregate;
  const duckdb::Expression& argument = *bound.children[0];
  const LogicalType& type = argument.return_type;
  if (type.id() == LogicalTypeId::VARCHAR && !duckdb::StringType::GetCollation(type).empty()) {
    throw NotLowered("a collation");
  }
  if (aggregate.op == AggregateOp::kSum || aggregate.op == AggregateOp::kAvg) require_number(name, type);
  if (aggregate.op == AggregateOp::kAvg && type.id() == LogicalTypeId::DECIMAL) {
    aggregate.avg_scale = duckdb::DecimalType::GetScale(type);
  }
  aggregate.arg = lower(argument);
  return aggregate;
}

}  // namespace basalt::sql
