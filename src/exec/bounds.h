// What statistics prove about expressions: the values they can take over some rows, and the outcomes a predicate can
// have. One abstract interpretation serves pruning (decide), the proof that arithmetic cannot overflow, and the choice
// of the narrowest integers to compute with. Every answer errs on the side of "possible".
#pragma once

#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

using StatisticsList = std::vector<const Statistics*>;

struct Bounds {
  bool may_throw = false;  // some row may leave the range of its type
  bool may_null = true;
  bool may_value = true;  // some row may be other than NULL
  // Every value lies in [low, high] by compare(); NULL = no bound. Integers always have both. NaN counts as the
  // largest.
  Value low;
  Value high;
};

// Outcomes that some row may have.
struct Truth {
  bool may_throw = false;
  bool may_true = true;
  bool may_false = true;
  bool may_null = true;
};

Bounds bounds_of(const Expr& expr, const StatisticsList& stats);
Truth truth_of(const Expr& predicate, const StatisticsList& stats);

// Whether the expression is a predicate by its operation; columns and literals of type kU8 are not.
bool is_predicate(ExprOp op);
ExprOp mirrored(ExprOp op);  // of a comparison whose sides change places

struct IntegerRange {
  int128_t low = 0;
  int128_t high = 0;
};
IntegerRange range_of(Physical type);
// Whether sums of that many values of the range stay between −2^bits and 2^bits.
bool sum_fits(const IntegerRange& range, uint64_t rows, int bits);
// What the result of arithmetic or a cast must not leave.
IntegerRange allowed_range(const Expr& expr);

}  // namespace basalt::exec
