// What statements are made of beside functions, and which of it runs in Basalt: the page docs/sql-on-the-gpu.md is
// printed from it, and a test runs the example of each.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace basalt::sql {

enum class WhoRuns : uint8_t {
  kBasalt,       // on either device; which parts on the CPU, measurements decide
  kBasaltOrGpu,  // the same, but on the CPU only under --strict
  kDuckDb,
};

struct SqlOperator {
  const char* words;    // as the page calls it
  const char* example;  // a query over the tables t and u, with the columns of sql/function_table.h
  WhoRuns who = WhoRuns::kBasalt;
};

std::span<const SqlOperator> sql_operators();

// A table in Markdown.
std::string operator_page();

}  // namespace basalt::sql
