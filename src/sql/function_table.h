// The scalar functions that lowering takes: lowering refuses every other name, the page docs/sql-on-the-gpu.md is
// printed from it, and a test lowers and plans the example of each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace basalt::sql {

enum class OnDevice : uint8_t {
  kYes,
  kAsciiLetters,  // of strings without letters beyond ASCII
  kNo,
};

struct SqlFunction {
  const char* name;     // as DuckDB calls it once bound
  const char* kind;     // the line of the page that it stands in
  const char* example;  // over the columns i, j, x, q, day, ts, tod, s and r
  OnDevice device = OnDevice::kYes;
};

std::span<const SqlFunction> sql_functions();
bool is_known_function(std::string_view name);

// Aggregates and functions by kind, as a table in Markdown.
std::string function_page();

}  // namespace basalt::sql
