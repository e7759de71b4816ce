// Cutting rows into words.
#include "codec/tokens/words.h"

#include <algorithm>
#include <array>

#include "codec/tokens/cut.h"
#include "core/text_words.h"

namespace basalt::tokens {

namespace {

constexpr std::array<bool, 256> word_bytes() {
  std::array<bool, 256> out{};
  for (uint32_t byte = 0; byte < 256; ++byte) out[byte] = in_word(static_cast<uint8_t>(byte));
  return out;
}
constexpr std::array<bool, 256> kInWord = word_bytes();

// Distinct words and their numbers: a flat hash table, since every word of a column is looked up.
class WordNumbers {
 public:
  explicit WordNumbers(std::vector<std::string_view>& texts) : texts_(texts), slots_(kFirstSlots) {}

  uint32_t of(std::string_view word) {
    if (2 * texts_.size() >= slots_.size()) grow();
    const uint64_t hash = hash_of(word);
    for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.number == kFree) {
        slot = {static_cast<uint32_t>(hash), static_cast<uint32_t>(texts_.size())};
        texts_.push_back(word);
        return slot.number;
      }
      if (slot.hash == static_cast<uint32_t>(hash) && texts_[slot.number] == word) return slot.number;
    }
  }

 private:
  static constexpr size_t kFirstSlots = 1024;
  static constexpr uint32_t kFree = ~0u;
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = kFree;
  };

  static uint64_t hash_of(std::string_view word) {
    uint64_t hash = word.size();
    const auto mix = [&](uint64_t bytes) {
      hash = (hash ^ bytes) * 0x9E3779B97F4A7C15ull;
      hash ^= hash >> 32;
    };
    for (; word.size() > 8; word.remove_prefix(8)) mix(load_text(word.data(), 8));
    mix(load_text(word.data(), word.size()));
    return hash;
  }
  // Of words that there are hardly 2^32 of, 32 bits of a hash place all.
  void grow() {
    std::vector<Slot> before(slots_.size() * 2);
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.number == kFree) continue;
      size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].number != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<std::string_view>& texts_;
  std::vector<Slot> slots_;  // a power of two of them, half of them free
};

}  // namespace

std::optional<Words> split_words(const Values& values, uint64_t most_distinct) {
  Words words;
  WordNumbers numbers(words.texts);
  words.row_starts.reserve(values.count + 1);
  for (uint64_t row = 0; row < values.count; ++row) {
    for (std::string_view left = values.string(row); !left.empty();) {
      const std::string_view word =
          left.substr(0, word_length(reinterpret_cast<const unsigned char*>(left.data()), left.size(),
                                     [](uint8_t byte) { return kInWord[byte]; }));
      left.remove_prefix(word.size());
      words.sequence.push_back(numbers.of(word));
    }
    if (words.texts.size() > most_distinct) return std::nullopt;
    words.row_starts.push_back(words.sequence.size());
  }
  return words;
}

}  // namespace basalt::tokens
