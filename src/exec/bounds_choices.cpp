// Bounds of expressions that choose among values: those of all that may be chosen, together.
#include "exec/bounds_parts.h"

namespace basalt::exec {

namespace {

// Nothing can be chosen yet.
Bounds empty_choice(Physical type) {
  Bounds out = unbounded(type);
  out.may_null = out.may_value = false;
  if (is_integer(type)) out.low = out.high = Value::of_integer(type, 0);
  return out;
}

void join(Bounds& out, const Bounds& more) {
  out.may_throw |= more.may_throw;
  out.may_null |= more.may_null;
  if (!more.may_value) return;
  if (!out.may_value) {
    out.low = more.low;
    out.high = more.high;
  } else {
    if (more.low.null || (!out.low.null && compare(more.low, out.low) < 0)) out.low = more.low;
    if (more.high.null || (!out.high.null && compare(more.high, out.high) > 0)) out.high = more.high;
  }
  out.may_value = true;
}

}  // namespace

Bounds case_bounds(const Expr& expr, const StatisticsList& stats) {
  Bounds out = empty_choice(expr.type);
  for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
    const Truth condition = truth_of(expr.args[i], stats);
    out.may_throw |= condition.may_throw;
    if (condition.may_true) join(out, bounds_of(expr.args[i + 1], stats));
    if (!condition.may_false && !condition.may_null) return out;
  }
  join(out, bounds_of(expr.args.back(), stats));
  return out;
}

Bounds coalesce_bounds(const Expr& expr, const StatisticsList& stats) {
  Bounds out = empty_choice(expr.type);
  for (const Expr& arg : expr.args) {
    const Bounds next = bounds_of(arg, stats);
    join(out, next);
    out.may_null = next.may_null;
    if (!next.may_null) break;
  }
  return out;
}

Bounds extreme_bounds(const Expr& expr, const StatisticsList& stats) {
  Bounds out = empty_choice(expr.type);
  bool may_null = true;
  for (const Expr& arg : expr.args) {
    const Bounds next = bounds_of(arg, stats);
    join(out, next);
    may_null = may_null && next.may_null;
  }
  out.may_null = may_null;
  return out;
}

Truth distinct_truth(const Expr& expr, const StatisticsList& stats) {
  const Bounds a = bounds_of(expr.args[0], stats);
  const Bounds b = bounds_of(expr.args[1], stats);
  Truth differ = compare_truth(ExprOp::kNotEqual, ends_of(a), ends_of(b));
  if (differ.may_throw) return differ;
  differ.may_true |= (a.may_null && b.may_value) || (a.may_value && b.may_null);
  differ.may_false |= a.may_null && b.may_null;
  differ.may_null = false;
  if (expr.op == ExprOp::kNotDistinct) std::swap(differ.may_true, differ.may_false);
  return differ;
}

}  // namespace basalt::exec
