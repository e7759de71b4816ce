// UTF-8: what texts of foreign origin must be before anybody else sees them. DuckDB and Arrow take it for granted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "basalt/core/column.h"

namespace basalt {

// Whether a byte goes on with a code point that an earlier one began.
constexpr bool is_continuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

inline size_t count_code_points(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += is_continuation(static_cast<uint8_t>(byte)) ? 0 : 1;
  return count;
}
// Where the first `count` code points end; the text's end if it has no more.
inline size_t code_points_end(std::string_view text, uint64_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (is_continuation(static_cast<uint8_t>(text[at]))) continue;
    if (count-- == 0) break;
  }
  return at;
}

constexpr bool is_code_point(int64_t number) {
  return number >= 0 && number <= 0x10FFFF && (number < 0xD800 || number > 0xDFFF);
}
void append_code_point(uint32_t point, std::string& out);

bool is_ascii(std::string_view text);
bool is_utf8(std::string_view text);

// The text as a terminal may get it: control characters (C0, DEL and C1) and bytes that are not UTF-8 become \x1b and
// the like. Names come from files, and files from strangers. With `keep_lines`, line ends and tabs stay, for messages.
std::string escape_controls(std::string_view text, bool keep_lines = false);

// Whether each of `count` texts that lie one after the other is UTF-8.
bool are_utf8(const char* bytes, const int64_t* offsets, uint64_t count);
// The first valid row of a utf8 column that is not UTF-8. What lies under a NULL is nobody's business.
std::optional<uint64_t> find_invalid_utf8(const Column& column);
// Throws Error(kCorrupt) with the row, counted from `first_row`; columns of other types pass.
void check_utf8(const Column& column, uint64_t first_row);

}  // namespace basalt
