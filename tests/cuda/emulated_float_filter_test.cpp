// Range tests of float columns as generated kernels make them, on the CPU lane by lane, against the keys of the values:
// integers of galp, exceptions, products that wrap, and every other way floats are stored.
#include <gtest/gtest.h>

#include <bit>

#include "codec/galp/range.h"
#include "codec/galp_values.h"
#include "exec/tables.h"
//
#include "cuda/emulated_reads.h"
//
#include "codec/delta/gpu/kernels.cuh"
#include "codec/dict/gpu/kernels.cuh"
#include "codec/galp/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"
#include "codec/rle/gpu/kernels.cuh"
#include "exec/device/scan.cuh"
#include "exec/device/tile_group_filter.cuh"
//
#include "cuda/edge_widths.h"

namespace basalt::test {
namespace {

using device::Delta;
using device::Dict;
using device::Galp;
using device::Packed;
using device::Plain;
using device::Rle;
using device::Test;
using device::Widths;

// What literals may be: keys of values and their neighbours, and of everything special.
template <typename T>
std::vector<int64_t> keys_of(const std::vector<T>& values, std::mt19937_64& random) {
  std::vector<int64_t> keys = {0,
                               kNanKey,
                               kNanKey - 1,
                               INT64_MIN,
                               float_key(std::numeric_limits<T>::infinity()),
                               float_key(-std::numeric_limits<T>::infinity())};
  for (int i = 0; i < 6; ++i) {
    const int64_t key = float_key(values[random() % values.size()]);
    keys.push_back(key == kNanKey ? key : key + static_cast<int64_t>(random() % 3) - 1);
  }
  return keys;
}

// test(tiles, masks, bad), by each lane of a warp: a mask for every tile and lane.
template <Test kTest, typename T, typename TestTile>
void expect_masks(const std::vector<T>& values, int64_t first, int64_t last, const std::string& place,
                  const TestTile& test) {
  const auto tiles = static_cast<uint32_t>(tile_count(values.size()));
  std::vector<uint32_t> masks(tiles * kLanes);
  uint32_t bad = 0;
  EmulatedWarp::run([&] {
    uint32_t lane_bad = 0;
    test(tiles, masks.data(), lane_bad);
    bad |= lane_bad;
  });
  EXPECT_EQ(bad, 0u) << place;
  for (size_t row = 0; row < values.size(); ++row) {
    const int64_t key = float_key(values[row]);
    const bool inside = (kTest == Test::kAtMost || key >= first) && (kTest == Test::kAtLeast || key <= last);
    const uint32_t mask = masks[row / kTileRows * kLanes + row % kLanes];
    ASSERT_EQ((mask >> row % kTileRows / kLanes & 1) != 0, inside != (kTest == Test::kNotEqual))
        << place << " row " << row << ", value " << values[row] << ", keys " << first << " to " << last;
  }
}

template <typename T, Test kTest, typename Reader>
void expect_test(const std::vector<uint64_t>& descriptor, const std::vector<T>& values, int64_t first, int64_t last,
                 const std::string& place) {
  alignas(16) static unsigned char scratch[64 << 10];
  expect_masks<kTest>(values, first, last, place, [&](uint32_t tiles, uint32_t* masks, uint32_t& bad) {
    device::CodeRange range;
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      const device::Prefetch<Reader> prefetch(descriptor.data(), tile);
      uint32_t how = device::kByBounds;
      masks[tile * kLanes + device::lane_id()] = device::ShapeTest<T, kTest, Reader>::run(
          descriptor.data(), tile, scratch, bad, how, prefetch, range, first, last);
      device::sync_warp();
    }
  });
  if constexpr (requires { typename device::TileGroupTest<T, kTest, Reader>::Scratch; }) {
    // The array is two chunks of the work list; the second one's masks must be the first one's.
    constexpr uint32_t kSlotWords = 16;
    using Groups = device::TileGroupFilter<T, kTest, 1, kSlotWords, Reader>;
    static_assert(Groups::kScratchBytes <= sizeof(scratch));
    ASSERT_LE(descriptor.size() + 2, kSlotWords);
    std::vector<uint64_t> slots(2 * kSlotWords, values.size());
    std::vector<uint32_t> items;
    for (uint32_t slot = 0; slot < 2; ++slot) {
      std::copy(descriptor.begin(), descriptor.end(), slots.begin() + slot * kSlotWords + 2);
      for (uint32_t tile = 0; tile < tile_count(values.size()); ++tile) {
        items.push_back(device::make_work(slot, tile, tile % 5 == 3));
      }
    }
    expect_masks<kTest>(values, first, last, place + ", in groups", [&](uint32_t, uint32_t* masks, uint32_t& bad) {
      Groups groups(scratch, first, last);
      for (device::Work work(items.data(), static_cast<uint32_t>(items.size())); work.more(); work.next()) {
        groups.next(work, slots.data(), first, last);
        if (work.slot() == 1 && work.all_pass()) continue;  // as kernels do where statistics know
        uint32_t how = device::kByBounds;
        const uint32_t mask = groups.mask(work, slots.data(), bad, how, first, last);
        uint32_t& out = masks[work.tile() * kLanes + device::lane_id()];
        if (work.slot() == 0) out = mask;
        if (out != mask) bad = 1;
      }
    });
  }
}

template <typename T, typename Reader>
void expect_tests(const NodeView& node, const std::vector<T>& values, int rounds, const std::string& place) {
  std::mt19937_64 random(values.size());
  const std::vector<uint64_t> descriptor = descriptor_of(node);
  for (int round = 0; round < rounds; ++round) {
    const std::vector<int64_t> keys = keys_of(values, random);
    const int64_t first = keys[random() % keys.size()];
    const int64_t last = round == 3 ? first : keys[random() % keys.size()];
    expect_test<T, Test::kAtMost, Reader>(descriptor, values, INT64_MIN, last, place);
    expect_test<T, Test::kAtLeast, Reader>(descriptor, values, first, INT64_MAX, place);
    expect_test<T, Test::kBetween, Reader>(descriptor, values, first, last, place);
    expect_test<T, Test::kNotEqual, Reader>(descriptor, values, first, first, place);
  }
}

template <typename T, typename Reader>
void check(const std::string& tree) {
  const std::vector<T> special = testing::special_values<T>();
  std::mt19937_64 random(71);
  for (const uint32_t share : {0u, 300u, 20u}) {
    // Tiles of different numbers of digits, so that pairs change from tile to tile.
    std::vector<T> values = testing::decimals<T>(5 * kTileRows - 33, 900, 10, share);
    for (size_t i = 0; i < values.size(); ++i) {
      if (i / kTileRows % 2 == 1) values[i] = static_cast<T>(static_cast<double>(random() % 9000) / 1000);
      if (i / kTileRows == 2) values[i] = static_cast<T>(static_cast<double>(random() % 9) * 1e6);
      if (share != 0 && random() % share == 0) values[i] = special[random() % special.size()];
    }
    const Node node = testing::encoded(testing::view(values), tree);
    expect_tests<T, Reader>(view_of(node), values, 4, tree + ", 1 of " + std::to_string(share) + " special");
  }
}

TEST(EmulatedFloatFilter, DecimalsAsIntegers) {
  check<double, Galp<uint64_t, Packed<uint64_t>>>("galp(packed)");
  check<double, Galp<uint64_t, Packed<uint64_t, Widths<8, 11, 12, 13, 14>>>>("galp(packed)");
  check<float, Galp<uint32_t, Packed<uint32_t>>>("galp(packed)");
  check<float, Galp<uint32_t, Packed<uint32_t, Widths<8, 11, 12, 13, 14>>>>("galp(packed)");
}

TEST(EmulatedFloatFilter, ValuesRowByRow) {
  check<double, Galp<uint64_t, Delta<uint64_t, Packed<uint64_t>>>>("galp(delta(packed))");
  check<float, Galp<uint32_t, Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>>>("galp(rle(packed, packed))");
  check<double, Plain<uint64_t>>("plain");
  check<float, Plain<uint32_t>>("plain");
  check<double, Dict<uint64_t, Packed<uint32_t>, Plain<uint64_t>>>("dict(packed, plain)");
  check<float, Dict<uint32_t, Packed<uint32_t>, Plain<uint32_t>>>("dict(packed, plain)");
  check<double, Rle<uint64_t, Plain<uint64_t>, Packed<uint32_t>>>("rle(plain, packed)");
}

// More tiles than are described at a time; lists that are tested early and such that lanes share out, of up to 32 and
// up to 64 exceptions, and masks; exceptions that are alike, similar and not.
template <typename T>
void check_exceptions() {
  using Bits = galp::BitsOf<T>;
  constexpr T kStep = sizeof(T) == 8 ? T(1e-13) : T(1e-7);
  std::mt19937_64 random(72);
  for (const uint32_t most : {3u, 9u, 16u, 17u, 40u, 90u}) {
    std::vector<T> values = testing::decimals<T>(35 * kTileRows, 900, 10, 1);
    for (size_t tile = 0; tile < 35; ++tile) {
      const uint32_t likeness = random() % 3;
      for (uint32_t i = 0; i < most; ++i) {
        const T exception = likeness == 0   ? T{1} / 3
                            : likeness == 1 ? T{1} / 3 + static_cast<T>(random() % 100) * kStep
                                            : std::bit_cast<T>(static_cast<Bits>(random()));
        values[tile * kTileRows + random() % kTileRows] = exception;
      }
    }
    const Node node = testing::encoded(testing::view(values), "galp(packed)");
    expect_tests<T, Galp<Bits, Packed<Bits, Widths<9, 10>>>>(view_of(node), values, 2,
                                                             "up to " + std::to_string(most) + " exceptions");
  }
}
TEST(EmulatedFloatFilter, ExceptionsOfTileGroups) {
  check_exceptions<double>();
  check_exceptions<float>();
}

using Groups = device::TileGroupTest<double, Test::kAtMost, Galp<uint64_t, Packed<uint64_t>>>;

// A block whose size does not fit its count, and a list without one of its end marks.
TEST(EmulatedFloatFilter, DamagedExceptionsOfTileGroupsAreSeen) {
  std::vector<double> values = testing::decimals<double>(kTileRows, 900, 10, 1);
  for (size_t i = 0; i < 10; ++i) values[i * 100] = 1.0 / 3;
  const auto is_bad = [&](uint32_t word, uint32_t change) {
    Node node = testing::encoded(testing::view(values), "galp(packed)");
    auto* words = reinterpret_cast<uint32_t*>(node.streams[galp::kExceptions].data());
    words[word] ^= change;
    const std::vector<uint64_t> descriptor = descriptor_of(view_of(node));
    alignas(16) static unsigned char scratch[sizeof(Groups::Scratch)];
    auto& groups = *reinterpret_cast<Groups::Scratch*>(scratch);
    uint32_t bad = 0;
    EmulatedWarp::run([&] {
      uint32_t lane_bad = 0;
      uint32_t how = device::kByBounds;
      Groups::begin(groups, INT64_MIN, 0);
      const bool exists = device::lane_id() / (kLanes / Groups::kTiles) == 0;
      Groups::describe(exists, descriptor.data(), 0, groups, INT64_MIN, 0);
      Groups::mask(descriptor.data(), 0, 0, groups, lane_bad, how, INT64_MIN, 0);
      bad |= lane_bad;
    });
    return bad != 0;
  };
  EXPECT_FALSE(is_bad(0, 0));
  EXPECT_TRUE(is_bad(0, 32));
  // The word behind the header, two words of the base and the lanes.
  EXPECT_TRUE(is_bad(4, galp::kLastOfLane));
}

// Every pair, with integers that no encoder would make: near the last that does not wrap, and beyond it.
template <typename T>
void check_pairs() {
  using Int = galp::IntOf<T>;
  std::mt19937_64 random(73);
  for (uint32_t pair = 0; pair < galp::pairs_of(sizeof(T) * 8); ++pair) {
    const auto scale = galp::Scale<T>::of(galp::pair_of(pair));
    const int64_t most = galp::largest_integer(scale);
    std::vector<Int> integers(3 * kTileRows - 100);
    for (size_t i = 0; i < integers.size(); ++i) {
      const auto small = std::min<int64_t>(static_cast<int64_t>(random() % 2000), most);
      integers[i] = static_cast<Int>(i < 1024   ? small * (i % 2 == 0 ? 1 : -1)
                                     : i < 2048 ? most - small + (i == 1100 ? 1 : 0)
                                                : static_cast<int64_t>(random() >> random() % 60));
    }
    const Node node = testing::any_integers<T>(pair, integers);
    const std::vector<T> values = testing::decoded<T>(pair, integers);
    expect_tests<T, Galp<galp::BitsOf<T>, Packed<galp::BitsOf<T>>>>(view_of(node), values, 1,
                                                                    "pair " + std::to_string(pair));
  }
}

TEST(EmulatedFloatFilter, EveryPair) {
  check_pairs<double>();
  check_pairs<float>();
}

template <typename T>
void check_wide_tiles() {
  using Bits = galp::BitsOf<T>;
  const std::vector<galp::IntOf<T>> integers = testing::integers_of(testing::wide_tiles<T>());
  for (const uint32_t pair : testing::pairs_of_wide_tiles<T>()) {
    const Node node = testing::any_integers<T>(pair, integers);
    const std::vector<T> values = testing::decoded<T>(pair, integers);
    const std::string place = "pair " + std::to_string(pair);
    expect_tests<T, Galp<Bits, Packed<Bits>>>(view_of(node), values, 4, place);
    expect_tests<T, Galp<Bits, Packed<Bits, EdgeWidths>>>(view_of(node), values, 2, place + ", known widths");
  }
}

TEST(EmulatedFloatFilter, IntegersOfEveryWidthAroundTheLimits) {
  check_wide_tiles<double>();
  check_wide_tiles<float>();
}

}  // namespace
}  // namespace basalt::test
