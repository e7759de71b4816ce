// The stages of the device encoder of string dictionaries, run on the CPU with the standard library's sorts between
// them: codes and entries are those of the CPU encoder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "codec/dict/distinct.h"
#include "cuda/string_arrays.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/dict/gpu/encode_texts.cuh"

namespace basalt::test {
namespace {

// Values with their bytes where words can be read.
class AlignedTexts {
 public:
  explicit AlignedTexts(const Values& values) {
    if (values.count == 0) return;
    const auto bytes = static_cast<size_t>(values.offsets[values.count] - values.offsets[0]);
    words_.assign(bytes / 8 + 2, 0xA5A5A5A5A5A5A5A5ull);
    std::memcpy(words_.data(), values.bytes + values.offsets[0], bytes);
    texts_ = {words_.data(), values.offsets, values.offsets[0]};
  }
  const strings::Texts& operator*() const { return texts_; }

 private:
  std::vector<uint64_t> words_;
  strings::Texts texts_{};
};

void each_row_of_warps(uint64_t count, const std::function<void(uint64_t)>& body) {
  for (uint64_t first = 0; first < count; first += kLanes) {
    EmulatedWarp::run([&] { body(first + threadIdx.x); });
  }
}

struct EmulatedDictionary {
  std::vector<uint32_t> codes;
  std::vector<uint32_t> entries;  // rows
  size_t candidates = 0;

  explicit EmulatedDictionary(const Values& values) : codes(values.count) {
    const AlignedTexts aligned(values);
    const strings::Texts& texts = *aligned;
    std::vector<uint64_t> hashes(values.count);
    std::vector<uint32_t> rows(values.count);
    each_row_of_warps(values.count,
                      [&](uint64_t i) { dict::hash_row(texts, values.count, i, hashes.data(), rows.data()); });
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return hashes[a] < hashes[b]; });
    std::sort(hashes.begin(), hashes.end());
    const std::vector<uint32_t> candidate_of = cut(texts, rows, hashes.data());
    const std::vector<uint32_t> firsts = first_rows(rows, candidate_of);
    candidates = firsts.size();

    unsigned long long shared_words = ~0ull;
    each_row_of_warps(candidates,
                      [&](uint64_t i) { dict::share_words(texts, firsts.data(), firsts.size(), i, &shared_words); });
    std::vector<dict::Candidate> items;
    for (uint32_t i = 0; i < candidates; ++i) {
      items.push_back(dict::make_candidate(texts, firsts[i], i, shared_words));
    }
    std::stable_sort(items.begin(), items.end(), dict::CandidateOrder{texts, &shared_words});
    std::vector<uint32_t> sorted;
    for (const dict::Candidate& item : items) sorted.push_back(item.row);
    const std::vector<uint32_t> entry_of = cut(texts, sorted, nullptr);
    entries = first_rows(sorted, entry_of);
    std::vector<uint32_t> ranks(candidates);
    for (size_t i = 0; i < candidates; ++i) ranks[items[i].number] = entry_of[i] - 1;
    for (size_t i = 0; i < rows.size(); ++i) codes[rows[i]] = ranks[candidate_of[i] - 1];
  }

 private:
  // The group of each place, from 1.
  static std::vector<uint32_t> cut(const strings::Texts& texts, const std::vector<uint32_t>& rows,
                                   const uint64_t* hashes) {
    std::vector<uint32_t> fresh(rows.size(), 7);
    each_row_of_warps(rows.size(),
                      [&](uint64_t i) { dict::mark_fresh(texts, rows.data(), hashes, rows.size(), i, fresh.data()); });
    std::partial_sum(fresh.begin(), fresh.end(), fresh.begin());
    return fresh;
  }
  static std::vector<uint32_t> first_rows(const std::vector<uint32_t>& rows, const std::vector<uint32_t>& group) {
    std::vector<uint32_t> out;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (group[i] == out.size() + 1) out.push_back(rows[i]);
    }
    return out;
  }
};

TEST(EmulatedStringDict, CodesAndEntriesAreThoseOfTheCpu) {
  for (const StringCase& test : string_cases()) {
    const Values& values = test.array.values;
    const auto expected = *distinct_strings(values);
    const EmulatedDictionary got(values);
    EXPECT_EQ(got.codes, expected.codes) << test.name;
    ASSERT_EQ(got.entries.size(), expected.entries.size()) << test.name;
    for (size_t i = 0; i < got.entries.size(); ++i) {
      EXPECT_EQ(values.string(got.entries[i]), expected.entries[i]) << test.name << ", entry " << i;
    }
  }
}

TEST(EmulatedStringDict, EqualHashesCostTimeOnly) {
  const std::vector<std::string> texts = colliding_texts(12, 5);
  const testing::Array array = make_texts(pick(texts, 300, 6));
  const AlignedTexts aligned(array.values);
  std::vector<uint64_t> hashes(array.values.count);
  std::vector<uint32_t> rows(array.values.count);
  each_row_of_warps(array.values.count,
                    [&](uint64_t i) { dict::hash_row(*aligned, array.values.count, i, hashes.data(), rows.data()); });
  EXPECT_EQ(std::count(hashes.begin(), hashes.end(), hashes[0]), 300);
  const EmulatedDictionary got(array.values);
  EXPECT_GT(got.candidates, 200u);
  EXPECT_EQ(got.entries.size(), 12u);
}

TEST(EmulatedStringDict, OtherStringsHaveOtherHashes) {
  // Lengths, places and single bits all count, whether a lane or its warp reads the string.
  std::vector<std::string> texts;
  for (size_t length = 0; length < 700; length += length < 40 ? 1 : 97) {
    texts.push_back(std::string(length, '\0'));
    for (size_t at = 0; at < length; at += length < 40 ? 1 : 61) {
      texts.push_back(std::string(length, '\0'));
      texts.back()[at] = '\x01';
    }
  }
  const testing::Array array = make_texts(texts);
  EXPECT_EQ(EmulatedDictionary(array.values).candidates, texts.size());
  const AlignedTexts aligned(array.values);
  std::vector<uint64_t> hashes(texts.size());
  std::vector<uint32_t> rows(texts.size());
  each_row_of_warps(texts.size(),
                    [&](uint64_t i) { dict::hash_row(*aligned, texts.size(), i, hashes.data(), rows.data()); });
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

// The same string at every position of a word: as a lane reads it and as a warp does.
TEST(EmulatedStringDict, PlacesInMemoryDoNotMatter) {
  for (const size_t length : {1, 8, 31, 256, 257, 900, 3000}) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < 40; ++i) {
      texts.push_back(std::string(i % 9, 'z'));  // moves what follows
      texts.push_back(std::string(length - 1, 'k') + 'e');
    }
    const testing::Array array = make_texts(texts);
    const EmulatedDictionary got(array.values);
    EXPECT_EQ(got.entries.size(), got.candidates) << length;
    EXPECT_EQ(got.codes, distinct_strings(array.values)->codes) << length;
  }
}

}  // namespace
}  // namespace basalt::test
