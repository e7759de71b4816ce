#include "sql/lower_aggregate.h"

#include <algorithm>
#include <iterator>

#include "sql/expressions.h"

namespace basalt::sql {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;

namespace {

constexpr SqlAggregate kAggregates[] = {
    {"count_star", AggregateOp::kCountStar, "count(*)"},
    {"count", AggregateOp::kCount, "count(x)"},
    {"sum", AggregateOp::kSum, "sum(q)"},
    {"sum_no_overflow", AggregateOp::kSum, nullptr},
    {"avg", AggregateOp::kAvg, "avg(i)"},
    {"mean", AggregateOp::kAvg, "mean(x)"},
    {"min", AggregateOp::kMin, "min(s)"},
    {"max", AggregateOp::kMax, "max(ts)"},
    {"bool_and", AggregateOp::kMin, "bool_and(i > j)"},
    {"bool_or", AggregateOp::kMax, "bool_or(i > j)"},
    {"first", AggregateOp::kFirst, "first(s)"},
    {"arbitrary", AggregateOp::kFirst, "arbitrary(i)"},
    {"last", AggregateOp::kLast, "last(day)"},
    {"any_value", AggregateOp::kAnyValue, "any_value(q)"},
    {"var_pop", AggregateOp::kVarPop, "var_pop(x)"},
    {"var_samp", AggregateOp::kVarSamp, "var_samp(x)"},
    {"variance", AggregateOp::kVarSamp, "variance(i)"},
    {"stddev_pop", AggregateOp::kStddevPop, "stddev_pop(x)"},
    {"stddev_samp", AggregateOp::kStddevSamp, "stddev_samp(x)"},
    {"stddev", AggregateOp::kStddevSamp, "stddev(j)"},
};

const SqlAggregate* known_aggregate(const std::string& name) {
  const auto found = std::ranges::find_if(kAggregates, [&](const SqlAggregate& known) { return name == known.name; });
  return found == std::end(kAggregates) ? nullptr : found;
}

void require_number(const std::string& name, const LogicalType& type) {
  const bool number = type.IsIntegral() || type.id() == LogicalTypeId::DECIMAL || type.id() == LogicalTypeId::DOUBLE ||
                      type.id() == LogicalTypeId::FLOAT || type.id() == LogicalTypeId::BOOLEAN;
  if (!number) throw NotLowered(name + " of " + type.ToString());
}

}  // namespace

std::span<const SqlAggregate> sql_aggregates() { return kAggregates; }

std::string aggregate_word(const duckdb::BoundAggregateExpression& bound) {
  const std::string& name = bound.function.name;
  if (name == "count_star") return "count";
  return name == "sum_no_overflow" ? "sum" : name;
}

Aggregate lower_aggregate(const duckdb::BoundAggregateExpression& bound,
                          const std::function<Expr(const duckdb::Expression&)>& lower) {
  const std::string& name = bound.function.name;
  const SqlAggregate* known = known_aggregate(name);
  // Windows have count() without arguments for it.
  const bool counts_all = name == "count_star" || (name == "count" && bound.children.empty());
  const size_t arguments = counts_all ? 0 : 1;
  if (known == nullptr || bound.children.size() != arguments) {
    throw NotLowered("the aggregate " + name);
  }
  if (bound.order_bys && !bound.order_bys->orders.empty()) throw NotLowered(name + "(… ORDER BY)");
  Aggregate aggregate;
  aggregate.op = counts_all ? AggregateOp::kCountStar : known->op;
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
