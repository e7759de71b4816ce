// Damage by structure: bytes choose what becomes of a file that was taken apart. Fuzzers choose them by coverage, tests
// by a random number generator; the same bytes always make the same file, and its checksums fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/crafted_file.h"

namespace basalt::test {

// Decisions taken from the front of some bytes; zeros once these are used up.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  uint8_t byte();
  uint64_t word();
  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : word() % limit; }
  // One of the numbers that break things: near `now`, at limits of the format or of machine words, or any.
  uint64_t number(uint64_t now);

 private:
  const uint8_t* data_;
  size_t left_;
};

// A tree of codecs that need not fit each other, nor `type`, with streams of about the right sizes.
CraftedNode random_array(Choices& choices, Physical type, uint64_t count, uint32_t depth = 0);

// One change of one thing.
void mutate(CraftedFile& file, Choices& choices);

// A sound file after as many changes as the bytes have decisions for.
std::vector<std::byte> mutated(const std::vector<std::byte>& sound, const uint8_t* data, size_t size);

}  // namespace basalt::test
