// How large the floats are that aggregates add up: what fixed_sum.h needs to know before the first of them is added.
#pragma once

#include <vector>

#include "exec/cpu/sink.h"
#include "exec/evaluate.h"
#include "exec/fixed_sum.h"

namespace basalt::exec {

class MagnitudeSink : public TileSink {
 public:
  explicit MagnitudeSink(std::vector<const Expr*> arguments)
      : arguments_(std::move(arguments)), exponents_(arguments_.size(), kLeastExponent) {}

  bool open(const PartBegin& part) override;
  void add(TileInput& input, uint64_t first_row) override;
  // For each argument the smallest e so that all its finite values lie below 2^e.
  const std::vector<int32_t>& exponents() const { return exponents_; }

 private:
  std::vector<const Expr*> arguments_;
  std::vector<int32_t> exponents_;
  std::vector<Step> steps_;
};

}  // namespace basalt::exec
