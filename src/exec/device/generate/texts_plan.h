// What a statement wants to know of strings as values before its kernel runs. The device gives every distinct string a
// number and evaluates functions of strings once for each; kernels read both from arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::device {

// Strings that one function puts together on the device.
constexpr size_t kMostConcatenated = 8;

// A column that is made of a column of strings.
struct TextArray {
  uint32_t field_id = 0;  // of rows on the device the column
  // Of column 0, the strings. One that gives strings, or is the column itself, stands for their numbers.
  Expr function;
};

struct TextsPlan {
  std::vector<std::optional<TextArray>> arrays;  // by column of the pipeline
  std::vector<std::string> literals;             // each once
  bool ordered = false;                          // lesser strings must have lesser numbers

  // Whether the column is one of these arrays.
  bool is_made(size_t column) const { return column < arrays.size() && arrays[column].has_value(); }
  bool empty() const { return arrays.empty() && literals.empty(); }
};

// What is known once the strings were numbered.
struct TextNumbers {
  uint64_t count = 0;              // numbers are below
  std::vector<uint32_t> literals;  // their numbers
};

}  // namespace basalt::device
