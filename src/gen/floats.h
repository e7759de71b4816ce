// Columns of doubles for measurements: read from files, made longer than the files are, and made by a rule where there
// are no files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace basalt::gen {

// .csv: a number per line; anything else: doubles as they lie in memory. Throws if there are none.
std::vector<double> read_doubles(const std::string& path);

// The values again and again, at least once, up to `rows`; whole tiles of those that have any. From the second time on
// each tile of decimals is moved by a step of its own in their last digit: other values, but ranges, digits and
// exceptions as they were. Values that are no decimals stay.
std::vector<double> repeated(const std::vector<double>& values, uint64_t rows);

// Decimals: integers of `width` bits over 10^digits, uniformly but for those whose product with 10^-digits is another
// float; `exceptions` rows of each tile, at random, are off by a part in 2^20 or less and so need all their digits.
struct DecimalColumn {
  const char* name;
  uint32_t width;
  uint32_t exceptions;
  uint32_t digits;
};
std::vector<double> decimal_values(const DecimalColumn& column, uint64_t rows);

// As wide and as irregular as columns that ALP is measured on, whose names they have.
std::span<const DecimalColumn> decimal_columns();

}  // namespace basalt::gen
