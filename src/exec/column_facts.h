// What statistics prove of a pipeline's columns over all its files.
#pragma once

#include <optional>
#include <vector>

#include "exec/bounds.h"

namespace basalt::exec {

// Of the column `field`; a bound that one file does not know is unknown.
Statistics merged_statistics(const Pipeline& pipeline, uint32_t field);

// Of all columns; empty for a stage that reads the rows of another.
std::vector<Statistics> column_statistics(const Pipeline& pipeline);
StatisticsList list_of(const std::vector<Statistics>& statistics, size_t columns);

// The smallest e so that all finite values of an argument lie below 2^e, where statistics know it.
std::optional<int32_t> float_exponent(const Expr& argument, const StatisticsList& stats);

// About how many values the column `field` has, where equal ones lie in neighbouring rows over all chunks of all files:
// they never fall, or never rise, and none is NULL.
std::optional<uint64_t> sorted_values(const Pipeline& pipeline, uint32_t field);

// The integers that an expression gives, and an aggregate over at most `rows` rows, as far as statistics prove them;
// nothing of other types.
std::optional<IntegerRange> value_range(const Expr& expr, const StatisticsList& stats);
std::optional<IntegerRange> result_range(const Aggregate& aggregate, const StatisticsList& stats, uint64_t rows);

uint64_t row_count(const Pipeline& pipeline);

}  // namespace basalt::exec
