// A table of page views, as web analytics keeps it, in the shape of any given schema: what a column holds follows from
// its type and the words of its name (hits_rules.h), what rows have to do with each other from hits_rows.h. Any range
// of rows can be made alone, in any order, on any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "basalt/core/column.h"

namespace basalt {

class HitsGenerator {
 public:
  // Throws Error(kUnsupported), naming all columns whose types are not made, and Error(kInvalidArgument) without
  // columns or rows.
  HitsGenerator(const Schema& schema, uint64_t rows, uint64_t seed);
  ~HitsGenerator();

  const Schema& schema() const;
  uint64_t rows() const;
  // Rows [begin, end). Nothing is NULL.
  Table generate(uint64_t begin, uint64_t end) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace basalt
