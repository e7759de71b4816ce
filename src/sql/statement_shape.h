// The shape of a statement: its text with parameters for the literals that a comparison has on its right. Texts that
// differ in such literals only have the same shape, and one plan of the shape serves all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "duckdb.hpp"

namespace basalt::sql {

struct ShapeLiteral {
  enum class Kind : char { kInteger = 'i', kDecimal = 'd', kText = 't', kDate = 'D', kMoment = 'M' };
  Kind kind = Kind::kInteger;
  std::string text;  // digits with their sign and point; of the others what stands between the quotes
};

struct StatementShape {
  std::string text;                    // parameters are $1, $2, …
  std::vector<ShapeLiteral> literals;  // what they stand for; none: the statement has no shape

  // Literals of different kinds may be bound to different types.
  std::string key() const;
};

// Literals that are part of anything larger than one side of a comparison stay in the text, as do all others: lists of
// IN, patterns, limits, arguments of functions.
StatementShape shape_of(const std::string& text);

// The literal as DuckDB would compare it with values of `type`, if that type can hold it exactly; nothing where
// DuckDB's own comparison might be another one: with other types on both sides, or an error.
std::optional<duckdb::Value> value_of(const ShapeLiteral& literal, const duckdb::LogicalType& type);

}  // namespace basalt::sql
