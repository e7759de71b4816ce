// `ans`: what it takes beside the entropy, every border of units and alphabets, and what damage does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"
#include "basalt/encoding/tree.h"
#include "codec/ans/encode.h"
#include "codec/ans/layout.h"
#include "codec/ans/shares.h"
#include "codec/ans/table.h"
#include "codec/ans/unit_decoder.h"
#include "codec/arrays.h"
#include "codec/reads.h"
#include "core/instruction_set.h"

namespace basalt {
namespace {

using testing::Array;

const Tree kAns{"ans", {}};

Array array_of(Physical type, const std::vector<uint32_t>& symbols, uint64_t reference = 0) {
  Array array;
  const uint32_t width = width_of(type);
  array.data.resize(symbols.size() * width + 16);
  for (size_t i = 0; i < symbols.size(); ++i) {
    const uint64_t value = reference + symbols[i];
    std::memcpy(array.data.data() + i * width, &value, width);
  }
  array.values.type = type;
  array.values.count = symbols.size();
  array.values.data = array.data.data();
  return array;
}

// Symbols below `alphabet` whose shares fall by `ratio` from one to the next; 1: all alike.
std::vector<uint32_t> skewed(uint64_t rows, uint32_t alphabet, double ratio, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> sums(alphabet);
  double share = 1;
  double sum = 0;
  for (double& end : sums) {
    end = sum += share;
    share *= ratio;
  }
  std::vector<uint32_t> out(rows);
  for (uint32_t& symbol : out) {
    const double at = static_cast<double>(random() >> 11) / 9007199254740992.0 * sum;
    const auto found = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin();
    symbol = std::min(alphabet - 1, static_cast<uint32_t>(found));
  }
  return out;
}

double entropy_bytes(const std::vector<uint32_t>& symbols) {
  std::map<uint32_t, double> counts;
  for (const uint32_t symbol : symbols) counts[symbol] += 1;
  double bits = 0;
  for (const auto& [symbol, count] : counts) bits += count * std::log2(static_cast<double>(symbols.size()) / count);
  return bits / 8;
}

void expect_round_trip(const Values& values, const Node& node) {
  const NodeView view = view_of(node);
  ASSERT_NO_THROW(validate_tree(view));
  const auto reader = open_reader(view);
  testing::expect_reads(values, *reader);
  EXPECT_FALSE(reader->corrupt());
}

constexpr uint64_t kSizes[] = {0, 1, 31, 32, 33, 1023, 1024, 8191, 8192, 8193, 20000, 65535, 65537};
constexpr Physical kTypes[] = {Physical::kU8, Physical::kU16, Physical::kU32, Physical::kU64,
                               Physical::kI8, Physical::kI16, Physical::kI32, Physical::kI64};

TEST(Ans, EverySizeWidthSkewAndUnit) {
  for (const uint32_t unit_tiles : {ans::kShortUnit, ans::kLongUnit}) {
    for (const uint64_t rows : kSizes) {
      for (const uint32_t alphabet : {1u, 2u, 3u, 100u, 256u, 257u, 4096u}) {
        for (const double ratio : {1.0, 0.97, 0.3}) {
          const std::vector<uint32_t> symbols = skewed(rows, alphabet, ratio, rows + alphabet);
          const Physical type = alphabet <= 100              ? kTypes[(rows + alphabet) % std::size(kTypes)]
                                : (rows + alphabet) % 2 == 0 ? Physical::kI16
                                                             : Physical::kU32;
          SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(alphabet) + " as " + to_string(type));
          const Array array = array_of(type, symbols);
          expect_round_trip(array.values, ans::encode(&get_codec("ans"), array.values, unit_tiles));
        }
      }
    }
  }
}

TEST(Ans, WholeChunk) {
  const std::vector<uint32_t> symbols = skewed(kMaxChunkRows, 1000, 0.99, 7);
  const Array array = array_of(Physical::kU16, symbols);
  expect_round_trip(array.values, encode_tree(array.values, kAns));
}

// All loops that the machine has give the same, of damaged units, too; of whole ones, the symbols.
TEST(Ans, LoopsAgree) {
  std::vector<const ans::UnitLoops*> all = {&ans::baseline::kLoops};
#if defined(__x86_64__)
  if (instruction_set() == InstructionSet::kAvx512) all.push_back(&ans::avx512::kLoops);
#endif
  std::mt19937_64 random(8);
  for (const uint32_t alphabet : {2u, 40u, 3000u}) {
    const std::vector<uint32_t> symbols = skewed(8000, alphabet, 0.99, 4);
    const Array array = array_of(Physical::kU32, symbols);
    Node node = encode_tree(array.values, kAns);
    const ans::Table table(view_of(node));
    Buffer& unit = node.streams[ans::kUnits];
    for (int round = 0; round < 60; ++round) {
      for (int i = 0; i < round; ++i) unit.data()[random() % unit.size()] = static_cast<std::byte>(random());
      const std::span<const uint32_t> words(unit.as<uint32_t>(), unit.size() / 4);
      std::vector<uint16_t> first(8192, 0);
      const bool good = ans::decode_unit(table, ans::baseline::kLoops, words, 8000, first.data());
      if (round == 0) {
        EXPECT_TRUE(good);
        EXPECT_TRUE(std::equal(symbols.begin(), symbols.end(), first.begin()));
      }
      for (const ans::UnitLoops* loops : all) {
        std::vector<uint16_t> own(8192, 0);
        EXPECT_EQ(ans::decode_unit(table, *loops, words, 8000, own.data()), good);
        EXPECT_EQ(own, first);
      }
    }
  }
}

// The reference is the smallest value by the type's own order, at both of its ends.
TEST(Ans, ReferencesAtTheEndsOfTypes) {
  const std::vector<uint32_t> symbols = skewed(3000, 16, 0.7, 3);
  for (const Physical type : kTypes) {
    const uint32_t bits = 8 * width_of(type);
    const uint64_t most = ~uint64_t{0} >> (64 - bits + (is_signed(type) ? 1 : 0));
    for (const uint64_t reference : {most - 15, is_signed(type) ? most + 1 : uint64_t{0}, ~uint64_t{0} - 20}) {
      if (!is_signed(type) && reference > most) continue;
      const Array array = array_of(type, symbols, reference);
      SCOPED_TRACE(std::string(to_string(type)) + " from " + std::to_string(reference));
      const Node node = encode_tree(array.values, kAns);
      expect_round_trip(array.values, node);
      const auto bounds = open_reader(view_of(node))->bounds(0);
      ASSERT_TRUE(bounds);
      EXPECT_EQ(static_cast<uint64_t>(bounds->low) << (64 - bits), reference << (64 - bits));
    }
  }
}

TEST(Ans, ValuesTooFarApartAreRefused) {
  const Array fits = array_of(Physical::kI32, {5, 4100});
  EXPECT_NO_THROW(encode_tree(fits.values, kAns));
  const Array wide = array_of(Physical::kI32, {5, 4101});
  try {
    encode_tree(wide.values, kAns);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  }
}

// Tables, starts and states included. The states of a short unit take what about 70 bytes say: where rows take less
// than 1.2 bits, that is more than a twentieth.
TEST(Ans, TakesTheEntropyAndLittleMore) {
  struct Case {
    uint32_t alphabet;
    double ratio;
  };
  for (const Case& c :
       {Case{2, 0.35}, Case{3, 0.5}, Case{3, 1.0}, Case{4, 0.5}, Case{16, 0.8}, Case{100, 0.9}, Case{256, 0.99},
        Case{256, 1.0}, Case{300, 0.95}, Case{2000, 0.998}, Case{4096, 0.999}, Case{4096, 1.0}}) {
    const std::vector<uint32_t> symbols = skewed(kMaxChunkRows, c.alphabet, c.ratio, 11);
    const Array array = array_of(Physical::kU32, symbols);
    const double least = entropy_bytes(symbols);
    const auto short_units = ans::encode(&get_codec("ans"), array.values, ans::kShortUnit).encoded_bytes();
    const auto long_units = ans::encode(&get_codec("ans"), array.values, ans::kLongUnit).encoded_bytes();
    const double over_short = static_cast<double>(short_units) / least - 1;
    const double over_long = static_cast<double>(long_units) / least - 1;
    EXPECT_LT(over_short, least * 8 < 1.2 * kMaxChunkRows ? 0.09 : 0.06) << c.alphabet << " symbols, ratio " << c.ratio;
    EXPECT_LT(over_long, 0.015) << c.alphabet << " symbols, ratio " << c.ratio;
    std::printf("%4u symbols, %6.3f bits: %5.2f %% above in units of 8 tiles, %5.2f %% in units of 64\n", c.alphabet,
                least * 8 / kMaxChunkRows, 100 * over_short, 100 * over_long);
  }
}

// However few bits a row takes, with the units that an encoder takes by itself.
TEST(Ans, FewBitsTakeLongUnits) {
  for (const double ratio : {0.05, 0.1, 0.2, 0.35, 0.5}) {
    const std::vector<uint32_t> symbols = skewed(kMaxChunkRows, 2, ratio, 5);
    const Array array = array_of(Physical::kU32, symbols);
    for (const Purpose purpose : {Purpose::kBalanced, Purpose::kTransfer}) {
      const Node node = encode_tree(array.values, kAns, {Effort::kBalanced, purpose});
      EXPECT_LT(static_cast<double>(node.encoded_bytes()), 1.06 * entropy_bytes(symbols)) << ratio;
      testing::expect_reads(array.values, *open_reader(view_of(node)));
    }
  }
}

// Whoever wants few bytes gets long units, also below other codecs; everybody else units of a zone.
TEST(Ans, UnitsAreLongForDisk) {
  const Array array = array_of(Physical::kU32, skewed(600'000, 40, 0.7, 1));
  const auto unit_of = [](const Node& node) {
    ans::Parameters parameters;
    std::memcpy(&parameters, node.params.data(), sizeof(parameters));
    return parameters.unit_tiles;
  };
  const Tree tree = bind_tree(parse_tree("dict(ans, packed)"), Physical::kU32);
  uint64_t bytes = 0;
  for (const Purpose purpose : {Purpose::kBalanced, Purpose::kTransfer, Purpose::kDisk}) {
    const Node node = encode_tree(array.values, tree, {Effort::kBalanced, purpose});
    EXPECT_EQ(unit_of(node.children[0]), purpose == Purpose::kDisk ? ans::kLongUnit : ans::kShortUnit);
    if (purpose == Purpose::kDisk) {
      EXPECT_LT(node.encoded_bytes(), bytes - 60 * 60);  // sixty units less
    }
    bytes = node.encoded_bytes();
    testing::expect_reads(array.values, *open_reader(view_of(node)));
  }
}

// The tail takes all rows: there are no words.
TEST(Ans, OneSymbolTakesStatesOnly) {
  const Array array = array_of(Physical::kU8, std::vector<uint32_t>(20000, 0), 77);
  const Node node = encode_tree(array.values, kAns);
  expect_round_trip(array.values, node);
  EXPECT_EQ(node.streams[ans::kUnits].size(), 3 * ans::kLeastUnitWords * sizeof(uint32_t));
}

TEST(Ans, TheEstimateIsNearTheSize) {
  class NoChildren final : public ChildChooser {
    Estimate best(const Sample&, size_t) override { return {}; }
  } chooser;
  for (const auto& [alphabet, ratio] : {std::pair{3u, 0.6}, {200u, 0.95}, {3000u, 0.997}}) {
    const Array array = array_of(Physical::kU32, skewed(200000, alphabet, ratio, 5));
    Sample sample;
    sample.values = array.values;
    sample.values.count = 16 * kTileRows;
    sample.total_rows = array.values.count;
    const auto estimate = get_codec("ans").estimate(sample, chooser);
    ASSERT_TRUE(estimate);
    const auto bytes = static_cast<double>(encode_tree(array.values, kAns).encoded_bytes());
    EXPECT_NEAR(estimate->bytes / bytes, 1, 0.03) << alphabet << " symbols";
  }
}

TEST(AnsShares, FillTheTableAndLeaveNobodyOut) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    const size_t symbols = 1 + random() % (round % 2 == 0 ? 256 : ans::kMostSymbols);
    const uint32_t bits = ans::share_bits(static_cast<uint32_t>(symbols));
    std::vector<uint64_t> counts(symbols);
    for (uint64_t& count : counts) count = random() % 3 == 0 ? 0 : uint64_t{1} << random() % (round % 30 + 1);
    counts[0] = std::max<uint64_t>(counts[0], 1);
    const std::vector<uint32_t> shares = ans::share_out(counts, bits);
    uint64_t total = 0;
    for (size_t i = 0; i < symbols; ++i) {
      EXPECT_EQ(shares[i] > 0, counts[i] > 0);
      total += shares[i];
    }
    EXPECT_EQ(total, uint64_t{1} << bits);
  }
}

// Every count half a slot's worth: the smallest shares are 1, the largest pays.
TEST(AnsShares, RareSymbolsAreBoughtFromTheOnesThatMissThemLeast) {
  std::vector<uint64_t> counts(256, 1);
  counts[9] = 1 << 20;
  const std::vector<uint32_t> shares = ans::share_out(counts, ans::kNarrowBits);
  for (size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(shares[i], i == 9 ? 4096u - 255u : 1u);
}

// --- damage ---

Node small_node(uint32_t alphabet) {
  const Array array = array_of(Physical::kU32, skewed(20000, alphabet, 0.9, 1));
  return encode_tree(array.values, kAns);
}

// Why it is refused; "" if it is not, and reading it is without consequences.
std::string refusal(const Node& node) {
  try {
    validate_tree(view_of(node));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    return error.what();
  }
  return "";
}

TEST(AnsDamage, CountsAreChecked) {
  const auto expect_refused = [](const std::function<void(Node&)>& change, const std::string& reason) {
    Node node = small_node(300);
    change(node);
    EXPECT_NE(refusal(node).find(reason), std::string::npos) << reason << ": " << refusal(node);
  };
  const auto parameters = [](Node& node) { return reinterpret_cast<ans::Parameters*>(node.params.data()); };
  expect_refused([&](Node& node) { parameters(node)->unit_tiles = 0; }, "units of 0 tiles");
  expect_refused([&](Node& node) { parameters(node)->unit_tiles = 16; }, "units of 16 tiles");
  expect_refused([&](Node& node) { parameters(node)->symbols = 0; }, "0 symbols");
  expect_refused([&](Node& node) { parameters(node)->symbols = 5000; }, "5000 symbols");
  expect_refused([&](Node& node) { parameters(node)->reference = UINT32_MAX; }, "outside of the type");
  expect_refused([&](Node& node) { parameters(node)->reference = uint64_t{1} << 32; }, "outside of the type");
  expect_refused([&](Node& node) { node.streams[ans::kTable].as<uint8_t>()[0] = 16; }, "too many bits");
  expect_refused([&](Node& node) { node.streams[ans::kTable].as<uint8_t>()[12] ^= 1; }, "shares add up to");
  expect_refused([&](Node& node) { node.streams[ans::kTable].resize(3); }, "fewer widths");
  expect_refused([&](Node& node) { node.streams[ans::kStarts].as<uint32_t>()[0] = 1; }, "does not begin at 0");
  expect_refused([&](Node& node) { node.streams[ans::kStarts].as<uint32_t>()[1] = 7; }, "no room for its states");
  expect_refused([&](Node& node) { node.streams[ans::kStarts].as<uint32_t>()[1] = ~0u; }, "no room for its states");
  expect_refused([&](Node& node) { node.streams[ans::kUnits].resize(node.streams[ans::kUnits].size() - 4); },
                 "stream 2");
  expect_refused([&](Node& node) { node.streams[ans::kUnits].as<uint16_t>()[2 * kLanes] = 257; }, "tail of unit 0");
}

// A bit that flips in states or words shows in the states that are left, but where the unit then holds other symbols:
// that can happen in its last rows.
TEST(AnsDamage, ChangedUnitsAreReported) {
  for (const uint32_t alphabet : {3u, 1000u}) {
    const Node intact = small_node(alphabet);
    int read = 0;
    int reported = 0;
    std::mt19937_64 random(3);
    std::vector<uint32_t> out(kTileRows);
    for (int round = 0; round < 300; ++round) {
      Node node = intact;
      Buffer& units = node.streams[ans::kUnits];
      const size_t at = random() % units.size();
      units.data()[at] ^= static_cast<std::byte>(1 << random() % 8);
      if (!refusal(node).empty()) continue;
      const auto reader = open_reader(view_of(node));
      for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) reader->decode_tile(tile, out.data());
      ++read;
      reported += reader->corrupt() ? 1 : 0;
    }
    EXPECT_GT(read, 250);
    EXPECT_GE(reported * 20, read * 19);
  }
}

TEST(AnsDamage, OnlyTheUnitThatIsReadIsReported) {
  Node node = small_node(100);
  node.streams[ans::kUnits].as<uint32_t>()[node.streams[ans::kStarts].as<uint32_t>()[1] + 5] ^= 0x100;
  const auto reader = open_reader(view_of(node));
  std::vector<uint32_t> out(kTileRows);
  for (uint32_t tile = 0; tile < 8; ++tile) reader->decode_tile(tile, out.data());
  EXPECT_FALSE(reader->corrupt());
  reader->decode_tile(15, out.data());
  EXPECT_TRUE(reader->corrupt());
}

// Symbols stay below their number, whatever the unit holds: the bounds that a reader gives always hold.
TEST(AnsDamage, SymbolsOfRandomUnitsStayInTheAlphabet) {
  std::mt19937_64 random(9);
  for (const uint32_t alphabet : {3u, 256u, 4000u}) {
    Node node = small_node(alphabet);
    Buffer& units = node.streams[ans::kUnits];
    const auto* starts = node.streams[ans::kStarts].as<uint32_t>();
    for (uint32_t unit = 0; unit < 3; ++unit) {
      for (uint32_t i = starts[unit]; i < starts[unit + 1]; ++i)
        units.as<uint32_t>()[i] = static_cast<uint32_t>(random());
      units.as<uint16_t>()[2 * (starts[unit] + kLanes)] = static_cast<uint16_t>(random() % 100);
    }
    ASSERT_EQ(refusal(node), "");
    const auto reader = open_reader(view_of(node));
    const auto most = static_cast<uint32_t>(reader->bounds(0)->high);
    std::vector<uint32_t> out(kTileRows);
    for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) {
      reader->decode_tile(tile, out.data());
      for (uint32_t i = 0; i < rows_in_tile(node.count, tile); ++i) ASSERT_LE(out[i], most);
    }
    EXPECT_TRUE(reader->corrupt());
  }
}

}  // namespace
}  // namespace basalt
