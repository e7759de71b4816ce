// The interpreter of expressions: one switch per operation and tile, typed loops inside.
#include "exec/evaluate.h"

#include <algorithm>
#include <array>
#include <optional>

#include "basalt/core/error.h"
#include "core/dispatch.h"
#include "core/float_key.h"
#include "exec/evaluate_calls.h"
#include "exec/expr_kind.h"
#include "exec/set_places.h"
#include "exec/string_tests.h"

namespace basalt::exec {

alignas(64) constinit const std::array<uint8_t, kTileRows> kAllNull{};

const uint8_t* meet(const uint8_t* a, const uint8_t* b, Buffer& scratch, uint32_t rows) {
  if (a == nullptr || a == b) return b;
  if (b == nullptr) return a;
  uint8_t* out = room<uint8_t>(scratch);
  std::copy_n(a, rows, out);
  mask_and(out, b, rows);
  return out;
}

namespace {

alignas(64) constexpr std::array<int128_t, kTileRows> kZeros{};

template <typename T>
void fill_literal(Buffer& buffer, T value) {
  std::fill_n(room<T>(buffer), kTileRows, value);
}

Vector literal_vector(Step& step, Lane lane) {
  const Value& value = step.expr->literal;
  if (step.converted.empty() || step.converted_lane != lane) {
    switch (lane) {
      case Lane::kI32: fill_literal(step.converted, static_cast<int32_t>(value.integer)); break;
      case Lane::kI64: fill_literal(step.converted, static_cast<int64_t>(value.integer)); break;
      case Lane::kI128: fill_literal(step.converted, value.integer); break;
      case Lane::kF32: fill_literal(step.converted, static_cast<float>(value.real)); break;
      case Lane::kF64: fill_literal(step.converted, value.real); break;
      case Lane::kBytes: fill_literal(step.converted, std::string_view(value.bytes)); break;
      case Lane::kBool: fill_literal(step.converted, static_cast<uint8_t>(!value.null && value.integer != 0)); break;
    }
    step.converted_lane = lane;
  }
  return {lane, step.converted.data(), value.null ? kAllNull.data() : nullptr};
}

}  // namespace

Vector in_lane(Step& step, TileInput& input, Lane lane) {
  if (step.expr->op == ExprOp::kLiteral) return literal_vector(step, lane);
  if (step.expr->op == ExprOp::kColumn) return input.column(step.expr->column, lane);
  Vector vector = evaluate(step, input);
  if (vector.lane == lane) return vector;
  const uint32_t rows = input.rows();
  dispatch_integer_lane(lane, [&](auto to) {
    using To = decltype(to);
    To* out = room<To>(step.converted);
    switch (vector.lane) {
      case Lane::kI32: convert_loop(vector.as<int32_t>(), out, rows); break;
      case Lane::kI64: convert_loop(vector.as<int64_t>(), out, rows); break;
      case Lane::kBool: convert_loop(vector.as<uint8_t>(), out, rows); break;
      // Arithmetic that is checked lies in 128 bits, but its results fit their type.
      case Lane::kI128: convert_loop(vector.as<int128_t>(), out, rows); break;
      default: throw Error(ErrorCode::kInternal, "expression lanes do not meet");
    }
  });
  return {lane, step.converted.data(), vector.valid};
}

Lane common_lane(const Step& a, const Step& b) {
  if (!is_integer(a.expr->type)) return a.lane;
  Lane lane = Lane::kI32;
  for (const Step* arg : {&a, &b}) lane = std::max(lane, is_integer(arg->lane) ? arg->lane : Lane::kI32);
  return lane;
}

Vector masked(Step& step, const uint8_t* valid, uint32_t rows) {
  if (valid != nullptr) mask_and(step.data.as<uint8_t>(), valid, rows);
  return {Lane::kBool, step.data.data(), valid};
}

namespace {

template <typename Op>
void integer_arithmetic(Step& step, Vector a, Vector b, const uint8_t* valid, TileInput& input) {
  const uint32_t rows = input.rows();
  if (step.may_throw) {
    const IntegerRange allowed = allowed_range(*step.expr);
    const auto* x = a.as<int128_t>();
    const auto* y = b.as<int128_t>();
    const uint32_t bad =
        checked_loop<Op>(x, y, room<int128_t>(step.data), rows, allowed.low, allowed.high, input.live(), valid);
    if (bad < rows) {
      throw_failed(*step.expr, FailedValue::of(step.expr->op == ExprOp::kNegate ? y[bad] : x[bad]),
                   FailedValue::of(y[bad]));
    }
    return;
  }
  if (step.lane == Lane::kI32) {
    arithmetic_loop<Op>(a.as<int32_t>(), b.as<int32_t>(), room<int32_t>(step.data), rows);
  } else if (step.lane == Lane::kI64 && a.lane == Lane::kI32) {
    arithmetic_loop<Op>(a.as<int32_t>(), b.as<int32_t>(), room<int64_t>(step.data), rows);
  } else if (step.lane == Lane::kI64) {
    arithmetic_loop<Op>(a.as<int64_t>(), b.as<int64_t>(), room<int64_t>(step.data), rows);
  } else if (a.lane == Lane::kI64) {
    arithmetic_loop<Op>(a.as<int64_t>(), b.as<int64_t>(), room<int128_t>(step.data), rows);
  } else {
    arithmetic_loop<Op>(a.as<int128_t>(), b.as<int128_t>(), room<int128_t>(step.data), rows);
  }
}

template <typename Op>
Vector run_binary(Step& step, Vector a, Vector b, TileInput& input) {
  const uint32_t rows = input.rows();
  const uint8_t* valid = meet(a.valid, b.valid, step.valid, rows);
  if (step.lane == Lane::kF64) {
    arithmetic_loop<Op>(a.as<double>(), b.as<double>(), room<double>(step.data), rows);
  } else if (step.lane == Lane::kF32) {
    arithmetic_loop<Op>(a.as<float>(), b.as<float>(), room<float>(step.data), rows);
  } else {
    integer_arithmetic<Op>(step, a, b, valid, input);
  }
  return {step.lane, step.data.data(), valid};
}

// The lane in which an integer operation reads its arguments: as wide as the widest of them, and one step below the
// result at most.
Lane argument_lane(const Step& step) {
  if (!is_integer(step.lane)) return step.lane;
  if (step.may_throw) return Lane::kI128;
  Lane lane = Lane::kI32;
  for (const Step& arg : step.args) lane = std::max(lane, is_integer(arg.lane) ? arg.lane : Lane::kI32);
  if (step.lane == Lane::kI128) lane = std::max(lane, Lane::kI64);
  return lane;
}

Vector run_arithmetic(Step& step, TileInput& input) {
  const Lane lane = argument_lane(step);
  const Vector a = in_lane(step.args[0], input, lane);
  const Vector b = in_lane(step.args[1], input, lane);
  if (step.expr->op == ExprOp::kAdd) return run_binary<AddOp>(step, a, b, input);
  if (step.expr->op == ExprOp::kSubtract) return run_binary<SubtractOp>(step, a, b, input);
  return run_binary<MultiplyOp>(step, a, b, input);
}

Vector run_negate(Step& step, TileInput& input) {
  if (is_integer(step.lane) && !is_signed(step.expr->type)) return run_number_function(step, input);
  const Vector a = in_lane(step.args[0], input, argument_lane(step));
  const uint32_t rows = input.rows();
  if (step.lane == Lane::kF64 || step.lane == Lane::kF32) {
    const auto negate = [&](const auto* in, auto* out) {
      for (uint32_t i = 0; i < rows; ++i) out[i] = -in[i];
    };
    if (step.lane == Lane::kF64) {
      negate(a.as<double>(), room<double>(step.data));
    } else {
      negate(a.as<float>(), room<float>(step.data));
    }
    return {step.lane, step.data.data(), a.valid};
  }
  return run_binary<SubtractOp>(step, {a.lane, kZeros.data(), nullptr}, a, input);
}

template <typename T>
T literal_as(const Value& value) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return value.bytes;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value.real);
  } else {
    return static_cast<T>(value.integer);
  }
}

// Integers compare as they are, floats by float_key().
bool has_key(Lane lane) { return is_integer(lane) || lane == Lane::kF32 || lane == Lane::kF64; }
int128_t key_of(const Value& literal, Lane lane) {
  if (lane == Lane::kF64) return float_key(literal.real);
  if (lane == Lane::kF32) return float_key(static_cast<float>(literal.real));
  return literal.integer;
}

// Decodes the lengths that a comparison is of, which costs less than looking at the texts; false where it is of
// something else, or they are not stored.
bool decode_byte_lengths(const Step& step, TileInput& input) {
  return std::any_of(step.expr->args.begin(), step.expr->args.end(), [&](const Expr& arg) {
    return arg.op == ExprOp::kByteLength && arg.args[0].op == ExprOp::kColumn && input.byte_lengths(arg.args[0].column);
  });
}

}  // namespace

bool test_in_place(Step& step, TileInput& input, uint8_t* out, const uint8_t*& valid) {
  if (step.automaton == nullptr || decode_byte_lengths(step, input)) return false;
  const uint32_t column = tested_column(*step.expr);
  if (!input.filter_strings(column, step.automaton, out)) return false;
  valid = input.valid(column);
  return true;
}

namespace {

Vector run_comparison(Step& step, TileInput& input) {
  const uint32_t rows = input.rows();
  Step* left = &step.args[0];
  Step* right = &step.args[1];
  ExprOp op = step.expr->op;
  if (left->expr->op == ExprOp::kLiteral && right->expr->op != ExprOp::kLiteral) {
    std::swap(left, right);
    op = mirrored(op);
  }
  uint8_t* out = room<uint8_t>(step.data);
  const bool literal = right->expr->op == ExprOp::kLiteral;
  if (literal && right->expr->literal.null) {
    std::fill_n(out, rows, uint8_t{0});
    return {Lane::kBool, out, kAllNull.data()};
  }
  if (literal && left->expr->op == ExprOp::kColumn && has_key(left->lane) &&
      input.compare_encoded(left->expr->column, op, key_of(right->expr->literal, left->lane), out)) {
    return masked(step, input.valid(left->expr->column), rows);
  }
  const uint8_t* valid = nullptr;
  if (test_in_place(step, input, out, valid)) return masked(step, valid, rows);
  const Lane lane = common_lane(*left, *right);
  const Vector a = in_lane(*left, input, lane);
  if (literal) {
    dispatch_lane(lane, [&](auto type) {
      using T = decltype(type);
      const T value = literal_as<T>(right->expr->literal);
      dispatch_comparison(op, [&](auto o) { compare_literal_loop<decltype(o)>(a.as<T>(), value, out, rows); });
    });
    return masked(step, a.valid, rows);
  }
  const Vector b = in_lane(*right, input, lane);
  dispatch_lane(lane, [&](auto type) {
    using T = decltype(type);
    dispatch_comparison(op, [&](auto o) { compare_loop<decltype(o)>(a.as<T>(), b.as<T>(), out, rows); });
  });
  return masked(step, meet(a.valid, b.valid, step.valid, rows), rows);
}

constexpr size_t kShortList = 8;

template <typename T, typename Item>
void in_loop(const T* values, const std::vector<Item>& list, uint8_t* out, uint32_t rows) {
  if constexpr (!std::is_floating_point_v<T>) {
    if (list.size() > kShortList || std::is_same_v<T, std::string_view>) {
      for (uint32_t i = 0; i < rows; ++i)
        out[i] = std::binary_search(list.begin(), list.end(), Item(values[i])) ? 1 : 0;
      return;
    }
  }
  std::fill_n(out, rows, uint8_t{0});
  for (const Item& item : list) {
    if constexpr (!std::is_floating_point_v<T> && !std::is_same_v<T, std::string_view>) {
      if (static_cast<Item>(static_cast<T>(item)) != item) continue;  // beyond the lane: no value can equal it
    }
    const T wanted = static_cast<T>(item);
    for (uint32_t i = 0; i < rows; ++i)
      out[i] = static_cast<uint8_t>(out[i] | (EqualOp::apply(values[i], wanted) ? 1 : 0));
  }
}

Vector run_in(Step& step, TileInput& input) {
  const uint32_t rows = input.rows();
  uint8_t* out = room<uint8_t>(step.data);
  const uint8_t* found = nullptr;
  if (!test_in_place(step, input, out, found)) {
    const Lane lane = step.args[0].lane == Lane::kBool ? Lane::kI32 : step.args[0].lane;
    const Vector a = in_lane(step.args[0], input, lane);
    found = a.valid;
    dispatch_lane(lane, [&](auto type) {
      using T = decltype(type);
      if constexpr (std::is_same_v<T, std::string_view>) {
        in_loop(a.as<T>(), step.strings, out, rows);
      } else if constexpr (std::is_floating_point_v<T>) {
        in_loop(a.as<T>(), step.reals, out, rows);
      } else {
        in_loop(a.as<T>(), step.integers, out, rows);
      }
    });
  }
  bool null_in_list = false;
  for (size_t i = 1; i < step.expr->args.size(); ++i) null_in_list |= step.expr->args[i].literal.null;
  const Vector result = masked(step, found, rows);
  if (!null_in_list) return result;
  // Beside a NULL in the list only hits are known.
  uint8_t* valid = room<uint8_t>(step.valid);
  std::copy_n(out, rows, valid);
  return {Lane::kBool, out, valid};
}

Vector run_member(Step& step, TileInput& input) {
  const uint32_t rows = input.rows();
  const SetPlace set = set_place(*step.expr);
  const Vector a = in_lane(step.args[0], input, Lane::kI64);
  const auto* values = a.as<int64_t>();
  uint8_t* out = room<uint8_t>(step.data);
  for (uint32_t i = 0; i < rows; ++i) {
    out[i] = is_member(values[i], set.least, set.count, set.address) ? 1 : 0;
  }
  return masked(step, a.valid, rows);
}

Vector run_look_up(Step& step, TileInput& input) {
  const SetPlace set = set_place(*step.expr);
  const Vector a = in_lane(step.args[0], input, Lane::kI64);
  const auto* numbers = a.as<int64_t>();
  dispatch_typed(step.expr->type, [&](auto stored) {
    const auto beyond = static_cast<decltype(stored)>(least_looked_up(*step.expr));
    dispatch_integer_lane(step.lane, [&](auto lane) {
      auto* out = room<decltype(lane)>(step.data);
      for (uint32_t i = 0; i < input.rows(); ++i) {
        const auto value = look_up(numbers[i], set.least, set.count, set.address, beyond);
        out[i] = static_cast<decltype(lane)>(value);
      }
    });
  });
  return {step.lane, step.data.data(), a.valid};
}

Vector run_connective(Step& step, TileInput& input) {
  const uint32_t rows = input.rows();
  const bool conjunction = step.expr->op == ExprOp::kAnd;
  uint8_t* out = room<uint8_t>(step.data);
  uint8_t* decided = room<uint8_t>(step.valid);  // AND: some argument is false; OR: no argument is NULL
  bool nulls = false;
  for (size_t i = 0; i < step.args.size(); ++i) {
    const Vector a = evaluate_predicate(step.args[i], input);
    const auto* data = a.as<uint8_t>();
    nulls |= a.valid != nullptr;
    const uint8_t* valid = a.valid;
    if (i == 0) {
      std::copy_n(data, rows, out);
      std::fill_n(decided, rows, conjunction ? uint8_t{0} : uint8_t{1});
    } else if (conjunction) {
      for (uint32_t r = 0; r < rows; ++r) out[r] &= data[r];
    } else {
      for (uint32_t r = 0; r < rows; ++r) out[r] |= data[r];
    }
    if (conjunction && valid != nullptr) {
      for (uint32_t r = 0; r < rows; ++r) decided[r] = static_cast<uint8_t>(decided[r] | (valid[r] & (data[r] ^ 1)));
    } else if (conjunction) {
      for (uint32_t r = 0; r < rows; ++r) decided[r] = static_cast<uint8_t>(decided[r] | (data[r] ^ 1));
    } else if (valid != nullptr) {
      mask_and(decided, valid, rows);
    }
  }
  if (!nulls) return {Lane::kBool, out, nullptr};
  for (uint32_t r = 0; r < rows; ++r) decided[r] |= out[r];
  return {Lane::kBool, out, decided};
}

Vector run_not(Step& step, TileInput& input) {
  const uint32_t rows = input.rows();
  const Vector a = evaluate_predicate(step.args[0], input);
  uint8_t* out = room<uint8_t>(step.data);
  const auto* data = a.as<uint8_t>();
  for (uint32_t i = 0; i < rows; ++i) out[i] = data[i] ^ 1;
  return masked(step, a.valid, rows);
}

Vector run_null_test(Step& step, TileInput& input) {
  const uint32_t rows = input.rows();
  Step& arg = step.args[0];
  const uint8_t* valid = arg.expr->op == ExprOp::kColumn ? input.valid(arg.expr->column) : evaluate(arg, input).valid;
  uint8_t* out = room<uint8_t>(step.data);
  const uint8_t flip = step.expr->op == ExprOp::kIsNull ? 1 : 0;
  if (valid == nullptr) {
    std::fill_n(out, rows, static_cast<uint8_t>(1 ^ flip));
  } else {
    for (uint32_t i = 0; i < rows; ++i) out[i] = valid[i] ^ flip;
  }
  return {Lane::kBool, out, nullptr};
}

}  // namespace

Vector evaluate(Step& step, TileInput& input) {
  const ExprOp op = step.expr->op;
  switch (kind_of(op)) {
    case ExprKind::kColumn: return input.column(step.expr->column, step.lane);
    case ExprKind::kLiteral: return literal_vector(step, step.lane);
    case ExprKind::kArithmetic: return op == ExprOp::kNegate ? run_negate(step, input) : run_arithmetic(step, input);
    case ExprKind::kDivision: return run_division(step, input);
    case ExprKind::kNumberFunction:
      return op == ExprOp::kSign ? run_sign(step, input) : run_number_function(step, input);
    case ExprKind::kMathFunction: return run_math_function(step, input);
    case ExprKind::kBitOperation: return run_bit_operation(step, input);
    case ExprKind::kCast: return run_cast(step, input);
    case ExprKind::kDateFunction: return run_date_function(step, input);
    case ExprKind::kComparison: return run_comparison(step, input);
    case ExprKind::kDistinct: return run_distinct(step, input);
    case ExprKind::kIn: return run_in(step, input);
    case ExprKind::kMember: return run_member(step, input);
    case ExprKind::kLookUp: return run_look_up(step, input);
    case ExprKind::kPattern: return run_pattern(step, input);
    case ExprKind::kTextFunction:
      if (op == ExprOp::kLength || op == ExprOp::kByteLength) return run_length(step, input);
      if (op == ExprOp::kSubstring || op == ExprOp::kSuffix || op == ExprOp::kDropSuffix) return run_part(step, input);
      return run_text_function(step, input);
    case ExprKind::kConnective: return run_connective(step, input);
    case ExprKind::kNot: return run_not(step, input);
    case ExprKind::kNullTest: return run_null_test(step, input);
    case ExprKind::kCase: return run_case(step, input);
    case ExprKind::kCoalesce: return run_coalesce(step, input);
    case ExprKind::kExtreme: return run_extreme(step, input);
  }
  throw Error(ErrorCode::kInternal, "unknown expression");
}

Vector evaluate_predicate(Step& step, TileInput& input) {
  if (step.expr->op == ExprOp::kLiteral) return literal_vector(step, Lane::kBool);
  Vector vector = evaluate(step, input);
  if (vector.lane == Lane::kBool) return vector;
  const uint32_t rows = input.rows();
  uint8_t* out = room<uint8_t>(step.converted);
  dispatch_integer_lane(vector.lane, [&](auto type) {
    using T = decltype(type);
    compare_literal_loop<NotEqualOp>(vector.as<T>(), T{0}, out, rows);
  });
  if (vector.valid != nullptr) mask_and(out, vector.valid, rows);
  return {Lane::kBool, out, vector.valid};
}

}  // namespace basalt::exec
