// The device encoder of floats, run on the CPU stage by stage: schemes, dictionaries, exceptions and integers are those
// of the CPU encoder, byte for byte, at every effort, for both types and every kind of child.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "basalt/codec/codec.h"
#include "codec/galp/galp.h"
#include "codec/galp_values.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/galp/gpu/encode_write.cuh"

namespace basalt::test {
namespace {

using testing::decimals;
using testing::mixed_tiles;
using testing::random_bits;
using testing::special_values;
using testing::view;

constexpr Effort kEfforts[] = {Effort::kFast, Effort::kBalanced, Effort::kBest};

// What the kernels do, with one block for all work.
template <typename T>
class EmulatedEncoder {
 public:
  EmulatedEncoder(const std::vector<T>& values, Effort effort, uint32_t threads)
      : work_(galp::EncodeWork<T>::of(values.data(), values.size(), effort)), threads_(threads) {
    size_t zeros = 0;
    const size_t bytes = galp::place_arrays<T>(work_, nullptr, zeros);
    memory_.assign(bytes / sizeof(uint128_t) + 1, 0);
    auto* base = reinterpret_cast<unsigned char*>(memory_.data());
    std::memset(base, 0xA5, zeros);  // nothing else may rely on clean memory
    galp::place_arrays(work_, base, zeros);
  }

  void choose() {
    for (uint32_t group = 0; group < work_.groups; ++group) {
      EmulatedBlock::run(threads_, [&] { galp::search_group(work_, group); });
    }
    for_each_tile([&](uint32_t tile) { galp::choose_tile(work_, tile); });
  }
  galp::ArraySchemes search() {
    for (uint32_t group = 0; group < work_.groups; ++group) {
      EmulatedBlock::run(threads_, [&] { galp::sample_group(work_, group); });
    }
    galp::rank_array(work_);
    for (uint32_t group = 0; group < work_.groups; ++group) {
      EmulatedBlock::run(threads_, [&] { galp::fit_group(work_, group); });
    }
    galp::choose_pair(work_);
    return work_.search->found;
  }
  void take(uint32_t scheme) {
    for_each_tile([&](uint32_t tile) { galp::take_scheme(work_, tile, scheme); });
  }

  // The node; a child other than `packed` is made of the integers by the CPU.
  Node write(const Tree& tree, Effort effort) {
    const Physical type = sizeof(T) == 8 ? Physical::kF64 : Physical::kF32;
    Node node{&get_codec("galp"), type, work_.rows, {}, {}, {}};
    node.streams.resize(galp::kStreams);
    for (uint32_t tile = 0; tile < work_.tiles; ++tile) work_.starts[tile + 1] = work_.starts[tile] + work_.sizes[tile];
    const uint32_t words = galp::exceptions_of(work_.starts[work_.tiles]);
    const bool packs = tree.children[galp::kIntegers].codec == galp::kChildOfManyScales;
    std::vector<uint32_t> exceptions(words, 0xA5A5A5A5);
    std::vector<uint16_t> short_starts(work_.tiles + 1, 0xA5A5);
    std::vector<uint32_t> long_starts(work_.tiles + 1, 0xA5A5A5A5);
    std::vector<galp::Dictionary> dictionaries(work_.groups);
    std::vector<galp::IntOf<T>> integers(work_.rows, 0x5A);
    std::vector<uint32_t> descriptors(work_.tiles);
    std::vector<uint32_t> packed_words(packed_tile_words(galp::packed_rows_of(work_.starts[work_.tiles])), 0xA5A5A5A5);
    const bool any_rd = *work_.any_dictionary != 0;
    const bool is_short = words <= galp::kMaxShortStarts;
    const galp::EncodedStreams<T> streams{any_rd ? dictionaries.data() : nullptr,
                                          words > 0 && is_short ? short_starts.data() : nullptr,
                                          words > 0 && !is_short ? long_starts.data() : nullptr,
                                          exceptions.data(),
                                          packs ? nullptr : integers.data(),
                                          packs ? descriptors.data() : nullptr,
                                          packed_words.data()};
    std::vector<uint32_t> staged(galp::kMostBlockWords<T>, 0xA5A5A5A5);
    for_each_tile([&](uint32_t tile) { galp::write_tile(work_, streams, tile, staged.data()); });
    node.streams[galp::kSchemes].append(work_.schemes, work_.tiles);
    if (any_rd) {
      node.streams[galp::kDictionaries].append(dictionaries.data(), dictionaries.size() * sizeof(galp::Dictionary));
    }
    Buffer& starts = node.streams[galp::kExceptionStarts];
    if (streams.short_starts != nullptr) starts.append(short_starts.data(), short_starts.size() * 2);
    if (streams.long_starts != nullptr) starts.append(long_starts.data(), long_starts.size() * 4);
    node.streams[galp::kExceptions].append(exceptions.data(), exceptions.size() * 4);
    if (packs) {
      Node child{&get_codec("packed"), sizeof(T) == 8 ? Physical::kI64 : Physical::kI32, work_.rows, {}, {}, {}};
      child.streams.resize(packed::kStreams);
      child.streams[packed::kReferences].append(work_.references, work_.tiles * sizeof(T));
      child.streams[packed::kDescriptors].append(descriptors.data(), descriptors.size() * 4);
      child.streams[packed::kWords].append(packed_words.data(), packed_words.size() * 4);
      node.children.push_back(std::move(child));
      return node;
    }
    Values child;
    child.type = sizeof(T) == 8 ? Physical::kI64 : Physical::kI32;
    child.count = work_.rows;
    child.data = integers.data();
    node.children.push_back(encode_tree(child, tree.children[galp::kIntegers], effort));
    return node;
  }

 private:
  template <typename Body>
  void for_each_tile(Body body) {
    for (uint32_t tile = 0; tile < work_.tiles; ++tile) {
      EmulatedWarp::run([&] { body(tile); });
    }
  }

  galp::EncodeWork<T> work_;
  uint32_t threads_;
  std::vector<uint128_t> memory_;
};

template <typename T>
Node encode_emulated(const std::vector<T>& values, const Tree& tree, Effort effort, uint32_t threads) {
  EmulatedEncoder<T> encoder(values, effort, threads);
  if (tree.children[galp::kIntegers].codec == galp::kChildOfManyScales) {
    encoder.choose();
    return encoder.write(tree, effort);
  }
  const galp::ArraySchemes found = encoder.search();
  encoder.take(found.fewest_bits);
  Node node = encoder.write(tree, effort);
  if (effort == Effort::kFast || !found.differ()) return node;
  encoder.take(found.fewest_exceptions);
  Node other = encoder.write(tree, effort);
  return other.encoded_bytes() < node.encoded_bytes() ? std::move(other) : std::move(node);
}

void expect_same(const Node& got, const Node& expected, const std::string& place) {
  ASSERT_EQ(got.streams.size(), expected.streams.size()) << place;
  for (size_t i = 0; i < got.streams.size(); ++i) {
    ASSERT_EQ(got.streams[i].size(), expected.streams[i].size()) << place << ", stream " << i;
    ASSERT_TRUE(got.streams[i].empty() ||
                std::memcmp(got.streams[i].data(), expected.streams[i].data(), got.streams[i].size()) == 0)
        << place << ", stream " << i;
  }
  ASSERT_EQ(got.children.size(), expected.children.size()) << place;
  for (size_t i = 0; i < got.children.size(); ++i) {
    expect_same(got.children[i], expected.children[i], place + ", child " + std::to_string(i));
  }
}

template <typename T>
void expect_like_cpu(const std::vector<T>& values, const std::string& place,
                     std::initializer_list<const char*> children = {"packed"}, uint32_t threads = 32) {
  const Values whole = view(values);
  for (const char* child : children) {
    const Tree tree = bind_tree(parse_tree("galp(" + std::string(child) + ")"), whole.type);
    for (const Effort effort : kEfforts) {
      expect_same(encode_emulated(values, tree, effort, threads), encode_tree(whole, tree, effort),
                  place + (sizeof(T) == 8 ? ", double, " : ", float, ") + child + ", effort " +
                      std::to_string(static_cast<int>(effort)));
    }
  }
}

template <typename Body>
void for_both_types(Body body) {
  body(double{});
  body(float{});
}

// What a warp ranks is what rank_candidates() does: ties, no winners at all, more than there is place for.
TEST(EmulatedGalpEncoder, WarpsRankAsOneThread) {
  std::mt19937_64 random(11);
  for (const uint32_t type_bits : {64u, 32u}) {
    const uint32_t pairs = galp::pairs_of(type_bits);
    for (int round = 0; round < 200; ++round) {
      uint32_t wins[galp::pairs_of(64)] = {};
      const uint32_t most_wins = round % 5 == 0 ? 1 : round % 5 == 1 ? galp::kMostWins : 4;
      const uint32_t winners = round == 0 ? 0 : round % 3 == 0 ? pairs : 1 + static_cast<uint32_t>(random() % 20);
      for (uint32_t i = 0; i < winners; ++i) {
        wins[winners == pairs ? i : random() % pairs] = 1 + static_cast<uint32_t>(random() % most_wins);
      }
      for (const uint32_t most : {galp::kCandidates, galp::kCandidatesAtBest}) {
        galp::Group found;
        EmulatedWarp::run([&] { galp::rank_by_warp(wins, pairs, most, found); });
        uint32_t left[galp::pairs_of(64)];
        std::copy(std::begin(wins), std::end(wins), left);
        galp::Group expected;
        expected.count = galp::rank_candidates(left, pairs, most, expected.candidates);
        ASSERT_EQ(found.count, expected.count) << "round " << round;
        for (uint32_t i = 0; i < expected.count; ++i) {
          ASSERT_EQ(found.candidates[i], expected.candidates[i]) << "round " << round << ", place " << i;
        }
      }
    }
  }
}

// What a warp cuts is what cut_dictionary() does, of upper parts that are all alike, all different, or of few kinds
// that are equally frequent.
TEST(EmulatedGalpEncoder, WarpsCutAsOneThread) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 120; ++round) {
    const uint32_t pieces = 1 + static_cast<uint32_t>(random() % galp::kPieces);
    const uint32_t count = pieces * galp::kPieceRows;
    const uint32_t kinds = round % 6 == 0 ? 1 : round % 6 == 1 ? 1u << 16 : 1u << random() % 9;
    const uint32_t distance = 1 + static_cast<uint32_t>(random() % 300);
    std::vector<uint16_t> sorted(count);
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t kind = round % 6 == 2 ? i % kinds : random() % kinds;
      sorted[i] = static_cast<uint16_t>(kind * distance);
    }
    std::sort(sorted.begin(), sorted.end());
    for (const uint32_t type_bits : {64u, 32u}) {
      for (uint32_t left_bits = 1; left_bits <= galp::kMaxLeftBits; ++left_bits) {
        galp::CutDictionary found{};
        EmulatedWarp::run([&] {
          const galp::CutDictionary cut = galp::cut_by_warp(sorted.data(), count, type_bits, left_bits);
          if (device::lane_id() == 17) found = cut;  // all lanes have it
        });
        const galp::CutDictionary expected = galp::cut_dictionary(sorted.data(), count, type_bits, left_bits);
        ASSERT_EQ(found.bits, expected.bits) << "round " << round << ", " << left_bits << " bits";
        ASSERT_EQ(std::memcmp(&found.dictionary, &expected.dictionary, sizeof(galp::Dictionary)), 0)
            << "round " << round << ", " << left_bits << " bits";
      }
    }
  }
}

TEST(EmulatedGalpEncoder, WarpsFindFactorsAsOneThread) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    for (uint32_t pair = 0; pair < galp::pairs_of(sizeof(T) * 8); ++pair) {
      galp::Scale<T> found{};
      EmulatedWarp::run([&] {
        const auto scale = galp::scale_by_warp<T>(pair);
        if (device::lane_id() == 17) found = scale;  // all lanes have it
      });
      const auto expected = galp::Scale<T>::of(galp::pair_of(pair));
      ASSERT_EQ(found.up, expected.up) << "pair " << pair;
      ASSERT_EQ(found.down, expected.down) << "pair " << pair;
    }
  });
}

// Dictionaries of every size and cut, with upper parts that are all zeros or all ones: a part is found where it is an
// entry, and nowhere else.
TEST(EmulatedGalpEncoder, LanesHoldDictionariesTogether) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    constexpr uint32_t kBits = sizeof(T) * 8;
    std::mt19937_64 random(14);
    for (int round = 0; round < 300; ++round) {
      galp::Dictionary dictionary{};
      dictionary.left_bits = static_cast<uint16_t>(1 + random() % galp::kMaxLeftBits);
      const uint32_t parts = 1u << dictionary.left_bits;
      const auto random_part = [&] {
        const uint64_t kind = random() % 8;
        return static_cast<uint32_t>(kind == 0 ? 0 : kind == 1 ? parts - 1 : random() % parts);
      };
      const auto index_of = [&](uint32_t part) {
        const uint16_t* begin = dictionary.entries;
        return static_cast<uint32_t>(std::find(begin, begin + dictionary.size, part) - begin);
      };
      const uint64_t wanted = std::min<uint64_t>(1 + random() % galp::kMaxEntries, parts);
      while (dictionary.size < wanted) {
        const uint32_t part = random_part();
        if (index_of(part) == dictionary.size) dictionary.entries[dictionary.size++] = static_cast<uint16_t>(part);
      }
      const uint32_t right_bits = kBits - dictionary.left_bits;
      galp::BitsOf<T> patterns[kLanes];
      for (auto& pattern : patterns) {
        const uint32_t part = random() % 2 == 0 ? dictionary.entries[random() % dictionary.size] : random_part();
        pattern = static_cast<galp::BitsOf<T>>(galp::BitsOf<T>{part} << right_bits | (random() & low_bits(right_bits)));
      }
      galp::Parts<T> found[kLanes];
      EmulatedWarp::run([&] {
        const galp::UpperParts<T> uppers(dictionary);
        found[device::lane_id()] = uppers.part(galp::float_of(patterns[device::lane_id()]));
      });
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const uint32_t index = index_of(static_cast<uint32_t>(patterns[lane] >> right_bits));
        const bool is_entry = index < dictionary.size;
        const uint64_t expected =
            (is_entry ? uint64_t{index} << right_bits : 0) | (patterns[lane] & low_bits(right_bits));
        ASSERT_EQ(found[lane].exception, !is_entry) << "round " << round << ", lane " << lane;
        ASSERT_EQ(found[lane].integer, static_cast<galp::BitsOf<T>>(expected))
            << "round " << round << ", lane " << lane;
      }
    }
  });
}

TEST(EmulatedGalpEncoder, DecimalsOfEveryLengthAndChild) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    for (const size_t rows : {0, 1, 2, 31, 33, 1023, 1024, 1025, 5000}) {
      for (const double divisor : {1.0, 10.0, 100.0, 10000.0}) {
        expect_like_cpu(decimals<T>(rows, 30000, divisor, rows + 1),
                        std::to_string(rows) + " decimals by " + std::to_string(divisor),
                        {"packed", "delta(packed)", "rle(packed, packed)", "dict(packed, packed)", "plain"});
      }
    }
  });
}

TEST(EmulatedGalpEncoder, MixedTiles) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    for (const uint64_t seed : {1, 2}) {
      expect_like_cpu(mixed_tiles<T>(40 * kTileRows + 77, seed), "mixed tiles",
                      {"packed", "delta(packed)", "dict(rle(packed, packed), packed)"});
    }
    expect_like_cpu(mixed_tiles<T>(20 * kTileRows + 1, 3), "mixed tiles, a whole block", {"packed", "delta(packed)"},
                    256);
  });
}

TEST(EmulatedGalpEncoder, MoreThanOneGroup) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    expect_like_cpu(mixed_tiles<T>(131072 + 5, 4), "two groups", {"packed", "rle(packed, packed)"});
    expect_like_cpu(decimals<T>(131072 + 5, 5000, 100, 5), "two groups of decimals", {"packed", "delta(packed)"});
  });
}

TEST(EmulatedGalpEncoder, OneValueForAll) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    const std::vector<T> special = special_values<T>();
    for (size_t i = 0; i < special.size(); i += i < 14 ? 1 : 37) {  // those that are no numbers come first
      expect_like_cpu(std::vector<T>(1100, special[i]), "all " + std::to_string(special[i]),
                      {"packed", "rle(packed, packed)"});
    }
    for (const double value : {0.1, 123.45, -0.001, 1.0 / 3}) {
      expect_like_cpu(std::vector<T>(1100, static_cast<T>(value)), "all " + std::to_string(value));
    }
  });
}

TEST(EmulatedGalpEncoder, SpecialValuesAmongDecimals) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    std::mt19937_64 random(7);
    const std::vector<T> special = special_values<T>();
    for (const uint32_t share : {1u, 2u, 10u, 300u}) {
      std::vector<T> values = decimals<T>(3000, 3000, 100, share);
      for (T& value : values) {
        if (random() % share == 0) value = special[random() % special.size()];
      }
      expect_like_cpu(values, "one special value in " + std::to_string(share), {"packed", "delta(packed)", "dict"});
    }
  });
}

// Rows that differ from the one before them are sampled: the first of 32, one behind, or none.
TEST(EmulatedGalpEncoder, TilesOfMostlyEqualRows) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    std::mt19937_64 random(9);
    for (const uint32_t share : {3u, 20u, 100u}) {
      std::vector<T> values(9 * kTileRows + 40);
      for (size_t i = 0; i < values.size(); ++i) {
        const double divisor = i / kTileRows % 2 == 0 ? 100 : 10000;
        if (random() % share == 0) values[i] = static_cast<T>(static_cast<double>(random() % 9999) / divisor);
      }
      expect_like_cpu(values, "one value in " + std::to_string(share) + " is not zero");
    }
  });
}

// Blocks with lists and with masks, values of few bits and of all, at the beginning and anywhere.
TEST(EmulatedGalpEncoder, EveryCountOfExceptions) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    std::mt19937_64 random(8);
    for (const uint32_t count : {0, 1, 2, 31, 32, 63, 64, 65, 66, 127, 300, 512, 700, 1000, 1022, 1023, 1024}) {
      for (const bool similar : {false, true}) {
        for (const bool first : {false, true}) {
          std::vector<T> values = decimals<T>(2 * kTileRows, 3000, 100, count);
          std::vector<uint32_t> rows(kTileRows);
          for (uint32_t i = 0; i < kTileRows; ++i) rows[i] = i;
          if (!first) std::shuffle(rows.begin(), rows.end(), random);
          for (uint32_t i = 0; i < count; ++i) {
            values[rows[i]] = similar ? static_cast<T>(1.0 / 3 + static_cast<double>(random() % 100) * 1e-13)
                                      : random_bits<T>(random);
          }
          expect_like_cpu(values, std::to_string(count) + " exceptions", {"packed", "delta(packed)"});
        }
      }
    }
  });
}

// Differences of decimals, of which two in five are no decimals, and tiles of several lengths: where many rows are
// exceptions to every candidate, candidates and bit patterns are close to each other.
TEST(EmulatedGalpEncoder, ManyExceptionsToAllCandidates) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    std::mt19937_64 random(15);
    std::vector<T> differences(20 * kTileRows + 99);
    for (T& value : differences) value = static_cast<T>(static_cast<double>(random() % 1700) / 10 - 50);
    expect_like_cpu(differences, "differences");
    std::vector<T> mixed(20 * kTileRows + 99);
    for (size_t i = 0; i < mixed.size(); ++i) {
      mixed[i] = static_cast<T>(static_cast<double>(random() % 100'000) / std::pow(10, i / kTileRows % 5));
    }
    expect_like_cpu(mixed, "several lengths");
  });
}

// Upper parts from a few, with outliers: RD.
TEST(EmulatedGalpEncoder, RealDoubles) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    std::mt19937_64 random(9);
    for (const double outliers : {0.0, 0.002, 0.1}) {
      for (const double range : {0.5, 3.0, 1000.0}) {
        std::vector<T> values(9 * kTileRows + 500);
        std::uniform_real_distribution<double> real(1, 1 + range);
        std::uniform_real_distribution<double> share(0, 1);
        for (T& value : values) {
          value = share(random) < outliers ? random_bits<T>(random) : static_cast<T>(real(random));
        }
        const Node node = testing::encoded(view(values));
        if (outliers == 0.002 && sizeof(T) == 8) {
          EXPECT_FALSE(node.streams[galp::kDictionaries].empty());
        }
        expect_like_cpu(values, "reals up to " + std::to_string(range));
      }
    }
  });
}

TEST(EmulatedGalpEncoder, RandomBitsAndLongStarts) {
  for_both_types([](auto tag) {
    using T = decltype(tag);
    std::mt19937_64 random(10);
    std::vector<T> values(5 * kTileRows + 3);
    for (T& value : values) value = random_bits<T>(random);
    expect_like_cpu(values, "random bits", {"packed", "delta(packed)"});
    // Enough exceptions for starts of 32 bits.
    values = decimals<T>(170 * kTileRows, 3000, 100, 11);
    for (T& value : values) {
      if (random() % 5 < 2) value = random_bits<T>(random);
    }
    const Node node = testing::encoded(view(values));
    EXPECT_GT(node.streams[galp::kExceptions].size() / 4, size_t{galp::kMaxShortStarts});
    expect_like_cpu(values, "long starts");
  });
}

}  // namespace
}  // namespace basalt::test
