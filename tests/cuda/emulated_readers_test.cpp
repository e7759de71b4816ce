// The tile readers of generated kernels, run on the CPU lane by lane: every tree gives the values that were encoded, in
// tiles and row by row, with widths that are unrolled and widths that are not. And TPC-H Q6's kernel, word for word the
// text that the generator writes, against a plain loop.
#include <gtest/gtest.h>

#include <cmath>

#include "codec/arrays.h"
#include "codec/l3_nodes.h"
#include "cuda/device_arrays.h"
#include "cuda/query/sample_pipelines.h"
#include "exec/tables.h"
//
#include "cuda/emulated_trees.h"
//
#include "codec/constant/gpu/kernels.cuh"
#include "codec/delta/gpu/kernels.cuh"
#include "codec/dict/gpu/kernels_runs.cuh"
#include "codec/grouped/gpu/kernels.cuh"
#include "codec/l3/gpu/kernels.cuh"
#include "codec/l3/gpu/tile_strip.cuh"
#include "codec/numbered/gpu/codes.cuh"
#include "codec/numbered/layout.h"
#include "codec/packed/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"
#include "codec/rle/gpu/kernels.cuh"
#include "codec/stride/gpu/kernels.cuh"
#include "codec/strings/gpu/codes.cuh"
#include "codec/strings/layout.h"
//
#include "cuda/q6_kernel.txt"

namespace basalt::test {
namespace {

using device::Constant;
using device::Delta;
using device::Dict;
using device::Grouped;
using device::L3;
using device::Packed;
using device::Plain;
using device::Rle;
using device::RunDict;
using device::Stride;
using device::Widths;

using Some = Widths<1, 6, 8, 10, 13, 33, 40>;

TEST(EmulatedReaders, PackedInUnrolledAndOtherWidths) {
  check_tree<Packed<uint8_t>>("packed", Physical::kU8);
  check_tree<Packed<uint32_t>>("packed", Physical::kU32);
  check_tree<Packed<uint32_t, device::AllWidths>>("packed", Physical::kU32);
  check_tree<Packed<uint64_t>>("packed", Physical::kU64);
  check_tree<Packed<uint64_t, Some>>("packed", Physical::kU64);
  check_tree<Packed<uint64_t, device::AllWidths>>("packed", Physical::kU64);
  check_tree<Packed<uint64_t, device::WidthsUpTo<32>>>("packed", Physical::kU64);
}

// Strings of one text and a number that is a place in a list.
TEST(EmulatedReaders, CodesOfNumberedStrings) {
  using Codes = device::NumberedCodes<1, device::DictCodes<Packed<uint32_t>>>;
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < 5000; ++i) texts.push_back("Brand#" + std::to_string(10 + i * i % 29));
  const testing::Array array = testing::make_texts(texts, 1);
  const Node node = encode_tree(array.values, bind_tree(parse_tree("numbered(dict(packed, plain))"), Physical::kBytes));
  const NodeView view = view_of(node);
  EXPECT_EQ(view.codec->device_codes(view).type.text(), "NumberedCodes<1, DictCodes<Packed<uint32_t>>>");
  const NodeView& numbers = view.children[numbered::kNumbers];
  const std::vector<uint64_t> descriptor = descriptor_of(view);
  std::vector<uint32_t> codes(texts.size());
  bool bad = false;
  EmulatedWarp::run([&] {
    for (uint32_t tile = 0; tile * kTileRows < codes.size(); ++tile) {
      Codes reader;
      reader.open(descriptor.data(), tile, nullptr);
      for (uint32_t k = 0; k < kRowsPerLane; ++k) {
        const size_t row = size_t{tile} * kTileRows + k * kLanes + device::lane_id();
        const uint32_t code = reader.at(k);
        if (row < codes.size()) codes[row] = code;
      }
      bad = bad || reader.bad;
    }
  });
  EXPECT_FALSE(bad);
  const auto* entries = reinterpret_cast<const uint64_t*>(numbers.children[dict::kEntries].streams[0].data());
  for (size_t row = 0; row < texts.size(); ++row) {
    ASSERT_LT(codes[row], numbers.children[dict::kEntries].count);
    ASSERT_EQ("Brand#" + std::to_string(entries[codes[row]]), texts[row]) << "row " << row;
  }
  const Node plain = encode_tree(array.values, bind_tree(parse_tree("numbered(packed)"), Physical::kBytes));
  EXPECT_TRUE(plain.codec->device_codes(view_of(plain)).empty());
}

// Strings of few rows, each an entry of its own.
TEST(EmulatedReaders, PlacesOfFewStrings) {
  for (const size_t rows : {size_t{1}, size_t{25}, size_t{256}, size_t{257}}) {
    const testing::Array array = testing::make_texts(std::vector<std::string>(rows, "a text"), 0);
    const Node node = encode_tree(array.values, bind_tree(parse_tree("strings(packed, plain)"), Physical::kBytes));
    const NodeView view = view_of(node);
    EXPECT_EQ(view.codec->device_codes(view).type.text(), rows <= strings::kFewTexts ? "StringPlaces" : "");
    const std::vector<uint64_t> descriptor = descriptor_of(view);
    EmulatedWarp::run([&] {
      device::StringPlaces reader;
      reader.open(descriptor.data(), 0, nullptr);
      for (uint32_t k = 0; k < kRowsPerLane; ++k) {
        const uint32_t row = k * kLanes + device::lane_id();
        EXPECT_EQ(reader.at(k), row < rows ? row : 0) << "of " << rows;
      }
    });
  }
}

TEST(EmulatedReaders, ComparisonsInThePackedDomain) {
  Random random(3);
  for (uint32_t width = 1; width <= 64; ++width) {
    std::vector<uint64_t> values;
    for (uint32_t i = 0; i < kTileRows; ++i) values.push_back(500 + (random() & low_bits(width)));
    values[0] = 500;
    values[1] = 500 + low_bits(width);
    if (values[1] < 500) continue;  // wrapped: widths that a frame of reference never gets
    const Node node = encoded(values, "packed", Physical::kU64);
    const std::vector<uint64_t> descriptor = descriptor_of(view_of(node));
    const uint64_t first = 500 + low_bits(width) / 4;
    const uint64_t last = 500 + low_bits(width) / 2;
    const auto check = [&]<typename Reader>(Reader reader) {
      EmulatedWarp::run([&] {
        reader.open(descriptor.data(), 0, nullptr);
        uint32_t how = device::kByBounds;
        const uint32_t within =
            device::TileTest<uint64_t, device::Test::kBetween, Reader>::run(reader, how, first, last);
        const uint32_t most = device::TileTest<uint64_t, device::Test::kAtMost, Reader>::run(reader, how, 0, last);
        const uint32_t least =
            device::TileTest<uint64_t, device::Test::kAtLeast, Reader>::run(reader, how, first, UINT64_MAX);
        for (uint32_t k = 0; k < kRowsPerLane; ++k) {
          const uint64_t value = values[k * kLanes + device::lane_id()];
          EXPECT_EQ(within >> k & 1, value >= first && value <= last ? 1u : 0u) << width;
          EXPECT_EQ(most >> k & 1, value <= last ? 1u : 0u) << width;
          EXPECT_EQ(least >> k & 1, value >= first ? 1u : 0u) << width;
        }
      });
    };
    check(Packed<uint64_t>{});
    check(Packed<uint64_t, device::AllWidths>{});
  }
}

TEST(EmulatedReaders, Dictionaries) {
  check_tree<Dict<uint64_t, Packed<uint32_t>, Packed<uint64_t>>>("dict(packed, packed)", Physical::kU64);
  check_tree<Dict<uint64_t, Packed<uint32_t, Some>, Plain<uint64_t>>>("dict(packed, plain)", Physical::kU64);
  check_tree<RunDict<uint16_t, Packed<uint32_t>, Packed<uint32_t>, Plain<uint16_t>>>("dict(rle(packed, packed), plain)",
                                                                                     Physical::kU16);
  check_tree<RunDict<uint64_t, Packed<uint32_t, Some>, Delta<uint32_t, Packed<uint32_t>>, Packed<uint64_t>>>(
      "dict(rle(packed, delta(packed)), packed)", Physical::kU64);
  check_tree<Dict<uint128_t, Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>, Plain<uint128_t>>>(
      "dict(rle(packed, packed), plain)", Physical::kI128);
}

TEST(EmulatedReaders, Deltas) {
  check_tree<Delta<uint8_t, Packed<uint8_t>>>("delta(packed)", Physical::kU8);
  check_tree<Delta<uint32_t, Packed<uint32_t, Some>>>("delta(packed)", Physical::kU32);
  check_tree<Delta<uint64_t, Packed<uint64_t, device::AllWidths>>>("delta(packed)", Physical::kU64);
  check_tree<Delta<uint64_t, Rle<uint64_t, Packed<uint64_t>, Packed<uint32_t>>>>("delta(rle(packed, packed))",
                                                                                 Physical::kU64);
}

TEST(EmulatedReaders, Slopes) {
  check_tree<Stride<uint8_t, Packed<uint8_t>>>("stride(packed)", Physical::kU8);
  check_tree<Stride<uint64_t, Packed<uint64_t, Some>>>("stride(packed)", Physical::kU64);
  check_tree<Stride<uint32_t, Rle<uint32_t, Delta<uint32_t, Packed<uint32_t>>, Packed<uint32_t>>>>(
      "stride(rle(delta(packed), packed))", Physical::kU32);
  check_tree<Rle<uint64_t, Stride<uint64_t, Packed<uint64_t>>, Stride<uint32_t, Packed<uint32_t>>>>(
      "rle(stride(packed), stride(packed))", Physical::kU64);
}

TEST(EmulatedReaders, Groups) {
  check_tree<Grouped<uint8_t, Packed<uint64_t>>>("grouped(packed)", Physical::kU8);
  check_tree<Dict<uint64_t, Grouped<uint32_t, Dict<uint64_t, Packed<uint32_t>, Plain<uint64_t>>>, Plain<uint64_t>>>(
      "dict(grouped(dict(packed, plain)), plain)", Physical::kU64);
  check_tree<Delta<uint64_t, Dict<uint64_t, Grouped<uint32_t, Packed<uint64_t>>, Plain<uint64_t>>>>(
      "delta(dict(grouped(packed), plain))", Physical::kU64);
}

template <typename Reader>
void expect_known(const std::string& tree, Physical type) {
  const DeviceReader reader = samples::reader_of(tree, type);
  EXPECT_EQ(reader.scratch_bytes, Reader::kScratchBytes) << reader.type.text();
  EXPECT_EQ(reader.rows_in_shared, Reader::kRowsInShared) << reader.type.text();
}

// The text that a codec gives names the reader of which it says how much scratch it takes.
#define BASALT_EXPECT_KNOWN(tree_text, physical, ...)                           \
  EXPECT_EQ(samples::reader_of(tree_text, physical).type.text(), #__VA_ARGS__); \
  expect_known<__VA_ARGS__>(tree_text, physical)

TEST(EmulatedReaders, CodecsKnowTheirReaders) {
  BASALT_EXPECT_KNOWN("packed", Physical::kU64, Packed<uint64_t>);
  BASALT_EXPECT_KNOWN("plain", Physical::kU8, Plain<uint8_t>);
  BASALT_EXPECT_KNOWN("constant", Physical::kI128, Constant<uint128_t>);
  BASALT_EXPECT_KNOWN("dict(packed, packed)", Physical::kU64, Dict<uint64_t, Packed<uint32_t>, Packed<uint64_t>>);
  BASALT_EXPECT_KNOWN("l3", Physical::kU8, L3<uint8_t>);
  BASALT_EXPECT_KNOWN("l3", Physical::kI16, L3<uint16_t>);
  BASALT_EXPECT_KNOWN("l3", Physical::kU32, L3<uint32_t>);
  BASALT_EXPECT_KNOWN("l3", Physical::kU64, L3<uint64_t>);
  BASALT_EXPECT_KNOWN("stride(packed)", Physical::kI32, Stride<uint32_t, Packed<uint32_t>>);
  BASALT_EXPECT_KNOWN("stride(rle(packed, packed))", Physical::kU64,
                      Stride<uint64_t, Rle<uint64_t, Packed<uint64_t>, Packed<uint32_t>>>);
  BASALT_EXPECT_KNOWN("grouped(packed)", Physical::kI32, Grouped<uint32_t, Packed<uint64_t>>);
  BASALT_EXPECT_KNOWN("rle(l3, l3)", Physical::kU64, Rle<uint64_t, L3<uint64_t>, L3<uint32_t>>);
  BASALT_EXPECT_KNOWN("delta(packed)", Physical::kU8, Delta<uint8_t, Packed<uint8_t>>);
  BASALT_EXPECT_KNOWN("delta(packed)", Physical::kU64, Delta<uint64_t, Packed<uint64_t>>);
  BASALT_EXPECT_KNOWN("rle(packed, packed)", Physical::kU8, Rle<uint8_t, Packed<uint8_t>, Packed<uint32_t>>);
  BASALT_EXPECT_KNOWN("rle(packed, packed)", Physical::kI128, Rle<uint128_t, Packed<uint128_t>, Packed<uint32_t>>);
  BASALT_EXPECT_KNOWN("rle(plain, delta(packed))", Physical::kU64,
                      Rle<uint64_t, Plain<uint64_t>, Delta<uint32_t, Packed<uint32_t>>>);
  BASALT_EXPECT_KNOWN("delta(rle(packed, packed))", Physical::kU64,
                      Delta<uint64_t, Rle<uint64_t, Packed<uint64_t>, Packed<uint32_t>>>);
  BASALT_EXPECT_KNOWN("rle(delta(packed), delta(packed))", Physical::kU64,
                      Rle<uint64_t, Delta<uint64_t, Packed<uint64_t>>, Delta<uint32_t, Packed<uint32_t>>>);
  BASALT_EXPECT_KNOWN("dict(rle(packed, packed), plain)", Physical::kU16,
                      RunDict<uint16_t, Packed<uint32_t>, Packed<uint32_t>, Plain<uint16_t>>);
  BASALT_EXPECT_KNOWN("dict(rle(packed, delta(packed)), packed)", Physical::kU64,
                      RunDict<uint64_t, Packed<uint32_t>, Delta<uint32_t, Packed<uint32_t>>, Packed<uint64_t>>);
  BASALT_EXPECT_KNOWN("dict(rle(packed, packed), plain)", Physical::kI128,
                      Dict<uint128_t, Rle<uint32_t, Packed<uint32_t>, Packed<uint32_t>>, Plain<uint128_t>>);
}

// The precompiled decoder, strip by strip.
template <typename T, device::ResidualFetch kFetch>
void expect_strips_with(const NodeView& node, const std::vector<T>& values, const std::string& place) {
  const std::vector<uint64_t> descriptor = descriptor_of(node);
  const auto rows = static_cast<uint32_t>(values.size());
  for (const uint32_t strip : {1u, 3u, device::kStripTiles}) {
    std::vector<T> out(values.size());
    bool bad = false;
    static device::TileStripScratch<T, kFetch == device::ResidualFetch::kStage> scratch;
    EmulatedWarp::run([&] {
      const uint32_t lane = device::lane_id();
      // As three warps of a block would, one after the other.
      for (uint32_t first = 0; first < device::tiles_of(rows); first += first % 3 == 2 ? 3 * strip - 2 : 1) {
        const uint32_t left = device::tiles_of(rows) - first;
        const bool wrong = device::feed_strip<T, kFetch>(
            device::l3_chunk(descriptor.data()), {first, 3, std::min(strip, (left + 2) / 3)}, scratch,
            [&](uint32_t tile) {
              const uint32_t here = device::rows_of_tile(rows, tile);
              return device::StoreRows<T>{out.data() + size_t{tile} * kTileRows + lane, here > lane ? here - lane : 0};
            });
        if (wrong) bad = true;
      }
    });
    EXPECT_FALSE(bad) << place;
    EXPECT_TRUE(out == values) << place << ", strips of " << strip;
  }
}

template <typename T>
void expect_strips(const NodeView& node, const std::vector<T>& values, const std::string& place) {
  expect_strips_with<T, device::ResidualFetch::kPrefetch>(node, values, place);
  expect_strips_with<T, device::ResidualFetch::kStage>(node, values, place);
}

TEST(EmulatedReaders, LearnedStrips) {
  Random random(12);
  for (uint32_t width = 0; width <= 60; width += width < 20 ? 1 : 5) {
    for (const uint64_t curve : {0, 1, 2}) {
      std::vector<uint64_t> values;
      std::vector<uint32_t> narrow;
      for (uint64_t i = 0; i < 9000; ++i) {
        const uint64_t noise = random() & low_bits(width);
        values.push_back((curve * i << width) / 300 + (curve == 2 ? i * i << width / 2 : 0) + noise);
        narrow.push_back(static_cast<uint32_t>(curve * i * 1000 + (curve == 2 ? i * i : 0) + (noise & 0xFFFF)));
        if (i > 7200) values.back() = narrow.back() = static_cast<uint32_t>(i / 50 * 7);  // runs at the end
      }
      const std::string place = std::to_string(width) + " bits, curve " + std::to_string(curve);
      expect_strips(view_of(encoded(values, "l3", Physical::kU64)), values, place);
      expect_strips(view_of(encoded(narrow, "l3", Physical::kU32)), narrow, place);
    }
  }
}

// What readers on the CPU and on the device make of the same l3 array: the same values, or the device calls it corrupt,
// as it must where the CPU does. It looks at all runs of a tile, the CPU at those of the partition's rows.
void expect_alike(const Node& node, size_t rows, const std::string& place) {
  const NodeView view = view_of(node);
  const std::unique_ptr<Reader> reader = open_reader(view);
  std::vector<uint64_t> expected(device::tiles_of(static_cast<uint32_t>(rows)) * kTileRows);
  for (uint32_t tile = 0; tile * kTileRows < rows; ++tile) {
    reader->decode_tile(tile, expected.data() + size_t{tile} * kTileRows);
  }
  const std::vector<uint64_t> descriptor = descriptor_of(view);
  std::vector<uint64_t> out(expected.size());
  uint32_t bad = 0;
  EmulatedWarp::run([&] { device::decode_array<L3<uint64_t>>(descriptor.data(), out.data(), &bad); });
  EXPECT_TRUE(bad != 0 || !reader->corrupt()) << place;
  bool strip_bad = false;
  std::vector<uint64_t> by_strip(expected.size());
  static device::TileStripScratch<uint64_t> scratch;
  EmulatedWarp::run([&] {
    const uint32_t lane = device::lane_id();
    for (uint32_t tile = 0; tile < device::tiles_of(static_cast<uint32_t>(rows)); ++tile) {
      const bool wrong = device::feed_strip<uint64_t, device::ResidualFetch::kPrefetch>(
          device::l3_chunk(descriptor.data()), {tile, 1, 1}, scratch, [&](uint32_t) {
            return device::StoreRows<uint64_t>{by_strip.data() + size_t{tile} * kTileRows + lane, kTileRows - lane};
          });
      if (wrong) strip_bad = true;
    }
  });
  EXPECT_EQ(strip_bad, bad != 0) << place;
  if (bad != 0) return;
  for (size_t i = 0; i < rows; ++i) {
    ASSERT_EQ(out[i], expected[i]) << place << " row " << i;
    ASSERT_EQ(by_strip[i], expected[i]) << place << " row " << i << " in a strip";
  }
}

TEST(EmulatedReaders, DamagedLearnedArraysAreReported) {
  Random random(14);
  int corrupt = 0;
  int kept = 0;
  for (int round = 0; round < 600; ++round) {
    // Runs that begin inside tiles, between lines and noise.
    std::vector<uint64_t> values;
    for (size_t i = 0; i < 5000; ++i) {
      const size_t piece = i / 768 % 3;
      values.push_back(piece == 0   ? i / 37 * i / 37 * 1'000'003 % 777'777
                       : piece == 1 ? i * 1000 + random() % 50
                                    : random() % (uint64_t{1} << (round % 40)));
    }
    Node node = encoded(values, "l3", Physical::kU64);
    Buffer& stream = node.streams[static_cast<size_t>(round) % l3::kStreams];
    if (stream.empty()) continue;
    stream.data()[random() % stream.size()] ^= static_cast<std::byte>(1u << random() % 8);
    try {
      validate_tree(view_of(node));
    } catch (const Error&) {
      ++corrupt;
      continue;
    }
    ++kept;
    expect_alike(node, values.size(), "round " + std::to_string(round));
  }
  EXPECT_GT(corrupt, 0);
  EXPECT_GT(kept, 0);
}

// Coefficients of every size: offsets that leave 32 bits counted from a tile's first row, though not from the base.
template <typename T>
void expect_any_coefficients(Physical type) {
  testing::for_each_learned_node<T>(type, 5, 2, [](const Node& node, const l3::Chunk& chunk, const std::string& place) {
    std::vector<T> values(node.count);
    bool bad = false;
    for (uint32_t row = 0; row < node.count; ++row) values[row] = static_cast<T>(chunk.value(row, sizeof(T), &bad));
    expect_reads<L3<T>>(view_of(node), values, place);
    if constexpr (sizeof(T) >= 4) expect_strips(view_of(node), values, place);
  });
}

TEST(EmulatedReaders, LearnedTilesOfAnyCoefficients) {
  expect_any_coefficients<uint16_t>(Physical::kU16);
  expect_any_coefficients<uint32_t>(Physical::kU32);
  expect_any_coefficients<uint64_t>(Physical::kU64);
}

TEST(EmulatedReaders, Learned) {
  check_tree<L3<uint8_t>>("l3", Physical::kU8);
  check_tree<L3<uint32_t>>("l3", Physical::kU32);
  check_tree<L3<uint64_t>>("l3", Physical::kU64);
  check_tree<Rle<uint64_t, L3<uint64_t>, L3<uint32_t>>>("rle(l3, l3)", Physical::kU64);
  check_tree<Delta<uint64_t, L3<uint64_t>>>("delta(l3)", Physical::kU64);
  check_tree<Dict<uint64_t, L3<uint32_t>, L3<uint64_t>>>("dict(l3, l3)", Physical::kU64);
  // Lines and curves, narrow and wide, that change inside tiles.
  Random random(11);
  for (const uint64_t scale : {uint64_t{1}, uint64_t{1} << 25, uint64_t{1} << 45}) {
    std::vector<uint64_t> values;
    uint64_t at = scale * 7;
    for (size_t i = 0; i < 6000; ++i) {
      const uint64_t x = i % 1700;
      at += scale * (i / 900 % 3);
      values.push_back(at + (i / 2000 == 1 ? x * x * scale / 64 : 0) + random() % (1 + scale / 16));
    }
    expect_reads<L3<uint64_t>>(view_of(encoded(values, "l3", Physical::kU64)), values, std::to_string(scale));
  }
}

// Few rows pass in one tile, all in another, none in a third; the last tile is short.
TEST(EmulatedReaders, Q6AsGenerated) {
  constexpr size_t kRows = 4 * kTileRows - 300;
  Random random(7);
  std::vector<uint32_t> shipdate;
  std::vector<uint64_t> discount;
  std::vector<uint64_t> quantity;
  std::vector<uint64_t> price;
  uint64_t rows = 0;
  int128_t sum = 0;
  for (size_t i = 0; i < kRows; ++i) {
    const size_t tile = i / kTileRows;
    shipdate.push_back(tile == 1 ? 9000 : tile == 2 ? 10000 : static_cast<uint32_t>(8036 + random() % 2500));
    discount.push_back(tile == 1 ? 6 : random() % 11);
    quantity.push_back(tile == 1 ? 100 : 100 * (1 + random() % 50));
    price.push_back(90000 + random() % 10'000'000);
    const bool passes =
        shipdate[i] >= 8766 && shipdate[i] <= 9130 && discount[i] >= 5 && discount[i] <= 7 && quantity[i] <= 2399;
    rows += passes ? 1 : 0;
    sum += passes ? int128_t{1} * price[i] * discount[i] : 0;
  }
  const Node nodes[] = {encoded(shipdate, "packed", Physical::kI32), encoded(discount, "packed", Physical::kI64),
                        encoded(quantity, "dict(packed, packed)", Physical::kI64),
                        encoded(price, "packed", Physical::kI64)};
  std::vector<uint64_t> slot(device::kSlotWords, 0);
  slot[0] = kRows;
  const size_t places[] = {1, 6, 11, 21};
  for (size_t i = 0; i < 4; ++i) {
    const std::vector<uint64_t> words = descriptor_of(view_of(nodes[i]));
    std::copy(words.begin(), words.end(), slot.begin() + static_cast<ptrdiff_t>(places[i]) + 1);
  }
  const uint32_t work[] = {device::make_work(0, 3, false), device::make_work(0, 0, false),
                           device::make_work(0, 2, false), device::make_work(0, 1, false)};
  uint64_t record[device::kRecordHead + device::kRecordAggregate] = {};
  device::Parameters parameters{};
  parameters.work = work;
  parameters.work_count = 4;
  parameters.slots = slot.data();
  parameters.partials = record;
  const uint64_t literals[] = {8766, 9130, 5, 7, 0, 2399};
  for (size_t i = 0; i < 6; ++i) parameters.literals[i].low = literals[i];
  EmulatedWarp::run([&] { device::basalt_scan(parameters); });
  EXPECT_GT(rows, uint64_t{kTileRows});
  EXPECT_EQ(record[device::kRecordRows], rows);
  EXPECT_EQ(record[device::kRecordFlags], 0u);
  EXPECT_EQ(record[device::kRecordTiles + device::kByBounds], 2u);  // tile 1 passes whole, tile 2 not at all
  EXPECT_EQ(record[device::kRecordTiles + device::kByModel], 0u);
  const uint64_t* own = record + device::kRecordHead;
  EXPECT_EQ(own[0], rows);
  EXPECT_TRUE(static_cast<int128_t>(static_cast<uint128_t>(own[2]) << 64 | own[1]) == sum);
}

}  // namespace
}  // namespace basalt::test
