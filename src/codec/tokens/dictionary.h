// The entries of `tokens`: which words and phrases pay for their place, and rows in the fewest ids they allow.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
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
    const auto spelled = [&](uint32_t word) {
      return speller_.is_phrase(word) ? 0 : static_cast<uint32_t>(speller_.pieces(word).size());
    };
    find_steps(words, count, spelled, each_phrase, steps_.data());
    count_ = count;
  }
  // Of the last row: calls body(phrase, word), from the last one to the first; phrase kNoPhrase: the word is spelled.
  template <typename Body>
  void each_from_end(const uint32_t* words, Body&& body) const {
    for (uint32_t i = count_; i > 0; i -= steps_[i].length()) {
      body(steps_[i].phrase() == Step::kSpelled ? kNoPhrase : steps_[i].phrase(), words[i - 1]);
    }
  }
  uint32_t ids() const { return steps_[count_].ids; }

 private:
  Speller& speller_;
  std::vector<Step> steps_;
  uint32_t count_ = 0;
};

// The ids, as Piece::id() has them, of every word that is no phrase of its own, one word after the other.
struct Spelling {
  std::vector<uint32_t> starts;  // one more than words; a phrase has none
  std::vector<uint32_t> ids;
};
// Of words in every `step`-th row at least; others may have none either.
Spelling spell_words(const Words& words, const std::vector<Phrase>& phrases, uint64_t step = 1);

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

// What every `step`-th row is cut into with some phrases.
struct Uses {
  uint64_t ids = 0;
  std::vector<uint64_t> counts;  // of each phrase
};
// What passes over rows, which may be done elsewhere.
struct RowPasses {
  std::function<Uses(const std::vector<Phrase>& phrases, uint64_t step)> count_uses;
  // As candidates() finds them.
  std::function<std::vector<Phrase>(uint64_t step)> find_candidates;
};

// What an id takes: as many bits as the others, or as many as its frequency is worth (`ans`), where there are few
// enough entries for that.
enum class IdBits : uint8_t { kEqual, kEntropy };
// Under the tree that ids have: which entries are worth their place depends on it.
IdBits id_bits_under(const Tree& ids);

// Runs of up to four words in every `step`-th row that may become phrases: all single words, by number, then longer
// ones that occur kLeastCount times, shorter ones first, of equal length in the order in which they are met.
std::vector<Phrase> candidates(const Words& words, uint64_t step);

// The phrases that make the ids and the entries smallest, judged by some of the rows. `scale`: how many rows each row
// stands for. Most of the time goes into passes over rows.
std::vector<Phrase> choose_phrases(const Words& words, double scale, Effort effort, IdBits id_bits = IdBits::kEqual,
                                   const RowPasses* elsewhere = nullptr);

}  // namespace basalt::tokens
