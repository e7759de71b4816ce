// The entries of `tokens`: which words and phrases pay for their place, and rows in the fewest ids they allow.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/tokens/cut.h"
#include "codec/tokens/words.h"

namespace basalt::tokens {

struct Phrase {
  uint32_t words[kLongestPhrase] = {};
  uint32_t length = 0;
  uint64_t count = 0;  // how often it occurs, overlapping others
};

// Finds the phrases of a dictionary at every place of a row.
class PhraseTable {
 public:
  PhraseTable(const std::vector<Phrase>& phrases, uint64_t words);

  PhraseTree view() const { return {first_.data(), next_.view(), phrase_.data()}; }
  // For those who make a copy elsewhere.
  const std::vector<uint32_t>& first() const { return first_; }
  const PairMap& next() const { return next_; }
  const std::vector<uint32_t>& phrase() const { return phrase_; }

 private:
  uint32_t add_node();

  std::vector<uint32_t> first_;
  PairMap next_;
  std::vector<uint32_t> phrase_;
};

// What one id stands for: a phrase, or a single byte.
struct Piece {
  uint32_t phrase = kNoPhrase;
  uint8_t byte = 0;

  // Phrases have the first numbers, bytes the next.
  uint32_t id(size_t phrases) const { return phrase == kNoPhrase ? static_cast<uint32_t>(phrases) + byte : phrase; }
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

// The ids, as Piece::id() has them, of every word that is no phrase of its own, one word after the other.
struct Spelling {
  std::vector<uint32_t> starts;  // one more than words; a phrase has none
  std::vector<uint32_t> ids;
};
// Of words in every `step`-th row; others have none either.
Spelling spell_words(const Words& words, const std::vector<Phrase>& phrases, uint64_t step = 1);

// Cuts rows into the fewest ids.
class RowParser {
 public:
  RowParser(const Words& words, const std::vector<Phrase>& phrases)
      : words_(words), table_(phrases, words.texts.size()), speller_(words, phrases) {}
  // Good until the next call.
  const std::vector<Piece>& parse(uint64_t row);

 private:
  const Words& words_;
  PhraseTable table_;
  Speller speller_;
  std::vector<Step> steps_;
  std::vector<Piece> pieces_;
};

// What every `step`-th row is cut into with some phrases.
struct Uses {
  uint64_t ids = 0;
  std::vector<uint64_t> counts;  // of each phrase
};
using CountUses = std::function<Uses(const std::vector<Phrase>& phrases, uint64_t step)>;

// The phrases that make the ids and the entries smallest, judged by some of the rows. `scale`: how many rows each row
// stands for. Most of the time goes into counting uses, which may be done elsewhere.
std::vector<Phrase> choose_phrases(const Words& words, double scale, Effort effort, const CountUses& count_uses);
std::vector<Phrase> choose_phrases(const Words& words, double scale, Effort effort);

}  // namespace basalt::tokens
