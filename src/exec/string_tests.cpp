// Recognising tests of strings among predicates, and pruning by the prefix of a pattern.
#include "exec/string_tests.h"

namespace basalt::exec {

namespace {

bool is_text_column(const Expr& expr) { return expr.op == ExprOp::kColumn && expr.type == Physical::kBytes; }
bool is_text(const Expr& expr) { return expr.op == ExprOp::kLiteral && !expr.literal.null; }

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

// The least string above all that begin with `prefix`; nullopt if there is none.
std::optional<std::string> end_of_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<uint8_t>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<uint8_t>(prefix.back()) + 1);
  return prefix;
}

}  // namespace

std::optional<StringTest> string_test_of(const Expr& predicate) {
  if (predicate.args.empty()) return std::nullopt;
  const Expr& first = predicate.args[0];
  if (predicate.op == ExprOp::kIn && is_text_column(first)) {
    std::vector<std::string> values;
    for (size_t i = 1; i < predicate.args.size(); ++i) {
      if (!predicate.args[i].literal.null) values.push_back(predicate.args[i].literal.bytes);
    }
    return StringTest::in(std::move(values));
  }
  if (predicate.args.size() != 2) return std::nullopt;
  const Expr& second = predicate.args[1];
  if (is_text_column(first) && is_text(second)) {
    if (predicate.op == ExprOp::kLike) return StringTest::like(second.literal.bytes);
    return comparison_test(predicate.op, second.literal.bytes);
  }
  if (is_text(first) && is_text_column(second) && predicate.op != ExprOp::kLike) {
    return comparison_test(mirrored(predicate.op), first.literal.bytes);
  }
  return std::nullopt;
}

uint32_t tested_column(const Expr& predicate) {
  return is_text_column(predicate.args[0]) ? predicate.args[0].column : predicate.args[1].column;
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
