// The entries of `tokens`: which words and phrases pay for their place, and rows in the fewest ids they allow.
#pragma once

#include <string>
#include <unordered_map>
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
  bool is_phrase(uint32_t word) const { return is_phrase_[word]; }
  const std::vector<Piece>& pieces(uint32_t word);

 private:
  // Longer parts of words are hardly ever words.
  static constexpr size_t kLongestPart = 12;

  const Words& words_;
  std::vector<bool> is_phrase_;
  std::unordered_map<std::string_view, uint32_t> parts_;
  std::vector<std::vector<Piece>> known_;  // per word; empty: not yet
};

// Cuts rows into the fewest ids.
class RowParser {
 public:
  RowParser(const Words& words, const std::vector<Phrase>& phrases)
      : words_(words), table_(phrases, words.texts.size()), speller_(words, phrases) {}
  // Good until the next call.
  const std::vector<Piece>& parse(uint64_t row);

 private:
  struct Step {
    uint64_t ids;  // to get here
    uint32_t length;
    uint32_t phrase;
  };
  const Words& words_;
  PhraseTable table_;
  Speller speller_;
  std::vector<Step> steps_;
  std::vector<Piece> pieces_;
};

// The phrases that make the ids and the entries smallest, judged by some of the rows. `scale`: how many rows each row
// stands for.
std::vector<Phrase> choose_phrases(const Words& words, double scale, Effort effort);

}  // namespace basalt::tokens
