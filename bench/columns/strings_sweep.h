// `columns strings --sweep`: ratio and speed of fsst under other samples, rounds, ranges and limits of its tables.
#pragma once

#include <span>
#include <string>

#include "bench/columns/texts.h"

namespace basalt::bench {

struct Sweep {
  std::string table;
  std::string json;
};
Sweep sweep_strings(std::span<const Texts> columns, int rounds);

}  // namespace basalt::bench
