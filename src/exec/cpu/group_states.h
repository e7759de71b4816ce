// The states of one aggregate, one for each group: adding rows, merging what several threads have, giving results. An
// aggregate is one class; rows without an argument never come here.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/cpu/column_builder.h"
#include "exec/vector.h"

namespace basalt::exec {

// Rows of a tile and the group of each.
struct GroupedRows {
  const uint16_t* rows = nullptr;
  const uint32_t* groups = nullptr;
  uint32_t count = 0;
  const uint64_t* places = nullptr;  // of the rows in the whole input, by row of the tile
};

class GroupStates {
 public:
  virtual ~GroupStates() = default;
  virtual void resize(size_t groups) = 0;
  virtual void add(const Vector& values, const GroupedRows& rows) = 0;
  // `from` is of the same class; its group i is group map[i] here.
  virtual void merge(const GroupStates& from, const uint32_t* map, size_t groups) = 0;
  virtual void finish(size_t groups, ColumnBuilder& out) const = 0;
};

// What is known of an aggregate's argument over all rows.
struct ArgumentFacts {
  IntegerRange range;
  uint64_t rows = 0;     // of the whole input
  int32_t fraction = 0;  // of sums of floats: see fixed_sum.h
};

std::unique_ptr<GroupStates> make_states(const Aggregate& aggregate, const ArgumentFacts& facts);

}  // namespace basalt::exec
