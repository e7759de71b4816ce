// Rows of the device encoder, a thread each: their words, then the fewest ids they can be cut into.
#pragma once

#include "codec/strings/gpu/texts.h"
#include "codec/tokens/cut.h"

namespace basalt::tokens {

// Distinct words in a hash table, each by the first place where it occurs: byte << 6 | length. Numbers in the order in
// which words are met are the places' order.
struct WordSlots {
  static constexpr uint32_t kLengthBits = 6;
  static_assert(kLongestWord < 1u << kLengthBits);

  uint64_t* slots;
  uint32_t bits;

  BASALT_HD uint64_t count() const { return uint64_t{1} << bits; }
  BASALT_HD static uint64_t byte_of(uint64_t place) { return place >> kLengthBits; }
  BASALT_HD static uint32_t length_of(uint64_t place) {
    return static_cast<uint32_t>(place & ((1u << kLengthBits) - 1));
  }
};

// Rows as words; in device memory.
struct WordWork {
  strings::Texts texts;
  uint32_t* counts;            // words of each row
  const uint64_t* row_starts;  // words before each row
  uint32_t* sequence;          // the slot of each word
  WordSlots distinct;
  uint32_t* full;  // not 0: there was no slot for some word

  BASALT_HD strings::Text text_of(uint64_t place) const {
    const uint64_t byte = WordSlots::byte_of(place);
    return {texts.words + byte / 8, WordSlots::length_of(place), static_cast<uint32_t>(byte % 8 * 8)};
  }
  BASALT_HD bool are_equal(uint64_t a, uint64_t b) const {
    const strings::Text one = text_of(a);
    const strings::Text other = text_of(b);
    bool equal = one.length == other.length;
    for (uint64_t i = 0; equal && i < one.word_count(); ++i) equal = one.word(i) == other.word(i);
    return equal;
  }
};

struct InWord {
  BASALT_HD bool operator()(uint8_t byte) const { return in_word(byte); }
};

BASALT_HD void count_words(const WordWork& work, uint64_t row) {
  const int64_t end = work.texts.offsets[row + 1];
  uint32_t count = 0;
  for (int64_t at = work.texts.offsets[row]; at < end; ++count) {
    at += word_length(work.texts.bytes_at(at), static_cast<uint64_t>(end - at), InWord());
  }
  work.counts[row] = count;
}

// Hash tables that many threads fill at once: Atomics says how. claim(slot, value) writes to a slot that is free and
// returns what was there before, lower(to, value) leaves the smaller one there, add(to) adds one.
constexpr uint64_t kFreeSlot = ~uint64_t{0};
// Longer ways from slot to slot mean that a table is too small.
constexpr uint32_t kLongestWay = 256;

// The slot of the word at `place`.
template <typename Atomics>
BASALT_HD uint32_t find_word(const WordWork& work, uint64_t place) {
  const strings::Text text = work.text_of(place);
  const uint64_t hash = strings::finish_hash(strings::hash_words(text, 0, 1), text.length);
  for (uint32_t way = 0; way < kLongestWay; ++way) {
    const uint64_t at = (hash + way) & (work.distinct.count() - 1);
    uint64_t* slot = work.distinct.slots + at;
    uint64_t there = *slot;
    if (there == kFreeSlot) there = Atomics::claim(slot, place);
    if (there == kFreeSlot) return static_cast<uint32_t>(at);
    if (there != place && !work.are_equal(there, place)) continue;
    if (place < there) Atomics::lower(slot, place);
    return static_cast<uint32_t>(at);
  }
  *work.full = 1;
  return 0;
}
template <typename Atomics>
BASALT_HD void find_words(const WordWork& work, uint64_t row) {
  const int64_t end = work.texts.offsets[row + 1];
  uint32_t* to = work.sequence + work.row_starts[row];
  for (int64_t at = work.texts.offsets[row]; at < end && *work.full == 0; ++to) {
    const uint32_t length = word_length(work.texts.bytes_at(at), static_cast<uint64_t>(end - at), InWord());
    const auto byte = static_cast<uint64_t>(at - work.texts.first_byte);
    *to = find_word<Atomics>(work, byte << WordSlots::kLengthBits | length);
    at += length;
  }
}

// Runs of words in every `step`-th row, which are pairs of runs that are one word shorter; in device memory.
struct RunWork {
  static constexpr uint32_t kNone = ~0u;

  const uint32_t* words;
  const uint64_t* row_starts;
  uint64_t step;
  const uint64_t* starts;  // words in the rows looked at, before each of them
  uint32_t length;         // of the runs, two at least

  // What begins at each of these words, and how often it occurs: words themselves have no list.
  const uint32_t* shorter;
  const uint32_t* shorter_counts;

  // Slots of the runs, and those of each word.
  uint64_t* pairs;
  uint32_t* counts;
  uint32_t* firsts;  // where they begin first, among all words
  uint32_t bits;
  uint32_t* full;  // as in WordWork
  uint32_t* at;
};

template <typename Atomics>
BASALT_HD uint32_t find_run(const RunWork& work, uint64_t pair, uint32_t word) {
  for (uint32_t way = 0; way < kLongestWay; ++way) {
    const uint64_t slot = (strings::mix(pair) + way) & ((uint64_t{1} << work.bits) - 1);
    uint64_t there = work.pairs[slot];
    if (there == kFreeSlot) there = Atomics::claim(work.pairs + slot, pair);
    if (there != kFreeSlot && there != pair) continue;
    Atomics::add(work.counts + slot);
    if (word < work.firsts[slot]) Atomics::lower(work.firsts + slot, word);
    return static_cast<uint32_t>(slot);
  }
  *work.full = 1;
  return RunWork::kNone;
}
template <typename Atomics>
BASALT_HD void find_runs(const RunWork& work, uint64_t i) {
  const uint64_t first = work.row_starts[i * work.step];
  const uint64_t count = work.row_starts[i * work.step + 1] - first;
  const uint64_t start = work.starts[i];
  const auto shorter = [&](uint64_t k) {
    return work.shorter == nullptr ? work.words[first + k] : work.shorter[start + k];
  };
  const auto is_frequent = [&](uint32_t run) {
    return run != RunWork::kNone && work.shorter_counts[run] >= kLeastCount;
  };
  for (uint64_t k = 0; k < count; ++k) {
    uint32_t run = RunWork::kNone;
    if (k + work.length <= count && is_frequent(shorter(k)) && is_frequent(shorter(k + 1))) {
      run = find_run<Atomics>(work, PairSlots::key_of(shorter(k), shorter(k + 1)), static_cast<uint32_t>(first + k));
    }
    work.at[start + k] = run;
  }
}

// Words as ids; in device memory.
struct CutWork {
  PhraseTree tree;
  const uint32_t* spelled_starts;  // as Spelling has them
  const uint32_t* spelled_ids;
  const uint32_t* words;
  const uint64_t* row_starts;

  uint8_t* lengths;        // of the last step to the place behind each word, in words; 0: the word is spelled
  uint32_t* counts;        // ids of each row
  const uint64_t* places;  // ids before each row
  uint32_t* ids;
};

struct SpelledIds {
  const uint32_t* starts;
  BASALT_HD uint32_t operator()(uint32_t word) const { return starts[word + 1] - starts[word]; }
};

// The few steps that find_steps() looks at, of which lengths are kept: where a phrase begins and ends tells which it
// is.
struct KeptLengths {
  static constexpr uint32_t kRecent = 8;
  static_assert(kRecent > kLongestPhrase);

  Step recent[kRecent];
  BASALT_HD Step& operator[](uint64_t i) { return recent[i % kRecent]; }
  BASALT_HD uint8_t kept(uint64_t i) const {
    const Step& step = recent[i % kRecent];
    return step.phrase() == Step::kSpelled ? 0 : static_cast<uint8_t>(step.length());
  }
};

BASALT_HD void cut_row(const CutWork& work, uint64_t row) {
  const uint64_t first = work.row_starts[row];
  const uint64_t count = work.row_starts[row + 1] - first;
  const uint32_t* words = work.words + first;
  KeptLengths steps;
  // All that leads to a place is known once words from there on are looked at.
  const auto each_phrase = [&](uint64_t i, auto&& body) {
    if (i > 0) work.lengths[first + i - 1] = steps.kept(i);
    work.tree.each(words + i, count - i, body);
  };
  find_steps(words, count, SpelledIds{work.spelled_starts}, each_phrase, steps);
  if (count > 0) work.lengths[first + count - 1] = steps.kept(count);
  work.counts[row] = steps[count].ids;
}

BASALT_HD void write_row(const CutWork& work, uint64_t row) {
  const uint64_t first = work.row_starts[row];
  uint32_t* to = work.ids + work.places[row + 1];
  for (uint64_t i = work.row_starts[row + 1]; i > first;) {
    const uint32_t length = work.lengths[i - 1];
    if (length > 0) {
      i -= length;
      *--to = work.tree.find(work.words + i, length);
      continue;
    }
    const uint32_t word = work.words[--i];
    for (uint32_t at = work.spelled_starts[word + 1]; at > work.spelled_starts[word]; --at) {
      *--to = work.spelled_ids[at - 1];
    }
  }
}

}  // namespace basalt::tokens
