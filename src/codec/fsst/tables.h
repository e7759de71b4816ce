// Which symbol tables an array gets: what they are trained on, and how many rows share one.
#pragma once

#include "basalt/codec/codec.h"
#include "codec/fsst/train.h"

namespace basalt::fsst {

// What an effort buys.
struct Plan {
  TrainOptions training;
  uint32_t sample_bytes;
  bool train_greedily_too;            // and take the better of two tables: neither way of training is always better
  std::vector<uint64_t> range_bytes;  // plain bytes of smaller ranges of rows to try tables of their own for
};
Plan plan_of(Effort effort);

// About `bytes` bytes of the rows [first, end), in pieces of up to 512, at places that depend on nothing but the rows'
// lengths and `salt`; all of them if there are no more. No text of the sample crosses the end of a row.
std::vector<std::string_view> sample_texts(const Values& values, uint64_t first, uint64_t end, uint32_t bytes,
                                           uint64_t salt = 0);

// Trained on the rows [first, end).
SymbolTable train_rows(const Values& values, uint64_t first, uint64_t end, const Plan& plan);

// The tables of an array, and how many tiles share one, as a power of two: all of them, or fewer where that saves more
// than the tables take.
struct Tables {
  std::vector<SymbolTable> tables;
  uint32_t shift = 0;
};
Tables train_tables(const Values& values, const Plan& plan);

}  // namespace basalt::fsst
