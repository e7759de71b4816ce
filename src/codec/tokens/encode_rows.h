// Rows of the device encoder, a thread each: their words, then the fewest ids they can be cut into.
#pragma once

#include "codec/strings/texts.h"
#include "codec/tokens/cut.h"

namespace basalt::tokens {

// Rows as words; in device memory.
struct WordWork {
  strings::Texts texts;
  uint32_t* counts;            // words of each row
  const uint64_t* row_starts;  // words before each row
  int64_t* word_offsets;       // where each word begins, as the texts' offsets do
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

BASALT_HD void place_words(const WordWork& work, uint64_t row) {
  const int64_t end = work.texts.offsets[row + 1];
  int64_t* to = work.word_offsets + work.row_starts[row];
  for (int64_t at = work.texts.offsets[row]; at < end; ++to) {
    *to = at;
    at += word_length(work.texts.bytes_at(at), static_cast<uint64_t>(end - at), InWord());
  }
}

// Words as ids; in device memory.
struct CutWork {
  PhraseTree tree;
  const uint32_t* spelled_starts;  // as Spelling has them
  const uint32_t* spelled_ids;
  const uint32_t* words;
  const uint64_t* row_starts;

  Step* steps;             // of row i from row_starts[i] + i on
  uint32_t* counts;        // ids of each row
  const uint64_t* places;  // ids before each row
  uint32_t* ids;
};

struct SpelledIds {
  const uint32_t* starts;
  BASALT_HD uint32_t operator()(uint32_t word) const { return starts[word + 1] - starts[word]; }
};

BASALT_HD void cut_row(const CutWork& work, uint64_t row) {
  const uint64_t first = work.row_starts[row];
  const uint64_t count = work.row_starts[row + 1] - first;
  Step* steps = work.steps + first + row;
  const uint32_t* words = work.words + first;
  const auto each_phrase = [&](uint64_t i, auto&& body) { work.tree.each(words + i, count - i, body); };
  find_steps(words, count, SpelledIds{work.spelled_starts}, each_phrase, steps);
  work.counts[row] = steps[count].ids;
}

BASALT_HD void write_row(const CutWork& work, uint64_t row) {
  const uint64_t first = work.row_starts[row];
  const Step* steps = work.steps + first + row;
  uint32_t* to = work.ids + work.places[row + 1];
  for (uint64_t i = work.row_starts[row + 1] - first; i > 0; i -= steps[i].length()) {
    if (steps[i].phrase() != Step::kSpelled) {
      *--to = steps[i].phrase();
      continue;
    }
    const uint32_t word = work.words[first + i - 1];
    for (uint32_t at = work.spelled_starts[word + 1]; at > work.spelled_starts[word]; --at) {
      *--to = work.spelled_ids[at - 1];
    }
  }
}

}  // namespace basalt::tokens
