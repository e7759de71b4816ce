// UTF-8: what texts of foreign origin must be before anybody else sees them. DuckDB and Arrow take it for granted.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "basalt/core/column.h"

namespace basalt {

// Whether a byte goes on with a code point that an earlier one began.
constexpr bool is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

bool is_ascii(std::string_view text);
bool is_utf8(std::string_view text);

// The first valid row of a utf8 column that is not UTF-8. What lies under a NULL is nobody's business.
std::optional<uint64_t> find_invalid_utf8(const Column& column);
// Throws Error(kCorrupt) with the row, counted from `first_row`; columns of other types pass.
void check_utf8(const Column& column, uint64_t first_row);

}  // namespace basalt
