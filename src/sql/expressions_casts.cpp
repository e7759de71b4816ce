// Casts. DuckDB checks every value against the type it goes to.
#include "duckdb/common/types/decimal.hpp"
#include "exec/scalar.h"
#include "sql/lowering.h"

namespace basalt::sql {

using duckdb::ExpressionClass;
using duckdb::ExpressionType;
using duckdb::LogicalType;
using duckdb::LogicalTypeId;

namespace {

// Integers up to here are exact in a double, so that a decimal of 15 digits is divided exactly as DuckDB does it.
constexpr uint8_t kMaxExactDigits = 15;

uint32_t result_width(const LogicalType& type) { return width_of(physical_type(type)); }

}  // namespace

Expr Lowering::cast(const duckdb::BoundCastExpression& expression) const {
  const LogicalType& from = expression.child->return_type;
  const LogicalType& to = expression.return_type;
  const auto refuse = [&] { return NotLowered("a cast from " + from.ToString() + " to " + to.ToString()); };
  if (expression.try_cast) throw refuse();
  if (from == to) return lower(*expression.child);
  Expr result = make_expr(ExprOp::kCast, physical_type(to), {});
  const bool from_integer = from.IsIntegral() || from.id() == LogicalTypeId::BOOLEAN;
  if (to.IsIntegral() && from_integer) {
    // The type's own range is the check.
  } else if (is_decimal(to) && (from_integer || is_decimal(from))) {
    const int from_scale = is_decimal(from) ? duckdb::DecimalType::GetScale(from) : 0;
    const int to_scale = duckdb::DecimalType::GetScale(to);
    if (to_scale < from_scale) throw NotLowered("a cast that rounds, to " + to.ToString());
    result.power_of_ten = to_scale - from_scale;
    result.limit = exec::power_of_ten(duckdb::DecimalType::GetWidth(to)) - 1;
  } else if (to.IsIntegral() && is_decimal(from) && duckdb::DecimalType::GetScale(from) == 0) {
    // A decimal without a fraction is an integer.
  } else if (to.id() == LogicalTypeId::DOUBLE && from_integer && result_width(from) <= 8) {
    // Rounds once, to nearest even, as DuckDB does.
  } else if (to.id() == LogicalTypeId::DOUBLE && from.id() == LogicalTypeId::FLOAT) {
    // Exact.
  } else if (to.id() == LogicalTypeId::DOUBLE && is_decimal(from) &&
             duckdb::DecimalType::GetWidth(from) <= kMaxExactDigits) {
    result.power_of_ten = duckdb::DecimalType::GetScale(from);
  } else {
    throw refuse();
  }
  result.args.push_back(lower(*expression.child));
  return result;
}

}  // namespace basalt::sql
