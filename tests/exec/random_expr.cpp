#include "exec/random_expr.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "basalt/codec/string_test.h"
#include "basalt/exec/expressions.h"
#include "core/bitmap.h"
#include "core/utf8.h"
#include "exec/bounds.h"
#include "exec/plain_functions.h"
#include "exec/scalar.h"

namespace basalt::test {

Expr column_expr(uint32_t index, Physical type) {
  Expr out;
  out.op = ExprOp::kColumn;
  out.type = type;
  out.column = index;
  return out;
}

Expr literal_expr(Value value, Physical type) {
  Expr out;
  out.op = ExprOp::kLiteral;
  out.type = type;
  out.literal = std::move(value);
  return out;
}
Expr integer_expr(Physical type, int128_t value) { return literal_expr(Value::of_integer(type, value), type); }
Expr real_expr(Physical type, double value) { return literal_expr(Value::of_real(type, value), type); }
Expr bytes_expr(std::string value) { return literal_expr(Value::of_bytes(std::move(value)), Physical::kBytes); }
Expr null_expr(Physical type) { return literal_expr(Value::of_null(type), type); }

Expr make_expr(ExprOp op, Physical type, std::vector<Expr> args) {
  Expr out;
  out.op = op;
  out.type = type;
  out.args = std::move(args);
  return out;
}

Value value_at(const Column& column, uint64_t row) {
  const Physical type = physical_of(column.type);
  if (!column.is_valid(row)) return Value::of_null(type);
  if (type == Physical::kBytes) return Value::of_bytes(std::string(column.string_at(row)));
  return load_value(type, column.values.data() + row * width_of(type));
}

namespace {

Value boolean(bool value) { return Value::of_integer(Physical::kU8, value ? 1 : 0); }

Value checked(const Expr& expr, bool overflow, int128_t value) {
  const exec::IntegerRange allowed = exec::allowed_range(expr);
  if (overflow || value < allowed.low || value > allowed.high) throw Error(ErrorCode::kOutOfRange, "overflow");
  return Value::of_integer(expr.type, value);
}

double real_arithmetic(ExprOp op, double a, double b) {
  return op == ExprOp::kAdd ? a + b : op == ExprOp::kSubtract ? a - b : a * b;
}

Value arithmetic(const Expr& expr, const Value& a, const Value& b) {
  if (a.null || b.null) return Value::of_null(expr.type);
  if (expr.type == Physical::kF64) return Value::of_real(expr.type, real_arithmetic(expr.op, a.real, b.real));
  if (expr.type == Physical::kF32) {
    const auto x = static_cast<float>(a.real);
    const auto y = static_cast<float>(b.real);
    const float r = expr.op == ExprOp::kAdd ? x + y : expr.op == ExprOp::kSubtract ? x - y : x * y;
    return Value::of_real(expr.type, r);
  }
  int128_t value = 0;
  const bool overflow = expr.op == ExprOp::kAdd        ? __builtin_add_overflow(a.integer, b.integer, &value)
                        : expr.op == ExprOp::kSubtract ? __builtin_sub_overflow(a.integer, b.integer, &value)
                                                       : __builtin_mul_overflow(a.integer, b.integer, &value);
  return checked(expr, overflow, value);
}

bool compares(ExprOp op, int order) {
  switch (op) {
    case ExprOp::kEqual: return order == 0;
    case ExprOp::kNotEqual: return order != 0;
    case ExprOp::kLess: return order < 0;
    case ExprOp::kLessEqual: return order <= 0;
    case ExprOp::kGreater: return order > 0;
    default: return order >= 0;
  }
}

// Tries every end of every `%`.
bool like_matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '%') {
    for (size_t taken = 0; taken <= text.size(); ++taken) {
      if (like_matches(pattern.substr(1), text.substr(taken))) return true;
    }
    return false;
  }
  if (text.empty()) return false;
  if (pattern[0] == '_') {
    size_t taken = 1;
    while (taken < text.size() && (static_cast<uint8_t>(text[taken]) & 0xC0) == 0x80) ++taken;
    return like_matches(pattern.substr(1), text.substr(taken));
  }
  if (pattern[0] == '\\') pattern.remove_prefix(1);
  return pattern[0] == text[0] && like_matches(pattern.substr(1), text.substr(1));
}

}  // namespace

Value evaluate_row(const Expr& expr, const std::vector<const Column*>& columns, uint64_t row) {
  const auto arg = [&](size_t i) { return evaluate_row(expr.args[i], columns, row); };
  switch (expr.op) {
    case ExprOp::kColumn: return value_at(*columns[expr.column], row);
    case ExprOp::kLiteral: return expr.literal;
    case ExprOp::kAdd:
    case ExprOp::kSubtract:
    case ExprOp::kMultiply: return arithmetic(expr, arg(0), arg(1));
    case ExprOp::kNegate: {
      const Value a = arg(0);
      if (a.null) return Value::of_null(expr.type);
      if (is_float(expr.type)) return Value::of_real(expr.type, -a.real);
      if (!is_signed(expr.type) && a.integer != 0) {
        return Value::of_integer(expr.type, exec::range_of(expr.type).high + 1 - a.integer);
      }
      int128_t value = 0;
      const bool overflow = __builtin_sub_overflow(int128_t{0}, a.integer, &value);
      return checked(expr, overflow, value);
    }
    case ExprOp::kIn: {
      const Value a = arg(0);
      if (a.null) return Value::of_null(Physical::kU8);
      bool null = false;
      for (size_t i = 1; i < expr.args.size(); ++i) {
        const Value item = arg(i);
        null |= item.null;
        if (!item.null && compare(a, item) == 0) return boolean(true);
      }
      return null ? Value::of_null(Physical::kU8) : boolean(false);
    }
    case ExprOp::kLike: {
      const Value a = arg(0);
      const Value b = arg(1);
      if (a.null || b.null) return Value::of_null(Physical::kU8);
      return boolean(like_matches(b.bytes, a.bytes));
    }
    case ExprOp::kLength:
    case ExprOp::kByteLength: {
      const Value a = arg(0);
      if (a.null) return Value::of_null(expr.type);
      const size_t length = expr.op == ExprOp::kLength ? count_code_points(a.bytes) : a.bytes.size();
      return Value::of_integer(expr.type, static_cast<int128_t>(length));
    }
    case ExprOp::kSubstring: {
      Value a = arg(0);
      if (a.null) return a;
      a.bytes.erase(0, code_points_end(a.bytes, static_cast<uint64_t>(arg(1).integer)));
      a.bytes.resize(code_points_end(a.bytes, static_cast<uint64_t>(arg(2).integer)));
      return a;
    }
    case ExprOp::kAnd:
    case ExprOp::kOr: {
      const bool decisive = expr.op == ExprOp::kOr;
      bool null = false;
      for (size_t i = 0; i < expr.args.size(); ++i) {
        const Value a = arg(i);
        if (a.null) {
          null = true;
        } else if ((a.integer != 0) == decisive) {
          return boolean(decisive);
        }
      }
      return null ? Value::of_null(Physical::kU8) : boolean(!decisive);
    }
    case ExprOp::kNot: {
      const Value a = arg(0);
      return a.null ? a : boolean(a.integer == 0);
    }
    case ExprOp::kDistinct:
    case ExprOp::kNotDistinct: {
      const Value a = arg(0);
      const Value b = arg(1);
      const bool same = a.null || b.null ? a.null && b.null : compare(a, b) == 0;
      return boolean(same == (expr.op == ExprOp::kNotDistinct));
    }
    case ExprOp::kCase:
      for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
        if (const Value condition = arg(i); !condition.null && condition.integer != 0) return arg(i + 1);
      }
      return arg(expr.args.size() - 1);
    case ExprOp::kCoalesce:
      for (size_t i = 0; i < expr.args.size(); ++i) {
        if (Value a = arg(i); !a.null) return a;
      }
      return Value::of_null(expr.type);
    case ExprOp::kIsNull: return boolean(arg(0).null);
    case ExprOp::kIsNotNull: return boolean(!arg(0).null);
    default: {
      std::vector<Value> args;
      for (size_t i = 0; i < expr.args.size(); ++i) args.push_back(arg(i));
      if (std::optional<Value> result = plain_function(expr, args)) return *std::move(result);
      const Value& a = args[0];
      const Value& b = args[1];
      if (a.null || b.null) return Value::of_null(Physical::kU8);
      return boolean(compares(expr.op, compare(a, b)));
    }
  }
}

bool holds(const Expr& predicate, const std::vector<const Column*>& columns, uint64_t row) {
  const Value value = evaluate_row(predicate, columns, row);
  return !value.null && value.integer != 0;
}

namespace {

std::string random_string(Random& random) {
  static const char* const kWords[] = {"", "a", "ab", "abc", "b", "zebra", "N", "AIR", "REG AIR", "TRUCK"};
  std::string out = kWords[below(random, std::size(kWords))];
  if (below(random, 8) == 0) out += std::string(60 + below(random, 20), static_cast<char>('a' + below(random, 2)));
  if (below(random, 16) == 0)
    for (int i = 0; i < 18; ++i) out += "\xF4\x8F\xBF\xBF";  // the last character: no bound above it
  if (below(random, 3) == 0) out += std::to_string(below(random, 50));
  return out;
}

double random_real(Random& random) {
  static const double kSpecial[] = {0.0,
                                    -0.0,
                                    std::numeric_limits<double>::quiet_NaN(),
                                    1.5,
                                    -1.5,
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity()};
  if (below(random, 10) == 0) return kSpecial[below(random, std::size(kSpecial))];
  return static_cast<double>(static_cast<int64_t>(random()) >> (16 + below(random, 40))) / 8.0;
}

int128_t random_integer(Random& random, const DataType& type, uint32_t bits, int128_t base) {
  const exec::IntegerRange range =
      type.kind == TypeKind::kDecimal
          ? exec::IntegerRange{1 - exec::power_of_ten(type.precision), exec::power_of_ten(type.precision) - 1}
      : type.kind == TypeKind::kBool ? exec::IntegerRange{0, 1}
                                     : exec::range_of(physical_of(type));
  uint128_t value = (static_cast<uint128_t>(random()) << 64) | random();
  if (bits < 128) value &= (uint128_t{1} << bits) - 1;
  int128_t sum = 0;
  if (__builtin_add_overflow(base, static_cast<int128_t>(value), &sum)) sum = base;
  return std::clamp(sum, range.low, range.high);
}

}  // namespace

Column random_column(Random& random, const DataType& type, uint64_t rows) {
  Field field;
  field.name = "c";
  field.type = type;
  Column column = make_column(field);
  const Physical physical = physical_of(type);
  const uint32_t width = width_of(physical);
  const auto bits = static_cast<uint32_t>(below(random, 3) == 0 ? below(random, width * 8 + 1) : below(random, 14));
  const int128_t base = below(random, 2) == 0 ? 0 : static_cast<int64_t>(random()) >> below(random, 60);
  const uint64_t run = below(random, 3) == 0 ? 1 + below(random, 300) : 1;
  const uint64_t distinct = below(random, 2) == 0 ? 1 + below(random, 40) : 0;
  std::vector<Value> pool;
  const auto fresh = [&]() -> Value {
    if (physical == Physical::kBytes) return Value::of_bytes(random_string(random));
    if (physical == Physical::kF32) return Value::of_real(physical, static_cast<float>(random_real(random)));
    if (physical == Physical::kF64) return Value::of_real(physical, random_real(random));
    return Value::of_integer(physical, random_integer(random, type, bits, base));
  };
  for (uint64_t i = 0; i < distinct; ++i) pool.push_back(fresh());
  std::vector<Value> values;
  while (values.size() < rows) {
    const Value value = pool.empty() ? fresh() : pool[below(random, pool.size())];
    for (uint64_t i = 0; i < run && values.size() < rows; ++i) values.push_back(value);
  }
  if (below(random, 3) == 0) {
    std::sort(values.begin(), values.end(), [](const Value& a, const Value& b) { return compare(a, b) < 0; });
  }
  column.length = rows;
  if (physical == Physical::kBytes) {
    for (const Value& value : values) {
      column.bytes.append(value.bytes.data(), value.bytes.size());
      column.offsets.push(static_cast<int64_t>(column.bytes.size()));
    }
  } else {
    column.values.resize(rows * width);
    for (uint64_t i = 0; i < rows; ++i) store_value(values[i], column.values.data() + i * width);
  }
  const uint64_t null_style = below(random, 4);
  if (null_style == 0 || rows == 0) return column;
  column.validity.resize((rows + 7) / 8);
  set_bits(column.validity.as<uint8_t>(), 0, column.validity.size() * 8, false);
  for (uint64_t i = 0; i < rows; ++i) {
    // Scattered NULLs, long stretches of them, or NULL everywhere.
    const bool valid = null_style == 1   ? below(random, 10) != 0
                       : null_style == 2 ? (i / 1500) % 2 == 0
                                         : below(random, 40) != 0 || i > 5000;
    put_bit(column.validity.as<uint8_t>(), i, valid);
    column.null_count += valid ? 0 : 1;
  }
  return column;
}

namespace {

Expr near_literal(Random& random, const Column& column) {
  const Physical type = physical_of(column.type);
  if (below(random, 25) == 0) return null_expr(type);
  Value value = column.length > 0 ? value_at(column, below(random, column.length)) : Value::of_null(type);
  if (value.null) {
    if (type == Physical::kBytes) return bytes_expr("m");
    return is_float(type) ? real_expr(type, 0.5) : integer_expr(type, 1);
  }
  if (is_integer(type) && below(random, 3) == 0) {
    const exec::IntegerRange range = exec::range_of(type);
    if (value.integer > range.low && value.integer < range.high) value.integer += below(random, 2) == 0 ? 1 : -1;
  }
  return literal_expr(value, type);
}

// Most of a string of the column, with `%` and `_` for some of it.
Expr near_pattern(Random& random, const Column& column) {
  const Expr near = near_literal(random, column);
  if (near.literal.null) return near;
  std::string pattern = below(random, 3) == 0 ? "%" : "";
  for (const char c : near.literal.bytes.substr(0, 12)) {
    const uint64_t kind = below(random, 8);
    if (kind == 0) pattern += '%';
    if (kind == 1) pattern += '_';
    if (kind > 1) pattern += LikePattern::escape({&c, 1});
  }
  if (below(random, 2) == 0) pattern += '%';
  return bytes_expr(pattern);
}

// A test of a string's length, or of some of its code points.
Expr random_part_test(Random& random, Expr text, const Column& column) {
  if (below(random, 2) == 0) {
    text = substring(std::move(text), static_cast<int64_t>(below(random, 3)),
                     below(random, 4) == 0 ? INT64_MAX : static_cast<int64_t>(below(random, 5)));
  }
  const auto op = static_cast<ExprOp>(static_cast<int>(ExprOp::kEqual) + static_cast<int>(below(random, 6)));
  switch (below(random, 4)) {
    case 0: return compare_with(op, length(std::move(text)), literal(static_cast<int64_t>(below(random, 90)) - 1));
    case 1: return compare_with(op, byte_length(std::move(text)), literal(static_cast<int64_t>(below(random, 9))));
    case 2: return make_expr(ExprOp::kLike, Physical::kU8, {std::move(text), near_pattern(random, column)});
    default: return make_expr(op, Physical::kU8, {std::move(text), near_literal(random, column)});
  }
}

// Whether all days, in microseconds, are numbers of 64 bits.
bool fits_microseconds(const Column& column) {
  constexpr int64_t kMostDays = INT64_MAX / 86400000000;
  for (uint64_t row = 0; row < column.length; ++row) {
    if (std::abs(int64_t{column.values.as<int32_t>()[row]}) > kMostDays) return false;
  }
  return true;
}

// CASE or COALESCE of columns and literals of one type.
Expr random_choice(Random& random, const std::vector<const Column*>& columns, uint32_t index, Expr other) {
  const Physical type = physical_of(columns[index]->type);
  const Expr literal = near_literal(random, *columns[index]);
  if (below(random, 3) == 0) return make_expr(ExprOp::kCoalesce, type, {column_expr(index, type), other, literal});
  std::vector<Expr> args;
  for (uint64_t i = 0; i <= below(random, 2); ++i) {
    args.push_back(random_predicate(random, columns, 0, false));
    args.push_back(below(random, 2) == 0 ? column_expr(index, type) : literal);
  }
  args.push_back(below(random, 4) == 0 ? null_expr(type) : std::move(other));
  return make_expr(ExprOp::kCase, type, std::move(args));
}

// A column, or the same in another form that is still comparable.
Expr operand(Random& random, const std::vector<const Column*>& columns, uint32_t index, bool arithmetic) {
  const Physical type = physical_of(columns[index]->type);
  Expr column = column_expr(index, type);
  if (below(random, 8) == 0) {
    Expr other = arithmetic ? operand(random, columns, index, true) : near_literal(random, *columns[index]);
    return random_choice(random, columns, index, std::move(other));
  }
  if (!arithmetic || !is_integer(type) || below(random, 2) == 0) return column;
  Expr one = integer_expr(type, 1);
  return make_expr(below(random, 2) == 0 ? ExprOp::kAdd : ExprOp::kMultiply, type, {column, one});
}

}  // namespace

Expr random_predicate(Random& random, const std::vector<const Column*>& columns, int depth, bool arithmetic) {
  const uint64_t kind = below(random, depth > 0 ? 10 : 6);
  if (kind >= 6) {
    if (kind == 9) {
      return make_expr(ExprOp::kNot, Physical::kU8, {random_predicate(random, columns, depth - 1, arithmetic)});
    }
    std::vector<Expr> args;
    const uint64_t count = 2 + below(random, 2);
    for (uint64_t i = 0; i < count; ++i) args.push_back(random_predicate(random, columns, depth - 1, arithmetic));
    return make_expr(kind < 8 ? ExprOp::kAnd : ExprOp::kOr, Physical::kU8, std::move(args));
  }
  const auto index = static_cast<uint32_t>(below(random, columns.size()));
  const Column& column = *columns[index];
  const Physical type = physical_of(column.type);
  if (kind == 0) {
    return make_expr(below(random, 2) == 0 ? ExprOp::kIsNull : ExprOp::kIsNotNull, Physical::kU8,
                     {column_expr(index, type)});
  }
  if (kind == 1) {
    std::vector<Expr> args{column_expr(index, type)};
    const uint64_t count = below(random, 12);
    for (uint64_t i = 0; i < count; ++i) args.push_back(near_literal(random, column));
    return make_expr(ExprOp::kIn, Physical::kU8, std::move(args));
  }
  if (type == Physical::kBytes && kind < 4) {
    return make_expr(ExprOp::kLike, Physical::kU8, {column_expr(index, type), near_pattern(random, column)});
  }
  if (column.type.kind == TypeKind::kBool && below(random, 2) == 0) return column_expr(index, type);
  if (type == Physical::kBytes && kind == 4) return random_part_test(random, column_expr(index, type), column);
  const auto op = static_cast<ExprOp>(static_cast<int>(ExprOp::kEqual) + static_cast<int>(below(random, 6)));
  if (column.type.kind == TypeKind::kDate && kind == 2 && (arithmetic || fits_microseconds(column))) {
    // date → timestamp, as DuckDB casts.
    Expr cast = make_expr(ExprOp::kCast, Physical::kI64, {column_expr(index, type)});
    cast.factor = 86400000000;
    const Expr literal = near_literal(random, column);
    const int128_t moment = literal.literal.null ? 0 : literal.literal.integer * 86400000000 + (below(random, 3) == 0);
    const exec::IntegerRange range = exec::range_of(Physical::kI64);
    return make_expr(op, Physical::kU8,
                     {cast, integer_expr(Physical::kI64, std::clamp(moment, range.low, range.high))});
  }
  if (is_integer(type) && kind == 3 && column.type.kind == TypeKind::kDecimal) {
    Expr cast = make_expr(ExprOp::kCast, Physical::kF64, {column_expr(index, type)});
    cast.power_of_ten = column.type.scale;
    const Expr literal = near_literal(random, column);
    return make_expr(op, Physical::kU8,
                     {cast, real_expr(Physical::kF64, static_cast<double>(literal.literal.integer) / 100)});
  }
  std::vector<Expr> args{operand(random, columns, index, arithmetic), near_literal(random, column)};
  if (below(random, 4) == 0) std::swap(args[0], args[1]);
  if (below(random, 8) == 0) args[1] = operand(random, columns, index, arithmetic);
  for (uint32_t other = 0; other < columns.size() && below(random, 6) == 0; ++other) {
    if (other != index && physical_of(columns[other]->type) == type) args[1] = column_expr(other, type);
  }
  if (below(random, 8) == 0) {
    return make_expr(below(random, 2) == 0 ? ExprOp::kDistinct : ExprOp::kNotDistinct, Physical::kU8, std::move(args));
  }
  return make_expr(op, Physical::kU8, std::move(args));
}

std::vector<DataType> all_types() {
  std::vector<DataType> types;
  for (const TypeKind kind :
       {TypeKind::kBool, TypeKind::kInt8, TypeKind::kInt16, TypeKind::kInt32, TypeKind::kInt64, TypeKind::kUInt8,
        TypeKind::kUInt16, TypeKind::kUInt32, TypeKind::kUInt64, TypeKind::kInt128, TypeKind::kFloat32,
        TypeKind::kFloat64, TypeKind::kDate, TypeKind::kTimestamp, TypeKind::kUtf8, TypeKind::kBinary}) {
    types.push_back({kind});
  }
  for (const uint8_t precision : {4, 9, 15, 38}) types.push_back({TypeKind::kDecimal, precision, 2});
  types.push_back({TypeKind::kInt64});
  return types;
}

}  // namespace basalt::test
