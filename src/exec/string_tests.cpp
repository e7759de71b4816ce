// Recognising tests of strings among predicates, and pruning by the prefix of a pattern.
#include "exec/string_tests.h"

namespace basalt::exec {

namespace {

bool is_value(const Expr& expr) { return expr.op == ExprOp::kLiteral && !expr.literal.null; }

// The column of strings behind an operand; nullptr if it is something else.
const Expr* text_column(const Expr& expr) {
  if (expr.op == ExprOp::kColumn) return expr.type == Physical::kBytes ? &expr : nullptr;
  const bool of_text = expr.op == ExprOp::kSubstring || expr.op == ExprOp::kLength || expr.op == ExprOp::kByteLength;
  return of_text ? text_column(expr.args[0]) : nullptr;
}

// Puts the test to the part of the column that the operand is; nullopt if it is a part of a part.
std::optional<StringTest> of_part(std::optional<StringTest> test, const Expr& text) {
  if (!test || text.op == ExprOp::kColumn) return test;
  if (text.args[0].op != ExprOp::kColumn) return std::nullopt;
  test->part = part_of(text);
  return test;
}

std::optional<StringTest> comparison_test(ExprOp op, const std::string& text) {
  switch (op) {
    case ExprOp::kEqual: return StringTest::in({text});
    case ExprOp::kNotEqual: {
      StringTest test = StringTest::in({text});
      test.negate = true;
      return test;
    }
    case ExprOp::kLess: return StringTest::between({}, true, text, false);
    case ExprOp::kLessEqual: return StringTest::between({}, true, text, true);
    case ExprOp::kGreater: return StringTest::between(text, false, {}, true);
    case ExprOp::kGreaterEqual: return StringTest::between(text, true, {}, true);
    default: return std::nullopt;
  }
}

// How many code points or bytes a string has, compared with a number.
std::optional<StringTest> length_test(ExprOp op, bool in_bytes, int128_t number) {
  const auto at_most = [&](int128_t most) {
    // Nothing is shorter than nothing.
    if (most < 0) return StringTest::in({});
    return StringTest::length(in_bytes, 0, static_cast<uint64_t>(most));
  };
  StringTest test;
  switch (op) {
    case ExprOp::kEqual:
    case ExprOp::kNotEqual:
      test = at_most(number);
      test.least = test.most;
      break;
    case ExprOp::kLess:
    case ExprOp::kGreaterEqual: test = at_most(number - 1); break;
    case ExprOp::kLessEqual:
    case ExprOp::kGreater: test = at_most(number); break;
    default: return std::nullopt;
  }
  test.negate = op == ExprOp::kNotEqual || op == ExprOp::kGreater || op == ExprOp::kGreaterEqual;
  return test;
}

// What a comparison or LIKE of `tested` with a literal asks.
std::optional<StringTest> literal_test(ExprOp op, const Expr& tested, const Value& literal) {
  if (tested.op == ExprOp::kLength || tested.op == ExprOp::kByteLength) {
    return of_part(length_test(op, tested.op == ExprOp::kByteLength, literal.integer), tested.args[0]);
  }
  if (op == ExprOp::kLike) return of_part(StringTest::like(literal.bytes), tested);
  if (op == ExprOp::kRegexp) return of_part(StringTest::regexp(literal.bytes), tested);
  return of_part(comparison_test(op, literal.bytes), tested);
}

// The least string above all that begin with `prefix`; nullopt if there is none.
std::optional<std::string> end_of_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<uint8_t>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<uint8_t>(prefix.back()) + 1);
  return prefix;
}

}  // namespace

StringTest::Part part_of(const Expr& substring) {
  StringTest::Part part;
  part.skip = static_cast<uint64_t>(substring.args[1].literal.integer);
  const int128_t count = substring.args[2].literal.integer;
  if (count <= INT32_MAX) part.count = static_cast<uint64_t>(count);  // no string is longer
  return part;
}

std::optional<StringTest> string_test_of(const Expr& predicate) {
  if (predicate.args.empty()) return std::nullopt;
  const Expr& first = predicate.args[0];
  if (predicate.op == ExprOp::kIn && first.type == Physical::kBytes && text_column(first) != nullptr) {
    std::vector<std::string> values;
    for (size_t i = 1; i < predicate.args.size(); ++i) {
      if (!predicate.args[i].literal.null) values.push_back(predicate.args[i].literal.bytes);
    }
    return of_part(StringTest::in(std::move(values)), first);
  }
  if (predicate.args.size() != 2) return std::nullopt;
  const Expr& second = predicate.args[1];
  if (text_column(first) != nullptr && is_value(second)) return literal_test(predicate.op, first, second.literal);
  const bool has_pattern = predicate.op == ExprOp::kLike || predicate.op == ExprOp::kRegexp;
  if (is_value(first) && text_column(second) != nullptr && !has_pattern) {
    return literal_test(mirrored(predicate.op), second, first.literal);
  }
  return std::nullopt;
}

uint32_t tested_column(const Expr& predicate) {
  const Expr* first = text_column(predicate.args[0]);
  return (first != nullptr ? first : text_column(predicate.args[1]))->column;
}

Truth like_truth(const LikePattern& pattern, const Value& low, const Value& high) {
  Truth out;
  const std::string prefix = pattern.prefix();
  const std::optional<std::string> end = end_of_prefix(prefix);
  const bool above = !low.null && end && low.bytes >= *end;
  const bool below = !high.null && high.bytes < prefix;
  out.may_true = !above && !below;
  const bool all_begin_so = !low.null && low.bytes >= prefix && (!end || (!high.null && high.bytes < *end));
  out.may_false = !(pattern.is_prefix_only() && (prefix.empty() || all_begin_so));
  return out;
}

}  // namespace basalt::exec
