// galp: floats that come back bit by bit, whatever they are; exceptions in every number and place; arithmetic that is
// the same on every machine.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "codec/galp/exceptions.h"
#include "codec/galp_values.h"
#include "codec/reads.h"

namespace basalt {
namespace {

using testing::decimals;
using testing::encoded;
using testing::special_values;
using testing::view;

constexpr Effort kEfforts[] = {Effort::kFast, Effort::kBalanced, Effort::kBest};

template <typename T>
uint64_t round_trip(const std::vector<T>& values, const std::string& tree = "galp", Effort effort = Effort::kBalanced) {
  SCOPED_TRACE(tree + " of " + std::to_string(values.size()) + " values");
  const Node node = encoded(view(values), tree, effort);
  EXPECT_NO_THROW(validate_tree(view_of(node)));
  const auto reader = open_reader(view_of(node));
  testing::expect_reads(view(values), *reader);
  EXPECT_FALSE(reader->corrupt());
  return node.encoded_bytes();
}

template <typename T>
void expect_special_values() {
  std::mt19937_64 random(3);
  const std::vector<T> special = special_values<T>();
  for (const uint32_t share : {1u, 2u, 20u, 300u}) {  // one of so many rows
    std::vector<T> values = decimals<T>(5000, 3000, 100, share);
    for (T& value : values) {
      if (random() % share == 0) value = special[random() % special.size()];
    }
    for (const Effort effort : kEfforts) round_trip(values, "galp", effort);
    for (const char* tree : {"galp(delta)", "galp(dict)", "galp(plain)", "galp(l3)"}) round_trip(values, tree);
  }
  for (const T value : special) round_trip(std::vector<T>(1500, value));
}

TEST(Galp, SpecialValues) {
  expect_special_values<double>();
  expect_special_values<float>();
}

TEST(Galp, EveryLengthChildAndEffort) {
  for (const size_t count : {0, 1, 2, 31, 32, 1023, 1024, 1025, 3000}) {
    for (const char* tree : {"galp", "galp(packed)", "galp(l3)", "galp(delta)", "galp(delta(l3))", "galp(rle)",
                             "galp(dict)", "galp(plain)", "galp(rle(delta, packed))", "galp(dict(rle, l3))"}) {
      for (const Effort effort : kEfforts) {
        round_trip(decimals<double>(count, 100000, 1000, count), tree, effort);
        round_trip(decimals<float>(count, 10000, 100, count), tree, effort);
      }
    }
  }
  for (const size_t count : {131071, 131072, 131073}) {
    round_trip(decimals<double>(count, 100000, 1000, count));
    round_trip(decimals<float>(count, 1000, 10, count));
  }
}

// Few different values, and values that are no decimals between them: read by runs and by entries.
TEST(Galp, FewValues) {
  std::mt19937_64 random(7);
  for (const uint32_t longest : {1u, 3u, 40u, 3000u}) {
    std::vector<double> values;
    while (values.size() < 5000) {
      values.insert(values.end(), 1 + random() % longest, static_cast<double>(random() % 50) / 100);
      if (random() % 50 == 0) values.push_back(std::sqrt(static_cast<double>(random() % 100)));
    }
    const std::vector<float> narrow(values.begin(), values.end());
    for (const char* tree : {"galp(dict)", "galp(rle)", "galp(l3)", "galp(packed)", "rle(galp(l3), delta(l3))"}) {
      round_trip(values, tree);
      round_trip(narrow, tree);
    }
  }
}

// Bits of any kind: RAW or RD, whatever they are.
TEST(Galp, NoDecimals) {
  std::mt19937_64 random(5);
  std::vector<double> any(4000);
  std::vector<float> any_float(4000);
  std::vector<double> near(4000);
  std::vector<float> near_float(4000);
  for (size_t i = 0; i < any.size(); ++i) {
    any[i] = std::bit_cast<double>(random());
    any_float[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
    near[i] = std::uniform_real_distribution<double>(-1, 1)(random);
    near_float[i] = std::uniform_real_distribution<float>(-1, 1)(random);
  }
  EXPECT_LE(round_trip(any), 8 * 4096 + 200u);
  EXPECT_LE(round_trip(any_float), 4 * 4096 + 200u);
  EXPECT_LE(round_trip(near), 8 * 4096u * 57 / 64);
  EXPECT_LE(round_trip(near_float), 4 * 4096u * 29 / 32);
  const Node node = encoded(view(near));
  EXPECT_EQ(node.streams[galp::kSchemes].as<uint8_t>()[0], galp::kRd);
  EXPECT_GT(node.streams[galp::kExceptions].size(), 0u);
  EXPECT_EQ(node.streams[galp::kDictionaries].size(), sizeof(galp::Dictionary));
}

// Of a tile's integers: none at all, and all the bits there are.
TEST(Galp, WidthsFromNoneToAll) {
  const Node constant = encoded(view(std::vector<double>(2048, 12.5)));
  EXPECT_EQ(constant.children[0].streams[2].size(), 0u);
  round_trip(std::vector<double>(2048, 12.5));
  std::vector<double> wide(1024, -9.2233720368547e18);
  wide[7] = 9.2233720368547e18;
  round_trip(wide);
  round_trip(wide, "galp(plain)");
  for (uint32_t bits = 1; bits < 63; ++bits) {
    std::mt19937_64 random(bits);
    std::vector<double> values(1100);
    for (double& value : values) value = static_cast<double>(static_cast<int64_t>(random() >> (64 - bits)));
    round_trip(values);
  }
}

// Exceptions in the rows of the second tile where `is_exception` says so; the other rows are small decimals.
template <typename T>
Node with_exceptions(const std::function<bool(uint32_t)>& is_exception, bool alike, std::vector<T>& values) {
  std::mt19937_64 random(9);
  values = decimals<T>(16 * kTileRows, 120, 10, 1);
  for (uint32_t i = 0; i < 1024; ++i) {
    if (!is_exception(i)) continue;
    values[kTileRows + i] =
        alike ? galp::float_of(static_cast<galp::BitsOf<T>>(galp::Arithmetic<T>::kInfinity | (1 + random() % 8)))
              : static_cast<T>(std::bit_cast<double>((random() & ~(0x7FFull << 52)) | 0x380ull << 52));
  }
  return encoded(view(values), "galp(plain)");
}

template <typename T>
void expect_exceptions(const std::function<bool(uint32_t)>& is_exception) {
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < 1024; ++i) wanted += is_exception(i) ? 1 : 0;
  for (const bool alike : {false, true}) {
    std::vector<T> values;
    const Node node = with_exceptions(is_exception, alike, values);
    ASSERT_GT(node.streams[galp::kExceptions].size(), 0u);
    const auto block = galp::Exceptions::of(node.streams[galp::kExceptions].as<uint32_t>(), sizeof(T) * 8);
    ASSERT_EQ(block.count, wanted);
    uint32_t before = 0;
    galp::for_each_exception(block, [&](uint32_t i, uint32_t row) {
      EXPECT_TRUE(is_exception(row)) << row;
      EXPECT_EQ(block.value(i), galp::bits_of(values[kTileRows + row]));
      EXPECT_EQ(galp::find_exception(block, row), i);
      const uint32_t place = row % kLanes * kRowsPerLane + row / kLanes + 1;
      EXPECT_GT(place, before);
      before = place;
    });
    for (uint32_t row = 0; row < 1024; ++row) {
      if (is_exception(row)) continue;
      EXPECT_EQ(galp::find_exception(block, row), block.count);
    }
    EXPECT_TRUE(!alike || wanted <= 4 || block.width <= 3) << block.width;
    round_trip(values, "galp(plain)");
    round_trip(values);
  }
}

TEST(Galp, ExceptionsInEveryNumberAndPlace) {
  const std::vector<std::function<bool(uint32_t)>> places = {
      [](uint32_t i) { return i == 0; },
      [](uint32_t i) { return i == 1023; },
      [](uint32_t i) { return i == 37 || i == 5 || i == 40; },
      [](uint32_t i) { return i % 32 == 7; },                 // all rows of a lane
      [](uint32_t i) { return i / 32 == 31; },                // a row of all lanes
      [](uint32_t i) { return i % 16 == 3; },                 // 64
      [](uint32_t i) { return i % 16 == 3 || i == 1000; },    // 65
      [](uint32_t i) { return i % 32 == 7 || i % 32 == 8; },  // 64 in two lanes
      [](uint32_t i) { return i % 3 != 0; },
      [](uint32_t i) { return i != 511; },
      [](uint32_t i) { return i > 1020; },
      [](uint32_t) { return true; },  // 1024
  };
  for (const auto& place : places) {
    expect_exceptions<double>(place);
    expect_exceptions<float>(place);
  }
}

// The first exceptions have the integer behind them, the others that before them; a tile of nothing else has zeros.
TEST(Galp, Fillers) {
  std::vector<double> values(16 * kTileRows, 2.5);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  values[0] = values[1] = values[500] = nan;
  for (size_t i = 5; i < values.size(); i += 100) values[i] = 7.25;
  values[499] = 7.25;
  for (size_t i = 1024; i < 2048; ++i) values[i] = nan;
  const Node node = encoded(view(values), "galp(plain)");
  const auto* integers = node.children[0].streams[0].as<int64_t>();
  EXPECT_EQ(integers[0], integers[2]);
  EXPECT_EQ(integers[1], integers[2]);
  EXPECT_EQ(integers[500], integers[499]);
  EXPECT_NE(integers[499], integers[2]);
  EXPECT_EQ(integers[1024], 0);
  EXPECT_EQ(integers[2047], 0);
}

TEST(Galp, NothingIsStoredForNoExceptions) {
  const Node node = encoded(view(decimals<double>(100000, 5000, 100, 1)));
  EXPECT_EQ(node.streams[galp::kExceptions].size(), 0u);
  EXPECT_EQ(node.streams[galp::kExceptionStarts].size(), 0u);
  EXPECT_EQ(node.streams[galp::kDictionaries].size(), 0u);
  EXPECT_LT(node.encoded_bytes(), 100000u * 14 / 8 + 98 * 14 + 600);
}

// Starts take two bytes until the blocks are too long for them.
TEST(Galp, LongStarts) {
  std::vector<double> values = decimals<double>(300000, 5000, 100, 1);
  std::mt19937_64 random(8);
  for (double& value : values) {
    if (random() % 4 == 0) value = std::bit_cast<double>(random());
  }
  const Node node = encoded(view(values), "galp(plain)");
  EXPECT_GT(node.streams[galp::kExceptions].size() / 4, size_t{galp::kMaxShortStarts});
  EXPECT_EQ(node.streams[galp::kExceptionStarts].size(), (tile_count(values.size()) + 1) * sizeof(uint32_t));
  round_trip(values, "galp(plain)");
}

// Each tile finds its own digits, RD and RAW stand beside them, and each group has a dictionary of its own.
TEST(Galp, TilesOfEveryScheme) {
  std::mt19937_64 random(4);
  std::vector<double> values(300 * kTileRows);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t tile = i / kTileRows;
    const auto number = static_cast<double>(random() % 10000);
    switch (tile % 4) {
      case 0: values[i] = number / 10; break;
      case 1: values[i] = number / 10000; break;
      case 2: values[i] = std::uniform_real_distribution<double>(1, tile > 150 ? 4 : 900)(random); break;
      default: values[i] = tile > 256 ? std::bit_cast<double>(random()) : number / 100;
    }
  }
  const Node node = encoded(view(values));
  std::vector<uint32_t> seen(256);
  for (const uint8_t scheme : node.streams[galp::kSchemes].span<uint8_t>()) ++seen[scheme];
  EXPECT_GE(seen[galp::kRd], 30u);
  EXPECT_GE(seen[galp::kRaw], 11u);
  EXPECT_GE(std::count_if(seen.begin(), seen.begin() + 190, [](uint32_t tiles) { return tiles > 0; }), 2);
  EXPECT_EQ(node.streams[galp::kDictionaries].size(), 3 * sizeof(galp::Dictionary));
  round_trip(values);
}

// Integers around the largest that are converted the short way, by children that know no bounds and one that does.
template <typename T>
void expect_integers_around(T limit) {
  for (const T off : {T{-2}, T{0}, T{2}}) {
    std::vector<T> values(3000);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = i % 700 == 0 ? (i % 1400 == 0 ? limit + off : -limit - off) : static_cast<T>(i % 50);
    }
    for (const char* tree : {"galp(packed)", "galp(delta)", "galp(l3)", "galp(dict)", "galp(plain)"}) {
      round_trip(values, tree);
    }
  }
}

TEST(Galp, IntegersAroundTheSmallOnes) {
  expect_integers_around(std::ldexp(1.0, 51));
  expect_integers_around(std::ldexp(1.0, 53));
  expect_integers_around(std::ldexp(1.0f, 24));
  expect_integers_around(std::ldexp(1.0f, 27));
}

TEST(Galp, MoreEffortIsNeverLarger) {
  std::vector<double> values = decimals<double>(50000, 1000000, 10000, 2);
  std::mt19937_64 random(8);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i / 1500 % 2 == 0) values[i] = static_cast<double>(random() % 1000) / 8;
    if (random() % 50 == 0) values[i] *= 1.0000001;
  }
  const uint64_t fast = round_trip(values, "galp", Effort::kFast);
  const uint64_t balanced = round_trip(values, "galp", Effort::kBalanced);
  const uint64_t best = round_trip(values, "galp", Effort::kBest);
  EXPECT_LE(balanced, fast);
  EXPECT_LE(best, balanced);
}

template <typename T>
void expect_pairs() {
  std::vector<bool> seen(galp::pairs_of(sizeof(T) * 8));
  for (auto pair = galp::first_pair(sizeof(T) * 8); galp::is_pair(pair); pair = galp::next_pair(pair, sizeof(T) * 8)) {
    const uint32_t number = galp::pair_number(pair);
    ASSERT_LT(number, seen.size());
    EXPECT_FALSE(seen[number]);
    seen[number] = true;
    EXPECT_EQ(galp::pair_of(number).e, pair.e);
    EXPECT_EQ(galp::pair_of(number).f, pair.f);
    // Tables hold the numbers that the compiler would make of them.
    const auto scale = galp::Scale<T>::of(pair);
    EXPECT_EQ(scale.up, static_cast<T>(std::strtold(("1e" + std::to_string(pair.e)).c_str(), nullptr)));
    const std::string down = "1e-" + std::to_string(pair.f);
    EXPECT_EQ(scale.down, sizeof(T) == 8 ? static_cast<T>(std::strtod(down.c_str(), nullptr))
                                         : static_cast<T>(std::strtof(down.c_str(), nullptr)));
    const int128_t largest = (int128_t{1} << (sizeof(T) * 8 - 1)) - 1;
    const auto limit = static_cast<int128_t>(scale.limit);
    EXPECT_LE(limit * static_cast<int128_t>(scale.whole_times), largest);
    const T next = std::nextafter(scale.limit, std::numeric_limits<T>::max());
    if (next == std::floor(next)) {
      EXPECT_GT(static_cast<int128_t>(next) * static_cast<int128_t>(scale.whole_times), largest);
    } else {
      EXPECT_GT((limit + 1) * static_cast<int128_t>(scale.whole_times), largest);
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<ptrdiff_t>(seen.size()));
}

TEST(Galp, PairsAndTheirFactors) {
  expect_pairs<double>();
  expect_pairs<float>();
}

// What encode() says without integers is what decode() does with them, for every pair.
template <typename T>
void expect_encode_meets_decode() {
  using Int = galp::IntOf<T>;
  std::mt19937_64 random(17);
  uint32_t held = 0;
  const std::vector<T> special = special_values<T>();
  for (uint32_t number = 0; number < galp::pairs_of(sizeof(T) * 8); ++number) {
    const auto scale = galp::Scale<T>::of(galp::pair_of(number));
    for (uint32_t i = 0; i < 3000; ++i) {
      T value = i < special.size() ? special[i] : galp::float_of(static_cast<galp::BitsOf<T>>(random()));
      if (i % 3 == 1) value = galp::decode(static_cast<Int>(random() >> random() % 64), scale);
      if (i % 3 == 2) value = static_cast<T>(static_cast<double>(random() % 100000) / 1000);
      const galp::Scaled<T> scaled = galp::encode(value, scale);
      const T rounded = std::nearbyint(value * scale.up * scale.down);
      const bool in_range = std::abs(rounded) <= galp::Arithmetic<T>::limit(0);
      const bool exception =
          !in_range || galp::bits_of(galp::decode(static_cast<Int>(rounded), scale)) != galp::bits_of(value);
      ASSERT_EQ(scaled.exception, exception ? 1u : 0u) << value << " pair " << number;
      ASSERT_EQ(scaled.d, exception ? T{0} : rounded) << value << " pair " << number;
      held += exception ? 0 : 1;
    }
  }
  EXPECT_GT(held, 10000u);
}

TEST(Galp, EncodeMeetsDecode) {
  expect_encode_meets_decode<double>();
  expect_encode_meets_decode<float>();
}

uint64_t hash_of(const Node& root) {
  uint64_t h = 0xCBF29CE484222325;
  const std::function<void(const Node&)> add = [&](const Node& node) {
    for (const Buffer& stream : node.streams) {
      for (const std::byte byte : stream.view()) h = (h ^ static_cast<uint8_t>(byte)) * 0x100000001B3;
      h = (h ^ stream.size()) * 0x100000001B3;
    }
    for (const Node& child : node.children) add(child);
  };
  add(root);
  return h;
}
// No library function in the making of values for hashes: they differ between machines.
uint64_t scattered(uint64_t i) {
  uint64_t x = (i + 1) * 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9;
  return x ^ (x >> 32);
}

// What the encoders of all machines must write.
TEST(Galp, SameBytesEverywhere) {
  std::vector<double> mixed(200000);
  std::vector<float> mixed_float(200000);
  for (uint64_t i = 0; i < mixed.size(); ++i) {
    const uint64_t x = scattered(i);
    const auto digits = static_cast<double>(x % 1000000);
    mixed[i] = i / 1024 % 5 == 0   ? std::bit_cast<double>((x >> 12) | 0x3FF0000000000000)
               : i / 1024 % 7 == 0 ? std::bit_cast<double>(x)
               : x % 97 == 0       ? digits * 1e-17
                                   : digits / (i < 90000 ? 100.0 : 10000.0);
    mixed_float[i] = static_cast<float>(mixed[i]);
  }
  const uint64_t expected[] = {12631710454955753027u, 16937703452833234634u, 9180546801131787786u,
                               3105531177761190814u,  9180546801131787786u,  11358287768986809997u,
                               9478991771082593546u,  7799964074690521421u,  9478991771082593546u,
                               7799964074690521421u,  9478991771082593546u,  7799964074690521421u};
  size_t at = 0;
  for (const char* tree : {"galp", "galp(delta)"}) {
    for (const Effort effort : kEfforts) {
      EXPECT_EQ(hash_of(encoded(view(mixed), tree, effort)), expected[at++]) << "case " << at - 1;
      EXPECT_EQ(hash_of(encoded(view(mixed_float), tree, effort)), expected[at++]) << "case " << at - 1;
    }
  }
}

// The same of values at the edges: tiles of special ones, of some among decimals, of integers around those from which
// floats have no fraction, and of subnormals.
template <typename T>
std::vector<T> values_at_the_edges() {
  const std::vector<T> special = special_values<T>();
  const T whole = galp::Arithmetic<T>::kWhole;
  std::vector<T> values(20 * kTileRows + 100);
  for (uint64_t i = 0; i < values.size(); ++i) {
    const uint64_t x = scattered(i);
    const T any = special[x / 64 % special.size()];
    const auto small = static_cast<T>(x % 1000);
    switch (i / kTileRows % 4) {
      case 0: values[i] = any; break;
      case 1: values[i] = x % 13 == 0 ? any : small / 8; break;
      case 2: values[i] = x % 2 == 0 ? whole + small : -whole / 2 - small; break;
      default: values[i] = galp::float_of(static_cast<galp::BitsOf<T>>(x % 1000)); break;
    }
  }
  return values;
}

TEST(Galp, SameBytesAtTheEdgesEverywhere) {
  const uint64_t expected[] = {6251934793089202451u, 3397889660027843530u, 7822578793526650836u, 2865003005321727146u};
  size_t at = 0;
  for (const char* tree : {"galp", "galp(delta)"}) {
    EXPECT_EQ(hash_of(encoded(view(values_at_the_edges<double>()), tree)), expected[at++]) << "case " << at - 1;
    EXPECT_EQ(hash_of(encoded(view(values_at_the_edges<float>()), tree)), expected[at++]) << "case " << at - 1;
  }
}

// Damage that only values can show: an index beyond the dictionary.
TEST(Galp, IndexBeyondTheDictionaryIsReported) {
  std::mt19937_64 random(5);
  std::vector<double> values(1024);
  for (double& value : values) value = std::uniform_real_distribution<double>(-1, 1)(random);
  Node node = encoded(view(values));
  ASSERT_EQ(node.streams[galp::kSchemes].as<uint8_t>()[0], galp::kRd);
  node.children[0].streams[0].as<uint64_t>()[0] += uint64_t{7} << 61;
  ASSERT_NO_THROW(validate_tree(view_of(node)));
  const auto reader = open_reader(view_of(node));
  reader->decode_tile(0, values.data());
  EXPECT_TRUE(reader->corrupt());
}

}  // namespace
}  // namespace basalt
