// The entries of `tokens`: which words and phrases pay for their place, and rows in the fewest ids they allow.
#pragma once

#include <string>
#include <vector>

#include "codec/tokens/pair_map.h"
#include "codec/tokens/words.h"

namespace basalt::tokens {

// Words that have a number of their own, alone or with up to three that follow.
constexpr uint32_t kLongestPhrase = 4;

struct Phrase {
  uint32_t words[kLongestPhrase] = {};
  uint32_t length = 0;
  uint64_t count = 0;  // how often it occurs, overlapping others
};

// Finds the phrases of a dictionary at every place of a row.
class PhraseTable {
 public:
  static constexpr uint32_t kNone = PairMap::kNone;

  PhraseTable(const std::vector<Phrase>& phrases, uint64_t words);

  // Calls body(length, phrase) for each phrase that begins at `words`, of which `left` follow in the row.
  template <typename Body>
  void each(const uint32_t* words, uint64_t left, Body&& body) const {
    uint32_t node = first_[words[0]];
    for (uint32_t length = 1; node != kNone; ++length) {
      if (phrase_[node] != kNone) body(length, phrase_[node]);
      if (length == kLongestPhrase || length == left) break;
      node = next_.find(node, words[length]);
    }
  }

 private:
  uint32_t add_node();

  std::vector<uint32_t> first_;   // node of each word
  PairMap next_;                  // node and word → node
  std::vector<uint32_t> phrase_;  // of each node
};

// What one id stands for: a phrase, or a single byte.
struct Piece {
  uint32_t phrase = PhraseTable::kNone;
  uint8_t byte = 0;
};

// Words without a phrase of their own in the fewest pieces: other words that are part of them, and bytes.
class Speller {
 public:
  Speller(const Words& words, const std::vector<Phrase>& phrases);
  bool is_phrase(uint32_t word) const { return is_phrase_[word] != 0; }
  const std::vector<Piece>& pieces(uint32_t word) {
    if (known_[word].empty()) spell(word);
    return known_[word];
  }

 private:
  // Longer parts of words are hardly ever words.
  static constexpr uint32_t kLongestPart = 12;
  struct Part {
    uint64_t low = 0;   // eight bytes
    uint64_t high = 0;  // the others, and their number << 32; 0: none
    uint32_t phrase = 0;
  };

  static Part part_of(std::string_view text);
  size_t place(const Part& part) const;
  void spell(uint32_t word);

  const Words& words_;
  std::vector<uint8_t> is_phrase_;
  std::vector<Part> parts_;                // a power of two of them, half of them free
  std::vector<std::vector<Piece>> known_;  // per word; empty: not yet
};

// The fewest ids of one row after the other, from whatever finds phrases.
class FewestIds {
 public:
  explicit FewestIds(Speller& speller) : speller_(speller) {}

  // each_phrase(i, body) calls body(length, phrase) for each phrase that begins at word i of the row.
  template <typename EachPhrase>
  void find(const uint32_t* words, uint32_t count, EachPhrase&& each_phrase) {
    if (steps_.size() <= count) steps_.resize(2 * count + 16);
    for (uint32_t i = 0; i <= count; ++i) steps_[i].ids = ~0u;
    steps_[0].ids = 0;
    const auto reach = [&](uint32_t to, uint32_t ids, uint32_t length, uint32_t phrase) {
      if (ids < steps_[to].ids) steps_[to] = {ids, length, phrase};
    };
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t ids = steps_[i].ids;
      if (!speller_.is_phrase(words[i])) {
        reach(i + 1, ids + static_cast<uint32_t>(speller_.pieces(words[i]).size()), 1, PhraseTable::kNone);
      }
      each_phrase(i, [&](uint32_t length, uint32_t phrase) { reach(i + length, ids + 1, length, phrase); });
    }
    count_ = count;
  }
  // Of the last row: calls body(phrase, word), from the last one to the first; phrase kNone: the word is spelled.
  template <typename Body>
  void each_from_end(const uint32_t* words, Body&& body) const {
    for (uint32_t i = count_; i > 0; i -= steps_[i].length) body(steps_[i].phrase, words[i - 1]);
  }
  uint32_t ids() const { return steps_[count_].ids; }

 private:
  struct Step {
    uint32_t ids;  // to get here
    uint32_t length;
    uint32_t phrase;
  };
  Speller& speller_;
  std::vector<Step> steps_;
  uint32_t count_ = 0;
};

// Cuts rows into the fewest ids.
class RowParser {
 public:
  RowParser(const Words& words, const std::vector<Phrase>& phrases)
      : words_(words), table_(phrases, words.texts.size()), speller_(words, phrases), fewest_(speller_) {}
  // Good until the next call.
  const std::vector<Piece>& parse(uint64_t row);

 private:
  const Words& words_;
  PhraseTable table_;
  Speller speller_;
  FewestIds fewest_;
  std::vector<Piece> pieces_;
};

// The phrases that make the ids and the entries smallest, judged by some of the rows. `scale`: how many rows each row
// stands for.
std::vector<Phrase> choose_phrases(const Words& words, double scale, Effort effort);

}  // namespace basalt::tokens
