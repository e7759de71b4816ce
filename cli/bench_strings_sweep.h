// `basalt bench strings --sweep`: ratio and speed of fsst under other samples, rounds, ranges and limits of its tables.
#pragma once

#include <span>
#include <string>

#include "cli/bench_texts.h"

namespace basalt::cli {

struct Sweep {
  std::string table;
  std::string json;
};
Sweep sweep_strings(std::span<const Texts> columns, int rounds);

}  // namespace basalt::cli
