// DuckDB's bound expressions and table filters as basalt::Expr. What has no exact counterpart is refused with a reason,
// and stays in DuckDB.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "basalt/exec/pipeline.h"
#include "duckdb.hpp"
#include "duckdb/planner/expression.hpp"
#include "duckdb/planner/table_filter.hpp"

namespace basalt::sql {

// Why something stays in DuckDB, in a few words.
class NotLowered : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Gives the expression behind a column reference (bound or by position), or throws NotLowered.
using ColumnResolver = std::function<Expr(const duckdb::Expression& reference)>;

// Settings of a session that change what expressions mean. What is not known is refused.
struct SessionRules {
  bool ieee_floats = false;  // x / 0 is infinite and not NULL
  bool utc = false;          // timestamps with a time zone are those without, in the Gregorian calendar
  // The literal that a parameter stands for, or NotLowered; without it parameters are refused.
  std::function<Expr(const duckdb::Expression& parameter)> parameter;

  static SessionRules of(duckdb::ClientContext& context);
};

Expr lower_expression(const duckdb::Expression& expression, const ColumnResolver& columns,
                      const SessionRules& rules = {});

std::optional<ExprOp> comparison_op(duckdb::ExpressionType type);
Expr make_expr(ExprOp op, Physical type, std::vector<Expr> args);
Expr conjunction(std::vector<Expr> parts);  // of at least one

// A table filter over one column as far as it can be lowered.
struct LoweredFilter {
  std::optional<Expr> expr;  // nothing: no part of it could be
  // True if `expr` says all that the filter says; else DuckDB can narrow further on the rows that are left.
  bool complete = false;
  // True if `expr` says all that must hold; what it leaves out is a hint.
  bool exact = false;
};
// `column` refers to values of `type`. Dynamic filters are taken as they stand at the moment.
LoweredFilter lower_filter(const duckdb::TableFilter& filter, const Expr& column, const duckdb::LogicalType& type);

}  // namespace basalt::sql
