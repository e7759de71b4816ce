// The kernels that decode and encode units of `ans` on the device, run on the CPU by a block of several warps, and the
// tile reader of what the one leaves: every table, unit and last row, the same verdict on damage as the CPU's reader,
// and the same bytes as the CPU's encoder.
#include <gtest/gtest.h>

#include <random>

#include "basalt/core/error.h"
#include "codec/ans/encode.h"
#include "codec/ans/layout.h"
#include "codec/ans/table.h"
#include "cuda/device_arrays.h"
//
#include "cuda/emulated_reads.h"
//
#include "codec/ans/gpu/decode_units.cuh"
#include "codec/ans/gpu/encode_units.cuh"
#include "codec/ans/gpu/kernels.cuh"
#include "codec/delta/gpu/kernels.cuh"
#include "codec/dict/gpu/kernels.cuh"
#include "codec/plain/gpu/kernels.cuh"

namespace basalt::test {
namespace {

constexpr uint32_t kThreads = 4 * kLanes;

// What lies on the device in place of the array.
struct Decoded {
  Buffer codes;
  NodeView form;
  bool damaged = false;
};

void decode_codes(const NodeView& node, Decoded& out) {
  const ans::Parameters parameters = ans::parameters_of(node);
  uint32_t fault = 0;
  ans::DecodeWork work;
  work.table = reinterpret_cast<const uint32_t*>(node.streams[ans::kTable].data());
  work.starts = reinterpret_cast<const uint32_t*>(node.streams[ans::kStarts].data());
  work.units = reinterpret_cast<const uint32_t*>(node.streams[ans::kUnits].data());
  work.codes = out.codes.data();
  work.fault = &fault;
  work.rows = static_cast<uint32_t>(node.count);
  work.symbols = parameters.symbols;
  work.unit_tiles = parameters.unit_tiles;
  const auto scratch = std::make_unique<ans::TableScratch>();
  const auto narrow = std::make_unique<ans::NarrowRoom>();
  const auto wide = std::make_unique<ans::WideRoom>();
  // Two blocks, each with every second round of units.
  for (uint32_t block = 0; block < 2; ++block) {
    EmulatedBlock::run(kThreads, [&] {
      const uint32_t first = block * kThreads / kLanes;
      if (ans::is_narrow(parameters.symbols)) {
        ans::decode_units<uint8_t>(work, *narrow, *scratch, first, 2 * kThreads / kLanes);
      } else {
        ans::decode_units<uint16_t>(work, *wide, *scratch, first, 2 * kThreads / kLanes);
      }
    });
  }
  out.damaged = fault != 0;
}

Decoded decode(const NodeView& node) {
  Decoded out;
  out.form = *node.codec->device_form(node);
  out.codes = Buffer(out.form.streams[ans::kDeviceCodes].size());
  std::memset(out.codes.data(), 0xEE, out.codes.size());
  if (node.count > 0) decode_codes(node, out);
  out.form.streams[ans::kDeviceCodes] = out.codes.view();
  return out;
}

template <typename T>
std::vector<T> skewed(size_t rows, uint32_t alphabet, T reference, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> out(rows);
  for (T& value : out)
    value = static_cast<T>(reference + static_cast<T>(std::min(random() % alphabet, random() % alphabet)));
  return out;
}

template <typename T>
Node encode(const std::vector<T>& values, Physical type, uint32_t unit_tiles = ans::kShortUnit) {
  Values plain;
  plain.type = type;
  plain.count = values.size();
  plain.data = values.data();
  return ans::encode(&get_codec("ans"), plain, unit_tiles);
}

TEST(EmulatedAns, UnitsAndTablesOfAllKinds) {
  for (const size_t rows : {1, 31, 33, 1023, 1024, 8191, 8192, 8193, 20000}) {
    for (const uint32_t alphabet : {1u, 2u, 33u, 256u, 257u, 4096u}) {
      const std::vector<uint32_t> values = skewed<uint32_t>(rows, alphabet, 1000, rows + alphabet);
      const Node node = encode(values, Physical::kU32);
      const Decoded decoded = decode(view_of(node));
      EXPECT_FALSE(decoded.damaged);
      const std::string place = std::to_string(rows) + " rows of " + std::to_string(alphabet);
      expect_reads<device::Ans<uint32_t>>(decoded.form, values, place);
      // Behind the last row, whole tiles of zeros.
      const uint32_t bytes = ans::code_bytes(ans::parameters_of(view_of(node)).symbols);
      for (size_t i = rows * bytes; i < decoded.codes.size(); ++i) {
        ASSERT_EQ(decoded.codes.data()[i], std::byte{0}) << place << ", byte " << i;
      }
    }
  }
}

TEST(EmulatedAns, LongUnitsAndOtherTypes) {
  const std::vector<uint8_t> flags = skewed<uint8_t>(70000, 3, 254, 1);
  const Node long_units = encode(flags, Physical::kU8, ans::kLongUnit);
  expect_reads<device::Ans<uint8_t>>(decode(view_of(long_units)).form, flags, "long units");
  const std::vector<uint16_t> numbers = skewed<uint16_t>(9000, 3000, 0x8000, 2);
  expect_reads<device::Ans<uint16_t>>(decode(view_of(encode(numbers, Physical::kU16))).form, numbers, "u16");
  const std::vector<uint64_t> wide = skewed<uint64_t>(9000, 100, uint64_t{1} << 63, 3);
  const Node node = encode(wide, Physical::kI64);
  expect_reads<device::Ans<uint64_t>>(decode(view_of(node)).form, wide, "i64");
}

// Inside of a tree: the reader's type, and what it reads.
TEST(EmulatedAns, ChildrenOfOtherCodecs) {
  std::vector<uint64_t> values = skewed<uint64_t>(10000, 50, 0, 4);
  for (uint64_t& value : values) value *= 1000003;
  const Node node = encoded(values, "dict(ans, plain)", Physical::kU64);
  NodeView view = view_of(node);
  EXPECT_EQ(view.codec->device_reader(view).type.text(), "Dict<uint64_t, Ans<uint32_t>, Plain<uint64_t>>");
  const Decoded codes = decode(view.children[0]);
  view.children[0] = codes.form;
  expect_reads<device::Dict<uint64_t, device::Ans<uint32_t>, device::Plain<uint64_t>>>(view, values,
                                                                                       "dict(ans, plain)");
}

// The CPU's reader and the kernel find the same damage, and their codes stay in the alphabet.
TEST(EmulatedAns, DamageIsReportedAsOnTheCpu) {
  std::mt19937_64 random(6);
  int damaged = 0;
  for (int round = 0; round < 120; ++round) {
    const uint32_t alphabet = round % 2 == 0 ? 5 : 1000;
    Node node = encode(skewed<uint32_t>(9000, alphabet, 0, 7), Physical::kU32);
    Buffer& units = node.streams[ans::kUnits];
    for (int flips = 0; flips < 1 + round % 40; ++flips) {
      units.data()[random() % units.size()] ^= static_cast<std::byte>(1 << random() % 8);
    }
    try {
      validate_tree(view_of(node));
    } catch (const Error&) {
      continue;
    }
    const Decoded decoded = decode(view_of(node));
    const auto reader = open_reader(view_of(node));
    std::vector<uint32_t> tile(kTileRows);
    const bool narrow = ans::is_narrow(ans::parameters_of(view_of(node)).symbols);
    for (uint32_t t = 0; t < tile_count(node.count); ++t) {
      reader->decode_tile(t, tile.data());
      for (uint32_t i = 0; i < rows_in_tile(node.count, t); ++i) {
        const size_t row = size_t{t} * kTileRows + i;
        const uint32_t code = narrow ? decoded.codes.as<uint8_t>()[row] : decoded.codes.as<uint16_t>()[row];
        ASSERT_EQ(code, tile[i]) << "round " << round << ", row " << row;
      }
    }
    EXPECT_EQ(decoded.damaged, reader->corrupt()) << "round " << round;
    damaged += decoded.damaged ? 1 : 0;
  }
  EXPECT_GT(damaged, 60);
}

// As the kernels do it, with the shares that the CPU gave out.
template <typename T>
void expect_encoded(const std::vector<T>& values, Physical type, uint32_t unit_tiles, const std::string& place) {
  const Node node = encode(values, type, unit_tiles);
  const NodeView view = view_of(node);
  const ans::Parameters parameters = ans::parameters_of(view);
  const uint64_t units = ans::units_of(values.size(), unit_tiles);
  ans::EncodeWork<T> work{};
  work.values = values.data();
  work.reference = static_cast<T>(parameters.reference);
  work.rows = static_cast<uint32_t>(values.size());
  work.symbols = parameters.symbols;
  work.unit_tiles = unit_tiles;
  std::vector<uint32_t> expected_counts(work.symbols);
  for (const T value : values) ++expected_counts[static_cast<T>(value - work.reference)];
  std::vector<uint32_t> symbol_counts(work.symbols);
  const auto count_room = std::make_unique<ans::CountRoom>();
  for (uint32_t block = 0; block < 2; ++block) {
    EmulatedBlock::run(kThreads, [&] {
      ans::count_symbols(work, *count_room, block * kThreads + threadIdx.x, 2 * kThreads, symbol_counts.data());
    });
  }
  EXPECT_EQ(symbol_counts, expected_counts) << place;

  std::vector<uint32_t> codes;
  uint32_t slot = 0;
  for (const uint32_t share : ans::read_shares(view, work.symbols)) {
    codes.push_back(ans::wide_symbol(slot, share));
    slot += share;
  }
  std::vector<uint16_t> words(units * work.unit_rows());
  std::vector<uint32_t> counts(units), states(units * kLanes), tails(units), unit_words(units);
  work.codes = codes.data();
  work.words = words.data();
  work.counts = counts.data();
  work.states = states.data();
  work.tails = tails.data();
  work.unit_words = unit_words.data();
  const auto code_room = std::make_unique<ans::CodeRoom>();
  for (uint32_t block = 0; block < 2; ++block) {
    EmulatedBlock::run(kThreads,
                       [&] { ans::encode_units(work, *code_room, block * kThreads / kLanes, 2 * kThreads / kLanes); });
  }
  std::vector<uint32_t> starts{0};
  for (const uint32_t more : unit_words) starts.push_back(starts.back() + more);
  ASSERT_EQ(starts.size() * sizeof(uint32_t), node.streams[ans::kStarts].size()) << place;
  EXPECT_EQ(std::memcmp(starts.data(), node.streams[ans::kStarts].data(), node.streams[ans::kStarts].size()), 0)
      << place;
  const Buffer& expected = node.streams[ans::kUnits];
  ASSERT_EQ(starts.back() * sizeof(uint32_t), expected.size()) << place;
  std::vector<uint32_t> stream(starts.back(), 0xEEEEEEEE);
  for (uint32_t unit = 0; unit < units; ++unit) {
    EmulatedWarp::run([&] { ans::place_unit(work, starts.data(), unit, stream.data()); });
  }
  EXPECT_EQ(std::memcmp(stream.data(), expected.data(), expected.size()), 0) << place;
}

TEST(EmulatedAns, EncodesTheSameBytes) {
  for (const size_t rows : {1, 31, 33, 8191, 8192, 8193, 20000}) {
    for (const uint32_t alphabet : {1u, 2u, 33u, 256u, 257u, 4096u}) {
      expect_encoded(skewed<uint32_t>(rows, alphabet, 1000, rows + alphabet), Physical::kU32, ans::kShortUnit,
                     std::to_string(rows) + " rows of " + std::to_string(alphabet));
    }
  }
  expect_encoded(skewed<uint8_t>(70000, 3, 254, 1), Physical::kU8, ans::kLongUnit, "long units");
  expect_encoded(skewed<uint16_t>(9000, 3000, 0x8000, 2), Physical::kU16, ans::kShortUnit, "u16");
  expect_encoded(skewed<uint64_t>(9000, 100, uint64_t{1} << 63, 3), Physical::kU64, ans::kShortUnit, "u64");
}

}  // namespace
}  // namespace basalt::test
