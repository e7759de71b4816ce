// Random tables and predicates for the tests of src/exec, and the plain, row-by-row meaning of every expression that
// the vectorised interpreter is compared with.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/core/error.h"
#include "basalt/exec/pipeline.h"

namespace basalt::test {

using Random = std::mt19937_64;

inline uint64_t below(Random& random, uint64_t bound) { return random() % bound; }

Expr column_expr(uint32_t index, Physical type);
Expr integer_expr(Physical type, int128_t value);
Expr real_expr(Physical type, double value);
Expr bytes_expr(std::string value);
Expr null_expr(Physical type);
Expr make_expr(ExprOp op, Physical type, std::vector<Expr> args);

// Row `row` of a column as a value.
Value value_at(const Column& column, uint64_t row);

// The meaning of an expression for one row: slow and obvious. Throws Error(kOutOfRange).
Value evaluate_row(const Expr& expr, const std::vector<const Column*>& columns, uint64_t row);
bool holds(const Expr& predicate, const std::vector<const Column*>& columns, uint64_t row);

// A column of random values: few or many distinct ones, runs, sorted or not, NULLs, special floats.
Column random_column(Random& random, const DataType& type, uint64_t rows);

// A predicate over the columns; literals are near the columns' values. Without arithmetic it never throws.
Expr random_predicate(Random& random, const std::vector<const Column*>& columns, int depth, bool arithmetic);

// Types that every test table has, one column each.
std::vector<DataType> all_types();

}  // namespace basalt::test
