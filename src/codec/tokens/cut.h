// Rows cut into words, and words into the fewest ids: what encoders on the host and on the device share.
#pragma once

#include "basalt/core/host_device.h"
#include "codec/tokens/pair_map.h"

namespace basalt::tokens {

// Phrases of four words must fit an entry.
constexpr uint32_t kLongestWord = 60;
// Words that have a number of their own, alone or with up to three that follow.
constexpr uint32_t kLongestPhrase = 4;

// How often a run of words has to occur in the rows looked at, to become a phrase or part of one.
constexpr uint32_t kLeastCount = 3;

constexpr uint32_t kNoPhrase = PairSlots::kNone;

BASALT_HD constexpr bool in_word(uint8_t byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '\'' ||
         byte >= 0x80;
}

// Bytes of the word that a text begins with.
template <typename InWord>
BASALT_HD uint32_t word_length(const unsigned char* text, uint64_t length, const InWord& in) {
  const uint32_t most = length < kLongestWord ? static_cast<uint32_t>(length) : kLongestWord;
  uint32_t at = 0;
  while (at < most && in(text[at])) ++at;
  while (at < most && !in(text[at])) ++at;
  return at;
}

// A dictionary's phrases as a tree of words.
struct PhraseTree {
  const uint32_t* first;   // node of each word, or kNoPhrase
  PairSlots next;          // node and word → node
  const uint32_t* phrase;  // of each node, or kNoPhrase

  // The phrase of these words, which is one.
  BASALT_HD uint32_t find(const uint32_t* words, uint32_t length) const {
    uint32_t node = first[words[0]];
    for (uint32_t i = 1; i < length; ++i) node = next.find(node, words[i]);
    return phrase[node];
  }
  // Calls body(length, phrase) for each phrase that `left` words begin with, shortest first.
  template <typename Body>
  BASALT_HD void each(const uint32_t* words, uint64_t left, Body&& body) const {
    uint32_t node = first[words[0]];
    for (uint32_t length = 1; node != kNoPhrase; ++length) {
      if (phrase[node] != kNoPhrase) body(length, phrase[node]);
      if (length == kLongestPhrase || length == left) break;
      node = next.find(node, words[length]);
    }
  }
};

// The last step of the fewest ids that lead to a place between words.
struct Step {
  static constexpr uint32_t kLengthBits = 3;
  static constexpr uint32_t kSpelled = ~0u >> kLengthBits;

  uint32_t ids;     // to get here
  uint32_t choice;  // phrase and its length in words

  BASALT_HD static Step to(uint32_t ids, uint32_t phrase, uint32_t length) {
    return {ids, phrase << kLengthBits | length};
  }
  BASALT_HD uint32_t phrase() const { return choice >> kLengthBits; }  // or kSpelled
  BASALT_HD uint32_t length() const { return choice & ((1u << kLengthBits) - 1); }
};

// Finds steps[0…count] of a row of `count` words. spelled(word): ids of a word that is no phrase, 0 of one that is.
// each_phrase(i, body) calls body(length, phrase) for each phrase that begins at word i. Steps are looked at in order:
// once steps[i + kLongestPhrase] is, nothing asks for steps[i] again.
template <typename Spelled, typename EachPhrase, typename Steps>
BASALT_HD void find_steps(const uint32_t* words, uint64_t count, Spelled&& spelled, EachPhrase&& each_phrase,
                          Steps&& steps) {
  steps[0] = {0, 0};
  for (uint64_t i = 1; i < kLongestPhrase && i <= count; ++i) steps[i] = {~0u, 0};
  for (uint64_t i = 0; i < count; ++i) {
    if (i + kLongestPhrase <= count) steps[i + kLongestPhrase] = {~0u, 0};
    const uint32_t ids = steps[i].ids;
    const uint32_t letters = spelled(words[i]);
    if (letters > 0 && ids + letters < steps[i + 1].ids) steps[i + 1] = Step::to(ids + letters, Step::kSpelled, 1);
    each_phrase(i, [&](uint32_t length, uint32_t phrase) {
      if (ids + 1 < steps[i + length].ids) steps[i + length] = Step::to(ids + 1, phrase, length);
    });
  }
}

}  // namespace basalt::tokens
