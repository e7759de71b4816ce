// Casts. DuckDB checks every value against the type it goes to.
#include "duckdb/common/types/decimal.hpp"
#include "exec/scalar.h"
#include "sql/lowering.h"

namespace basalt::sql {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;

namespace {

Expr zero_of(Physical type) {
  Expr zero = number_literal(type, 0);
  if (is_float(type)) zero.literal = Value::of_real(type, 0);
  return zero;
}

// Digits behind the point that a cast between numbers gains, or loses if negative; of floats there are none.
int32_t scale_change(const LogicalType& from, const LogicalType& to) {
  const int32_t before = is_decimal(from) ? duckdb::DecimalType::GetScale(from) : 0;
  const int32_t after = is_decimal(to) ? duckdb::DecimalType::GetScale(to) : 0;
  return is_real(to) ? before : after - before;
}

}  // namespace

Expr Lowering::cast(const duckdb::BoundCastExpression& expression) const {
  const LogicalType& from = expression.child->return_type;
  const LogicalType& to = expression.return_type;
  if (from == to) return lower(*expression.child);
  if (auto of_dates = date_cast(expression)) return *std::move(of_dates);
  const bool numbers =
      (is_number(from) || from.id() == LogicalTypeId::BOOLEAN) && (is_number(to) || to.id() == LogicalTypeId::BOOLEAN);
  if (!numbers) throw NotLowered("a cast from " + from.ToString() + " to " + to.ToString());
  Expr arg = lower(*expression.child);
  if (to.id() == LogicalTypeId::BOOLEAN) {
    Expr zero = zero_of(arg.type);
    return make_expr(ExprOp::kNotEqual, Physical::kU8, {std::move(arg), std::move(zero)});
  }
  const ExprOp op = expression.try_cast ? ExprOp::kTryCast : ExprOp::kCast;
  Expr result = make_expr(op, physical_type(to), {std::move(arg)});
  result.power_of_ten = scale_change(from, to);
  if (is_decimal(from)) result.from_scale = duckdb::DecimalType::GetScale(from);
  if (is_decimal(to)) result.limit = exec::power_of_ten(duckdb::DecimalType::GetWidth(to)) - 1;
  return result;
}

}  // namespace basalt::sql
