#include "query/comparisons.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

#include "basalt/exec/expressions.h"
#include "exec/evaluate.h"
#include "exec/stage_source.h"

namespace basalt {

namespace {

// What a row is asked: whether a value is among literals, or, of conjuncts, whether it is none of them.
struct Listed {
  Expr value;
  std::vector<Expr> literals;
};

bool is_value(const Expr& expr) { return expr.op == ExprOp::kLiteral && !expr.literal.null; }

// `a = 1` and `a IN (1, 2)` as what may be; `a <> 1` and `NOT a IN (1, 2)` as what must not be.
std::optional<Listed> listed(const Expr& expr, bool negated) {
  const Expr* test = &expr;
  if (negated && test->op == ExprOp::kNot) {
    test = &test->args[0];
    if (test->op != ExprOp::kIn) return std::nullopt;
  } else if (test->op == ExprOp::kIn) {
    if (negated) return std::nullopt;
  } else if (test->op != (negated ? ExprOp::kNotEqual : ExprOp::kEqual)) {
    return std::nullopt;
  }
  size_t value = 0;
  if (test->op != ExprOp::kIn && is_value(test->args[0])) value = 1;
  if (test->args[value].op == ExprOp::kLiteral) return std::nullopt;
  Listed out{test->args[value], {}};
  for (size_t i = 0; i < test->args.size(); ++i) {
    if (i == value) continue;
    if (!is_value(test->args[i])) return std::nullopt;
    out.literals.push_back(test->args[i]);
  }
  return out;
}

Expr test_of(Listed listed, bool negated) {
  Expr in = in_list(std::move(listed.value), std::move(listed.literals));
  return negated ? negation(std::move(in)) : in;
}

// The arguments of a connective, and those of its like among them.
std::vector<Expr> flat_arguments(Expr& connective) {
  std::vector<Expr> out;
  for (Expr& arg : connective.args) {
    if (arg.op == connective.op) {
      std::ranges::move(arg.args, std::back_inserter(out));
    } else {
      out.push_back(std::move(arg));
    }
  }
  return out;
}

// Where a value is first asked for it is asked for all literals: that raises no error which it did not raise before.
void unite(Expr& connective) {
  const bool negated = connective.op == ExprOp::kAnd;
  std::vector<Expr> args = flat_arguments(connective);
  std::vector<Expr> united;
  std::vector<std::pair<size_t, Listed>> lists;  // by the place in `united`
  for (Expr& arg : args) {
    std::optional<Listed> found = listed(arg, negated);
    if (!found) {
      united.push_back(std::move(arg));
      continue;
    }
    const auto same = std::ranges::find_if(
        lists, [&](const auto& list) { return exec::same_expression(list.second.value, found->value); });
    if (same != lists.end()) {
      std::ranges::move(found->literals, std::back_inserter(same->second.literals));
      continue;
    }
    lists.emplace_back(united.size(), *std::move(found));
    united.push_back(std::move(arg));
  }
  for (auto& [place, list] : lists) {
    if (list.literals.size() > 1) united[place] = test_of(std::move(list), negated);
  }
  if (united.size() > 1) {
    connective.args = std::move(united);
  } else {
    Expr only = std::move(united.front());
    connective = std::move(only);
  }
}

void unite_within(Expr& expr) {
  for (Expr& arg : expr.args) unite_within(arg);
  if (expr.op == ExprOp::kAnd || expr.op == ExprOp::kOr) unite(expr);
}

}  // namespace

void unite_comparisons(Pipeline& stage) {
  exec::for_each_expression(stage, unite_within);
  for (PipelineStep& step : stage.steps) {
    if (auto* filter = std::get_if<FilterStep>(&step)) unite_within(filter->predicate);
    auto* probe = std::get_if<Probe>(&step);
    if (probe != nullptr && probe->residual) unite_within(*probe->residual);
  }
}

}  // namespace basalt
