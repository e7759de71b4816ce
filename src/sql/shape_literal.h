// Literals that a statement's shape leaves out (statement_shape.h), and their values: what DuckDB makes of them beside
// values of some type.
#pragma once

#include <optional>
#include <string>

#include "duckdb.hpp"

namespace basalt::sql {

struct ShapeLiteral {
  enum class Kind : char { kInteger = 'i', kDecimal = 'd', kText = 't', kDate = 'D', kMoment = 'M' };
  Kind kind = Kind::kInteger;
  std::string text;  // digits with their sign and point; of the others what stands between the quotes
};

// The literal as DuckDB would compare it with values of `type`, if that type can hold it exactly; nothing where
// DuckDB's own comparison might be another one: with other types on both sides, or an error.
std::optional<duckdb::Value> value_of(const ShapeLiteral& literal, const duckdb::LogicalType& type);

// Two numbers as one, if DuckDB computes the same: few enough digits that no type of its overflows.
std::optional<ShapeLiteral> sum_of(const ShapeLiteral& first, const ShapeLiteral& second, bool subtract);

// A date or moment that lies `count` units later or earlier. Throws what DuckDB does where there is no such moment.
std::optional<ShapeLiteral> moved_by(const ShapeLiteral& moment, const std::string& count, const std::string& unit,
                                     bool subtract);

}  // namespace basalt::sql
