// Texts as TPC-H comments have them, for benchmarks of strings.
#pragma once

#include <string>

#include "gen/texts.h"
#include "gpu_bench.h"

namespace basalt::bench {

using gen::Texts;

// A few words of a small vocabulary, least … most bytes long or a little shorter.
inline std::string comment_of(uint64_t row, uint64_t least, uint64_t most) {
  static const char* const kWords[] = {
      "carefully",    "final",   "deposits",    "sleep",       "quickly", "regular", "accounts",  "above",
      "packages",     "the",     "special",     "requests",    "ironic",  "pinto",   "beans",     "furiously",
      "bold",         "express", "theodolites", "among",       "silent",  "pending", "blithely",  "even",
      "platelets",    "haggle",  "slyly",       "foxes",       "unusual", "courts",  "according", "to",
      "instructions", "nag",     "asymptotes",  "dependencies"};
  const uint64_t length = least + mix(row) % (most - least + 1);
  std::string text;
  for (uint64_t i = 0; text.size() < length; ++i) {
    if (i > 0) text += ' ';
    text += kWords[mix(row * 64 + i) % std::size(kWords)];
  }
  return text.substr(mix(row + 1) % 5).substr(0, length);
}

inline Texts texts_of(std::string (*text)(uint64_t), uint64_t rows) {
  Texts texts;
  for (uint64_t row = 0; row < rows; ++row) texts.add(text(row));
  return texts;
}

}  // namespace basalt::bench
