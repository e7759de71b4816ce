// The table that tells strings apart on the device, run on the CPU: equal strings get one number whatever their hashes,
// and pieces of strings sort as the strings do.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>

#include "cuda/string_arrays.h"
//
#include "cuda/emulated_warp.h"
//
#include "cuda/query/text_pieces.h"
#include "cuda/query/text_table.cuh"

namespace basalt::test {
namespace {

// Texts one behind the other, as the device has them.
struct LaidTexts {
  std::vector<uint64_t> words;
  std::vector<int64_t> offsets{0};

  explicit LaidTexts(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) {
      all += text;
      offsets.push_back(static_cast<int64_t>(all.size()));
    }
    words.assign(all.size() / 8 + 3, 0xA5A5A5A5A5A5A5A5ull);
    std::memcpy(words.data(), all.data(), all.size());
  }
  strings::Texts view() const { return {words.data(), offsets.data(), 0}; }
};

// Numbers as the table gives them: `known` are in the pool already.
std::vector<uint32_t> number_texts(const std::vector<std::string>& known, const std::vector<std::string>& texts) {
  const LaidTexts pool(known);
  const LaidTexts added(texts);
  std::vector<cuda::TextPlace> places;
  for (size_t i = 0; i < texts.size(); ++i) {
    places.push_back({reinterpret_cast<uint64_t>(added.view().bytes(i)), texts[i].size()});
  }
  std::vector<uint64_t> slots(std::bit_ceil(2 * (known.size() + texts.size())), 0);
  const cuda::TextTable table{slots.data(), slots.size() - 1};
  const cuda::NumberedTexts all{pool.view(), known.size(), places.data()};
  for (uint64_t first = 0; first < known.size(); first += kLanes) {
    EmulatedWarp::run([&] {
      const uint64_t i = first + threadIdx.x;
      const uint64_t hash = strings::hash_text(i < known.size() ? pool.view().at(i) : strings::no_text());
      if (i < known.size()) cuda::add_distinct(table, hash, static_cast<uint32_t>(i));
    });
  }
  std::vector<uint32_t> found(texts.size());
  for (uint64_t first = 0; first < texts.size(); first += kLanes) {
    EmulatedWarp::run([&] {
      const uint64_t i = first + threadIdx.x;
      const bool active = i < texts.size();
      const uint64_t hash = strings::hash_text(active ? places[i].text() : strings::no_text());
      const auto number = static_cast<uint32_t>(known.size() + i);
      const uint32_t same = cuda::find_or_add(table, all, hash, number, active);
      if (active) found[i] = same;
    });
  }
  return found;
}

void expect_numbers(const std::vector<std::string>& known, const std::vector<std::string>& texts) {
  const std::vector<uint32_t> numbers = number_texts(known, texts);
  const auto text_of = [&](uint32_t number) {
    return number < known.size() ? known[number] : texts.at(number - known.size());
  };
  std::map<std::string, uint32_t> numbered;
  for (uint32_t i = 0; i < known.size(); ++i) numbered.emplace(known[i], i);
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(text_of(numbers[i]), texts[i]) << "row " << i;
    ASSERT_EQ(numbered.emplace(texts[i], numbers[i]).first->second, numbers[i]) << "row " << i;
  }
}

TEST(EmulatedTextTable, EqualStringsHaveOneNumber) {
  expect_numbers({}, {});
  expect_numbers({}, {"", "a", "", std::string(1, '\0'), "a"});
  expect_numbers(
      {"a", ""},
      pick({"", "a", "b", std::string("a\0", 2), std::string(5000, 'x'), std::string(5000, 'x') + "y"}, 500, 1));
  expect_numbers({"http://a/1"}, pick(random_texts(300, 40, 2, "http://a/", '0', 3), 1000, 3));
}

TEST(EmulatedTextTable, EqualHashesAreNotEqualStrings) { expect_numbers({}, pick(colliding_texts(100, 4), 400, 5)); }

TEST(TextPieces, SortAsStringsDo) {
  std::vector<std::string> texts = random_texts(300, 20, 6, "", '\0', 3);
  for (const std::string& text : random_texts(300, 30, 7, "prefix", 'a', 2)) texts.push_back(text);
  texts.insert(texts.end(), {"", std::string(1, '\0'), "a", std::string(7, 'a'), std::string(8, 'a'), "\xFF\xFF"});
  const LaidTexts laid(texts);
  for (size_t a = 0; a < texts.size(); ++a) {
    for (size_t b = 0; b < texts.size(); ++b) {
      int order = 0;
      for (uint64_t skip = 0; order == 0 && skip <= std::max(texts[a].size(), texts[b].size());
           skip += cuda::kPieceBytes) {
        const uint64_t piece_a = cuda::piece_of(laid.view().at(a), skip);
        const uint64_t piece_b = cuda::piece_of(laid.view().at(b), skip);
        order = piece_a < piece_b ? -1 : piece_a > piece_b ? 1 : 0;
      }
      const int expected = texts[a].compare(texts[b]);
      ASSERT_EQ(order, expected < 0 ? -1 : expected > 0 ? 1 : 0) << a << " and " << b;
    }
  }
}

}  // namespace
}  // namespace basalt::test
