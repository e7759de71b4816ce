// What fields that mean more than they are stored as (Meaning) promise of their rows, and what they may cost.
#pragma once

#include "basalt/core/column.h"

namespace basalt {

// What a column, which has the field's shape, does not keep; nullptr if it keeps all. Children are not looked at.
// `is_key`: the field is the key of a map's entries.
const char* broken_promise(const Column& column, const Field& field, bool is_key);

// Arrays of a fixed size that are NULL: a list stores nothing for them, Arrow and DuckDB have places for their
// elements. A few bytes of a file can so stand for any number of bytes; these are allowed for rows that are given out
// together.
constexpr uint64_t kMostNullArrayBytes = uint64_t{128} << 20;
// Throws Error(kOverLimit) if the column's NULL arrays take more.
void check_null_arrays(const Column& column, const Field& field);
// Bytes of a value's places at least; the largest number where there are more than can be counted.
uint64_t place_bytes(const Field& field);

}  // namespace basalt
