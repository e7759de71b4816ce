// Count and sum of a column's rows between two literals as generated kernels do it, run on the CPU lane by lane,
// against a plain loop: packed and learned tiles of any width and model, signed and unsigned, literals at the ends of
// the type and at values. And a whole kernel, word for word the text that the generator writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "codec/l3_nodes.h"
#include "cuda/device_arrays.h"
#include "exec/random_expr.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/l3/gpu/filter_sum.cuh"
#include "codec/packed/gpu/filter_sum.cuh"
#include "exec/device/aggregate.cuh"
#include "exec/device/filter_sum.cuh"
//
#define basalt_scan sum_scan  // another test has a kernel of that name
#include "cuda/filter_sum_kernel.txt"

namespace basalt::test {
namespace {

using device::L3FilterSum;
using device::PackedFilterSum;
using device::Test;

// All tiles of a chunk, as one warp goes through them.
template <typename S, Test kTest, typename Reader>
void expect_total(const std::vector<uint64_t>& descriptor, const std::vector<S>& values, S first, S last,
                  const std::string& place) {
  constexpr uint32_t kSlotWords = 8;
  std::vector<uint64_t> slot(kSlotWords, 0);
  slot[0] = values.size();
  ASSERT_LE(descriptor.size() + 2, slot.size());
  std::copy(descriptor.begin(), descriptor.end(), slot.begin() + 2);
  std::vector<uint32_t> items;
  for (uint32_t tile = 0; tile < tile_count(values.size()); ++tile) items.push_back(device::make_work(0, tile, false));
  using Column = device::FilterSum<S, 1, kSlotWords, Reader>;
  alignas(16) static unsigned char scratch[Column::kScratchBytes];
  uint64_t sum = 0, count = 0, bad = 0;
  std::vector<uint32_t> passed(items.size(), 0), how(items.size(), 0);
  EmulatedWarp::run([&] {
    Column filter_sum(scratch);
    for (device::Work work(items.data(), static_cast<uint32_t>(items.size())); work.more(); work.next()) {
      const device::TileSum tile = filter_sum.template of<kTest>(work, slot.data(), first, last);
      sum += tile.sum;
      count += tile.count;
      bad += tile.bad;
      passed[work.tile()] += tile.count;
      how[work.tile()] = tile.how;
    }
  });
  for (uint32_t tile = 0; tile < items.size(); ++tile) {
    const auto rows = std::min<uint64_t>(kTileRows, values.size() - uint64_t{tile} * kTileRows);
    // Bounds hold for units of 256 rows.
    ASSERT_TRUE(how[tile] == device::kByRows || passed[tile] % kUnitRows == 0 || passed[tile] == rows)
        << place << ", tile " << tile;
  }
  uint64_t expected_sum = 0, expected_count = 0;
  for (const S value : values) {
    if (value < first || value > last) continue;
    expected_sum += static_cast<uint64_t>(static_cast<int64_t>(value));
    ++expected_count;
  }
  ASSERT_EQ(bad, 0u) << place;
  ASSERT_EQ(count, expected_count) << place << ", " << +first << " to " << +last;
  ASSERT_EQ(sum, expected_sum) << place << ", " << +first << " to " << +last;
}

template <typename S, typename Reader>
void expect_filter_sum(const NodeView& node, const std::vector<S>& values, Random& random, const std::string& place) {
  constexpr S kLeast = std::numeric_limits<S>::lowest();
  constexpr S kMost = std::numeric_limits<S>::max();
  const std::vector<uint64_t> descriptor = descriptor_of(node);
  const S a = values[random() % values.size()];
  const S b = values[random() % values.size()];
  const auto [low, high] = std::minmax(a, b);
  expect_total<S, Test::kBetween, Reader>(descriptor, values, low, high, place);
  expect_total<S, Test::kBetween, Reader>(descriptor, values, S{1}, S{0}, place);
  expect_total<S, Test::kAtLeast, Reader>(descriptor, values, a, kMost, place);
  expect_total<S, Test::kAtMost, Reader>(descriptor, values, kLeast, b, place);
  expect_total<S, Test::kAtMost, Reader>(descriptor, values, kLeast, kMost, place);
}

template <typename S>
void expect_learned(Physical type) {
  using T = std::make_unsigned_t<S>;
  Random random(31);
  for (uint32_t width = 0; width < 30; width += width < 4 ? 1 : 3) {
    for (int shape = 0; shape < testing::kValueShapes; ++shape) {
      std::vector<S> values = testing::shaped_values<S>(shape, width, 11000 + width, random);
      const std::string place = std::to_string(width) + " bits, shape " + std::to_string(shape);
      expect_filter_sum<S, L3FilterSum<T>>(view_of(encoded(values, "l3", type)), values, random, place);
      // The other end of the type.
      for (S& value : values) value = static_cast<S>(~value);
      expect_filter_sum<S, L3FilterSum<T>>(view_of(encoded(values, "l3", type)), values, random, place + ", inverted");
    }
  }
}

TEST(EmulatedFilterSum, LearnedTiles) {
  expect_learned<uint32_t>(Physical::kU32);
  expect_learned<int32_t>(Physical::kI32);
  expect_learned<int64_t>(Physical::kI64);
  expect_learned<uint64_t>(Physical::kU64);
}

TEST(EmulatedFilterSum, LearnedTilesOfAnyCoefficients) {
  Random random(32);
  testing::for_each_learned_node<uint32_t>(
      Physical::kI32, 5, 1, [&](const Node& node, const l3::Chunk& chunk, const std::string& place) {
        std::vector<int32_t> values(node.count);
        bool bad = false;
        for (uint32_t row = 0; row < node.count; ++row) {
          values[row] = static_cast<int32_t>(chunk.value(row, sizeof(uint32_t), &bad));
        }
        expect_filter_sum<int32_t, L3FilterSum<uint32_t>>(view_of(node), values, random, place);
      });
}

template <typename S>
void expect_packed(Physical type) {
  using T = std::make_unsigned_t<S>;
  Random random(33);
  for (uint32_t width = 0; width <= 8 * sizeof(T); ++width) {
    // Once more tiles than are described at a time.
    std::vector<S> values = testing::shaped_values<S>(0, width, width == 7 ? 40 * kTileRows + 5 : 2500, random);
    const std::string place = std::to_string(width) + " bits";
    for (const bool inverted : {false, true}) {
      if (inverted) {
        for (S& value : values) value = static_cast<S>(~value);
      }
      const Node node = encoded(values, "packed", type);
      expect_filter_sum<S, PackedFilterSum<T>>(view_of(node), values, random, place);
      expect_filter_sum<S, PackedFilterSum<T, device::AllWidths>>(view_of(node), values, random, place);
    }
  }
}

TEST(EmulatedFilterSum, PackedTiles) {
  expect_packed<uint8_t>(Physical::kU8);
  expect_packed<int16_t>(Physical::kI16);
  expect_packed<uint32_t>(Physical::kU32);
  expect_packed<int32_t>(Physical::kI32);
  expect_packed<int64_t>(Physical::kI64);
}

// Two chunks, of which one has a tile that is not full.
TEST(EmulatedFilterSum, KernelAsGenerated) {
  Random random(34);
  std::vector<uint64_t> slots;
  std::vector<uint32_t> work;
  std::vector<Node> nodes;
  uint64_t rows = 0;
  int128_t sum = 0;
  const int64_t first = 9'000;
  const int64_t last = 140'000;
  for (const uint32_t count : {12 * kTileRows, 5 * kTileRows - 300}) {
    const std::vector<int64_t> values = testing::shaped_values<int64_t>(1, 9, count, random);
    for (const int64_t value : values) {
      rows += value >= first && value <= last ? 1 : 0;
      sum += value >= first && value <= last ? value : 0;
    }
    nodes.push_back(encoded(values, "l3", Physical::kI64));
    const auto slot = static_cast<uint32_t>(slots.size() / device::kSlotWords);
    for (uint32_t tile = 0; tile < tile_count(count); ++tile) work.push_back(device::make_work(slot, tile, false));
    slots.insert(slots.end(), {count, 0});
    for (const uint64_t word : descriptor_of(view_of(nodes.back()))) slots.push_back(word);
    slots.resize((slot + 1) * device::kSlotWords);
  }
  uint64_t record[device::kRecordHead + 2 * device::kRecordAggregate] = {};
  device::Parameters parameters{};
  parameters.work = work.data();
  parameters.work_count = static_cast<uint32_t>(work.size());
  parameters.slots = slots.data();
  parameters.partials = record;
  parameters.literals[0].low = static_cast<uint64_t>(first);
  parameters.literals[1].low = static_cast<uint64_t>(last);
  EmulatedWarp::run([&] { device::sum_scan(parameters); });
  EXPECT_GT(rows, uint64_t{2 * kTileRows});
  EXPECT_EQ(record[device::kRecordRows], rows);
  EXPECT_EQ(record[device::kRecordFlags], 0u);
  const uint64_t* own = record + device::kRecordHead + device::kRecordAggregate;
  EXPECT_EQ(own[0], rows);
  EXPECT_TRUE(static_cast<int128_t>(static_cast<uint128_t>(own[2]) << 64 | own[1]) == sum);
}

}  // namespace
}  // namespace basalt::test
