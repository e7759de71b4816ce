// Cutting rows into words.
#include "codec/tokens/words.h"

#include <array>
#include <unordered_map>

namespace basalt::tokens {

namespace {

constexpr std::array<bool, 256> word_bytes() {
  std::array<bool, 256> out{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    out[byte] = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                byte == '\'' || byte >= 0x80;
  }
  return out;
}
constexpr std::array<bool, 256> kInWord = word_bytes();

size_t word_length(std::string_view text) {
  const size_t most = std::min<size_t>(text.size(), kLongestWord);
  size_t at = 0;
  while (at < most && kInWord[static_cast<uint8_t>(text[at])]) ++at;
  while (at < most && !kInWord[static_cast<uint8_t>(text[at])]) ++at;
  return at;
}

}  // namespace

std::optional<Words> split_words(const Values& values, uint64_t most_distinct) {
  Words words;
  std::unordered_map<std::string_view, uint32_t> numbers;
  words.row_starts.reserve(values.count + 1);
  for (uint64_t row = 0; row < values.count; ++row) {
    for (std::string_view left = values.string(row); !left.empty();) {
      const std::string_view word = left.substr(0, word_length(left));
      left.remove_prefix(word.size());
      const auto [found, added] = numbers.try_emplace(word, static_cast<uint32_t>(words.texts.size()));
      if (added) words.texts.push_back(word);
      words.sequence.push_back(found->second);
    }
    if (words.texts.size() > most_distinct) return std::nullopt;
    words.row_starts.push_back(words.sequence.size());
  }
  return words;
}

}  // namespace basalt::tokens
