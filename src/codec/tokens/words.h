// Rows as sequences of words. A word is a run of letters, digits and apostrophes with the other bytes that follow it,
// so that words joined are the row again.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "basalt/codec/codec.h"

namespace basalt::tokens {

struct Words {
  std::vector<std::string_view> texts;  // of the distinct words, as they were met first
  std::vector<uint32_t> sequence;       // the words of all rows
  std::vector<uint64_t> row_starts{0};  // one more than rows

  uint64_t rows() const { return row_starts.size() - 1; }
};

// Nothing if more than `most_distinct` words are distinct.
std::optional<Words> split_words(const Values& values, uint64_t most_distinct);

}  // namespace basalt::tokens
