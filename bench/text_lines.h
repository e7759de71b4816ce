// Files of text for benchmarks: a string per line.
#pragma once

#include <fstream>
#include <string>

#include "gen/texts.h"

namespace basalt::bench {

inline gen::Texts lines_of(const char* path) {
  gen::Texts texts;
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) texts.add(line);
  return texts;
}

}  // namespace basalt::bench
