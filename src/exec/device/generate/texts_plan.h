// What a statement wants to know before its kernel runs, mostly of strings as values. The device gives every distinct
// string a number and evaluates functions of strings once for each; kernels read both from arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "basalt/exec/pipeline.h"

namespace basalt::device {

// Strings that one function puts together on the device.
constexpr size_t kMostConcatenated = 8;

// A column that is made of a column of strings, or one of other values that is decoded before.
struct TextArray {
  uint32_t field_id = 0;  // of rows on the device the column
  // Of column 0, the strings. One that gives strings, or is the column itself, stands for their numbers.
  Expr function;
  // A function of several columns, or of what stands for NULL, is evaluated for each row: the fields of columns 1, 2, …
  bool by_row = false;
  std::vector<uint32_t> others{};

  bool is_decoded() const { return function.op == ExprOp::kColumn && function.type != Physical::kBytes; }
};

// Whether a function evaluated by row is NULL where this column of it is.
bool is_null_with(const Expr& function, uint32_t column);

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
