// The device encoder of words by number, run on the CPU: a thread's rows have the words and the ids that the CPU's
// encoder cuts them into.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codec/fsst_texts.h"
#include "codec/tokens/dictionary.h"
#include "codec/tokens/gpu/encode_rows.h"

namespace basalt::test {
namespace {

using testing::make_texts;
using testing::text_cases;
using testing::TextCase;

template <typename T>
std::vector<uint64_t> sums_of(const std::vector<T>& sizes) {
  std::vector<uint64_t> out{0};
  for (const T size : sizes) out.push_back(out.back() + size);
  return out;
}

struct OneThread {
  static uint64_t claim(uint64_t* slot, uint64_t value) {
    const uint64_t before = *slot;
    if (before == tokens::kFreeSlot) *slot = value;
    return before;
  }
  template <typename T>
  static void lower(T* to, T value) {
    *to = std::min(*to, value);
  }
  static void add(uint32_t* to) { ++*to; }
};

void expect_same_words(const testing::Array& array, const tokens::Words& words) {
  const uint64_t rows = array.values.count;
  std::vector<uint64_t> text((array.bytes.size() + 15) / 8);
  std::copy(array.bytes.begin(), array.bytes.end(), reinterpret_cast<char*>(text.data()));
  std::vector<uint32_t> counts(rows);
  tokens::WordWork work{};
  work.texts = {text.data(), array.values.offsets, 0};
  work.counts = counts.data();
  for (uint64_t row = 0; row < rows; ++row) tokens::count_words(work, row);
  const std::vector<uint64_t> row_starts = sums_of(counts);
  ASSERT_EQ(row_starts, words.row_starts);
  std::vector<uint32_t> sequence(row_starts.back(), ~0u);
  work.row_starts = row_starts.data();
  work.sequence = sequence.data();
  uint32_t full = 0;
  work.full = &full;
  std::vector<uint64_t> slots;
  // The last row first: places must be those of the first of equal words in any case.
  const auto find_all = [&](uint32_t bits) {
    slots.assign(size_t{1} << bits, tokens::kFreeSlot);
    work.distinct = {slots.data(), bits};
    full = 0;
    for (uint64_t row = rows; row-- > 0;) tokens::find_words<OneThread>(work, row);
  };
  find_all(4);
  EXPECT_EQ(full != 0, words.texts.size() > slots.size());
  find_all(18);
  ASSERT_EQ(full, 0u);
  std::vector<uint64_t> places;
  for (const uint64_t place : slots) {
    if (place != tokens::kFreeSlot) places.push_back(place);
  }
  std::sort(places.begin(), places.end());
  ASSERT_EQ(places.size(), words.texts.size());
  for (uint64_t i = 0; i < words.sequence.size(); ++i) {
    const uint64_t place = places[words.sequence[i]];
    ASSERT_EQ(slots[sequence[i]], place) << "word " << i;
    ASSERT_EQ(
        std::string_view(array.values.bytes + tokens::WordSlots::byte_of(place), tokens::WordSlots::length_of(place)),
        words.texts[words.sequence[i]]);
  }
}

// Every `step`-th row is cut.
void expect_same_ids(const tokens::Words& words, const std::vector<tokens::Phrase>& phrases, uint64_t step) {
  const tokens::PhraseTable table(phrases, words.texts.size());
  const tokens::Spelling spelling = tokens::spell_words(words, phrases, step);
  std::vector<uint8_t> lengths(words.sequence.size());
  std::vector<uint32_t> counts(words.rows());
  tokens::CutWork work{};
  work.tree = table.view();
  work.spelled_starts = spelling.starts.data();
  work.spelled_ids = spelling.ids.data();
  work.words = words.sequence.data();
  work.row_starts = words.row_starts.data();
  work.lengths = lengths.data();
  work.counts = counts.data();
  for (uint64_t row = 0; row < words.rows(); row += step) tokens::cut_row(work, row);
  const std::vector<uint64_t> places = sums_of(counts);
  std::vector<uint32_t> ids(places.back(), ~0u);
  work.places = places.data();
  work.ids = ids.data();
  for (uint64_t row = 0; row < words.rows(); row += step) tokens::write_row(work, row);
  tokens::RowParser parser(words, phrases);
  for (uint64_t row = 0; row < words.rows(); row += step) {
    std::vector<uint32_t> expected;
    for (const tokens::Piece& piece : parser.parse(row)) expected.push_back(piece.id(phrases.size()));
    ASSERT_EQ(std::vector<uint32_t>(ids.begin() + static_cast<ptrdiff_t>(places[row]),
                                    ids.begin() + static_cast<ptrdiff_t>(places[row + 1])),
              expected)
        << "row " << row;
  }
}

using Run = std::pair<std::vector<uint32_t>, uint64_t>;  // words, and how often they occur

void expect_same_candidates(const tokens::Words& words, uint64_t step) {
  const uint64_t rows = (words.rows() + step - 1) / step;
  std::vector<uint64_t> sizes;
  std::vector<uint32_t> shorter_counts(words.texts.size());
  for (uint64_t row = 0; row < words.rows(); row += step) {
    sizes.push_back(words.row_starts[row + 1] - words.row_starts[row]);
    for (uint64_t i = words.row_starts[row]; i < words.row_starts[row + 1]; ++i) ++shorter_counts[words.sequence[i]];
  }
  const std::vector<uint64_t> starts = sums_of(sizes);
  std::vector<Run> got;
  for (uint32_t word = 0; word < shorter_counts.size(); ++word) {
    if (shorter_counts[word] != 0) got.push_back({{word}, shorter_counts[word]});
  }
  constexpr uint32_t kBits = 18;
  uint32_t full = 0;
  std::vector<uint32_t> shorter;
  tokens::RunWork work{};
  work.words = words.sequence.data();
  work.row_starts = words.row_starts.data();
  work.step = step;
  work.starts = starts.data();
  work.bits = kBits;
  work.full = &full;
  for (work.length = 2; work.length <= tokens::kLongestPhrase; ++work.length) {
    std::vector<uint64_t> pairs(1 << kBits, tokens::kFreeSlot);
    std::vector<uint32_t> counts(1 << kBits), firsts(1 << kBits, ~0u), at(starts.back());
    work.shorter = work.length == 2 ? nullptr : shorter.data();
    work.shorter_counts = shorter_counts.data();
    work.pairs = pairs.data();
    work.counts = counts.data();
    work.firsts = firsts.data();
    work.at = at.data();
    for (uint64_t i = rows; i-- > 0;) tokens::find_runs<OneThread>(work, i);
    ASSERT_EQ(full, 0u);
    std::vector<std::pair<uint32_t, Run>> found;
    for (uint32_t slot = 0; slot < counts.size(); ++slot) {
      if (counts[slot] < tokens::kLeastCount) continue;
      const auto first = words.sequence.begin() + firsts[slot];
      found.push_back({firsts[slot], {{first, first + work.length}, counts[slot]}});
    }
    std::sort(found.begin(), found.end());
    for (const auto& one : found) got.push_back(one.second);
    shorter = std::move(at);
    shorter_counts = std::move(counts);
  }
  std::vector<Run> expected;
  for (const tokens::Phrase& phrase : tokens::candidates(words, step)) {
    expected.push_back({{phrase.words, phrase.words + phrase.length}, phrase.count});
  }
  ASSERT_EQ(got, expected);
}

TEST(EmulatedTokensEncoder, WordsAndIdsAreThoseOfTheCpu) {
  for (const TextCase& one : text_cases()) {
    SCOPED_TRACE(one.name);
    const testing::Array array = make_texts(one.texts);
    const tokens::Words words = *tokens::split_words(array.values, ~uint64_t{0});
    expect_same_words(array, words);
    for (const uint64_t step : {1, 5}) expect_same_candidates(words, step);
    for (const Effort effort : {Effort::kFast, Effort::kBalanced}) {
      const std::vector<tokens::Phrase> phrases = tokens::choose_phrases(words, 1.0, effort);
      for (const uint64_t step : {1, 7}) expect_same_ids(words, phrases, step);
    }
    expect_same_ids(words, {}, 1);
  }
}

}  // namespace
}  // namespace basalt::test
