// What every reader of fixed-width values must give back: tiles, single rows, answers to questions about tiles.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "codec/arrays.h"
#include "core/dispatch.h"
#include "core/float_key.h"

namespace basalt::testing {

// Floats by their keys.
inline std::vector<int128_t> as_numbers(const Values& values, uint64_t first, uint64_t rows) {
  std::vector<int128_t> numbers(rows);
  dispatch_typed(values.type, [&](auto tag) {
    using T = decltype(tag);
    for (uint64_t i = 0; i < rows; ++i) {
      T value;
      std::memcpy(&value, values.as<T>() + first + i, sizeof(T));
      if constexpr (std::is_floating_point_v<T>) {
        numbers[i] = float_key(value);
      } else {
        numbers[i] = static_cast<int128_t>(value);
      }
    }
  });
  return numbers;
}

// Ranges that end at, just before and just behind values of the tile, at the ends of the type, and nowhere. Returns how
// often each kind of answer was given.
inline std::vector<uint32_t> check_ranges(Reader& reader, const Values& values) {
  std::vector<uint32_t> answers(static_cast<size_t>(Answered::kNot) + 1);
  std::mt19937_64 random(values.count);
  constexpr int128_t kFar = int128_t{1} << 120;
  const uint32_t tiles = tile_count(values.count);
  for (uint32_t tile = 0; tile < tiles; tile += 1 + tiles / 8) {
    const uint32_t rows = rows_in_tile(values.count, tile);
    const std::vector<int128_t> numbers = as_numbers(values, uint64_t{tile} * kTileRows, rows);
    if (const auto bounds = reader.bounds(tile)) {
      for (const int128_t number : numbers) {
        EXPECT_LE(bounds->low, number) << "tile " << tile;
        EXPECT_GE(bounds->high, number) << "tile " << tile;
      }
    }
    for (int round = 0; round < 6; ++round) {
      const auto end = [&] {
        const int128_t number = numbers[random() % rows];
        return number > kFar || number < -kFar ? number : number + static_cast<int128_t>(random() % 3) - 1;
      };
      int128_t low = round == 0 ? -kFar : end();
      int128_t high = round == 1 ? kFar : end();
      if (round > 1 && round < 4 && low > high) std::swap(low, high);  // else nothing lies between them
      if (round == 4) high = low;
      uint8_t out[kTileRows];
      const Answered how = reader.filter_range(tile, low, high, out);
      ++answers[static_cast<size_t>(how)];
      if (how == Answered::kNot) continue;
      for (uint32_t i = 0; i < rows; ++i) {
        const bool inside = numbers[i] >= low && numbers[i] <= high;
        if ((out[i] != 0) == inside && out[i] <= 1) continue;
        ADD_FAILURE() << "tile " << tile << ", row " << i << " of " << values.count << " × " << to_string(values.type)
                      << ": " << static_cast<int>(out[i]) << " instead of " << inside;
        return answers;
      }
    }
  }
  return answers;
}

// Runs of a tile, where it is stored as such: they fill it, and are its rows. Returns how many.
inline uint32_t expect_runs(Reader& reader, uint32_t tile, uint32_t rows, const std::byte* expected) {
  const uint32_t width = width_of(reader.type());
  Buffer values(static_cast<size_t>(kTileRows) * width);
  uint32_t ends[kTileRows];
  const uint32_t runs = reader.decode_runs(tile, values.data(), ends);
  uint32_t row = 0;
  for (uint32_t i = 0; i < runs; ++i) {
    EXPECT_GT(ends[i], row) << "run " << i << " of tile " << tile;
    for (; row < ends[i] && row < rows; ++row) {
      if (std::memcmp(values.data() + i * width, expected + row * width, width) == 0) continue;
      ADD_FAILURE() << "tile " << tile << ", run " << i << ", row " << row << " × " << to_string(reader.type());
      return runs;
    }
  }
  EXPECT_EQ(runs > 0 ? ends[runs - 1] : 0, runs > 0 ? rows : 0) << "tile " << tile;
  return runs;
}

// Places in a list of values, where a tile is stored as such.
inline void expect_codes(Reader& reader, uint32_t tile, uint32_t rows, const std::byte* expected) {
  const uint32_t width = width_of(reader.type());
  uint32_t codes[kTileRows];
  const EntryList entries = reader.decode_codes(tile, codes);
  for (uint32_t i = 0; i < rows && entries.count > 0; ++i) {
    ASSERT_LT(codes[i], entries.count) << "tile " << tile << ", row " << i;
    const auto* value = static_cast<const std::byte*>(entries.values) + size_t{codes[i]} * width;
    ASSERT_EQ(std::memcmp(value, expected + size_t{i} * width, width), 0) << "tile " << tile << ", row " << i;
  }
}

// Every tile, also by runs and codes, 200 rows in any order, and questions. Returns the counts of check_ranges().
inline std::vector<uint32_t> expect_reads(const Values& values, Reader& reader) {
  const uint32_t width = width_of(values.type);
  Buffer tile_values(static_cast<size_t>(kTileRows) * width);
  for (uint32_t tile = 0; tile < tile_count(values.count); ++tile) {
    const uint32_t rows = rows_in_tile(values.count, tile);
    const std::byte* const expected = values.as<std::byte>() + static_cast<size_t>(tile) * kTileRows * width;
    reader.decode_tile(tile, tile_values.data());
    EXPECT_EQ(std::memcmp(tile_values.data(), expected, static_cast<size_t>(rows) * width), 0)
        << "tile " << tile << " of " << values.count << " × " << to_string(values.type);
    expect_runs(reader, tile, rows, expected);
    expect_codes(reader, tile, rows, expected);
  }
  std::mt19937_64 random(5);
  std::vector<uint32_t> rows;
  for (int i = 0; i < 200 && values.count > 0; ++i) rows.push_back(static_cast<uint32_t>(random() % values.count));
  Buffer gathered(rows.size() * width);
  reader.gather(rows, gathered.data());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(std::memcmp(gathered.data() + i * width, values.as<std::byte>() + rows[i] * width, width), 0)
        << "row " << rows[i] << " of " << values.count << " × " << to_string(values.type);
  }
  return check_ranges(reader, values);
}

}  // namespace basalt::testing
