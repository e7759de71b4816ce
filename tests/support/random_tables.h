// Tables of random schemas and rows: every type of the format, lists and structs inside each other, NULLs on every
// level, and the values at which conversions go wrong. A seed gives the same table on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "basalt/core/column.h"

namespace basalt::test {

struct RandomTableOptions {
  bool extremes = true;  // ends of ranges, NaN, infinities, zero bytes in texts: what only exact formats can hold
  uint64_t most_rows = 3000;
  uint32_t most_depth = 3;
};

// Lists and structs of all types; names that need quotes are among them.
Schema random_schema(std::mt19937_64& random, const RandomTableOptions& options);

// Rows in canonical form (see make_canonical).
Table random_rows(const Schema& schema, uint64_t rows, std::mt19937_64& random, const RandomTableOptions& options);

// A schema, a number of rows (often none or few) and the rows.
Table any_table(std::mt19937_64& random, const RandomTableOptions& options);

// Empty if both hold the same types, values and NULLs, on every level, in canonical form; else where they differ.
std::string difference(const Table& expected, const Table& actual);

// How many random tables a test makes, and the seed of the first: BASALT_RANDOM_TABLES and BASALT_RANDOM_SEED in the
// environment, else `usual` and 1. Sanitized builds make fewer.
uint64_t random_table_count(uint64_t usual);
uint64_t first_random_seed();

}  // namespace basalt::test
