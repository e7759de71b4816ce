// Arithmetic, division, signs and rounding of numbers. A decimal result of 18 or 38 digits is checked against its
// digits, an integer against its type.
#include <limits>

#include "duckdb/common/types/decimal.hpp"
#include "exec/bounds.h"
#include "exec/scalar.h"
#include "sql/lowering.h"

namespace basalt::sql {

using duckdb::ExpressionClass;
using duckdb::ExpressionType;
using duckdb::LogicalType;
using duckdb::LogicalTypeId;

namespace {

int scale_of(const LogicalType& type) { return is_decimal(type) ? duckdb::DecimalType::GetScale(type) : 0; }

// All arguments are numbers that lie in memory as the result does.
void require_numbers(const duckdb::BoundFunctionExpression& expression) {
  const std::string& name = expression.function.name;
  const LogicalType& type = expression.return_type;
  if (!is_number(type)) throw NotLowered(name + " on " + type.ToString());
  for (const auto& child : expression.children) {
    if (!is_number(child->return_type) || physical_type(child->return_type) != physical_type(type)) {
      throw NotLowered(name + " on " + child->return_type.ToString());
    }
  }
}

bool is_converted(const duckdb::Expression& expression) {
  if (expression.GetExpressionClass() == ExpressionClass::BOUND_CONSTANT) return true;
  return expression.GetExpressionClass() == ExpressionClass::BOUND_CAST &&
         !is_real(expression.Cast<duckdb::BoundCastExpression>().child->return_type);
}

// x % 0 is NaN for floats, but NULL for decimals that are computed as such because they are too wide; once bound, they
// look alike.
void require_float_modulo(const duckdb::BoundFunctionExpression& expression) {
  const duckdb::Expression& divisor = *expression.children[1];
  if (divisor.GetExpressionClass() == ExpressionClass::BOUND_CONSTANT) {
    const duckdb::Value& value = divisor.Cast<duckdb::BoundConstantExpression>().value;
    if (!value.IsNull() && value.GetValue<double>() != 0) return;
  }
  if (is_converted(*expression.children[0]) && is_converted(divisor)) throw NotLowered("% of decimals as floats");
}

// Of the type's largest number.
int64_t whole_digits(Physical type) {
  int64_t digits = 1;
  for (int128_t high = exec::range_of(type).high; high >= 10; high /= 10) ++digits;
  return digits;
}

// A number of a wider type as the narrower one holds it that it may leave by less than all that this one has.
Expr wrapped_around(const Expr& value, Physical narrow) {
  const exec::IntegerRange range = exec::range_of(narrow);
  const auto number = [&](int128_t of) { return number_literal(value.type, of); };
  const auto with = [&](ExprOp op, int128_t of, Physical type) { return make_expr(op, type, {value, number(of)}); };
  const int128_t all = range.high - range.low + 1;
  return make_expr(ExprOp::kCase, value.type,
                   {with(ExprOp::kGreater, range.high, Physical::kU8), with(ExprOp::kSubtract, all, value.type),
                    with(ExprOp::kLess, range.low, Physical::kU8), with(ExprOp::kAdd, all, value.type), value});
}

// To a multiple of a power of ten, as DuckDB computes it: what leaves the type comes in at its other end, that
// of 64 bits before the last digits are cut off.
Expr rounded_integer(Expr value, int128_t power) {
  const Physical type = value.type;
  if (type == Physical::kI128) throw NotLowered("round of HUGEINT to digits");
  const bool is_long = type == Physical::kI64;
  const Physical wide = is_long ? Physical::kI128 : Physical::kI64;
  const Expr wider = make_expr(ExprOp::kCast, wide, {std::move(value)});
  const auto moved = [&](ExprOp op) { return make_expr(op, wide, {wider, number_literal(wide, power / 2)}); };
  Expr half_more = make_expr(ExprOp::kCase, wide,
                             {make_expr(ExprOp::kLess, Physical::kU8, {wider, number_literal(wide, 0)}),
                              moved(ExprOp::kSubtract), moved(ExprOp::kAdd)});
  if (is_long) half_more = wrapped_around(half_more, type);
  Expr digits = make_expr(ExprOp::kModulo, wide, {half_more, number_literal(wide, power)});
  Expr rounded = make_expr(ExprOp::kSubtract, wide, {std::move(half_more), std::move(digits)});
  if (!is_long) rounded = wrapped_around(rounded, type);
  return make_expr(ExprOp::kCast, type, {std::move(rounded)});
}

[[noreturn]] void refuse_arity(const duckdb::BoundFunctionExpression& expression) {
  throw NotLowered("the function " + expression.function.name + " with " + std::to_string(expression.children.size()) +
                   " arguments");
}

}  // namespace

std::optional<Expr> Lowering::arithmetic(const Function& expression) const {
  const std::string& name = expression.function.name;
  const bool add = name == "+" || name == "add";
  const bool subtract = name == "-" || name == "subtract";
  if (!add && !subtract && name != "*" && name != "multiply") return std::nullopt;
  require_numbers(expression);
  const Physical physical = physical_type(expression.return_type);
  const bool negate = subtract && expression.children.size() == 1;
  if (!negate && expression.children.size() != 2) refuse_arity(expression);
  const ExprOp op = negate ? ExprOp::kNegate : add ? ExprOp::kAdd : subtract ? ExprOp::kSubtract : ExprOp::kMultiply;
  Expr result = make_expr(op, physical, lower_all(expression));
  // Narrower results cannot leave their digits: the binder widened them.
  if (is_decimal(expression.return_type)) {
    const int digits = duckdb::DecimalType::GetWidth(expression.return_type);
    if (digits == duckdb::Decimal::MAX_WIDTH_INT64 || digits == duckdb::Decimal::MAX_WIDTH_DECIMAL) {
      result.limit = exec::power_of_ten(digits) - 1;
    }
  }
  return result;
}

std::optional<Expr> Lowering::division(const Function& expression) const {
  const std::string& name = expression.function.name;
  const LogicalType& type = expression.return_type;
  const bool whole = name == "//" || name == "divide";
  const bool modulo = name == "%" || name == "mod";
  if (!whole && !modulo && name != "/") return std::nullopt;
  require_numbers(expression);
  if (expression.children.size() != 2) refuse_arity(expression);
  if (is_real(type) && !whole && !rules_.ieee_floats) throw NotLowered(name + " without ieee_floating_point_ops");
  if (!is_real(type) && name == "/") throw NotLowered("/ on " + type.ToString());
  if (modulo && is_real(type)) require_float_modulo(expression);
  for (const auto& child : expression.children) {
    if (scale_of(child->return_type) != scale_of(type) || (whole && is_decimal(type))) {
      throw NotLowered(name + " on " + child->return_type.ToString());
    }
  }
  const ExprOp op = modulo ? ExprOp::kModulo : whole ? ExprOp::kIntegerDivide : ExprOp::kDivide;
  return make_expr(op, physical_type(type), lower_all(expression));
}

std::optional<Expr> Lowering::rounding(const Function& expression) const {
  const std::string& name = expression.function.name;
  std::optional<ExprOp> op;
  if (name == "round") op = ExprOp::kRound;
  if (name == "floor") op = ExprOp::kFloor;
  if (name == "ceil" || name == "ceiling") op = ExprOp::kCeil;
  if (name == "trunc") op = ExprOp::kTruncate;
  if (!op) return std::nullopt;
  if (expression.children.size() == 2 && op == ExprOp::kRound) return round_to(expression);
  if (expression.children.size() != 1) refuse_arity(expression);
  require_numbers(expression);
  Expr arg = lower(*expression.children[0]);
  const int scale = scale_of(expression.children[0]->return_type);
  if (!is_real(expression.return_type) && scale == 0) return arg;
  Expr result = make_expr(*op, arg.type, {std::move(arg)});
  result.power_of_ten = scale;
  return result;
}

// round(x, digits), the digits constant.
Expr Lowering::round_to(const Function& expression) const {
  constexpr int64_t kMostDigits = 400;  // all that a double has
  const std::string& name = expression.function.name;
  const LogicalType& from = expression.children[0]->return_type;
  const int64_t digits = constant_number(*expression.children[1], name);
  Expr arg = lower(*expression.children[0]);
  if (is_real(from)) {
    if (digits > kMostDigits || digits < -kMostDigits) throw NotLowered(name + " to so many digits");
    Expr result = make_expr(ExprOp::kRound, arg.type, {std::move(arg)});
    result.power_of_ten = static_cast<int32_t>(digits);
    return result;
  }
  const Physical type = arg.type;
  const int scale = scale_of(from);
  if (digits >= scale) return arg;
  // Of decimals, DuckDB makes 0 of everything then, of NULL too.
  const int64_t most = is_decimal(from) ? duckdb::DecimalType::GetWidth(from) : whole_digits(type);
  if (digits <= scale - most) throw NotLowered(name + " to more digits than there are");
  if (!is_decimal(from)) return rounded_integer(std::move(arg), exec::power_of_ten(static_cast<int32_t>(-digits)));
  Expr result = make_expr(ExprOp::kRound, type, {std::move(arg)});
  result.power_of_ten = static_cast<int32_t>(scale - digits);
  if (digits >= 0) return result;
  const int128_t power = exec::power_of_ten(static_cast<int32_t>(-digits));
  return make_expr(ExprOp::kMultiply, type, {std::move(result), number_literal(type, power)});
}

std::optional<Expr> Lowering::sign_or_extreme(const Function& expression) const {
  const std::string& name = expression.function.name;
  const LogicalType& type = expression.return_type;
  if (name == "greatest" || name == "least") {
    for (const auto& child : expression.children) {
      if (child->return_type != type) throw NotLowered(name + " of " + child->return_type.ToString());
    }
    const ExprOp op = name == "greatest" ? ExprOp::kGreatest : ExprOp::kLeast;
    return make_expr(op, physical_type(type), lower_all(expression));
  }
  if (name != "abs" && name != "@" && name != "sign") return std::nullopt;
  if (expression.children.size() != 1) refuse_arity(expression);
  if (name == "sign") {
    if (!is_number(expression.children[0]->return_type) || is_decimal(expression.children[0]->return_type)) {
      throw NotLowered("sign of " + expression.children[0]->return_type.ToString());
    }
    return make_expr(ExprOp::kSign, Physical::kI8, lower_all(expression));
  }
  require_numbers(expression);
  if (!is_real(type) && !is_signed(physical_type(type))) return lower(*expression.children[0]);
  return make_expr(ExprOp::kAbs, physical_type(type), lower_all(expression));
}

std::optional<Expr> Lowering::bits(const Function& expression) const {
  const std::string& name = expression.function.name;
  std::optional<ExprOp> op;
  if (name == "&") op = ExprOp::kBitAnd;
  if (name == "|") op = ExprOp::kBitOr;
  if (name == "xor") op = ExprOp::kBitXor;
  if (name == "<<") op = ExprOp::kShiftLeft;
  if (name == ">>") op = ExprOp::kShiftRight;
  if (!op && name != "~") return std::nullopt;
  require_numbers(expression);
  const LogicalType& type = expression.return_type;
  if (!type.IsIntegral()) throw NotLowered(name + " on " + type.ToString());
  const Physical physical = physical_type(type);
  std::vector<Expr> args = lower_all(expression);
  if (op) return make_expr(*op, physical, std::move(args));
  // All bits turned: −1 − x, or the largest number less x where there is no sign.
  const int128_t ones = is_signed(physical) ? -1 : exec::range_of(physical).high;
  return make_expr(ExprOp::kBitXor, physical, {std::move(args.at(0)), number_literal(physical, ones)});
}

std::optional<Expr> Lowering::math(const Function& expression) const {
  const std::string& name = expression.function.name;
  std::optional<ExprOp> op;
  if (name == "sqrt") op = ExprOp::kSquareRoot;
  if (name == "exp") op = ExprOp::kExp;
  if (name == "ln") op = ExprOp::kLn;
  if (name == "log2") op = ExprOp::kLog2;
  if (name == "log10" || name == "log") op = ExprOp::kLog10;
  if (name == "pow" || name == "power" || name == "**" || name == "^") op = ExprOp::kPower;
  if (!op) return std::nullopt;
  if (expression.children.size() != (op == ExprOp::kPower ? 2 : 1)) refuse_arity(expression);
  for (const auto& child : expression.children) {
    if (child->return_type.id() != LogicalTypeId::DOUBLE)
      throw NotLowered(name + " of " + child->return_type.ToString());
  }
  return make_expr(*op, Physical::kF64, lower_all(expression));
}

// isnan(), isinf(), isfinite(): of floats, dates and timestamps.
std::optional<Expr> Lowering::finiteness(const Function& expression) const {
  const std::string& name = expression.function.name;
  if (name != "isnan" && name != "isinf" && name != "isfinite") return std::nullopt;
  const LogicalType& type = expression.children.at(0)->return_type;
  const Physical physical = physical_type(type);
  std::vector<Expr> args = lower_all(expression);
  const auto add_real = [&](double value) {
    args.push_back(number_literal(physical, 0));
    args.back().literal = Value::of_real(physical, value);
  };
  if (is_real(type)) {
    if (name != "isinf") add_real(std::numeric_limits<double>::quiet_NaN());
    if (name != "isnan") {
      add_real(std::numeric_limits<double>::infinity());
      add_real(-std::numeric_limits<double>::infinity());
    }
  } else if (type.id() == LogicalTypeId::DATE || type.id() == LogicalTypeId::TIMESTAMP ||
             type.id() == LogicalTypeId::TIMESTAMP_TZ) {
    const int128_t infinite = exec::range_of(physical).high;
    args.push_back(number_literal(physical, infinite));
    args.push_back(number_literal(physical, -infinite));
  } else {
    throw NotLowered(name + " of " + type.ToString());
  }
  Expr found = make_expr(ExprOp::kIn, Physical::kU8, std::move(args));
  return name == "isfinite" ? make_expr(ExprOp::kNot, Physical::kU8, {std::move(found)}) : found;
}

}  // namespace basalt::sql
