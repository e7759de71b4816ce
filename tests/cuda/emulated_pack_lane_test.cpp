// Lanes that fill their words of a packed tile, run on the CPU: every width, bit for bit.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/packed_tile.h"
//
#include "cuda/emulated_warp.h"
//
#include "core/device/pack_lane.h"

namespace basalt::test {
namespace {

TEST(EmulatedPackLane, EveryWidth) {
  std::mt19937_64 random(16);
  for (uint32_t width = 0; width <= 64; ++width) {
    std::vector<uint64_t> numbers(kTileRows);
    for (uint64_t& number : numbers) number = random() & low_bits(width);
    std::vector<uint32_t> expected(width * kLanes + 1);
    for (uint32_t row = 0; row < kTileRows; ++row) {
      for (uint32_t bit = 0; bit < width; ++bit) {
        const uint32_t at = row / kLanes * width + bit;
        expected[at / 32 * kLanes + row % kLanes] |= static_cast<uint32_t>(numbers[row] >> bit & 1) << at % 32;
      }
    }
    std::vector<uint32_t> words(expected.size());
    EmulatedWarp::run([&] {
      const uint32_t lane = device::lane_id();
      device::pack_lane(width, words.data() + lane, [&](uint32_t k) { return numbers[k * kLanes + lane]; });
    });
    ASSERT_EQ(words, expected) << width << " bits";
  }
}

}  // namespace
}  // namespace basalt::test
