// Finds columns that other columns of the same table help to encode, by what a sample of their rows shows: a small
// difference (a date beside another date), a function (a status by its date), a product with one of them, a sum of two,
// places in the runs of one (lines of an order). Names and types do not matter. What is found is a proposal: the writer
// compares bytes before it takes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"

namespace basalt {

// The same rows of every column, whole tiles, without NULLs. Integers and short lists of texts can be encoded by
// others; others can be encoded by integers.
struct RelatedSample {
  std::string name;
  Values values;
};

// What the sample stands for.
struct RelatedScope {
  uint64_t total_rows = 0;
  bool one_chunk = false;  // no other chunks share the entries of a function
  Effort effort = Effort::kBalanced;
  Purpose purpose = Purpose::kBalanced;
};

// How much of a function's entries the first chunk is charged with, where others may follow.
constexpr double kEntriesShare = 0.25;

// For each column the trees that may be worth a try; none names a column that has any.
std::vector<std::vector<Tree>> find_related_columns(const std::vector<RelatedSample>& columns,
                                                    const RelatedScope& scope);

}  // namespace basalt
