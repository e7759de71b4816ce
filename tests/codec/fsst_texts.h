// Texts that are hard on the compression of strings: for the codec's tests, and for those of its kernels.
#pragma once

#include <string>
#include <vector>

#include "codec/arrays.h"

namespace basalt::testing {

inline std::string random_bytes(std::mt19937_64& random, size_t length, uint32_t low, uint32_t range) {
  std::string text(length, '\0');
  for (char& c : text) c = static_cast<char>(low + random() % range);
  return text;
}

inline constexpr const char* kWords[] = {"carefully", "final",    "deposits", "sleep",      "quickly ",
                                         "regular",   "accounts", "above",    "packages",   "the",
                                         "special",   "requests", "ironic",   "pinto beans"};
inline std::vector<std::string> sentences(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    std::string text;
    for (uint64_t words = 1 + random() % 6; words > 0; --words) {
      text += (text.empty() ? "" : " ") + std::string(kWords[random() % std::size(kWords)]);
    }
    out.push_back(text + std::to_string(random() % 100));
  }
  return out;
}

// Texts whose vocabulary changes every `range` rows, so that tables of their own pay.
inline std::vector<std::string> changing_texts(uint32_t rows, uint32_t range, int words) {
  std::vector<std::string> out;
  for (uint32_t row = 0; row < rows; ++row) {
    std::mt19937_64 random(row);
    std::string text;
    for (int word = 0; word < words; ++word) {
      std::mt19937_64 letters((row / range) * 1000 + random() % 60);
      for (int i = 0; i < 6; ++i) text += static_cast<char>('a' + letters() % 26);
    }
    out.push_back(text);
  }
  return out;
}

struct TextCase {
  const char* name;
  std::vector<std::string> texts;
};

inline std::vector<TextCase> text_cases() {
  std::mt19937_64 random(1);
  std::vector<TextCase> out;
  out.push_back({"none", {}});
  out.push_back({"empty", std::vector<std::string>(3000)});
  out.push_back({"one byte", {}});
  for (int i = 0; i < 3000; ++i) out.back().texts.push_back(random_bytes(random, 1, 0, 256));
  out.push_back({"sentences", sentences(5000, 3)});
  out.push_back({"random bytes", {}});
  for (int i = 0; i < 2000; ++i) out.back().texts.push_back(random_bytes(random, random() % 60, 0, 256));
  out.push_back({"bytes like escapes", {}});
  for (int i = 0; i < 2000; ++i) out.back().texts.push_back(random_bytes(random, random() % 60, 0xFC, 4));
  out.push_back({"rare bytes", sentences(1500, 4)});
  for (std::string& text : out.back().texts) text += random_bytes(random, random() % 3, 0x80, 128);
  out.push_back({"NULs", {}});
  for (int i = 0; i < 3000; ++i) out.back().texts.push_back(random_bytes(random, random() % 20, 0, 2));
  out.push_back({"CJK", {}});
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (uint64_t n = random() % 12; n > 0; --n) {
      const uint64_t c = 0x4E00 + random() % 400;
      text += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
               static_cast<char>(0x80 | (c & 63))};
    }
    out.back().texts.push_back(text);
  }
  out.push_back({"long rows", {}});
  for (const size_t length : {4095, 4096, 4097, 8192, 8193, 100000, 3, 0, 5000}) {
    std::string text;
    for (const std::string& part : sentences(length / 8 + 1, length)) text += part + ", ";
    text.resize(length, 'x');
    out.back().texts.push_back(text);
    out.back().texts.push_back(random_bytes(random, length, 0, 256));
  }
  // Codes of 32 such rows are too many for shared memory; those of random bytes need more room than there is.
  out.push_back({"rows of 128 to 4096 bytes", {}});
  for (size_t i = 0; i < 200; ++i) {
    const size_t most = i < 70 ? 160 : i < 130 ? 700 : 4096;
    const size_t length = 128 + random() % (most - 127);
    std::string text;
    while (text.size() < length) text += sentences(1, i + text.size())[0] + "; ";
    text.resize(length);
    if (i % 16 == 3) text = random_bytes(random, length, 0, 256);
    out.back().texts.push_back(text);
  }
  out.back().texts[150].resize(4096, 'z');
  out.push_back({"a long row per tile", sentences(3000, 9)});
  for (size_t i = 500; i < 3000; i += 1000) out.back().texts[i] = random_bytes(random, 9000, 'a', 3);
  return out;
}

}  // namespace basalt::testing
