// Arrays of strings that are hard on dictionaries: for the device encoder, on the GPU and emulated.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "codec/arrays.h"
#include "codec/strings/gpu/texts.h"
#include "codec/tokens/cut.h"

namespace basalt::test {

using testing::make_texts;

struct StringCase {
  std::string name;
  testing::Array array;
};

// strings::mix() the other way round.
inline uint64_t unmix(uint64_t bits) {
  uint64_t inverse = 0xD6E8FEB86659FD93ull;
  for (int i = 0; i < 6; ++i) inverse *= 2 - 0xD6E8FEB86659FD93ull * inverse;
  bits = (bits ^ bits >> 32) * inverse;
  bits = (bits ^ bits >> 32) * inverse;
  return bits ^ bits >> 32;
}

// Strings of 16 bytes that all have the same hash.
inline std::vector<std::string> colliding_texts(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t sum = random();
  const uint64_t place_of_second = unmix(strings::hash_word(0, 1));
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t first = random();
    const uint64_t second = unmix(sum - strings::hash_word(first, 0)) - place_of_second;
    std::string text(16, '\0');
    std::memcpy(text.data(), &first, 8);
    std::memcpy(text.data() + 8, &second, 8);
    texts.push_back(text);
  }
  return texts;
}

// Those of them, several hundred, that `tokens` takes for one word.
inline std::vector<std::string> colliding_words(uint64_t seed) {
  std::vector<std::string> words = colliding_texts(200'000, seed);
  std::erase_if(words, [](const std::string& text) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    return tokens::word_length(bytes, text.size(), tokens::in_word) != text.size() || tokens::in_word(bytes[15]) ||
           !tokens::in_word(bytes[0]);
  });
  return words;
}

// `rows` rows, each one of `from`.
inline std::vector<std::string> pick(const std::vector<std::string>& from, size_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> out;
  for (size_t i = 0; i < rows; ++i) out.push_back(from[random() % from.size()]);
  return out;
}

inline std::vector<std::string> random_texts(size_t count, size_t longest, uint64_t seed, const std::string& prefix,
                                             char lowest, uint32_t letters) {
  std::mt19937_64 random(seed);
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    std::string text = prefix;
    for (size_t left = random() % (longest + 1); left > 0; --left) {
      text += static_cast<char>(lowest + static_cast<char>(random() % letters));
    }
    out.push_back(text);
  }
  return out;
}

// One text and numbers of fixed width.
inline std::vector<std::string> numbered_texts(size_t count, const std::string& text, size_t digits, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    std::string number;
    while (number.size() < digits) number += static_cast<char>('0' + random() % 10);
    out.push_back(text + number);
  }
  return out;
}

inline std::vector<StringCase> string_cases() {
  std::vector<StringCase> cases;
  const auto add = [&](const std::string& name, const std::vector<std::string>& texts, size_t first_byte = 0) {
    cases.push_back({name, make_texts(texts, first_byte)});
  };
  add("no rows", {});
  add("one empty string", {""});
  add("empty strings", std::vector<std::string>(100, ""));
  add("one value", std::vector<std::string>(1500, "DELIVER IN PERSON"));
  add("one long value", std::vector<std::string>(40, std::string(777, 'x')));
  add("a letter or none", pick({"", "a", "b"}, 1100, 1));
  add("all distinct", random_texts(1100, 30, 2, "", 'a', 26));

  // Ends and NUL bytes: shorter ones come first.
  std::vector<std::string> nuls;
  for (size_t i = 0; i < 20; ++i) {
    nuls.push_back("ab" + std::string(i, '\0'));
    nuls.push_back(std::string(i, '\0'));
    nuls.push_back(std::string(i, '\0') + '\x01');
  }
  add("NUL bytes", pick(nuls, 600, 3));

  std::vector<std::string> bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(std::string(static_cast<size_t>(i % 11), 'q') + static_cast<char>(i));
  add("all bytes", pick(bytes, 1300, 4), 3);
  add("two letters", random_texts(1500, 12, 5, "", '\x7F', 2), 13);

  // What all or some share, around the borders of words and of what a lane reads alone.
  for (const size_t shared : {1, 7, 8, 9, 16, 255, 256, 257, 1030}) {
    add("shared prefix of " + std::to_string(shared),
        pick(random_texts(60, 9, shared, std::string(shared, 'p'), 'a', 3), 200, shared), shared % 8);
  }
  std::vector<std::string> mixed = random_texts(50, 5, 6, "", 'a', 3);
  for (const size_t length : {250, 256, 264, 300, 4096, 5000}) {
    for (const size_t at : {size_t{0}, length / 2, length - 1}) {
      for (const char letter : {'\0', '\x80', '\xFF'}) {
        std::string text(length, 'm');
        text[at] = letter;
        mixed.push_back(text);
      }
    }
  }
  add("long among short", pick(mixed, 400, 7), 5);

  // Equal hashes, one after the other and mixed with others.
  std::vector<std::string> colliding = colliding_texts(30, 8);
  add("equal hashes", pick(colliding, 500, 9));
  colliding.push_back("");
  colliding.push_back("another");
  add("equal hashes among others", pick(colliding, 500, 10), 1);
  return cases;
}

}  // namespace basalt::test
