// Strings of wanted rows out of the texts of several chunks, run on the CPU: rows that are texts or name them, NULLs,
// several columns at once, lists that are put together, and rows that have no text.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "cuda/query/gather_texts.h"
//
#include "cuda/emulated_warp.h"
//
#include "cuda/query/gather_texts.cu"

namespace basalt::test {
namespace {

using cuda::DeviceStrings;
using cuda::WantedRows;
using Strings = std::vector<std::optional<std::string>>;

// A chunk's rows as decoders leave them, and those of them that are wanted.
struct ChunkOfTexts {
  std::string bytes;
  std::vector<int64_t> offsets{0};
  std::vector<uint32_t> codes;
  std::vector<uint8_t> valid;
  std::vector<uint64_t> numbers;
  WantedRows rows;
  Strings wanted;

  void add(const std::string& text) {
    bytes += text;
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
};

constexpr uint64_t kFirstNumber = 4096;
constexpr uint64_t kAllBytes = ~uint64_t{0};

// `keep`: one row in so many.
void fill(std::mt19937& random, ChunkOfTexts& chunk, bool named, bool nulls, uint32_t keep) {
  const uint32_t rows = 1 + random() % 3000;
  const uint32_t texts = named ? 1 + random() % 20 : rows;
  std::vector<std::string> list;
  for (uint32_t i = 0; i < texts; ++i) {
    list.push_back(std::string(random() % 40, static_cast<char>('a' + random() % 26)));
    chunk.add(list.back());
  }
  for (uint32_t row = 0; row < rows; ++row) {
    if (named) chunk.codes.push_back(static_cast<uint32_t>(random() % texts));
    if (nulls) chunk.valid.push_back(static_cast<uint8_t>(random() % 3 == 0 ? 0 : 1));
    if (row > 0 && random() % keep != 0) continue;
    chunk.numbers.push_back(kFirstNumber + row);
    const bool there = !nulls || chunk.valid.back() != 0;
    chunk.wanted.push_back(there ? std::optional(list[named ? chunk.codes.back() : row]) : std::nullopt);
  }
  chunk.rows.rows.rows = rows;
  if (named) chunk.rows.rows.codes = chunk.codes.data();
  if (nulls) chunk.rows.rows.valid = chunk.valid.data();
  chunk.rows.texts = {reinterpret_cast<const uint64_t*>(chunk.bytes.data()), chunk.offsets.data(), 0};
  chunk.rows.text_count = texts;
  chunk.rows.numbers = chunk.numbers.data();
  chunk.rows.first_number = kFirstNumber;
  chunk.rows.count = chunk.numbers.size();
}

void expect_strings(const DeviceStrings& got, const Strings& wanted) {
  ASSERT_EQ(got.count, wanted.size());
  const auto* offsets = got.offsets.as<int64_t>();
  EXPECT_EQ(offsets[0], 0);
  EXPECT_EQ(static_cast<uint64_t>(offsets[got.count]), got.byte_count);
  for (uint64_t i = 0; i < got.count; ++i) {
    const std::string text(got.bytes.as<char>() + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
    ASSERT_EQ(text, wanted[i].value_or("")) << "row " << i;
  }
}

TEST(EmulatedGatherTexts, RowsOfSeveralChunksAndColumns) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    const size_t columns = 1 + random() % 4;
    std::vector<std::vector<ChunkOfTexts>> chunks(columns);
    std::vector<std::vector<uint8_t>> validity(columns);
    std::vector<WantedRows> asked;
    std::vector<uint64_t> ends;
    std::vector<Strings> wanted(columns);
    uint64_t before = 0;
    for (size_t column = 0; column < columns; ++column) {
      chunks[column].resize(1 + random() % 5);
      for (ChunkOfTexts& chunk : chunks[column]) {
        fill(random, chunk, random() % 2 == 0, random() % 2 == 0, 1 + random() % 10);
        chunk.rows.first = before;
        before += chunk.rows.count;
        wanted[column].insert(wanted[column].end(), chunk.wanted.begin(), chunk.wanted.end());
      }
      ends.push_back(before);
      validity[column].resize(wanted[column].size(), 9);
      uint8_t* valid = validity[column].data();
      for (ChunkOfTexts& chunk : chunks[column]) {
        chunk.rows.valid = valid;
        valid += chunk.rows.count;
        asked.push_back(chunk.rows);
      }
    }
    uint32_t fault = 0;
    const std::vector<DeviceStrings> got = cuda::gather_texts(asked, ends, &fault, kAllBytes, nullptr);
    ASSERT_EQ(got.size(), columns);
    Strings all;
    for (size_t column = 0; column < columns; ++column) {
      expect_strings(got[column], wanted[column]);
      for (size_t i = 0; i < wanted[column].size(); ++i) {
        ASSERT_EQ(validity[column][i], wanted[column][i] ? 1 : 0) << "column " << column << ", row " << i;
      }
      all.insert(all.end(), wanted[column].begin(), wanted[column].end());
    }
    expect_strings(cuda::join_texts(got, nullptr), all);
  }
}

TEST(EmulatedGatherTexts, RowsWithoutATextAreDamage) {
  const auto is_damage = [](const ChunkOfTexts& chunk, uint32_t fault) {
    try {
      cuda::gather_texts({chunk.rows}, {chunk.rows.count}, &fault, kAllBytes, nullptr);
    } catch (const Error& error) {
      return error.code() == ErrorCode::kCorrupt;
    }
    return false;
  };
  std::mt19937 random(4);
  ChunkOfTexts named;
  fill(random, named, true, false, 1);
  EXPECT_FALSE(is_damage(named, 0));
  EXPECT_TRUE(is_damage(named, 1));  // that decoders have seen
  named.codes.back() = static_cast<uint32_t>(named.rows.text_count);
  EXPECT_TRUE(is_damage(named, 0));
  ChunkOfTexts own;
  fill(random, own, false, true, 1);
  EXPECT_FALSE(is_damage(own, 0));
  own.numbers.back() = kFirstNumber + own.rows.rows.rows;
  EXPECT_TRUE(is_damage(own, 0));
}

TEST(EmulatedGatherTexts, NothingIsAListOfNothing) {
  uint32_t fault = 0;
  EXPECT_TRUE(cuda::gather_texts({}, {}, &fault, kAllBytes, nullptr).empty());
  std::mt19937 random(9);
  ChunkOfTexts chunk;
  fill(random, chunk, false, false, 1);
  EXPECT_THROW(cuda::gather_texts({chunk.rows}, {chunk.rows.count}, &fault, 100, nullptr), Error);
  expect_strings(cuda::join_texts({}, nullptr), {});
}

}  // namespace
}  // namespace basalt::test
