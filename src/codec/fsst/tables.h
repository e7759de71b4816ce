// Which symbol tables an array gets: what they are trained on, and how many rows share one.
#pragma once

#include "basalt/codec/codec.h"
#include "codec/fsst/train.h"

namespace basalt::fsst {

// What an effort buys.
Plan plan_of(Effort effort);

// The texts of a SamplePlan.
std::vector<std::string_view> sample_texts(const Values& values, Rows rows, uint32_t bytes, uint64_t salt = 0);

// Trained on some rows.
SymbolTable train_rows(const Values& values, Rows rows, const Plan& plan);

// The tables of an array, and how many tiles share one, as a power of two: all of them, or fewer where that saves more
// than the tables take.
struct Tables {
  std::vector<SymbolTable> tables;
  uint32_t shift = 0;
};
Tables train_tables(const Values& values, const Plan& plan);

}  // namespace basalt::fsst
