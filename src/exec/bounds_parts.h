// What the files of the abstract interpretation share (see bounds.h), and the operations that have a file of their own.
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "exec/bounds.h"

namespace basalt::exec {

// Anything of this type, and NULL.
Bounds unbounded(Physical type);
// Bounds whose values lie elsewhere: those of columns in statistics, those of literals in the expression. Filters are
// decided for every zone of a table, and copies of values took most of that time.
struct Ends {
  bool may_throw = false;
  bool may_null = true;
  bool may_value = true;
  const Value* low = nullptr;  // nullptr: no bound
  const Value* high = nullptr;
};
Ends ends_of(const Bounds& bounds);
// `room` takes what has to be computed.
Ends ends_of(const Expr& expr, const StatisticsList& stats, std::optional<Bounds>& room);
// Of a comparison.
Truth compare_truth(ExprOp op, const Ends& a, const Ends& b);

// Collects products and sums of corner points; one overflow makes the whole interval unknown.
struct Corners {
  bool known = true;
  bool any = false;
  int128_t low = 0;
  int128_t high = 0;

  void take(bool overflow, int128_t value) {
    if (overflow) {
      known = false;
      return;
    }
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
};

// Puts the interval of an arithmetic result under the type's limits: what lies beyond may throw.
void set_limited(Bounds& out, const Expr& expr, const Corners& corners);

// Puts the ends of an integer result as far as its type goes.
void set_range(Bounds& out, const Expr& expr, int128_t low, int128_t high);

// A result of which only this is known: it is NULL where an argument is, and raises what they raise.
Bounds unbounded_over(const Expr& expr, std::span<const Bounds> args);
Bounds unbounded_over(const Expr& expr, const StatisticsList& stats);  // over all arguments that it has

// bounds_choices.cpp
Bounds case_bounds(const Expr& expr, const StatisticsList& stats);
Bounds coalesce_bounds(const Expr& expr, const StatisticsList& stats);
Truth distinct_truth(const Expr& expr, const StatisticsList& stats);
Bounds extreme_bounds(const Expr& expr, const StatisticsList& stats);

// bounds_numbers.cpp
Bounds division_bounds(const Expr& expr, const StatisticsList& stats);
Bounds number_function_bounds(const Expr& expr, const StatisticsList& stats);
Bounds math_function_bounds(const Expr& expr, const StatisticsList& stats);
Bounds bit_operation_bounds(const Expr& expr, const StatisticsList& stats);

// bounds_dates.cpp
Bounds date_function_bounds(const Expr& expr, const StatisticsList& stats);

// bounds_casts.cpp
Bounds cast_bounds(const Expr& expr, const StatisticsList& stats);

}  // namespace basalt::exec
