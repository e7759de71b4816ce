// Comparisons with literals inside generated kernels, run on the CPU lane by lane: bounds, models and packed values
// answer as the values themselves would, whatever wraps around; tiles are counted by what answered. And a whole kernel
// over learned columns, word for word the text that the generator writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "codec/l3_nodes.h"
#include "codec/packed/layout.h"
#include "cuda/device_arrays.h"
#include "exec/tables.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/dict/gpu/kernels.cuh"
#include "codec/l3/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "exec/device/scan.cuh"
//
#include "cuda/edge_widths.h"
//
#define basalt_scan learned_scan  // another test has a kernel of that name
#include "cuda/learned_kernel.txt"

namespace basalt::test {
namespace {

using device::Dict;
using device::L3;
using device::Packed;
using device::Test;
using device::Widths;

// Tiles by what it took to answer: bounds, models, rows.
using Tally = std::array<uint64_t, device::kByRows + 1>;

template <typename S, Test kTest, typename Reader>
void expect_range(const std::vector<uint64_t>& descriptor, const std::vector<S>& values, S first, S last,
                  const std::string& place, Tally& tally) {
  alignas(16) static unsigned char scratch[64 << 10];
  static_assert(Reader::kScratchBytes <= sizeof(scratch));
  const uint32_t tiles = tile_count(values.size());
  std::vector<std::array<uint32_t, kLanes>> hows(tiles);
  uint32_t wrong = tiles;  // the last tile with a wrong answer
  EmulatedWarp::run([&] {
    device::CodeRange range;
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      uint32_t bad = 0;
      uint32_t how = device::kByBounds;
      const device::Prefetch<Reader> prefetch(descriptor.data(), tile);
      const uint32_t mask = device::ShapeTest<S, kTest, Reader>::run(descriptor.data(), tile, scratch, bad, how,
                                                                     prefetch, range, first, last);
      device::sync_warp();
      hows[tile][device::lane_id()] = how;
      for (uint32_t k = 0; k < kRowsPerLane; ++k) {
        const size_t row = size_t{tile} * kTileRows + k * kLanes + device::lane_id();
        if (row >= values.size()) break;
        const bool inside = values[row] >= first && values[row] <= last;
        const bool expected = inside == (kTest != Test::kNotEqual);
        if (bad != 0 || (mask >> k & 1) != (expected ? 1u : 0u)) wrong = tile;
      }
    }
  });
  ASSERT_EQ(wrong, tiles) << place << ", " << +first << " to " << +last;
  for (const auto& lanes : hows) {
    ASSERT_EQ(std::count(lanes.begin(), lanes.end(), lanes[0]), kLanes) << place;
    ++tally[lanes[0]];
  }
}

// The four tests with literals at the ends of the type, at values and beside them.
template <typename S, typename Reader>
Tally expect_ranges(const NodeView& node, const std::vector<S>& values, Random& random, size_t literals,
                    const std::string& place) {
  Tally tally{};
  const std::vector<uint64_t> descriptor = descriptor_of(node);
  constexpr S kLeast = std::numeric_limits<S>::lowest();
  constexpr S kMost = std::numeric_limits<S>::max();
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::vector<S> all = {kLeast, kMost, *low, *high, values.front(), values.back()};
  for (size_t i = 0; i < literals; ++i) all.push_back(values[random() % values.size()]);
  for (size_t i = all.size(); i-- > 0;) {
    if (all[i] > kLeast) all.push_back(static_cast<S>(all[i] - 1));
    if (all[i] < kMost) all.push_back(static_cast<S>(all[i] + 1));
  }
  for (size_t i = 0; i < literals; ++i) {
    const S first = all[random() % all.size()];
    const S last = all[random() % all.size()];  // before the first one, now and then
    expect_range<S, Test::kBetween, Reader>(descriptor, values, first, last, place + " between", tally);
    expect_range<S, Test::kAtMost, Reader>(descriptor, values, kLeast, last, place + " at most", tally);
    expect_range<S, Test::kAtLeast, Reader>(descriptor, values, first, kMost, place + " at least", tally);
    expect_range<S, Test::kNotEqual, Reader>(descriptor, values, last, last, place + " not", tally);
  }
  expect_range<S, Test::kBetween, Reader>(descriptor, values, kLeast, kMost, place + " everything", tally);
  return tally;
}

Tally& operator+=(Tally& a, const Tally& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// Coefficients of every size and sign, most of which wrap around something.
template <typename S>
void expect_any_coefficients(Physical type) {
  using T = std::make_unsigned_t<S>;
  Random random(21);
  Tally all{};
  testing::for_each_learned_node<T>(type, sizeof(T) == 1 ? 3 : 7, 1,
                                    [&](const Node& node, const l3::Chunk& chunk, const std::string& place) {
                                      std::vector<S> values(node.count);
                                      bool bad = false;
                                      for (uint32_t row = 0; row < node.count; ++row) {
                                        values[row] = static_cast<S>(static_cast<T>(chunk.value(row, sizeof(T), &bad)));
                                      }
                                      all += expect_ranges<S, L3<T>>(view_of(node), values, random, 2, place);
                                    });
  for (const uint64_t tiles : all) EXPECT_GT(tiles, 50u) << to_string(type);
}

TEST(EmulatedRanges, LearnedTilesOfAnyCoefficients) {
  expect_any_coefficients<uint8_t>(Physical::kU8);
  expect_any_coefficients<int8_t>(Physical::kI8);
  expect_any_coefficients<int16_t>(Physical::kI16);
  expect_any_coefficients<uint32_t>(Physical::kU32);
  expect_any_coefficients<int32_t>(Physical::kI32);
  expect_any_coefficients<uint64_t>(Physical::kU64);
  expect_any_coefficients<int64_t>(Physical::kI64);
}

// Lines whose offsets leave 31 bits in their last rows, where residuals turn them negative.
TEST(EmulatedRanges, NarrowLinesThatLeaveTheirOffsets) {
  Random random(27);
  std::mt19937_64 noise(27);
  for (const uint32_t width : {20u, 28u, 31u}) {
    Node node = testing::two_partitions<uint64_t>(Physical::kU64, l3::Model::kLinear, width, false, noise);
    for (uint32_t i = 0; i < 2; ++i) {
      auto& bits = node.streams[l3::kRecords].as<uint64_t>()[i];
      l3::Record record = l3::unpack_record(bits);
      record.shift = 21;
      bits = l3::pack_record(record);
      // Over the partition's 9 units the prediction rises to 2^31.
      node.streams[l3::kParams].as<uint32_t>()[record.params + 2] = (uint64_t{1} << 42) / (9 * kUnitRows);
    }
    validate_tree(view_of(node));
    const auto chunk = l3::Chunk::of(
        node.streams[l3::kStarts].as<uint32_t>(), node.streams[l3::kRecords].as<uint64_t>(),
        node.streams[l3::kParams].as<uint32_t>(), node.streams[l3::kResiduals].as<uint32_t>(), node.count);
    std::vector<uint64_t> values(node.count);
    std::vector<int64_t> as_signed(node.count);
    bool bad = false;
    for (uint32_t row = 0; row < node.count; ++row) {
      values[row] = chunk.value(row, sizeof(uint64_t), &bad);
      as_signed[row] = static_cast<int64_t>(values[row]);
    }
    const std::string place = std::to_string(width) + " bits";
    expect_ranges<uint64_t, L3<uint64_t>>(view_of(node), values, random, 20, place);
    expect_ranges<int64_t, L3<uint64_t>>(view_of(node), as_signed, random, 20, place);
  }
}

// Curves of each degree with noise of each width, around zero and at the ends of the type.
template <typename S>
void expect_curves(Physical type) {
  using T = std::make_unsigned_t<S>;
  Random random(22);
  std::mt19937_64 noise(22);
  for (uint32_t degree = 0; degree <= 3; ++degree) {
    for (uint32_t width = 0; width < 8 * sizeof(T) - 8 && width <= 48; width += width < 8 ? 2 : 7) {
      for (const S base : {S{0}, std::numeric_limits<S>::lowest(), std::numeric_limits<S>::max()}) {
        std::vector<S> values;
        for (const uint64_t value : testing::noisy_curve(3000, degree, width, noise)) {
          values.push_back(static_cast<S>(static_cast<T>(static_cast<T>(base) + static_cast<T>(value))));
        }
        const Node node = encoded(values, "l3", type);
        expect_ranges<S, L3<T>>(view_of(node), values, random, 2,
                                "degree " + std::to_string(degree) + ", " + std::to_string(width) + " bits");
      }
    }
  }
}

TEST(EmulatedRanges, LearnedCurves) {
  expect_curves<int16_t>(Physical::kI16);
  expect_curves<uint32_t>(Physical::kU32);
  expect_curves<int64_t>(Physical::kI64);
}

template <typename F>
std::vector<int64_t> sequence(F&& f) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 20 * kTileRows - 300; ++i) values.push_back(f(i));
  return values;
}

// What answers is what can: a line decides all tiles but the one in which it passes the literal, and there reads
// little.
TEST(EmulatedRanges, TilesAreCountedByWhatAnswered) {
  Random random(23);
  const auto at_most = [&](const std::vector<int64_t>& values, int64_t last) {
    Tally tally{};
    const Node node = encoded(values, "l3", Physical::kI64);
    expect_range<int64_t, device::Test::kAtMost, L3<uint64_t>>(
        descriptor_of(view_of(node)), values, std::numeric_limits<int64_t>::lowest(), last, "count", tally);
    return tally;
  };
  const std::vector<int64_t> line = sequence([&](int64_t i) { return 1000 * i + static_cast<int64_t>(random() % 16); });
  EXPECT_EQ(at_most(line, line[10 * kTileRows + 500]), (Tally{19, 1, 0}));
  const std::vector<int64_t> falls = sequence([&](int64_t i) { return -3 * i + static_cast<int64_t>(random() % 4); });
  EXPECT_EQ(at_most(falls, falls[4 * kTileRows + 77]), (Tally{19, 1, 0}));
  EXPECT_EQ(at_most(sequence([](int64_t) { return 7; }), 7), (Tally{20, 0, 0}));
  // Of noise every tile is read; of noise far away none.
  const std::vector<int64_t> noise = sequence([&](int64_t) { return static_cast<int64_t>(random() % 1000); });
  EXPECT_EQ(at_most(noise, 500), (Tally{0, 0, 20}));
  EXPECT_EQ(at_most(noise, 5000), (Tally{20, 0, 0}));
  // Runs without order: by their values.
  const std::vector<int64_t> runs = sequence([](int64_t i) { return i / 300 * 7919 % 100003; });
  const Tally by_run = at_most(runs, 50000);
  EXPECT_EQ(by_run[device::kByRows], 0u);
  EXPECT_GT(by_run[device::kByModel], 10u);
  EXPECT_EQ(at_most(runs, 200000)[device::kByBounds], 20u);
}

TEST(EmulatedRanges, Dictionaries) {
  Random random(24);
  std::vector<int64_t> values = sequence([](int64_t i) { return i / 4000 * 1000 + i % 3; });
  values.resize(6000);
  const Node packed = encoded(values, "dict(packed, packed)", Physical::kI64);
  const Node learned = encoded(values, "dict(l3, l3)", Physical::kI64);
  Tally tally = expect_ranges<int64_t, Dict<uint64_t, Packed<uint32_t>, Packed<uint64_t>>>(view_of(packed), values,
                                                                                           random, 6, "packed");
  EXPECT_GT(tally[device::kByBounds], 0u);
  tally = expect_ranges<int64_t, Dict<uint64_t, L3<uint32_t>, L3<uint64_t>>>(view_of(learned), values, random, 6, "l3");
  EXPECT_GT(tally[device::kByBounds], 0u);
}

// References anywhere in the type. One is a tile's smallest value, so that none runs over the type's end.
template <typename S>
void expect_packed(Physical type) {
  using T = std::make_unsigned_t<S>;
  Random random(25);
  Tally all{};
  for (uint32_t width = 0; width <= 8 * sizeof(T); ++width) {
    std::vector<T> bits;
    for (size_t i = 0; i < 2 * kTileRows; ++i) bits.push_back(static_cast<T>(random() & low_bits(width)));
    bits[0] = bits[kTileRows] = 0;
    bits[1] = bits[kTileRows + 1] = static_cast<T>(low_bits(width));
    Node node = encoded(bits, "packed", type == Physical::kI8 ? Physical::kU8 : type);
    node.type = type;
    for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{200}, random()}) {
      for (const T middle : {T{0}, static_cast<T>(T{1} << (8 * sizeof(T) - 1))}) {
        const T reference = static_cast<T>(middle - static_cast<T>(offset));
        if (static_cast<S>(reference + static_cast<T>(low_bits(width))) < static_cast<S>(reference)) continue;
        for (uint32_t tile = 0; tile < 2; ++tile) node.streams[packed::kReferences].as<T>()[tile] = reference;
        std::vector<S> values(bits.size());
        const std::unique_ptr<Reader> reader = open_reader(view_of(node));
        for (uint32_t tile = 0; tile < 2; ++tile) reader->decode_tile(tile, values.data() + size_t{tile} * kTileRows);
        const std::string place = "width " + std::to_string(width) + ", reference " + std::to_string(reference);
        all += expect_ranges<S, Packed<T>>(view_of(node), values, random, 2, place);
        all += expect_ranges<S, Packed<T, EdgeWidths>>(view_of(node), values, random, 2, place);
      }
    }
  }
  EXPECT_GT(all[device::kByBounds], 50u);
  EXPECT_GT(all[device::kByRows], 50u);
}

TEST(EmulatedRanges, PackedValuesWithAnyReference) {
  expect_packed<uint8_t>(Physical::kU8);
  expect_packed<int16_t>(Physical::kI16);
  expect_packed<uint32_t>(Physical::kU32);
  expect_packed<int64_t>(Physical::kI64);
}

// Tiles whose widths could hold more than the type does above their references.
template <typename S>
void expect_packed_at_the_end(Physical type) {
  using T = std::make_unsigned_t<S>;
  Random random(27);
  for (const uint64_t span : {uint64_t{1}, uint64_t{5}, uint64_t{100}}) {
    std::vector<S> values;
    for (size_t i = 0; i < 2 * kTileRows; ++i) {
      values.push_back(static_cast<S>(std::numeric_limits<S>::max() - static_cast<S>(random() % span)));
    }
    const Node node = encoded(values, "packed", type);
    const std::string place = "span " + std::to_string(span);
    expect_ranges<S, Packed<T>>(view_of(node), values, random, 20, place);
    expect_ranges<S, Packed<T, EdgeWidths>>(view_of(node), values, random, 20, place);
    Tally tally{};
    const S low = static_cast<S>(std::numeric_limits<S>::max() - 100);
    expect_range<S, device::Test::kAtLeast, Packed<T>>(descriptor_of(view_of(node)), values, low,
                                                       std::numeric_limits<S>::max(), place, tally);
  }
}

TEST(EmulatedRanges, PackedValuesAtTheTypesEnd) {
  expect_packed_at_the_end<uint8_t>(Physical::kU8);
  expect_packed_at_the_end<int16_t>(Physical::kI16);
  expect_packed_at_the_end<uint32_t>(Physical::kU32);
  expect_packed_at_the_end<int64_t>(Physical::kI64);
}

// Two learned columns; one filters and is summed, the other filters.
TEST(EmulatedRanges, LearnedKernelAsGenerated) {
  constexpr size_t kRows = 6 * kTileRows - 300;
  Random random(26);
  std::vector<int64_t> at;
  std::vector<int32_t> id;
  uint64_t rows = 0;
  int128_t sum = 0;
  const int64_t first = 150 * kTileRows + 7;
  const int64_t last = 450 * kTileRows + 9;
  for (size_t i = 0; i < kRows; ++i) {
    at.push_back(static_cast<int64_t>(100 * i + random() % 30));
    id.push_back(static_cast<int32_t>(5 * i));
    const bool passes = at[i] >= first && at[i] <= last && id[i] != 10'000;
    rows += passes ? 1 : 0;
    sum += passes ? at[i] : 0;
  }
  const Node nodes[] = {encoded(at, "l3", Physical::kI64), encoded(id, "l3", Physical::kI32)};
  std::vector<uint64_t> slot(device::kSlotWords, 0);
  slot[0] = kRows;
  const size_t places[] = {1, 7};
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<uint64_t> words = descriptor_of(view_of(nodes[i]));
    std::copy(words.begin(), words.end(), slot.begin() + static_cast<ptrdiff_t>(places[i]) + 1);
  }
  std::vector<uint32_t> work;
  for (uint32_t tile = 0; tile < 6; ++tile) work.push_back(device::make_work(0, tile, false));
  uint64_t record[device::kRecordHead + 2 * device::kRecordAggregate] = {};
  device::Parameters parameters{};
  parameters.work = work.data();
  parameters.work_count = static_cast<uint32_t>(work.size());
  parameters.slots = slot.data();
  parameters.partials = record;
  const uint64_t literals[] = {static_cast<uint64_t>(first), static_cast<uint64_t>(last), 10'000, 10'000};
  for (size_t i = 0; i < 4; ++i) parameters.literals[i].low = literals[i];
  EmulatedWarp::run([&] { device::learned_scan(parameters); });
  EXPECT_GT(rows, uint64_t{2 * kTileRows});
  EXPECT_EQ(record[device::kRecordRows], rows);
  EXPECT_EQ(record[device::kRecordFlags], 0u);
  // Tiles 0 and 5 lie outside, 1 and 4 are cut, 2 and 3 lie inside; row 2000 of `id` is in tile 1.
  EXPECT_EQ(record[device::kRecordTiles + device::kByBounds], 4u);
  EXPECT_EQ(record[device::kRecordTiles + device::kByModel], 2u);
  const uint64_t* own = record + device::kRecordHead + device::kRecordAggregate;
  EXPECT_EQ(own[0], rows);
  EXPECT_TRUE(static_cast<int128_t>(static_cast<uint128_t>(own[2]) << 64 | own[1]) == sum);
}

}  // namespace
}  // namespace basalt::test
