// The stages of a dictionary of strings that look at the strings, one row per thread; sorting and counting in between
// is left to device-wide primitives. Rows are sorted by hash; a row that differs from the one before is a candidate.
// Candidates are all distinct strings, and some of them twice where different strings have one hash: they are sorted by
// their bytes, which brings these together again. So hashes decide the time it takes and nothing else.
#pragma once

#include "codec/strings/gpu/texts.cuh"

namespace basalt::dict {

using strings::Text;
using strings::Texts;

__device__ __forceinline__ void hash_row(const Texts& texts, uint64_t count, uint64_t i, uint64_t* hashes,
                                         uint32_t* rows) {
  const uint64_t hash = strings::hash_text(i < count ? texts.at(i) : strings::no_text());
  if (i >= count) return;
  hashes[i] = hash;
  rows[i] = static_cast<uint32_t>(i);
}

// fresh[i] = 1 where the i-th of `rows` holds another string than the one before. Different hashes tell without a look;
// nullptr if there are none.
__device__ __forceinline__ void mark_fresh(const Texts& texts, const uint32_t* rows, const uint64_t* hashes,
                                           uint64_t count, uint64_t i, uint32_t* fresh) {
  const bool compare = i > 0 && i < count && (hashes == nullptr || hashes[i] == hashes[i - 1]);
  const Text own = compare ? texts.at(rows[i]) : strings::no_text();
  const Text before = compare ? texts.at(rows[i - 1]) : strings::no_text();
  const bool same = strings::are_equal(own, before, compare) && compare;
  if (i < count) fresh[i] = same ? 0 : 1;
}

// Lowers *words to the number of whole words that the i-th of `rows` begins with like the first: what all share need
// not be looked at in each comparison.
__device__ __forceinline__ void share_words(const Texts& texts, const uint32_t* rows, uint64_t count, uint64_t i,
                                            unsigned long long* words) {
  const unsigned long long known = *static_cast<volatile unsigned long long*>(words);
  const Text own = i < count ? texts.at(rows[i]) : strings::no_text();
  const Text first = i < count ? texts.at(rows[0]) : strings::no_text();
  const uint64_t both = strings::smaller(strings::smaller(own.whole_words(), first.whole_words()), known);
  const uint64_t shared = strings::first_difference(own, first, both);
  const uint64_t fewest =
      device::join_lanes(i < count ? shared : known, [](uint64_t a, uint64_t b) { return a < b ? a : b; });
  if (device::lane_id() == 0 && fewest < known) atomicMin(words, static_cast<unsigned long long>(fewest));
}

// What candidates are sorted by: the first word that not all share, then the string itself.
struct Candidate {
  uint64_t order_word;
  uint32_t row;
  uint32_t number;  // before sorting
};

BASALT_HD Candidate make_candidate(const Texts& texts, uint32_t row, uint32_t number, uint64_t shared_words) {
  return {strings::order_word(texts.at(row), shared_words), row, number};
}

struct CandidateOrder {
  Texts texts;
  const unsigned long long* shared_words;

  BASALT_HD bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.order_word != b.order_word) return a.order_word < b.order_word;
    return strings::is_less(texts.at(a.row), texts.at(b.row), *shared_words);
  }
};

}  // namespace basalt::dict
