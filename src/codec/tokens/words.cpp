// Cutting rows into words.
#include "codec/tokens/words.h"

#include <array>
#include <unordered_map>

#include "codec/tokens/cut.h"

namespace basalt::tokens {

namespace {

constexpr std::array<bool, 256> word_bytes() {
  std::array<bool, 256> out{};
  for (uint32_t byte = 0; byte < 256; ++byte) out[byte] = in_word(static_cast<uint8_t>(byte));
  return out;
}
constexpr std::array<bool, 256> kInWord = word_bytes();

}  // namespace

std::optional<Words> split_words(const Values& values, uint64_t most_distinct) {
  Words words;
  std::unordered_map<std::string_view, uint32_t> numbers;
  words.row_starts.reserve(values.count + 1);
  for (uint64_t row = 0; row < values.count; ++row) {
    for (std::string_view left = values.string(row); !left.empty();) {
      const std::string_view word =
          left.substr(0, word_length(reinterpret_cast<const unsigned char*>(left.data()), left.size(),
                                     [](uint8_t byte) { return kInWord[byte]; }));
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
