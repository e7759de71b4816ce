// A predicate over rows that come from no file, conjunct after conjunct, each over the rows that the earlier ones kept:
// only these may raise errors. Those that cannot raise any come first, the others as written (see filter.h, which does
// the same over chunks).
#pragma once

#include <vector>

#include "exec/evaluate.h"

namespace basalt::exec {

class Conjuncts {
 public:
  // The predicate must outlive this object.
  explicit Conjuncts(const Expr& predicate);

  void open(const StatisticsList& stats);
  // The rows that are left, one byte per row, until it runs again; nullptr: none.
  const uint8_t* run(TileInput& input);
  // The same, but rows for which the whole is NULL are left, too, and `unknown` says which these are.
  const uint8_t* run_with_nulls(TileInput& input, uint8_t* unknown);

 private:
  const uint8_t* run_all(TileInput& input, uint8_t* unknown);

  std::vector<const Expr*> predicates_;
  std::vector<Step> steps_;
  std::vector<uint8_t> live_;
};

}  // namespace basalt::exec
