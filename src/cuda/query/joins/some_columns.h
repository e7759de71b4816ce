// Some of the columns in sight: expressions over all of them become expressions over these.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::cuda {

class SomeColumns {
 public:
  explicit SomeColumns(const std::set<uint32_t>& used) : used_(used.begin(), used.end()) {}
  // Columns from `all` on stay, behind those that are left of the others.
  SomeColumns(const std::set<uint32_t>& used, uint32_t all) : used_(used.begin(), used.lower_bound(all)), all_(all) {}

  const std::vector<uint32_t>& used() const { return used_; }
  Expr over(Expr expr) const;

 private:
  uint32_t place_of(uint32_t column) const;

  std::vector<uint32_t> used_;
  uint32_t all_ = ~uint32_t{0};
};

// A stage that reads some of the columns that a sink's stage has in sight, and has that sink.
Pipeline sink_over(const Pipeline& stage, const SomeColumns& columns);
// The stage up to there: rows of these columns. At least one: of none, a number for each row.
Pipeline rows_before_sink(const Pipeline& stage, const SomeColumns& columns);

}  // namespace basalt::cuda
