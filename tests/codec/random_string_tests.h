// Random tests of strings, and texts that they meet: for automata, and for what encodings make of them.
#pragma once

#include <random>
#include <string>

#include "basalt/codec/string_test.h"

namespace basalt::testing {

// Few letters, so that patterns meet; code points of one to four bytes, NUL among them.
inline std::string random_text(std::mt19937_64& random, size_t most) {
  static const std::string kLetters[] = {"a",  "b",    "ab", "c", "é",  "ü",
                                         "世", "🦆", "%",  "_", "\\", std::string(1, '\0')};
  std::string out;
  for (size_t left = random() % (most + 1); left > 0; --left) out += kLetters[random() % std::size(kLetters)];
  return out;
}

inline std::string random_pattern(std::mt19937_64& random) {
  static const std::string kParts[] = {
      "%", "%", "_", "a", "b", "ab", "é", "世", "🦆", "\\%", "\\_", "\\\\", std::string(1, '\0')};
  std::string out;
  for (size_t left = random() % 7; left > 0; --left) out += kParts[random() % std::size(kParts)];
  return out;
}

inline StringTest random_test(std::mt19937_64& random) {
  StringTest test = StringTest::like(random_pattern(random));
  if (random() % 3 == 0) {
    std::vector<std::string> values;
    for (size_t left = random() % 5; left > 0; --left) values.push_back(random_text(random, 3));
    test = StringTest::in(std::move(values));
  } else if (random() % 3 == 0) {
    std::optional<std::string> low;
    std::optional<std::string> high;
    if (random() % 3 != 0) low = random_text(random, 3);
    if (random() % 3 != 0) high = random_text(random, 3);
    test = StringTest::between(low, random() % 2 == 0, high, random() % 2 == 0);
  } else if (random() % 4 == 0) {
    const uint64_t least = random() % 6;
    test = StringTest::length(random() % 2 == 0, least, random() % 3 == 0 ? UINT64_MAX : least + random() % 4);
  }
  if (random() % 4 == 0) {
    StringTest::Part part;
    part.skip = random() % 3;
    if (random() % 3 != 0) part.count = random() % 4;
    test.part = part;
  }
  test.negate = random() % 4 == 0;
  return test;
}

}  // namespace basalt::testing
