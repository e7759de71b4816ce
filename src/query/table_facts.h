// What the footers of a scan's files say of its columns, by their places among these.
#pragma once

#include <cstdint>

#include "basalt/query/tree.h"

namespace basalt {

uint64_t rows_of(const QueryNode& scan);

// Whether no two rows have the same value and none has NULL: the column never repeats in any file, and no file has
// values between those of another.
bool is_unique(const QueryNode& scan, uint32_t column);

// Bytes of a row's value, on average.
double bytes_of_value(const QueryNode& scan, uint32_t column);

}  // namespace basalt
