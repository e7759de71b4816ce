// Blocks of exceptions that no writer makes, read by a warp in every way that galp has, to registers, to memory, row by
// row and as filters and sums do that take tiles in groups: whatever their words say, nothing is touched outside the
// streams, the warp's shared memory and the output, and other tiles keep their values. Sanitizers see the rest;
// validate() is asked what a reader may pass over in silence.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

#include "basalt/core/error.h"
#include "codec/galp/exceptions.h"
#include "codec/galp_values.h"
//
#include "cuda/emulated_reads.h"
//
#include "codec/galp/gpu/filter_sum.cuh"
#include "codec/galp/gpu/kernels.cuh"
#include "codec/packed/gpu/kernels.cuh"
#include "exec/device/filter_sum.cuh"
#include "exec/device/tile_group_filter.cuh"

namespace basalt::test {
namespace {

template <typename T>
using BitsOf = galp::BitsOf<T>;
template <typename T>
using DecimalsReader = device::Galp<BitsOf<T>, device::Packed<BitsOf<T>>>;

// A view of the node whose own streams lie where a sanitizer sees each byte that is read beyond them.
class ExactStreams {
 public:
  explicit ExactStreams(const Node& node) : view_(view_of(node)) {
    for (ByteView& stream : view_.streams) {
      if (!stream.empty()) stream = copies_.emplace_back(stream.begin(), stream.end());
    }
  }
  const NodeView& view() const { return view_; }

 private:
  std::deque<std::vector<std::byte>> copies_;
  NodeView view_;
};

bool is_valid(const NodeView& view) {
  try {
    validate_tree(view);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// What a way to read gives, and whether it reports damage.
template <typename T>
struct Taken {
  std::vector<BitsOf<T>> values;
  bool bad = false;
};

template <typename T>
Taken<T> to_registers(const std::vector<uint64_t>& descriptor, size_t rows) {
  Taken<T> out{std::vector<BitsOf<T>>(rows)};
  uint32_t bad = 0;
  EmulatedWarp::run([&] { device::decode_array<DecimalsReader<T>>(descriptor.data(), out.values.data(), &bad); });
  out.bad = bad != 0;
  return out;
}

template <typename T>
Taken<T> to_memory(const std::vector<uint64_t>& descriptor, size_t rows) {
  Taken<T> out{std::vector<BitsOf<T>>(rows)};
  const auto staged = std::make_unique<typename DecimalsReader<T>::Staged>();
  EmulatedWarp::run([&] {
    DecimalsReader<T> reader;
    reader.bind(descriptor.data());
    for (uint32_t tile = 0; tile < tile_count(rows); ++tile) {
      reader.write_tile(tile, rows_in_tile(rows, tile), *staged, out.values.data() + size_t{tile} * kTileRows);
      device::sync_warp();
    }
    if (reader.bad) out.bad = true;
  });
  return out;
}

template <typename T>
Taken<T> row_by_row(const std::vector<uint64_t>& descriptor, size_t rows) {
  Taken<T> out{std::vector<BitsOf<T>>(rows)};
  DecimalsReader<T> reader;
  reader.bind(descriptor.data());
  for (size_t row = 0; row < rows; ++row) out.values[row] = reader.row(static_cast<uint32_t>(row));
  out.bad = reader.bad;
  return out;
}

// What tests and filter sums make of each tile, for values up to 0.
struct Filtered {
  std::vector<uint32_t> masks;  // of lanes
  std::vector<double> sums;
};
template <typename T>
Filtered filtered(const std::vector<uint64_t>& descriptor, size_t rows) {
  constexpr uint32_t kSlotWords = 16;
  using Tests = device::TileGroupFilter<T, device::Test::kAtMost, 1, kSlotWords, DecimalsReader<T>>;
  using FilterSum =
      device::FloatFilterSum<1, kSlotWords,
                             device::GalpFilterSum<BitsOf<T>, device::Packed<BitsOf<T>, device::Widths<>>>>;
  const auto tiles = static_cast<uint32_t>(tile_count(rows));
  std::vector<uint64_t> slot(kSlotWords, rows);
  std::copy(descriptor.begin(), descriptor.end(), slot.begin() + 2);
  std::vector<uint32_t> items;
  for (uint32_t tile = 0; tile < tiles; ++tile) items.push_back(device::make_work(0, tile, false));
  Filtered out{std::vector<uint32_t>(tiles * kLanes), std::vector<double>(tiles)};
  alignas(16) static unsigned char for_tests[Tests::kScratchBytes];
  alignas(16) static unsigned char for_filter_sum[FilterSum::kScratchBytes];
  device::TileTally tally;
  EmulatedWarp::run([&] {
    tally.begin();
    Tests tests(for_tests, INT64_MIN, 0);
    FilterSum filter_sum(for_filter_sum, -kNanKey, 0);
    for (device::Work work(items.data(), tiles); work.more(); work.next()) {
      uint32_t bad = 0;
      uint32_t how = device::kByBounds;
      const uint32_t alive = tests.next(work, slot.data(), INT64_MIN, 0);
      const uint32_t mask = tests.mask(work, slot.data(), bad, how, INT64_MIN, 0);
      out.masks[work.tile() * kLanes + device::lane_id()] = mask & alive;
      out.sums[work.tile()] = filter_sum.of(work, slot.data(), tally, -kNanKey, 0).sum;
    }
  });
  return out;
}

// Reads a damaged array in all ways; `tile`: the one that is damaged. Counts what is reported.
template <typename T>
class DamagedReads {
 public:
  DamagedReads(Node& node, std::vector<BitsOf<T>> values)
      : node_(node), values_(std::move(values)), whole_(filtered<T>(descriptor_of(view_of(node)), values_.size())) {}

  void expect_survives(uint32_t tile, const std::string& place) {
    const ExactStreams exact(node_);
    const std::vector<uint64_t> descriptor = descriptor_of(exact.view());
    const bool valid = is_valid(exact.view());
    std::vector<BitsOf<T>> expected(values_.size());
    if (valid) {
      const auto reader = open_reader(exact.view());
      for (uint32_t i = 0; i < tile_count(values_.size()); ++i) reader->decode_tile(i, &expected[i * kTileRows]);
    }
    ++damages_;
    invalid_ += valid ? 0 : 1;
    for (const auto& way : {to_registers<T>, to_memory<T>, row_by_row<T>}) {
      const Taken<T> taken = way(descriptor, values_.size());
      if (valid) {
        ASSERT_FALSE(taken.bad) << place;
        ASSERT_TRUE(taken.values == expected) << place;
      }
      reported_ += taken.bad ? 1 : 0;
      for (size_t row = 0; row < values_.size(); ++row) {
        if (row / kTileRows == tile) continue;
        ASSERT_EQ(taken.values[row], values_[row]) << place << ", row " << row << " of another tile";
      }
    }
    const Filtered now = filtered<T>(descriptor, values_.size());
    for (uint32_t i = 0; i < tile_count(values_.size()); ++i) {
      if (i == tile) continue;
      ASSERT_EQ(galp::bits_of(now.sums[i]), galp::bits_of(whole_.sums[i])) << place << ", tile " << i;
      for (uint32_t lane = i * kLanes; lane < (i + 1) * kLanes; ++lane) {
        ASSERT_EQ(now.masks[lane], whole_.masks[lane]) << place << ", tile " << i;
      }
    }
  }
  // Each word of the block of a tile but those of the values, flipped and replaced.
  void damage_block(uint32_t tile, uint32_t bits) {
    const auto* starts = node_.streams[galp::kExceptionStarts].template as<uint16_t>();
    const uint32_t begin = starts[tile];
    const uint32_t end = starts[tile + 1];
    ASSERT_LT(begin, end);
    auto* words = node_.streams[galp::kExceptions].template as<uint32_t>();
    const auto block = galp::Exceptions::of(words + begin, bits);
    const auto values_begin = static_cast<uint32_t>(block.values - words);
    for (uint32_t word = begin; word < std::min(values_begin + 1, end); ++word) {
      const uint32_t before = words[word];
      const auto try_word = [&](uint32_t other) {
        words[word] = other;
        expect_survives(tile, "tile " + std::to_string(tile) + ", word " + std::to_string(word - begin) + ": " +
                                  std::to_string(before) + " as " + std::to_string(other));
        words[word] = before;
      };
      // Heads, and lists of few words, bit by bit.
      const uint32_t step = word == begin || block.listed() ? 1 : 11;
      for (uint32_t bit = word % step; bit < 32; bit += step) try_word(before ^ 1u << bit);
      for (const uint32_t other : {0u, ~0u, before << 8, before >> 8, before + 1, before - 1}) try_word(other);
    }
  }
  uint32_t damages() const { return damages_; }
  uint32_t invalid() const { return invalid_; }
  uint32_t reported() const { return reported_; }

 private:
  Node& node_;
  std::vector<BitsOf<T>> values_;
  Filtered whole_;  // before it is damaged
  uint32_t damages_ = 0;
  uint32_t invalid_ = 0;
  uint32_t reported_ = 0;
};

// Three tiles: exceptions in a list as long as there are, in masks, and in a list of few words, at the end of the
// stream and in a tile of 500 rows. Values of all their bits, or of few above a base.
template <typename T>
Node three_tiles(bool narrow, std::vector<BitsOf<T>>& values) {
  std::mt19937_64 random(narrow ? 3 : 4);
  constexpr size_t kRows = 2 * kTileRows + 500;
  const std::vector<galp::IntOf<T>> integers(kRows, 12345);
  std::vector<galp::LaneRows> tiles(3);
  values.assign(kRows, galp::bits_of(galp::decode<T>(12345, galp::Scale<T>::of({5, 2}))));
  constexpr uint32_t kCounts[] = {galp::kMaxListed, 90, 7};
  for (uint32_t tile = 0; tile < 3; ++tile) {
    while (tiles[tile].count < kCounts[tile]) {
      const auto row = static_cast<uint32_t>(random() % rows_in_tile(kRows, tile));
      uint32_t& lane = tiles[tile].rows[row % kLanes];
      if ((lane >> row / kLanes & 1) != 0) continue;
      lane |= 1u << row / kLanes;
      ++tiles[tile].count;
      values[tile * kTileRows + row] = static_cast<BitsOf<T>>(narrow ? 1000 + random() % 4000 : random());
    }
  }
  return testing::patched<T>({5, 2}, integers, tiles, values);
}

template <typename T>
void check_decimals() {
  for (const bool narrow : {false, true}) {
    std::vector<BitsOf<T>> values;
    Node node = three_tiles<T>(narrow, values);
    ASSERT_TRUE(is_valid(view_of(node)));
    DamagedReads<T> reads(node, values);
    for (uint32_t tile = 0; tile < 3; ++tile) reads.damage_block(tile, sizeof(T) * 8);
    EXPECT_GT(reads.invalid(), reads.damages() / 2);
    EXPECT_GT(reads.reported(), reads.invalid());  // of three ways
  }
}

TEST(EmulatedGalpDamage, BlocksOfDecimals) {
  check_decimals<double>();
  check_decimals<float>();
}

// Upper parts that no dictionary has: values of 16 bits.
template <typename T>
void check_upper_parts() {
  std::mt19937_64 random(5);
  std::vector<T> values(2 * kTileRows);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t share = i < kTileRows ? 60 : 10;
    const auto real = static_cast<T>(1 + static_cast<double>(random() >> 11) * 0x1p-53);
    values[i] = random() % share == 0 ? -real : real;
    if (random() % share == 0) values[i] = testing::random_bits<T>(random);
  }
  Node node = testing::encoded(testing::view(values), "galp(packed)");
  for (const uint8_t scheme : node.streams[galp::kSchemes].span<uint8_t>()) ASSERT_EQ(scheme, galp::kRd);
  std::vector<BitsOf<T>> bits;
  for (const T value : values) bits.push_back(galp::bits_of(value));
  DamagedReads<T> reads(node, bits);
  for (uint32_t tile = 0; tile < 2; ++tile) reads.damage_block(tile, galp::kMaxLeftBits);
  EXPECT_GT(reads.invalid(), reads.damages() / 2);
  EXPECT_GT(reads.reported(), reads.invalid());
}

TEST(EmulatedGalpDamage, BlocksOfUpperParts) {
  check_upper_parts<double>();
  check_upper_parts<float>();
}

// A start belongs to two tiles, so only the third must keep its values; a block that begins elsewhere is no block.
TEST(EmulatedGalpDamage, Starts) {
  std::vector<uint64_t> values;
  Node node = three_tiles<double>(true, values);
  const auto words = static_cast<uint32_t>(node.streams[galp::kExceptions].size() / sizeof(uint32_t));
  auto* starts = node.streams[galp::kExceptionStarts].as<uint16_t>();
  uint32_t reported = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint16_t before = starts[i];
    for (const uint32_t other :
         {0u, 1u, before - 1u, before + 1u, before + 40u, words - 1, words, words + 1, 0xFFFFu}) {
      starts[i] = static_cast<uint16_t>(other);
      if (starts[i] == before) continue;
      const ExactStreams exact(node);
      EXPECT_FALSE(is_valid(exact.view()));
      const std::vector<uint64_t> descriptor = descriptor_of(exact.view());
      for (const auto& way : {to_registers<double>, to_memory<double>, row_by_row<double>}) {
        const Taken<double> taken = way(descriptor, values.size());
        reported += taken.bad ? 1 : 0;
        for (size_t row = 0; row < values.size(); ++row) {
          const size_t tile = row / kTileRows;
          if (tile == i || tile + 1 == i) continue;
          ASSERT_EQ(taken.values[row], values[row]) << "start " << i << " as " << other << ", row " << row;
        }
      }
    }
    starts[i] = before;
  }
  EXPECT_GT(reported, 60u);
}

}  // namespace
}  // namespace basalt::test
