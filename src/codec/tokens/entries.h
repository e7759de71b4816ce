// Entries in order of their use, once it is known how often each is.
#pragma once

#include "codec/child_values.h"
#include "codec/tokens/dictionary.h"

namespace basalt::tokens {

struct Entries {
  std::string bytes;
  std::vector<int64_t> offsets{0};
  std::vector<uint32_t> numbers;  // final ones, of ids as Piece::id() has them

  Values values() const { return text_values(bytes.data(), offsets); }
};

// `used`: how often, per id as Piece::id() has them. What is not used has no entry.
Entries order_entries(const Words& words, const std::vector<Phrase>& phrases, const std::vector<uint64_t>& used);

}  // namespace basalt::tokens
