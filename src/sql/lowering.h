// The parts of lowering expressions (see expressions.h): one class whose functions lie in a file per kind of
// expression.
#pragma once

#include "duckdb/planner/expression/list.hpp"
#include "sql/expressions.h"

namespace basalt::sql {

bool is_decimal(const duckdb::LogicalType& type);
bool is_real(const duckdb::LogicalType& type);
bool is_number(const duckdb::LogicalType& type);
Physical physical_type(const duckdb::LogicalType& type);  // throws NotLowered

Expr literal(const duckdb::Value& value, const duckdb::LogicalType& type);
Expr number_literal(Physical type, int128_t value);

class Lowering {
 public:
  Lowering(const ColumnResolver& columns, const SessionRules& rules) : columns_(columns), rules_(rules) {}
  Expr lower(const duckdb::Expression& expression) const;

 private:
  using Function = duckdb::BoundFunctionExpression;

  // expressions.cpp
  Expr comparison(const duckdb::BoundComparisonExpression& expression) const;
  Expr compare(duckdb::ExpressionType type, const duckdb::Expression& left, const duckdb::Expression& right) const;
  std::optional<Expr> compare_as_date(ExprOp op, const duckdb::Expression& left, const duckdb::Expression& right) const;
  Expr between(const duckdb::BoundBetweenExpression& expression) const;
  Expr operation(const duckdb::BoundOperatorExpression& expression) const;
  Expr case_of(const duckdb::BoundCaseExpression& expression) const;
  Expr in_list(const duckdb::BoundOperatorExpression& expression) const;
  Expr function(const Function& expression) const;
  std::vector<Expr> lower_all(const Function& expression) const;
  // The text of a constant or of a parameter's literal; NotLowered if it is something else.
  std::string known_text(const duckdb::Expression& expression, const std::string& function) const;

  // Functions by kind; nothing if the function is of another kind.
  std::optional<Expr> text_function(const Function& expression) const;  // expressions_texts.cpp
  std::optional<Expr> made_text(const Function& expression) const;
  std::optional<Expr> longer_text(const Function& expression) const;
  std::optional<Expr> code_point(const Function& expression) const;
  std::optional<Expr> split_part(const duckdb::BoundOperatorExpression& coalesce) const;
  std::optional<Expr> regexp(const Function& expression) const;
  std::optional<Expr> regexp_replace(const Function& expression) const;
  std::optional<Expr> like(const Function& expression) const;
  std::optional<Expr> arithmetic(const Function& expression) const;  // expressions_numbers.cpp
  std::optional<Expr> division(const Function& expression) const;
  std::optional<Expr> rounding(const Function& expression) const;
  std::optional<Expr> sign_or_extreme(const Function& expression) const;
  std::optional<Expr> bits(const Function& expression) const;
  std::optional<Expr> math(const Function& expression) const;
  std::optional<Expr> finiteness(const Function& expression) const;

  Expr round_to(const Function& expression) const;
  std::optional<Expr> date_function(const Function& expression) const;  // expressions_dates.cpp
  std::optional<Expr> date_arithmetic(const Function& expression) const;
  std::optional<Expr> date_made(const Function& expression) const;
  std::optional<Expr> date_name(const Function& expression) const;
  std::optional<Expr> time_function(const Function& expression) const;
  Expr add_interval_to_time(const duckdb::Expression& time, const duckdb::Expression& interval, bool subtract) const;
  void require_date(const std::string& function, const duckdb::Expression& expression) const;
  Expr add_interval(const duckdb::Expression& date, const duckdb::Expression& interval, bool subtract) const;
  std::optional<Expr> date_cast(const duckdb::BoundCastExpression& expression) const;

  // expressions_casts.cpp
  Expr cast(const duckdb::BoundCastExpression& expression) const;

  const ColumnResolver& columns_;
  const SessionRules& rules_;
};

// Constant arguments of a function; NotLowered if they are something else.
int64_t constant_number(const duckdb::Expression& expression, const std::string& function);
std::string constant_text(const duckdb::Expression& expression, const std::string& function);

}  // namespace basalt::sql
