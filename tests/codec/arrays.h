// Inputs for property tests: arrays of every type whose values have the shapes that codecs care about.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
#include "codec/child_values.h"

namespace basalt::testing {

// Owns an array's memory; `values` views it.
struct Array {
  std::vector<std::byte> data;
  std::vector<int64_t> offsets;
  std::string bytes;
  std::vector<uint8_t> validity;
  Values values;
};

// Texts as an array. The offsets begin at `first_byte`, behind bytes that belong to no row.
inline Array make_texts(const std::vector<std::string>& texts, size_t first_byte = 0) {
  Array array;
  array.bytes.reserve(64);  // never inside the string object, which may be moved
  array.bytes.assign(first_byte, '\x5A');
  array.offsets.push_back(static_cast<int64_t>(first_byte));
  for (const std::string& text : texts) {
    array.bytes += text;
    array.offsets.push_back(static_cast<int64_t>(array.bytes.size()));
  }
  array.values = text_values(array.bytes.data(), array.offsets);
  return array;
}

// The same rows without the first ones: offsets then begin inside of the bytes.
inline Values without_first(Values texts, uint64_t rows) {
  texts.offsets += rows;
  texts.count -= rows;
  return texts;
}

// Flips a bit of some stream of the tree. False: nothing was there to be damaged.
inline bool flip_a_bit(Node& root, std::mt19937_64& random) {
  Node* at = &root;
  while (!at->children.empty() && random() % 8 != 0) at = &at->children[random() % at->children.size()];
  if (at->streams.empty()) return false;
  Buffer& stream = at->streams[random() % at->streams.size()];
  if (stream.empty()) return false;
  stream.data()[random() % stream.size()] ^= static_cast<std::byte>(1u << random() % 8);
  return true;
}

enum class Pattern { kZero, kConstant, kRandom, kNarrow, kSorted, kRuns, kFewDistinct, kSawTooth, kExtremes };
inline constexpr Pattern kAllPatterns[] = {Pattern::kZero,        Pattern::kConstant, Pattern::kRandom,
                                           Pattern::kNarrow,      Pattern::kSorted,   Pattern::kRuns,
                                           Pattern::kFewDistinct, Pattern::kSawTooth, Pattern::kExtremes};

inline uint128_t pattern_value(Pattern pattern, uint64_t i, std::mt19937_64& random, uint128_t& state) {
  const auto wide = [&] { return static_cast<uint128_t>(random()) << 64 | random(); };
  switch (pattern) {
    case Pattern::kZero: return 0;
    case Pattern::kConstant: return 0x1234567;
    case Pattern::kRandom: return wide();
    case Pattern::kNarrow: return 1000 + random() % 37;
    case Pattern::kSorted: return state += random() % 5;
    case Pattern::kRuns:
      if (random() % 20 == 0 || i == 0) state = random() % 1000;
      return state;
    case Pattern::kFewDistinct: return static_cast<uint128_t>(random() % 7) * 0x9E3779B97F4A7C15ull;
    case Pattern::kSawTooth: return i % 100 * 3;
    case Pattern::kExtremes:
      return random() % 2 == 0 ? static_cast<uint128_t>(random() % 3) : ~static_cast<uint128_t>(random() % 3);
  }
  return 0;
}

inline Array make_fixed(Physical type, uint64_t count, Pattern pattern, uint64_t seed) {
  Array array;
  std::mt19937_64 random(seed);
  const uint32_t width = width_of(type);
  array.data.resize(count * width + 16);
  uint128_t state = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint128_t value = pattern_value(pattern, i, random, state);
    std::memcpy(array.data.data() + i * width, &value, width);
  }
  array.values.type = type;
  array.values.count = count;
  array.values.data = array.data.data();
  return array;
}

inline Array make_strings(uint64_t count, Pattern pattern, uint64_t seed) {
  Array array;
  std::mt19937_64 random(seed);
  array.offsets.push_back(0);
  uint128_t state = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<uint64_t>(pattern_value(pattern, i, random, state));
    std::string text = value == 0 ? std::string() : "v" + std::to_string(value % 100000);
    if (pattern == Pattern::kExtremes && value % 3 == 1) text.assign(value % 5000, '\xFE');
    array.bytes += text;
    array.offsets.push_back(static_cast<int64_t>(array.bytes.size()));
  }
  array.values.type = Physical::kBytes;
  array.values.count = count;
  array.values.offsets = array.offsets.data();
  array.values.bytes = array.bytes.data();
  return array;
}

inline Array make_array(Physical type, uint64_t count, Pattern pattern, uint64_t seed) {
  return type == Physical::kBytes ? make_strings(count, pattern, seed) : make_fixed(type, count, pattern, seed);
}

}  // namespace basalt::testing
