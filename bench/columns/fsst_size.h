// What FSST as published makes of strings: the yardstick of `columns strings`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace basalt::bench {

// Code bytes of all strings together under one table, the table's own bytes not counted.
uint64_t fsst_code_bytes(std::span<const std::string_view> strings);

}  // namespace basalt::bench
