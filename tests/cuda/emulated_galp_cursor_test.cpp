// Cursors over galp tiles on the CPU lane by lane: every number of values per call and every patcher give the bits that
// the CPU's decoder gives, whatever the tiles hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "codec/galp_values.h"
#include "exec/tables.h"
//
#include "cuda/emulated_reads.h"
//
#include "codec/galp/gpu/kernels.cuh"
#include "codec/galp/gpu/kernels_cursor.cuh"
#include "codec/packed/gpu/kernels.cuh"

namespace basalt::test {
namespace {

using device::Packed;

template <typename T>
using BitsOf = galp::BitsOf<T>;

template <typename Cursor>
void expect_values(const NodeView& node, const std::vector<typename Cursor::value_type>& expected,
                   const std::string& place) {
  using T = typename Cursor::value_type;
  const std::vector<uint64_t> descriptor = descriptor_of(node);
  std::vector<T> values(tile_count(expected.size()) * kTileRows);
  uint32_t bad = 0;
  EmulatedWarp::run([&] {
    Cursor cursor;
    for (uint32_t tile = 0; tile * kTileRows < values.size(); ++tile) {
      cursor.open(descriptor.data(), tile);
      T* to = values.data() + size_t{tile} * kTileRows + device::lane_id();
      for (uint32_t call = 0; call < Cursor::kCalls; ++call) {
        T taken[kRowsPerLane / Cursor::kCalls];
        cursor.next(taken);
        for (const T value : taken) {
          *to = value;
          to += kLanes;
        }
      }
    }
    bad |= cursor.bad ? 1 : 0;
  });
  EXPECT_EQ(bad, 0u) << place;
  for (size_t row = 0; row < expected.size(); ++row) ASSERT_EQ(values[row], expected[row]) << place << ", row " << row;
}

template <typename T, typename Integers, typename Patcher>
void expect_every_width(const NodeView& node, const std::vector<T>& expected, const std::string& place) {
  expect_values<device::GalpCursor<T, Integers, 1, Patcher>>(node, expected, place + ", 1 at a time");
  expect_values<device::GalpCursor<T, Integers, 2, Patcher>>(node, expected, place + ", 2 at a time");
  expect_values<device::GalpCursor<T, Integers, 4, Patcher>>(node, expected, place + ", 4 at a time");
  expect_values<device::GalpCursor<T, Integers, 8, Patcher>>(node, expected, place + ", 8 at a time");
  expect_values<device::GalpCursor<T, Integers, 16, Patcher>>(node, expected, place + ", 16 at a time");
  expect_values<device::GalpCursor<T, Integers, 32, Patcher>>(node, expected, place + ", 32 at a time");
}

// The array by the CPU's decoder, then by every cursor.
template <typename T>
void expect_cursors(const Node& node, const std::string& place) {
  const NodeView view = view_of(node);
  validate_tree(view);
  const auto reader = open_reader(view);
  std::vector<BitsOf<T>> expected(tile_count(node.count) * kTileRows);
  for (uint32_t tile = 0; tile * kTileRows < expected.size(); ++tile) {
    reader->decode_tile(tile, expected.data() + size_t{tile} * kTileRows);
  }
  expected.resize(node.count);
  using Bits = BitsOf<T>;
  expect_every_width<Bits, Packed<Bits>, device::NaivePatcher>(view, expected, place + ", naive");
  expect_every_width<Bits, Packed<Bits>, device::PositionPatcher>(view, expected, place + ", positions ahead");
  expect_every_width<Bits, Packed<Bits>, device::ValuePatcher>(view, expected, place + ", values ahead");
  expect_every_width<Bits, Packed<Bits>, device::MaskPatcher>(view, expected, place + ", masks");
  using Unrolled = Packed<Bits, device::Widths<0, 7, 12, 33>>;
  expect_values<device::GalpCursor<Bits, Unrolled, 32, device::ValuePatcher>>(view, expected, place + ", unrolled");
}

// So many exceptions in every tile, in random rows; integers of several widths.
template <typename T>
void check_exceptions() {
  std::mt19937_64 random(61);
  std::vector<uint32_t> order(kTileRows);
  for (uint32_t row = 0; row < kTileRows; ++row) order[row] = row;
  for (const uint32_t width : {0u, 7u, 12u, 29u, 33u}) {
    if (width > sizeof(T) * 8) continue;
    std::vector<galp::IntOf<T>> integers;
    std::vector<galp::LaneRows> tiles;
    std::vector<BitsOf<T>> values;
    for (const uint32_t count : {0u, 3u, 20u, 64u, 65u, 150u, kTileRows}) {
      galp::LaneRows& rows = tiles.emplace_back();
      rows.count = count;
      std::ranges::shuffle(order, random);
      for (uint32_t i = 0; i < count; ++i) rows.rows[order[i] % kLanes] |= 1u << order[i] / kLanes;
      for (uint32_t row = 0; row < kTileRows; ++row) {
        integers.push_back(static_cast<galp::IntOf<T>>((random() & low_bits(width)) - 1000));
        values.push_back(static_cast<BitsOf<T>>(random()));
      }
    }
    expect_cursors<T>(testing::patched<T>({3, 1}, integers, tiles, values), "width " + std::to_string(width));
  }
}

TEST(EmulatedGalpCursor, AnyNumberOfExceptions) {
  check_exceptions<double>();
  check_exceptions<float>();
}

// All exceptions of a few lanes, whose lists are as long as they can be, and of one row.
template <typename T>
void check_places() {
  const std::vector<galp::IntOf<T>> integers(3 * kTileRows, 77);
  std::vector<galp::LaneRows> tiles(3);
  for (const uint32_t lane : {0u, 31u}) tiles[0].rows[lane] = ~0u;
  tiles[1].rows[5] = 1u;
  tiles[1].rows[6] = 1u << 31;
  for (uint32_t& rows : tiles[2].rows) rows = 1u << 17 | 1u << 31;
  for (galp::LaneRows& tile : tiles) {
    for (const uint32_t rows : tile.rows) tile.count += static_cast<uint32_t>(std::popcount(rows));
  }
  std::vector<BitsOf<T>> values(integers.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<BitsOf<T>>(i * 2654435761u);
  expect_cursors<T>(testing::patched<T>({2, 0}, integers, tiles, values), "places");
}

TEST(EmulatedGalpCursor, ExceptionsInAnyPlaces) {
  check_places<double>();
  check_places<float>();
}

// What the encoder makes of decimals, patterns and noise side by side; the last tile is short.
TEST(EmulatedGalpCursor, EveryScheme) {
  const auto check = []<typename T>(T, size_t rows) {
    std::vector<T> values = testing::mixed_tiles<T>(rows, 67);
    std::mt19937_64 random(71);
    for (size_t i = 0; i < 3 * kTileRows; ++i) {
      const auto fraction = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53);
      values[i] = random() % 50 == 0 ? -fraction : 1 + fraction;
    }
    const Node node = testing::encoded(testing::view(values), "galp(packed)");
    const NodeView view = view_of(node);
    const auto has = [&](uint32_t scheme) {
      return std::ranges::count(view.streams[galp::kSchemes], static_cast<std::byte>(scheme)) > 0;
    };
    EXPECT_TRUE(has(galp::kRd));
    EXPECT_TRUE(has(galp::kRaw));
    expect_cursors<T>(node, "schemes");
  };
  check(double{}, 40 * kTileRows - 77);
  check(float{}, 40 * kTileRows - 77);
}

// Flips in blocks: reported, or what was read makes sense to validate() too.
TEST(EmulatedGalpCursor, DamageIsReportedOrHarmless) {
  using Cursor = device::GalpCursor<uint64_t, Packed<uint64_t>, 4, device::ValuePatcher>;
  std::mt19937_64 random(69);
  uint32_t reported = 0;
  for (int round = 0; round < 200; ++round) {
    const std::vector<double> values = testing::decimals_with_exceptions(round, random);
    Node node = testing::encoded(testing::view(values), "galp(packed)");
    Buffer& blocks = node.streams[galp::kExceptions];
    ASSERT_FALSE(blocks.empty());
    blocks.data()[random() % std::min<size_t>(blocks.size(), 32)] ^= static_cast<std::byte>(1u << random() % 8);
    const NodeView view = view_of(node);
    bool valid = true;
    try {
      validate_tree(view);
    } catch (const Error&) {
      valid = false;
    }
    const std::vector<uint64_t> descriptor = descriptor_of(view);
    uint32_t bad = 0;
    EmulatedWarp::run([&] {
      Cursor cursor;
      for (uint32_t tile = 0; tile < 2; ++tile) {
        cursor.open(descriptor.data(), tile);
        uint64_t taken[4];
        for (uint32_t call = 0; call < Cursor::kCalls; ++call) cursor.next(taken);
      }
      if (cursor.bad) bad = 1;
    });
    if (valid) {
      EXPECT_EQ(bad, 0u) << round;
    }
    reported += bad;
  }
  EXPECT_GT(reported, 10u);
}

}  // namespace
}  // namespace basalt::test
