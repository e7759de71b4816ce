// Count and sum over learned integers as kernels do it, run on the CPU lane by lane, against a plain loop: all models
// and widths, whole tiles and tiles that partitions share, runs, numbers at both ends of the type.
#include <gtest/gtest.h>

#include "codec/l3_nodes.h"
#include "cuda/device_arrays.h"
#include "exec/random_expr.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/l3/gpu/tile_strip_filter_sum.cuh"

namespace basalt::test {
namespace {

template <typename T, bool kStaged>
void expect_sum(const NodeView& node, const std::vector<T>& values, T last, const std::string& place) {
  const std::vector<uint64_t> descriptor = descriptor_of(node);
  const uint32_t tiles = device::tiles_of(static_cast<uint32_t>(values.size()));
  uint64_t sum = 0, count = 0, bad = 0;
  static device::SumScratch<T, kStaged> scratch;
  EmulatedWarp::run([&] {
    device::TileSum lane{};
    // As two warps of a block would, one after the other.
    for (uint32_t first = 0; first < tiles; first += first % 2 == 1 ? 2 * device::kStripTiles - 1 : 1) {
      const uint32_t count_here = std::min(device::kStripTiles, (tiles - first + 1) / 2);
      device::filter_sum_strip<T>(descriptor.data(), {first, 2, count_here}, last, scratch, lane);
    }
    sum += lane.sum;
    count += lane.count;
    bad += lane.bad;
  });
  uint64_t expected_sum = 0, expected_count = 0;
  for (const T value : values) {
    if (value > last) continue;
    expected_sum += value;
    ++expected_count;
  }
  EXPECT_EQ(bad, 0u) << place;
  EXPECT_EQ(count, expected_count) << place << ", at most " << last;
  EXPECT_EQ(sum, expected_sum) << place << ", at most " << last;
}

template <typename T>
void expect_sums(const NodeView& node, const std::vector<T>& values, const std::string& place) {
  for (const T last : {T{0}, values.front(), values[values.size() / 2], values.back(), static_cast<T>(-1)}) {
    expect_sum<T, false>(node, values, last, place);
    expect_sum<T, true>(node, values, last, place);
  }
}

template <typename T>
void expect_sums_of_shapes(Physical type) {
  Random random(21);
  for (uint32_t width = 0; width < 30; width += width < 4 ? 1 : 3) {
    for (int shape = 0; shape < testing::kValueShapes; ++shape) {
      std::vector<T> values = testing::shaped_values<T>(shape, width, 19000 + width, random);
      const std::string place = std::to_string(width) + " bits, shape " + std::to_string(shape);
      expect_sums(view_of(encoded(values, "l3", type)), values, place);
      // The other end of the type.
      for (T& value : values) value = static_cast<T>(~value);
      expect_sums(view_of(encoded(values, "l3", type)), values, place + ", inverted");
    }
  }
}

TEST(EmulatedLearnedSums, OfShapes) {
  expect_sums_of_shapes<uint32_t>(Physical::kU32);
  expect_sums_of_shapes<uint64_t>(Physical::kU64);
}

// Coefficients of every size, and models that wrap around the type.
template <typename T>
void expect_sums_of_any_coefficients(Physical type) {
  testing::for_each_learned_node<T>(type, 3, 1, [](const Node& node, const l3::Chunk& chunk, const std::string& place) {
    std::vector<T> values(node.count);
    bool bad = false;
    for (uint32_t row = 0; row < node.count; ++row) values[row] = static_cast<T>(chunk.value(row, sizeof(T), &bad));
    expect_sums(view_of(node), values, place);
  });
}

TEST(EmulatedLearnedSums, OfAnyCoefficients) {
  expect_sums_of_any_coefficients<uint32_t>(Physical::kU32);
  expect_sums_of_any_coefficients<uint64_t>(Physical::kU64);
}

}  // namespace
}  // namespace basalt::test
