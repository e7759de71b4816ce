// Upper and lower case of Unicode, code point by code point, as DuckDB has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace basalt {

enum class LetterCase : uint8_t { kUpper, kLower };

// Appends the text, which is UTF-8, in that case.
void append_in_case(std::string_view text, LetterCase wanted, std::string& out);

}  // namespace basalt
