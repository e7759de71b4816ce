// `l3`: exact on every type and effort, small where it should be, and fitted the same way everywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codec/arrays.h"
#include "codec/codecs.h"
#include "codec/l3/exact.h"
#include "codec/l3/l3.h"
#include "codec/l3/partition.h"
#include "codec/l3_nodes.h"
#include "codec/reads.h"

namespace basalt {
namespace {

using testing::Array;
using testing::kAllPatterns;
using testing::make_fixed;

constexpr Effort kEfforts[] = {Effort::kFast, Effort::kBalanced, Effort::kBest};

template <typename T>
constexpr Physical physical_of_type() {
  if constexpr (std::is_same_v<T, uint32_t>) return Physical::kU32;
  if constexpr (std::is_same_v<T, int32_t>) return Physical::kI32;
  if constexpr (std::is_same_v<T, uint64_t>) return Physical::kU64;
  return Physical::kI64;
}

template <typename T>
Values view(const std::vector<T>& values) {
  Values v;
  v.type = physical_of_type<T>();
  v.count = values.size();
  v.data = values.data();
  return v;
}

// Encodes, checks, reads in every way; returns the encoded bytes.
uint64_t round_trip(const Values& values, Effort effort) {
  const L3Codec codec;
  const Node node = codec.encode(values, {"l3", {}}, effort);
  EXPECT_NO_THROW(validate_tree(view_of(node)));
  const auto reader = codec.open(view_of(node));
  testing::expect_reads(values, *reader);
  return node.encoded_bytes();
}

template <typename T>
double bits_per_value(const std::vector<T>& values, Effort effort) {
  return static_cast<double>(round_trip(view(values), effort)) * 8 / static_cast<double>(values.size());
}

TEST(L3, EveryTypePatternLengthAndEffort) {
  for (const Physical type : {Physical::kU8, Physical::kI8, Physical::kU16, Physical::kI16, Physical::kU32,
                              Physical::kI32, Physical::kU64, Physical::kI64}) {
    for (const auto pattern : kAllPatterns) {
      for (const uint64_t count : {0, 1, 2, 3, 31, 255, 256, 257, 767, 768, 769, 1024, 1025, 8191, 8192, 8193}) {
        const Array array = make_fixed(type, count, pattern, count + 7);
        for (const Effort effort : kEfforts) round_trip(array.values, effort);
      }
    }
  }
}

TEST(L3, ExtremesAndWrapAround) {
  constexpr uint64_t k53 = uint64_t{1} << 53;
  constexpr uint64_t k63 = uint64_t{1} << 63;
  std::mt19937_64 random(9);
  const std::vector<std::vector<uint64_t>> pieces = {
      {0, ~uint64_t{0}}, {k53 - 1, k53, k53 + 1}, {k63 - 1, k63, k63 + 1}, {0, k63}, {~uint64_t{0}, 1, k63}};
  for (const auto& piece : pieces) {
    for (const uint64_t step : {uint64_t{0}, uint64_t{1}, k53 / 1000, k63 / 1000, ~uint64_t{0} / 3}) {
      std::vector<uint64_t> values(3000);
      std::vector<int64_t> signed_values(3000);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = piece[random() % piece.size()] + step * i;
        signed_values[i] = static_cast<int64_t>(values[i]);
      }
      for (const Effort effort : kEfforts) {
        round_trip(view(values), effort);
        round_trip(view(signed_values), effort);
      }
    }
  }
}

// Every model, narrow and wide, at every width of residual that fits.
TEST(L3, EveryModelAndWidth) {
  std::mt19937_64 random(3);
  uint32_t seen = 0;
  for (uint32_t width = 0; width < 60; ++width) {
    for (uint32_t degree = 0; degree <= 3; ++degree) {
      const std::vector<uint64_t> values = testing::noisy_curve(4096, degree, width, random);
      const L3Codec codec;
      const Node node = codec.encode(view(values), {"l3", {}}, Effort::kBalanced);
      const Buffer& records = node.streams[l3::kRecords];
      for (const uint64_t record : records.span<uint64_t>()) {
        seen |= 1u << static_cast<uint32_t>(l3::unpack_record(record).model);
      }
      round_trip(view(values), Effort::kBalanced);
    }
  }
  std::vector<uint64_t> constant(2000, 5);
  round_trip(view(constant), Effort::kBalanced);
  EXPECT_EQ(seen | 1, (1u << l3::kModels) - 1) << "a model was never chosen";
}

// Whole tiles are decoded by loops of their own: every one must agree with the definition of a single row.
template <typename T>
void expect_tiles_of_rows(Physical type) {
  testing::for_each_learned_node<T>(type, 1, 2, [](const Node& node, const l3::Chunk& chunk, const std::string& place) {
    const auto reader = open_reader(view_of(node));
    std::vector<T> out(kTileRows);
    for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) {
      reader->decode_tile(tile, out.data());
      for (uint32_t row = 0; row < rows_in_tile(node.count, tile); ++row) {
        bool bad = false;
        ASSERT_EQ(out[row], static_cast<T>(chunk.value(tile * kTileRows + row, sizeof(T), &bad)))
            << place << " tile " << tile << " row " << row;
      }
    }
  });
}

TEST(L3, TilesAgreeWithRows) {
  expect_tiles_of_rows<uint8_t>(Physical::kU8);
  expect_tiles_of_rows<uint16_t>(Physical::kU16);
  expect_tiles_of_rows<uint32_t>(Physical::kU32);
  expect_tiles_of_rows<uint64_t>(Physical::kU64);
}

TEST(L3, Runs) {
  std::mt19937_64 random(6);
  bool by_tile = false;
  bool modelled = false;
  for (const uint64_t longest : {8, 40, 300, 5000}) {
    std::vector<int64_t> values;
    std::vector<uint32_t> narrow;
    int64_t at = -(int64_t{1} << 60);
    while (values.size() < 30000) {
      at += static_cast<int64_t>(random() % 5000);
      values.insert(values.end(), longest / 2 + random() % longest, at);
    }
    for (const int64_t value : values) narrow.push_back(static_cast<uint32_t>(value));
    for (size_t i = 9000; i < 9700; ++i) values[i] = static_cast<int64_t>(random());  // other models in between
    const L3Codec codec;
    const Node node = codec.encode(view(narrow), {"l3", {}}, Effort::kBalanced);
    bool has_runs = false;
    for (const uint64_t bits : node.streams[l3::kRecords].span<uint64_t>()) {
      const l3::Record record = l3::unpack_record(bits);
      if (record.model != l3::Model::kRuns) continue;
      has_runs = true;
      (l3::get_runs(record, node.streams[l3::kParams].as<uint32_t>(), 4).ends.model == l3::kByTile ? by_tile
                                                                                                   : modelled) = true;
    }
    EXPECT_TRUE(has_runs) << longest;
    for (const Effort effort : kEfforts) {
      round_trip(view(values), effort);
      round_trip(view(narrow), effort);
    }
  }
  EXPECT_TRUE(by_tile && modelled) << "one way to state ends was never taken";
}

// Which questions need no residuals.
TEST(L3, ModelsDecide) {
  std::mt19937_64 random(4);
  const auto answers = [&](auto value_at) {
    std::vector<int64_t> values(100000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = value_at(static_cast<int64_t>(i));
    const L3Codec codec;
    const Node node = codec.encode(view(values), {"l3", {}}, Effort::kBalanced);
    const auto reader = codec.open(view_of(node));
    const std::vector<uint32_t> seen = testing::check_ranges(*reader, view(values));
    return std::pair{seen[static_cast<size_t>(Answered::kByModel)], seen[static_cast<size_t>(Answered::kByRows)]};
  };
  const auto [line_by_model, line_by_rows] =
      answers([&](int64_t i) { return 1000 * i + static_cast<int64_t>(random() % 5000); });
  EXPECT_GT(line_by_model, 20u);
  EXPECT_EQ(line_by_rows, 0u);
  const auto [falling_by_model, falling_by_rows] =
      answers([&](int64_t i) { return -(int64_t{1} << 40) * i + static_cast<int64_t>(random() % (1 << 30)); });
  EXPECT_GT(falling_by_model, 20u);
  EXPECT_LT(5 * falling_by_rows, falling_by_model);
  const auto [runs_by_model, runs_by_rows] = answers([](int64_t i) { return (i / 300) * 7919 % 100003; });
  EXPECT_GT(runs_by_model, 20u);
  EXPECT_EQ(runs_by_rows, 0u);
  EXPECT_GT(answers([&](int64_t) { return static_cast<int64_t>(random() % 1000); }).second, 20u);
}

TEST(L3, LearnsWhatIsThere) {
  constexpr uint64_t kRows = 1 << 18;
  std::mt19937_64 random(1);
  std::vector<uint32_t> line(kRows);
  for (uint64_t i = 0; i < kRows; ++i) line[i] = static_cast<uint32_t>(uint64_t{4294967295} * i / 199999999);
  EXPECT_LT(bits_per_value(line, Effort::kBalanced), 0.06);

  // Ids above 2^53 with a slope, as in maps: only their range may count.
  std::vector<uint64_t> ids(kRows);
  for (uint64_t i = 0; i < kRows; ++i) ids[i] = (uint64_t{1} << 62) + i * 1000003 + random() % 16;
  EXPECT_LT(bits_per_value(ids, Effort::kBalanced), 4.3);

  std::vector<int64_t> curve(kRows);
  for (uint64_t i = 0; i < kRows; ++i) {
    const auto x = static_cast<int64_t>(i % 8192);
    curve[i] = x * x * x / 1000 - 700 * x * x;
  }
  EXPECT_LT(bits_per_value(curve, Effort::kBalanced), 1.5);

  std::vector<uint64_t> two(kRows, 7);
  for (uint64_t i = kRows / 2; i < kRows; ++i) two[i] = 9;
  EXPECT_LT(bits_per_value(two, Effort::kBalanced), 0.04);
}

// Estimates decide which codec is taken: they must hold where rounding hides the variance, too, and at each effort.
TEST(L3, EstimatesAreNear) {
  struct NoChildren final : ChildChooser {
    explicit NoChildren(Effort given) : level(given) {}
    Estimate best(const Sample&, size_t) override { return {}; }
    Effort effort() const override { return level; }
    Effort level;
  };
  const L3Codec codec;
  std::mt19937_64 random(8);
  for (const uint32_t slope_bits : {0u, 10u, 20u, 30u, 36u}) {
    for (const uint32_t noise_bits : {1u, 6u, 12u, 20u}) {
      for (const bool curved : {false, true}) {
        std::vector<int64_t> values(16 * kTileRows);
        for (uint64_t i = 0; i < values.size(); ++i) {
          const uint64_t x = curved ? (i % 4096) * (i % 4096) / 64 : i;
          values[i] = static_cast<int64_t>((x << slope_bits) + (random() & low_bits(noise_bits)));
        }
        Sample sample;
        sample.values = view(values);
        sample.total_rows = values.size();
        for (const Effort effort : {Effort::kFast, Effort::kBalanced}) {
          NoChildren chooser(effort);
          const double estimate = codec.estimate(sample, chooser)->bytes;
          const auto actual = static_cast<double>(round_trip(view(values), effort));
          EXPECT_LT(actual, estimate * 1.15 + 64) << slope_bits << " " << noise_bits << " " << curved;
          EXPECT_GT(actual, estimate * 0.4 - 640) << slope_bits << " " << noise_bits << " " << curved;
        }
      }
    }
  }
}

// Runs that lie under fitting checksums: said, never given out as sound.
TEST(L3, DamagedRunsAreReported) {
  std::vector<int64_t> values;
  for (int64_t run = 0; values.size() < 4096; ++run) values.insert(values.end(), 60 + run % 7, run * run * 1000);
  values.resize(4096);
  const L3Codec codec;
  Node node = codec.encode(view(values), {"l3", {}}, Effort::kBalanced);
  const l3::Record record = l3::unpack_record(node.streams[l3::kRecords].as<uint64_t>()[0]);
  ASSERT_EQ(record.model, l3::Model::kRuns);
  const l3::RunsHeader header = l3::get_runs(record, node.streams[l3::kParams].as<uint32_t>(), sizeof(int64_t));
  ASSERT_NE(header.ends.model, l3::kByTile);
  std::vector<int64_t> out(kTileRows);

  // The second tile's first run.
  const uint32_t first_run = header.runs * (header.values.width + header.ends.width);
  node.streams[l3::kResiduals].as<uint32_t>()[first_run / 32] ^= 2u << first_run % 32;
  ASSERT_NO_THROW(validate_tree(view_of(node)));
  auto reader = codec.open(view_of(node));
  reader->decode_tile(1, out.data());
  EXPECT_TRUE(reader->corrupt());
  node.streams[l3::kResiduals].as<uint32_t>()[first_run / 32] ^= 2u << first_run % 32;

  // More runs in a tile than it has rows.
  {
    Node wrong = codec.encode(view(values), {"l3", {}}, Effort::kBalanced);
    l3::RunsHeader many = header;
    many.runs = 4000;
    many.values.width = many.ends.width = 0;
    l3::put_runs(many, wrong.streams[l3::kParams].as<uint32_t>() + record.params);
    Buffer& words = wrong.streams[l3::kResiduals];
    words.resize(l3::runs_words(many, 4) * sizeof(uint32_t));
    std::memset(words.data(), 0, words.size());
    words.as<uint32_t>()[0] = 3999;  // the second tile's first run
    ASSERT_NO_THROW(validate_tree(view_of(wrong)));
    const auto many_reader = codec.open(view_of(wrong));
    many_reader->decode_tile(0, out.data());
    EXPECT_TRUE(many_reader->corrupt());
  }

  // Ends that come too early.
  node.streams[l3::kParams].as<uint32_t>()[header.ends.params] -= 500;
  ASSERT_NO_THROW(validate_tree(view_of(node)));
  reader = codec.open(view_of(node));
  reader->decode_tile(3, out.data());
  EXPECT_TRUE(reader->corrupt());
  reader = codec.open(view_of(node));
  const std::vector<uint32_t> last = {4095};
  reader->gather(last, out.data());
  EXPECT_TRUE(reader->corrupt());
}

TEST(L3, LargestPlaces) {
  std::mt19937_64 random(12);
  std::vector<uint64_t> values(kMaxChunkRows);
  for (uint64_t& value : values) value = random();
  round_trip(view(values), Effort::kFast);
}

TEST(L3, MoreEffortIsNeverLarger) {
  std::mt19937_64 random(4);
  std::vector<uint64_t> values(20000);
  uint64_t at = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    at += i / 700 % 3 == 0 ? random() % 5 : random() % 900;
    values[i] = at;
  }
  const uint64_t fast = round_trip(view(values), Effort::kFast);
  const uint64_t balanced = round_trip(view(values), Effort::kBalanced);
  const uint64_t best = round_trip(view(values), Effort::kBest);
  EXPECT_LE(balanced, fast);
  EXPECT_LE(best, balanced);
}

// Lower bounds only save work: the cut is as cheap as the one found by fitting every run.
// Values and ends of such runs are exact lines: no run takes a bit.
TEST(L3, RegularRunsCostNothing) {
  std::vector<int64_t> values(100000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 3 * static_cast<int64_t>(i / 10);
  const uint64_t balanced = round_trip(view(values), Effort::kBalanced);
  const uint64_t best = round_trip(view(values), Effort::kBest);
  EXPECT_LE(best, balanced);
  EXPECT_LT(best, 1000u);
}

TEST(L3, BestIsTheOptimum) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<int64_t> values(24 * kUnitRows - 100);
    int64_t at = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      at += static_cast<int64_t>(random() % (i / 1500 % 2 == 0 ? 3 : 1000)) - static_cast<int64_t>(seed);
      values[i] = at;
    }
    const size_t units = (values.size() + kUnitRows - 1) / kUnitRows;
    std::vector<uint64_t> cheapest(units + 1, ~uint64_t{0});
    cheapest[0] = 0;
    for (size_t start = 0; start < units; ++start) {
      for (size_t end = start + 1; end <= units; ++end) {
        const size_t last = std::min(end * kUnitRows, values.size());
        const auto run = l3::cut_once({values.data() + start * kUnitRows, last - start * kUnitRows}, 8);
        cheapest[end] = std::min(cheapest[end], cheapest[start] + run.bytes);
      }
    }
    uint64_t bytes = 0;
    for (const auto& part : l3::cut(values, 8, Effort::kBest)) bytes += part.bytes;
    EXPECT_EQ(bytes, cheapest[units]) << "seed " << seed;
  }
}

TEST(L3, MomentsOfPartsMakeThoseOfTheWhole) {
  std::mt19937_64 random(2);
  std::vector<int64_t> values(5 * kUnitRows);
  for (int64_t& value : values) value = static_cast<int64_t>(random() >> 20) - (int64_t{1} << 43);
  const auto whole = l3::cut_once(values, 8);
  int128_t sums[4] = {};
  uint128_t squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto z = static_cast<int128_t>(values[i]) - values[0];
    int128_t power = 1;
    for (int128_t& sum : sums) {
      sum += power * z;
      power *= static_cast<int128_t>(i);
    }
    squares += static_cast<uint128_t>(z * z);
  }
  EXPECT_TRUE(whole.moments.s0 == sums[0] && whole.moments.s1 == sums[1] && whole.moments.s2 == sums[2] &&
              whole.moments.s3 == sums[3] && whole.moments.squares == squares);
}

// A compiler that fuses multiplication and addition would make encoders disagree between machines.
TEST(L3, ArithmeticIsNotContracted) {
  const double a = 1.0 + std::ldexp(1.0, -30);
  const double product = 1.0 + std::ldexp(1.0, -29);  // a² without its last bit, 2^-60
  EXPECT_EQ(l3::sub(l3::mul(a, a), product), 0.0);
  EXPECT_EQ(std::fma(a, a, -product), std::ldexp(1.0, -60));
}

TEST(L3, ConversionsAreExact) {
  EXPECT_EQ(l3::to_double(0), 0.0);
  EXPECT_EQ(l3::to_double(-1), -1.0);
  EXPECT_EQ(l3::to_double((int128_t{1} << 100) + 1), std::ldexp(1.0, 100));
  EXPECT_EQ(l3::to_double(-((int128_t{1} << 54) + 3)), -std::ldexp(1.0, 54) - 2);  // towards zero
  EXPECT_EQ(l3::to_integer(2.5), 3);
  EXPECT_EQ(l3::to_integer(-2.5), -2);
  EXPECT_EQ(l3::to_integer(-2.6), -3);
  EXPECT_EQ(l3::to_integer(std::numeric_limits<double>::quiet_NaN()), int64_t{1} << 62);
  EXPECT_EQ(l3::to_integer(1e300), int64_t{1} << 62);
}

}  // namespace
}  // namespace basalt
