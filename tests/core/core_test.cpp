// The parts everything else stands on: packed tiles, bitmaps, values, columns, threads, type names.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <random>

#include "basalt/core/column.h"
#include "basalt/core/error.h"
#include "basalt/core/threads.h"
#include "basalt/core/value.h"
#include "core/bitmap.h"
#include "core/packing.h"

namespace basalt {
namespace {

template <typename T>
void expect_every_width() {
  std::mt19937_64 random(1);
  for (uint32_t width = 0; width <= sizeof(T) * 8; ++width) {
    std::vector<T> values(kTileRows);
    const auto reference = static_cast<T>(random());
    for (T& value : values) value = static_cast<T>(reference + static_cast<T>(random() & low_bits(width)));
    // Exactly as many words as the tile has, so that sanitizers see a word too many.
    std::vector<uint32_t> words(packed_tile_words(width));
    pack_tile(values.data(), reference, width, words.data());
    std::vector<T> decoded(kTileRows);
    unpack_tile(words.data(), width, reference, decoded.data());
    ASSERT_EQ(values, decoded) << "width " << width;
    for (uint32_t row = 0; row < kTileRows; ++row) {
      ASSERT_EQ(static_cast<T>(reference + static_cast<T>(packed_row(words.data(), width, row))), values[row])
          << "width " << width << " row " << row;
    }
  }
}

TEST(PackedTile, EveryWidthAndEveryRow) {
  expect_every_width<uint8_t>();
  expect_every_width<uint16_t>();
  expect_every_width<uint32_t>();
  expect_every_width<uint64_t>();
}

// Exactly as many words as the tile has; every bit random.
std::vector<uint32_t> random_tile(uint32_t width, std::mt19937_64& random) {
  std::vector<uint32_t> words(packed_tile_words(width));
  for (uint32_t& word : words) word = static_cast<uint32_t>(random());
  return words;
}

TEST(PackedTile, LinesAgreeWithTheirDefinition) {
  std::mt19937_64 random(4);
  for (uint32_t width = 0; width <= 64; ++width) {
    const std::vector<uint32_t> words = random_tile(width, random);
    for (int round = 0; round < 40; ++round) {
      const uint64_t base = random();
      // Any fraction, any slope: flat, gentle, steep, falling.
      const uint64_t y = random();
      const auto step = static_cast<uint64_t>(static_cast<int64_t>(random()) >> (random() % 64));
      const auto at = [&](uint32_t i) { return y + step * i; };
      if (width <= 32) {
        std::vector<uint32_t> out(kTileRows);
        unpack_on_line(words.data(), width, y, step, out.data());
        for (uint32_t i = 0; i < kTileRows; ++i) {
          ASSERT_EQ(out[i], static_cast<uint32_t>((at(i) >> 32) + packed_row(words.data(), width, i)))
              << "width " << width << " row " << i;
        }
      }
      if (width < 32) {
        std::vector<uint64_t> out(kTileRows);
        unpack_on_narrow_line(words.data(), width, base, y, step, out.data());
        for (uint32_t i = 0; i < kTileRows; ++i) {
          const auto offset = static_cast<uint32_t>((at(i) >> 32) + packed_row(words.data(), width, i));
          ASSERT_EQ(out[i], base + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(offset))))
              << "width " << width << " row " << i;
        }
      }
    }
  }
}

TEST(PackedTile, WideLinesAgreeWithTheirDefinition) {
  std::mt19937_64 random(5);
  for (uint32_t width = 0; width <= 64; ++width) {
    const std::vector<uint32_t> words = random_tile(width, random);
    for (uint32_t round = 0; round < 66; ++round) {
      const uint64_t base = random();
      const uint32_t fraction = round % 33;
      // |y| < 2^62 and |step| < 2^52: nothing wraps in 1024 rows.
      const int64_t y = static_cast<int64_t>(random()) >> (2 + random() % 40);
      const int64_t step = static_cast<int64_t>(random()) >> (12 + random() % 40);
      std::vector<uint64_t> out(kTileRows);
      unpack_on_wide_line(words.data(), width, base, static_cast<uint64_t>(y), static_cast<uint64_t>(step), fraction,
                          out.data());
      for (uint32_t i = 0; i < kTileRows; ++i) {
        const int64_t prediction = (y + step * static_cast<int64_t>(i)) >> fraction;
        ASSERT_EQ(out[i], base + static_cast<uint64_t>(prediction) + packed_row(words.data(), width, i))
            << "width " << width << " fraction " << fraction << " row " << i;
      }
    }
  }
}

TEST(QuarteredTile, UnitsOnLinesAgreeWithTheirDefinition) {
  std::mt19937_64 random(6);
  for (uint32_t width = 0; width <= kMaxUnitLineWidth; ++width) {
    // As many bytes behind the unit as may be read.
    std::vector<uint32_t> words(unit_words(width) + kReadBehindUnit / sizeof(uint32_t));
    for (uint32_t& word : words) word = static_cast<uint32_t>(random());
    const uint32_t* from = width == 0 ? nullptr : words.data();
    const auto residual = [&](uint32_t row) { return width == 0 ? 0 : unit_row(from, width, row); };
    for (uint32_t round = 0; round < 33; ++round) {
      const uint64_t base = random();
      const uint64_t y = random();
      const auto step = static_cast<uint64_t>(static_cast<int64_t>(random()) >> (random() % 64));
      std::vector<uint32_t> short_rows(kUnitRows);
      std::vector<uint64_t> rows(kUnitRows);
      if (width <= 32) unpack_unit_on_line(from, width, y, step, short_rows.data());
      if (width < 32) unpack_unit_on_narrow_line(from, width, base, y, step, rows.data());
      for (uint32_t i = 0; i < kUnitRows && width <= 32; ++i) {
        const auto offset = static_cast<uint32_t>(((y + step * i) >> 32) + residual(i));
        ASSERT_EQ(short_rows[i], offset) << "width " << width << " row " << i;
        if (width == 32) continue;
        ASSERT_EQ(rows[i], base + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(offset))))
            << "width " << width << " row " << i;
      }
      const int64_t wide_y = static_cast<int64_t>(random()) >> (2 + random() % 40);
      const int64_t wide_step = static_cast<int64_t>(random()) >> (12 + random() % 40);
      unpack_unit_on_wide_line(from, width, base, static_cast<uint64_t>(wide_y), static_cast<uint64_t>(wide_step),
                               round, rows.data());
      for (uint32_t i = 0; i < kUnitRows; ++i) {
        const int64_t prediction = (wide_y + wide_step * static_cast<int64_t>(i)) >> round;
        ASSERT_EQ(rows[i], base + static_cast<uint64_t>(prediction) + residual(i)) << "width " << width << " row " << i;
      }
    }
  }
}

TEST(PackedTile, WordsLieInterleavedByLane) {
  // Row 32·k + l is value k of lane l: with width 32 the words are the rows themselves.
  std::vector<uint32_t> values(kTileRows);
  for (uint32_t i = 0; i < kTileRows; ++i) values[i] = i * 2654435761u;
  std::vector<uint32_t> words(kTileRows);
  pack_tile(values.data(), 0u, 32, words.data());
  EXPECT_EQ(words, values);
  // With width 1, bit k of lane l's only word is row 32·k + l.
  for (uint32_t i = 0; i < kTileRows; ++i) values[i] = i == 32 * 5 + 7;
  pack_tile(values.data(), 0u, 1, words.data());
  for (uint32_t lane = 0; lane < kLanes; ++lane) EXPECT_EQ(words[lane], lane == 7 ? 1u << 5 : 0u);
}

TEST(Bitmap, RangesAtAnyPosition) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint8_t> from(64), to(64, 0x5A);
    for (uint8_t& byte : from) byte = static_cast<uint8_t>(random());
    const uint64_t count = random() % 200;
    const uint64_t begin = random() % 200;
    const uint64_t target = random() % 200;
    const std::vector<uint8_t> before = to;
    copy_bits(from.data(), begin, to.data(), target, count);
    uint64_t set = 0;
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(get_bit(to.data(), target + i), get_bit(from.data(), begin + i));
      set += get_bit(from.data(), begin + i);
    }
    for (uint64_t i = 0; i < 512; ++i) {
      const bool outside = i < target || i >= target + count;
      ASSERT_TRUE(!outside || get_bit(to.data(), i) == get_bit(before.data(), i)) << i;
    }
    EXPECT_EQ(count_bits(from.data(), begin, count), set);
    set_bits(to.data(), target, count, true);
    EXPECT_EQ(count_bits(to.data(), target, count), count);
  }
}

TEST(Value, PrintsAsSqlDoes) {
  const auto decimal = [](int128_t value, uint8_t scale) {
    return format_value(Value::of_integer(Physical::kI64, value), {TypeKind::kDecimal, 18, scale});
  };
  EXPECT_EQ(decimal(-5, 2), "-0.05");
  EXPECT_EQ(decimal(12345, 2), "123.45");
  EXPECT_EQ(decimal(7, 0), "7");
  const auto date = [](int64_t days) {
    return format_value(Value::of_integer(Physical::kI32, days), {TypeKind::kDate});
  };
  EXPECT_EQ(date(0), "1970-01-01");
  EXPECT_EQ(date(-1), "1969-12-31");
  EXPECT_EQ(date(19782), "2024-02-29");
  EXPECT_EQ(format_value(Value::of_integer(Physical::kI64, -1), {TypeKind::kTimestamp}), "1969-12-31 23:59:59.999999");
  EXPECT_EQ(format_value(Value::of_integer(Physical::kI128, static_cast<int128_t>(1) << 100), {TypeKind::kInt128}),
            "1267650600228229401496703205376");
  EXPECT_EQ(format_value(Value::of_real(Physical::kF64, 1), {TypeKind::kFloat64}), "1.0");
  EXPECT_EQ(format_value(Value::of_null(Physical::kI64), {TypeKind::kInt64}), "NULL");
}

TEST(Value, OrdersFloatsAsSqlDoes) {
  const auto real = [](double value) { return Value::of_real(Physical::kF64, value); };
  EXPECT_EQ(compare(real(-0.0), real(0.0)), 0);
  EXPECT_EQ(compare(real(NAN), real(NAN)), 0);
  EXPECT_EQ(compare(real(NAN), real(INFINITY)), 1);
}

TEST(Column, AppendsRangesWithNullsAndNesting) {
  Field field{"a", {TypeKind::kList}, true, 0, {Field{"item", {TypeKind::kUtf8}, true, 1, {}}}};
  Column source = make_column(field);
  const auto add = [&](const std::vector<const char*>& items) {
    for (const char* item : items) {
      Column one = make_column(field.children[0]);
      one.bytes.append(item, std::strlen(item));
      one.offsets.push(static_cast<int64_t>(one.bytes.size()));
      one.length = 1;
      append_rows(source.children[0], one, 0, 1);
    }
    source.offsets.push(static_cast<int64_t>(source.children[0].length));
    ++source.length;
  };
  add({"x", "yy"});
  add({});
  add({"zzz"});
  Column copy = make_column(field);
  append_rows(copy, source, 1, 3);
  append_rows(copy, source, 0, 1);
  EXPECT_EQ(copy.length, 3u);
  EXPECT_EQ(copy.children[0].string_at(0), "zzz");
  EXPECT_EQ(copy.children[0].string_at(2), "yy");
  Column again = make_column(field);
  append_rows(again, source, 0, 3);
  EXPECT_TRUE(equal(again, source));
  EXPECT_FALSE(equal(copy, source));
}

TEST(Threads, ALoopRunsOnAsManyThreadsAsThePoolHas) {
  for (const uint32_t threads : {2u, 5u}) {
    ThreadPool pool(threads);
    std::mutex mutex;
    std::condition_variable all_there;
    uint32_t there = 0;
    bool together = true;
    pool.parallel_for(threads, [&](uint64_t) {
      std::unique_lock lock(mutex);
      if (++there == threads) all_there.notify_all();
      together &= all_there.wait_for(lock, std::chrono::seconds(20), [&] { return there == threads; });
    });
    EXPECT_TRUE(together);
  }
}

TEST(Threads, ParallelForRunsEverythingAndReportsTheFirstError) {
  ThreadPool pool(3);
  std::vector<int> seen(1000, 0);
  pool.parallel_for(1000, [&](uint64_t i) { ++seen[i]; });
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 1000);
  try {
    pool.parallel_for(1000, [&](uint64_t i) {
      if (i == 400 || i == 700) throw Error(ErrorCode::kInternal, std::to_string(i));
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "400");
  }
  // A loop inside a loop must not wait for workers that are all busy.
  std::atomic<int> total{0};
  pool.parallel_for(8, [&](uint64_t) { pool.parallel_for(8, [&](uint64_t) { ++total; }); });
  EXPECT_EQ(total, 64);
}

TEST(Types, NamesAndNumbers) {
  Schema schema{{Field{"s",
                       {TypeKind::kStruct},
                       true,
                       0,
                       {Field{"a", {TypeKind::kInt32}, true, 0, {}},
                        Field{"b", {TypeKind::kList}, true, 0, {Field{"x", {TypeKind::kUtf8}, true, 0, {}}}}}},
                 Field{"d", {TypeKind::kDecimal, 15, 2}, true, 0, {}}}};
  number_fields(schema);
  EXPECT_EQ(to_string(schema.fields[0]), "struct(a integer, b varchar[])");
  EXPECT_EQ(to_string(schema.fields[1]), "decimal(15,2)");
  EXPECT_EQ(flatten(schema).size(), 5u);
  EXPECT_EQ(schema.fields[1].id, 4u);
}

}  // namespace
}  // namespace basalt
