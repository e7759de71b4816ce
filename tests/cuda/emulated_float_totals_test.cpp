// Count and sum of floats between two literals as generated kernels do it over galp tiles, run on the CPU lane by lane,
// against the order of additions that exec/aggregate.h promises, bit for bit: decimals of any width and sign, few and
// many exceptions, bit patterns, a last tile that is not full.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/float_key.h"
#include "cuda/device_arrays.h"
#include "exec/random_expr.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/galp/totals.cuh"
#include "exec/device/aggregate.cuh"
#include "exec/device/totals.cuh"

namespace basalt::test {
namespace {

template <typename Float>
double tile_sum(const std::vector<Float>& values, size_t begin, int64_t first, int64_t last, uint64_t& count) {
  std::array<double, kLanes> lanes{};
  for (size_t row = begin; row < std::min(begin + kTileRows, values.size()); ++row) {
    const int64_t key = float_key(values[row]);
    if (key < first || key > last) continue;
    lanes[row % kLanes] += static_cast<double>(values[row]);
    ++count;
  }
  for (uint32_t distance = kLanes / 2; distance > 0; distance /= 2) {
    const std::array<double, kLanes> before = lanes;
    for (uint32_t lane = 0; lane < kLanes; ++lane) lanes[lane] = before[lane] + before[lane ^ distance];
  }
  return lanes[0];
}

template <typename Float, typename Widths>
void expect_totals(const std::vector<Float>& values, Float low, Float high, const std::string& place) {
  using T = galp::BitsOf<Float>;
  using Reader = device::GalpTotals<T, device::Packed<T, Widths>>;
  constexpr uint32_t kSlotWords = 12;
  using Column = device::FloatTotals<1, kSlotWords, Reader>;
  const Node node = encoded(values, "galp(packed)", sizeof(T) == 8 ? Physical::kF64 : Physical::kF32);
  const std::vector<uint64_t> descriptor = descriptor_of(view_of(node));
  std::vector<uint64_t> slot(kSlotWords, 0);
  slot[0] = values.size();
  ASSERT_LE(descriptor.size() + 2, slot.size());
  std::copy(descriptor.begin(), descriptor.end(), slot.begin() + 2);
  const uint32_t tiles = tile_count(values.size());
  std::vector<uint32_t> items;
  for (uint32_t tile = 0; tile < tiles; ++tile) items.push_back(device::make_work(0, tile, false));
  std::vector<double> sums(tiles, -1);
  device::Parameters parameters{};
  parameters.work_count = tiles;
  parameters.tile_sums = sums.data();
  alignas(16) static unsigned char scratch[Column::kScratchBytes];
  uint64_t count = 0, bad = 0;
  const int64_t first = float_key(low);
  const int64_t last = float_key(high);
  EmulatedWarp::run([&] {
    Column totals(scratch);
    for (device::Work work(items.data(), tiles); work.more(); work.next()) {
      const device::FloatTileSum tile = totals.of(work, slot.data(), first, last);
      device::store_tile_sum(parameters, 0, work.index(), tile.sum);
      count += tile.count;
      bad += tile.bad;
    }
  });
  uint64_t expected_count = 0;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    const double expected = tile_sum(values, size_t{tile} * kTileRows, first, last, expected_count);
    ASSERT_EQ(std::isnan(expected), std::isnan(sums[tile])) << place << ", tile " << tile;
    if (!std::isnan(expected)) {
      ASSERT_EQ(galp::bits_of(expected), galp::bits_of(sums[tile])) << place << ", tile " << tile;
    }
  }
  ASSERT_EQ(bad, 0u) << place;
  ASSERT_EQ(count, expected_count) << place;
}

template <typename Float>
void expect_decimals(Float digit, uint32_t widest) {
  Random random(41);
  for (const uint32_t width : {0u, 4u, 8u, 15u, 22u, 23u, 29u, 31u, 32u, 33u, 43u, 51u, 52u, 53u}) {
    if (width > widest) continue;
    for (const uint32_t every : {0u, 100u, 9u, 1u}) {  // which rows are no decimals
      for (const int64_t origin : {int64_t{0}, int64_t{-70}, int64_t{100'000}}) {
        std::vector<Float> values;
        for (uint32_t i = 0; i < 3 * kTileRows + 77; ++i) {
          const auto number = origin + static_cast<int64_t>(random() & low_bits(width));
          const auto decimal = static_cast<Float>(number) * digit;
          const auto other = static_cast<Float>(std::sin(static_cast<Float>(i)));
          values.push_back(every != 0 && i % every == every - 1 ? other : decimal);
        }
        if (every == 100) values[150] = std::numeric_limits<Float>::infinity();
        const std::string place =
            std::to_string(width) + " bits, every " + std::to_string(every) + ", from " + std::to_string(origin);
        const Float a = values[random() % values.size()];
        const Float b = values[random() % values.size()];
        expect_totals<Float, device::AllWidths>(values, std::min(a, b), std::max(a, b), place);
        expect_totals<Float, device::Widths<>>(values, std::min(a, b), std::max(a, b), place);
        expect_totals<Float, device::AllWidths>(values, std::max(a, b), std::min(a, b), place + ", nothing");
        expect_totals<Float, device::AllWidths>(values, -std::numeric_limits<Float>::infinity(),
                                                std::numeric_limits<Float>::infinity(), place + ", everything");
      }
    }
  }
}

TEST(EmulatedFloatTotals, Doubles) { expect_decimals<double>(1e-3, 53); }
TEST(EmulatedFloatTotals, Floats) { expect_decimals<float>(1e-1f, 24); }

}  // namespace
}  // namespace basalt::test
