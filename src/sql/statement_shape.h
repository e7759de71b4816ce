// The shape of a statement: its text with parameters for the literals that comparisons, BETWEEN, IN and LIKE have on
// their right, and for small numbers of rows behind LIMIT and OFFSET. Texts that differ in such literals only have the
// same shape, and one plan of the shape serves all of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sql/shape_literal.h"

namespace basalt::sql {

struct StatementShape {
  std::string text;                    // parameters are $1, $2, …
  std::vector<ShapeLiteral> literals;  // what they stand for; none: the statement has no shape

  // Of each literal the number of the first one that is equal and compared with the same expression in the same way.
  std::vector<size_t> equals;

  // Literals of different kinds may be bound to different types.
  std::string key() const;
};

// Which literals are equal in both of two texts of one shape, as StatementShape::equals.
std::vector<size_t> common_equals(const std::vector<size_t>& first, const std::vector<size_t>& second);

// A parameter stands for a literal, the sum of two numbers, or a date and an interval. What is part of anything larger
// than one side of a comparison stays in the text, as do all other literals, like arguments of functions.
StatementShape shape_of(const std::string& text);

}  // namespace basalt::sql
