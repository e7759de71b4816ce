// Builders of expressions.
#include "basalt/exec/expressions.h"

#include <cmath>

#include "basalt/core/error.h"
#include "exec/bounds.h"

namespace basalt {

namespace {

Expr make(ExprOp op, std::vector<Expr> args, Physical type = Physical::kU8) {
  Expr out;
  out.op = op;
  out.type = type;
  out.args = std::move(args);
  return out;
}

// The literal as a value of another type, which must hold it exactly.
Expr converted(Expr expr, Physical type) {
  if (expr.type == type) return expr;
  Value& value = expr.literal;
  bool fits = value.null;
  if (!value.null && is_integer(type) && is_integer(value.type)) {
    const exec::IntegerRange range = exec::range_of(type);
    fits = value.integer >= range.low && value.integer <= range.high;
  } else if (!value.null && is_float(type) && is_integer(value.type)) {
    const auto real = static_cast<double>(value.integer);
    fits = std::abs(real) <= 9007199254740992.0;
    value.real = real;
  } else if (!value.null && is_float(type) && is_float(value.type)) {
    fits = type == Physical::kF64 || std::isnan(value.real) ||
           static_cast<double>(static_cast<float>(value.real)) == value.real;
  }
  if (!fits) {
    throw Error(ErrorCode::kInvalidArgument, std::string("the literal ") + to_string(expr, {}) + " does not fit the " +
                                                 words_for(type) + " it is compared with");
  }
  value.type = expr.type = type;
  return expr;
}

}  // namespace

Expr column(const File& file, const std::string& name, std::vector<PipelineColumn>& columns) {
  const Field& field = file.schema().fields[file.find_column(name)];
  Expr out;
  out.op = ExprOp::kColumn;
  out.type = physical_of(field.type);
  while (out.column < columns.size() && columns[out.column].field_id != field.id) ++out.column;
  if (out.column == columns.size()) columns.push_back({field.id, field.name, field.type});
  return out;
}

Expr column_reference(uint32_t place, Physical type) {
  Expr expr;
  expr.op = ExprOp::kColumn;
  expr.type = type;
  expr.column = place;
  return expr;
}

Expr literal(Value value) {
  Expr out;
  out.op = ExprOp::kLiteral;
  out.type = value.type;
  out.literal = std::move(value);
  return out;
}
Expr literal(int64_t value) { return literal(Value::of_integer(Physical::kI64, value)); }
Expr literal(double value) { return literal(Value::of_real(Physical::kF64, value)); }
Expr literal(std::string value) { return literal(Value::of_bytes(std::move(value))); }

Expr compare_with(ExprOp op, Expr a, Expr b) {
  if (b.op == ExprOp::kLiteral) {
    b = converted(std::move(b), a.type);
  } else if (a.op == ExprOp::kLiteral) {
    a = converted(std::move(a), b.type);
  }
  return make(op, {std::move(a), std::move(b)});
}

Expr in_list(Expr value, std::vector<Expr> literals) {
  std::vector<Expr> args{std::move(value)};
  for (Expr& item : literals) args.push_back(converted(std::move(item), args[0].type));
  return make(ExprOp::kIn, std::move(args));
}

Expr like(Expr text, std::string pattern) {
  return make(ExprOp::kLike, {std::move(text), literal(std::move(pattern))});
}

Expr regexp(Expr text, std::string pattern) {
  return make(ExprOp::kRegexp, {std::move(text), literal(std::move(pattern))});
}

Expr length(Expr text) { return make(ExprOp::kLength, {std::move(text)}, Physical::kI64); }
Expr byte_length(Expr text) { return make(ExprOp::kByteLength, {std::move(text)}, Physical::kI64); }
Expr substring(Expr text, int64_t skip, int64_t count) {
  return make(ExprOp::kSubstring, {std::move(text), literal(skip), literal(count)}, Physical::kBytes);
}

Expr all_of(std::vector<Expr> predicates) { return make(ExprOp::kAnd, std::move(predicates)); }
Expr any_of(std::vector<Expr> predicates) { return make(ExprOp::kOr, std::move(predicates)); }
Expr negation(Expr predicate) { return make(ExprOp::kNot, {std::move(predicate)}); }
Expr is_null(Expr value) { return make(ExprOp::kIsNull, {std::move(value)}); }
Expr is_not_null(Expr value) { return make(ExprOp::kIsNotNull, {std::move(value)}); }

Aggregate count_rows() { return {}; }
Aggregate count(Expr value) { return {AggregateOp::kCount, std::move(value)}; }
Aggregate sum(Expr value) { return {AggregateOp::kSum, std::move(value)}; }
Aggregate min(Expr value) { return {AggregateOp::kMin, std::move(value)}; }
Aggregate max(Expr value) { return {AggregateOp::kMax, std::move(value)}; }

}  // namespace basalt
