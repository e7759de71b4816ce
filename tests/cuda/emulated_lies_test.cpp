// Columns of generated kernels whose statistics lied, run on the CPU lane by lane: bounds that chose lanes of 32 bits
// for values of 64, and widths to unroll that no tile has. Values lose their upper bits; nothing else is read or
// written (the sanitizer builds run these tests too).
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "cuda/device_arrays.h"
#include "exec/tables.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/delta/gpu/kernels.cuh"
#include "codec/dict/gpu/kernels.cuh"
#include "codec/l3/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"
#include "codec/rle/gpu/kernels.cuh"
#include "exec/device/scan.cuh"

namespace basalt::test {
namespace {

using device::Packed;
using device::Widths;

// Values that need all widths up to 64, tile by tile.
std::vector<uint64_t> wide_values() {
  Random random(4);
  std::vector<uint64_t> values;
  for (uint32_t width = 0; width <= 64; ++width) {
    const uint64_t base = random();
    const uint32_t rows = width == 64 ? 700 : kTileRows;
    for (uint32_t i = 0; i < rows; ++i) values.push_back(base + (random() & low_bits(width)));
  }
  return values;
}

template <typename Reader>
void expect_low_bits(const std::string& tree, const std::vector<uint64_t>& values) {
  const Node node = encoded(values, tree, Physical::kU64);
  const std::vector<uint64_t> descriptor = descriptor_of(view_of(node));
  // A slot as the host makes it: the chunk's rows, the shape, the descriptor; not a word more.
  std::vector<uint64_t> slot = {values.size(), 0};
  slot.insert(slot.end(), descriptor.begin(), descriptor.end());
  using Column = device::Column<uint64_t, 1, Reader::kDescriptorWords, Reader>;
  const auto scratch =
      std::make_unique<std::array<std::max_align_t, Column::kScratchBytes / sizeof(std::max_align_t) + 1>>();
  uint64_t wrong = 0;
  EmulatedWarp::run([&] {
    for (uint32_t tile = 0; tile * kTileRows < values.size(); ++tile) {
      const typename Column::Prefetch prefetch(slot.data(), tile);
      Column column(slot.data(), tile, scratch->data(), prefetch);
      int32_t all[kRowsPerLane];
      column.template read<0>(all);
      const uint32_t alive = device::lane_rows(static_cast<uint32_t>(values.size()), tile);
      uint32_t left = alive & 0x80010301u;
      const device::Picked<4> rows(left);
      int32_t picked[4];
      column.pick(rows, picked);
      for (uint32_t k = 0; k < kRowsPerLane; ++k) {
        if ((alive >> k & 1) == 0) continue;
        const uint64_t value = values[size_t{tile} * kTileRows + k * kLanes + device::lane_id()];
        if (all[k] != static_cast<int32_t>(value)) ++wrong;
        for (uint32_t j = 0; j < 4; ++j) {
          if (rows.live[j] != 0 && rows.k[j] == k && picked[j] != static_cast<int32_t>(value)) ++wrong;
        }
      }
      device::sync_warp();
    }
  });
  EXPECT_EQ(wrong, 0u) << tree;
}

TEST(EmulatedLies, NarrowLanesKeepTheLowBits) {
  const std::vector<uint64_t> values = wide_values();
  expect_low_bits<device::Plain<uint64_t>>("plain", values);
  expect_low_bits<device::Delta<uint64_t, Packed<uint64_t, Widths<5>>>>("delta(packed)", values);
  expect_low_bits<device::Dict<uint64_t, Packed<uint32_t>, Packed<uint64_t, Widths<9>>>>("dict(packed, packed)",
                                                                                         values);
  expect_low_bits<device::Rle<uint64_t, Packed<uint64_t, Widths<12>>, Packed<uint32_t>>>("rle(packed, packed)", values);
  expect_low_bits<device::L3<uint64_t>>("l3", values);
}

TEST(EmulatedLies, WidthsThatNoTileHasAreAsGoodAsOthers) {
  const std::vector<uint64_t> values = wide_values();
  expect_low_bits<Packed<uint64_t>>("packed", values);
  expect_low_bits<Packed<uint64_t, Widths<0>>>("packed", values);
  expect_low_bits<Packed<uint64_t, Widths<3, 17, 64>>>("packed", values);
}

}  // namespace
}  // namespace basalt::test
