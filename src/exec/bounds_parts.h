// What the files of the abstract interpretation share (see bounds.h), and the operations that have a file of their own.
#pragma once

#include "exec/bounds.h"

namespace basalt::exec {

// Anything of this type, and NULL.
Bounds unbounded(Physical type);
// Of a comparison.
Truth compare_truth(ExprOp op, const Bounds& a, const Bounds& b);

// bounds_choices.cpp
Bounds case_bounds(const Expr& expr, const StatisticsList& stats);
Bounds coalesce_bounds(const Expr& expr, const StatisticsList& stats);
Truth distinct_truth(const Expr& expr, const StatisticsList& stats);
Bounds extreme_bounds(const Expr& expr, const StatisticsList& stats);

// bounds_numbers.cpp
Bounds division_bounds(const Expr& expr, const StatisticsList& stats);
Bounds number_function_bounds(const Expr& expr, const StatisticsList& stats);

}  // namespace basalt::exec
