// Expressions as SQL-like text, for explain.
#include <cstdlib>
#include <string>

#include "basalt/exec/pipeline.h"
#include "exec/date_parts.h"
#include "exec/expr_kind.h"
#include "exec/string_tests.h"

namespace basalt {

namespace {

std::string literal_text(const Expr& expr) {
  const Value& value = expr.literal;
  if (value.null) return "NULL";
  if (value.type == Physical::kBytes) {
    std::string out = "'";
    for (const char c : value.bytes) {
      out += c;
      if (c == '\'') out += c;
    }
    return out + "'";
  }
  if (is_float(value.type)) return format_value(value, {TypeKind::kFloat64});
  return format_value(Value::of_integer(Physical::kI128, value.integer), {TypeKind::kInt128});
}

const char* infix(ExprOp op) {
  switch (op) {
    case ExprOp::kAdd: return " + ";
    case ExprOp::kSubtract: return " - ";
    case ExprOp::kMultiply: return " * ";
    case ExprOp::kDivide: return " / ";
    case ExprOp::kIntegerDivide: return " // ";
    case ExprOp::kModulo: return " % ";
    case ExprOp::kBitAnd: return " & ";
    case ExprOp::kBitOr: return " | ";
    case ExprOp::kShiftLeft: return " << ";
    case ExprOp::kShiftRight: return " >> ";
    case ExprOp::kEqual: return " = ";
    case ExprOp::kNotEqual: return " <> ";
    case ExprOp::kLess: return " < ";
    case ExprOp::kLessEqual: return " <= ";
    case ExprOp::kGreater: return " > ";
    case ExprOp::kGreaterEqual: return " >= ";
    case ExprOp::kDistinct: return " IS DISTINCT FROM ";
    case ExprOp::kNotDistinct: return " IS NOT DISTINCT FROM ";
    case ExprOp::kAnd: return " AND ";
    default: return " OR ";
  }
}

std::string cast_text(const Expr& expr, const std::string& inner) {
  std::string out = (expr.op == ExprOp::kTryCast ? "TRY_CAST(" : "CAST(") + inner;
  if (expr.power_of_ten != 0) {
    const bool divides = is_float(expr.type) || expr.power_of_ten < 0;
    out += (divides ? " / 10^" : " * 10^") + std::to_string(std::abs(expr.power_of_ten));
  }
  if (expr.factor != 1) out += " * " + std::to_string(expr.factor);
  return out + " AS " + to_string(expr.type) + ")";
}

std::string text(const Expr& expr, const std::vector<std::string>& names, bool inside);

std::string call(const char* function, const Expr& expr, const std::vector<std::string>& names) {
  std::string out = std::string(function) + "(";
  for (size_t i = 0; i < expr.args.size(); ++i) out += (i > 0 ? ", " : "") + text(expr.args[i], names, false);
  return out + ")";
}

// The function of that name; nullptr if the operation is none.
const char* function_name(ExprOp op) {
  switch (op) {
    case ExprOp::kAbs: return "abs";
    case ExprOp::kSign: return "sign";
    case ExprOp::kRound: return "round";
    case ExprOp::kFloor: return "floor";
    case ExprOp::kCeil: return "ceil";
    case ExprOp::kTruncate: return "trunc";
    case ExprOp::kSquareRoot: return "sqrt";
    case ExprOp::kExp: return "exp";
    case ExprOp::kLn: return "ln";
    case ExprOp::kLog2: return "log2";
    case ExprOp::kLog10: return "log10";
    case ExprOp::kPower: return "pow";
    case ExprOp::kBitXor: return "xor";
    case ExprOp::kMakeDate: return "make_date";
    case ExprOp::kDropSuffix: return "drop_right";
    case ExprOp::kLeftPad: return "lpad";
    case ExprOp::kRightPad: return "rpad";
    case ExprOp::kRepeat: return "repeat";
    case ExprOp::kSplitPart: return "split_part";
    case ExprOp::kCodePoint: return "ascii";
    case ExprOp::kChr: return "chr";
    case ExprOp::kGreatest: return "greatest";
    case ExprOp::kLeast: return "least";
    case ExprOp::kCoalesce: return "coalesce";
    case ExprOp::kLength: return "length";
    case ExprOp::kByteLength: return "strlen";
    case ExprOp::kRegexp: return "regexp_matches";
    case ExprOp::kSuffix: return "right";
    case ExprOp::kUpper: return "upper";
    case ExprOp::kLower: return "lower";
    case ExprOp::kConcat: return "concat";
    case ExprOp::kPosition: return "strpos";
    case ExprOp::kReplace: return "replace";
    case ExprOp::kRegexpReplace: return "regexp_replace";
    default: return nullptr;
  }
}

// Functions of dates, the part first.
std::string date_text(const Expr& expr, const std::vector<std::string>& names) {
  const auto part = [&](size_t arg) {
    return "'" + std::string(exec::name_of(static_cast<exec::DatePart>(expr.args[arg].literal.integer))) + "'";
  };
  const std::string first = text(expr.args[0], names, false);
  switch (expr.op) {
    case ExprOp::kDatePart: return "date_part(" + part(1) + ", " + first + ")";
    case ExprOp::kDateTrunc: return "date_trunc(" + part(1) + ", " + first + ")";
    case ExprOp::kDateDiff:
      return "date_diff(" + part(2) + ", " + first + ", " + text(expr.args[1], names, false) + ")";
    case ExprOp::kDateSub: return "date_sub(" + part(2) + ", " + first + ", " + text(expr.args[1], names, false) + ")";
    case ExprOp::kEpoch: return "epoch(" + first + ")";
    case ExprOp::kLastDay: return "last_day(" + first + ")";
    case ExprOp::kMakeDate: return call(function_name(expr.op), expr, names);
    case ExprOp::kMomentToTime: return "CAST(" + first + " AS time)";
    case ExprOp::kAddTime:
    case ExprOp::kAddDays: return "(" + first + " + " + text(expr.args[1], names, true) + ")";
    case ExprOp::kAddInterval:
      return "(" + first + " + INTERVAL '" + literal_text(expr.args[1]) + " months " + literal_text(expr.args[2]) +
             " days " + literal_text(expr.args[3]) + " microseconds'" +
             (expr.args.size() > 4 ? " * " + text(expr.args[4], names, true) : "") + ")";
    case ExprOp::kMomentToDate: return "CAST(" + first + " AS date)";
    default: return "CAST(" + first + " AS timestamp)";
  }
}

// Integers lose their last digits.
std::string rounding_text(const Expr& expr, const std::string& inner) {
  const std::string digits = std::to_string(expr.power_of_ten);
  const std::string name = function_name(expr.op);
  if (expr.power_of_ten == 0) return name + "(" + inner + ")";
  return is_float(expr.type) ? name + "(" + inner + ", " + digits + ")" : name + "(" + inner + " / 10^" + digits + ")";
}

std::string case_text(const Expr& expr, const std::vector<std::string>& names) {
  std::string out = "CASE";
  for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
    out += " WHEN " + text(expr.args[i], names, false) + " THEN " + text(expr.args[i + 1], names, false);
  }
  return out + " ELSE " + text(expr.args.back(), names, false) + " END";
}

std::string text(const Expr& expr, const std::vector<std::string>& names, bool inside) {
  if (exec::kind_of(expr.op) == exec::ExprKind::kDateFunction) return date_text(expr, names);
  switch (expr.op) {
    case ExprOp::kColumn: return expr.column < names.size() ? names[expr.column] : "#" + std::to_string(expr.column);
    case ExprOp::kLiteral: return literal_text(expr);
    case ExprOp::kNegate: return "-" + text(expr.args[0], names, true);
    case ExprOp::kCast:
    case ExprOp::kTryCast: return cast_text(expr, text(expr.args[0], names, true));
    case ExprOp::kCase: return case_text(expr, names);
    case ExprOp::kTrim: {
      const int128_t sides = expr.args[2].literal.integer;
      const std::string name = sides == 1 ? "ltrim(" : sides == 2 ? "rtrim(" : "trim(";
      return name + text(expr.args[0], names, false) + ", " + text(expr.args[1], names, false) + ")";
    }
    case ExprOp::kRound:
    case ExprOp::kFloor:
    case ExprOp::kCeil:
    case ExprOp::kTruncate: return rounding_text(expr, text(expr.args[0], names, true));
    case ExprOp::kSubstring: {
      Expr from_one = expr;
      from_one.args[1].literal.integer += 1;
      if (exec::part_of(expr).count == StringTest::Part::kToTheEnd) from_one.args.pop_back();
      return call("substring", from_one, names);
    }
    default: break;
  }
  if (const char* function = function_name(expr.op)) return call(function, expr, names);
  std::string out;
  switch (expr.op) {
    case ExprOp::kNot: out = "NOT " + text(expr.args[0], names, true); break;
    case ExprOp::kIsNull: out = text(expr.args[0], names, true) + " IS NULL"; break;
    case ExprOp::kIsNotNull: out = text(expr.args[0], names, true) + " IS NOT NULL"; break;
    case ExprOp::kIn:
      out = text(expr.args[0], names, true) + " IN (";
      for (size_t i = 1; i < expr.args.size(); ++i) out += (i > 1 ? ", " : "") + text(expr.args[i], names, false);
      out += ")";
      break;
    case ExprOp::kMember: out = text(expr.args[0], names, true) + " IN keys"; break;
    case ExprOp::kLookUp: out = "what is joined to " + text(expr.args[0], names, true); break;
    case ExprOp::kLike:
      out = text(expr.args[0], names, true) + " LIKE " + text(expr.args[1], names, false);
      if (expr.args[1].literal.bytes.find('\\') != std::string::npos) out += " ESCAPE '\\'";
      break;
    default:
      for (size_t i = 0; i < expr.args.size(); ++i)
        out += (i > 0 ? infix(expr.op) : "") + text(expr.args[i], names, true);
      break;
  }
  return inside ? "(" + out + ")" : out;
}

}  // namespace

std::string to_string(const Expr& expr, const std::vector<std::string>& column_names) {
  return text(expr, column_names, false);
}

const char* to_string(AggregateOp op) {
  switch (op) {
    case AggregateOp::kCountStar:
    case AggregateOp::kCount: return "count";
    case AggregateOp::kSum: return "sum";
    case AggregateOp::kMin: return "min";
    case AggregateOp::kMax: return "max";
    case AggregateOp::kAvg: return "avg";
    case AggregateOp::kFirst: return "first";
    case AggregateOp::kLast: return "last";
    case AggregateOp::kAnyValue: return "any_value";
    case AggregateOp::kVarPop: return "var_pop";
    case AggregateOp::kVarSamp: return "var_samp";
    case AggregateOp::kStddevPop: return "stddev_pop";
    case AggregateOp::kStddevSamp: return "stddev_samp";
  }
  return "?";
}

}  // namespace basalt
