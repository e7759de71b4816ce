// Floats that tests of galp encode.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
#include "basalt/encoding/tree.h"
#include "codec/galp/exceptions.h"
#include "codec/galp/scale.h"

namespace basalt::testing {

template <typename T>
Values view(const std::vector<T>& values) {
  Values out;
  out.type = sizeof(T) == 8 ? Physical::kF64 : Physical::kF32;
  out.count = values.size();
  out.data = values.data();
  return out;
}

inline Node encoded(const Values& values, const std::string& tree = "galp", Effort effort = Effort::kBalanced) {
  return encode_tree(values, bind_tree(parse_tree(tree), values.type), effort);
}

template <typename T>
std::vector<T> decimals(size_t count, int64_t range, double divisor, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    const auto number = static_cast<int64_t>(random() % static_cast<uint64_t>(2 * range + 1)) - range;
    value = static_cast<T>(static_cast<double>(number) / divisor);
  }
  return values;
}

// Floats with every pattern of bits that means something.
template <typename T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  using A = galp::Arithmetic<T>;
  using Bits = galp::BitsOf<T>;
  std::vector<T> values = {T{0},
                           -T{0},
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           galp::float_of(static_cast<Bits>(A::kInfinity | 1)),  // a signalling NaN
                           galp::float_of(static_cast<Bits>(~Bits{0})),          // all payload bits
                           galp::float_of(static_cast<Bits>(A::kInfinity | A::kSign | 0x1234)),
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           Limits::min(),
                           std::nextafter(Limits::min(), T{0}),
                           Limits::max(),
                           Limits::lowest()};
  for (int exponent = 20; exponent <= 64; ++exponent) {
    const T power = std::ldexp(T{1}, exponent);
    for (const T value : {power, std::nextafter(power, T{0}), std::nextafter(power, Limits::max()), power - T{1},
                          power + T{1}, power / 2 + T(0.5)}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  return values;
}

template <typename T>
T random_bits(std::mt19937_64& random) {
  return galp::float_of(static_cast<galp::BitsOf<T>>(random()));
}

// Tiles of every kind next to each other.
template <typename T>
std::vector<T> mixed_tiles(size_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<T> special = special_values<T>();
  std::vector<T> values(rows);
  for (size_t i = 0; i < rows; ++i) {
    const auto number = static_cast<double>(random() % 100000);
    switch (i / kTileRows * 2654435761u >> 7 & 7) {
      case 0: values[i] = static_cast<T>(number / 100); break;
      case 1: values[i] = static_cast<T>(number / 1000 - 30); break;
      case 2: values[i] = T(42.5); break;
      case 3: values[i] = static_cast<T>(1 + number * 1.00000123e-7 + static_cast<double>(random()) * 1e-22); break;
      case 4: values[i] = random_bits<T>(random); break;
      case 5: values[i] = i % 50 == 0 ? static_cast<T>(number / 10) : T{0}; break;
      case 6: values[i] = random() % 20 == 0 ? special[random() % special.size()] : static_cast<T>(number / 10); break;
      default: values[i] = static_cast<T>(static_cast<double>(i) * 0.25); break;
    }
  }
  return values;
}

// Tiles of any integers under one pair, as no encoder would make them: products that wrap, too.
template <typename T>
Node any_integers(uint32_t pair, const std::vector<galp::IntOf<T>>& integers, const std::string& child = "packed") {
  Node node{&get_codec("galp"), sizeof(T) == 8 ? Physical::kF64 : Physical::kF32, integers.size(), {}, {}, {}};
  node.streams.resize(galp::kStreams);
  for (uint32_t tile = 0; tile < tile_count(integers.size()); ++tile) {
    node.streams[galp::kSchemes].push(static_cast<uint8_t>(pair));
  }
  Values values;
  values.type = sizeof(T) == 8 ? Physical::kI64 : Physical::kI32;
  values.count = integers.size();
  values.data = integers.data();
  node.children.push_back(encode_tree(values, bind_tree(parse_tree(child), values.type)));
  return node;
}
// Their values.
template <typename T>
std::vector<T> decoded(uint32_t pair, const std::vector<galp::IntOf<T>>& integers) {
  const auto scale = galp::Scale<T>::of(galp::pair_of(pair));
  std::vector<T> values;
  for (const galp::IntOf<T> integer : integers) values.push_back(galp::decode(integer, scale));
  return values;
}

// A tile of integers whose range takes exactly `width` bits.
template <typename T>
struct WideTile {
  uint32_t width;
  galp::IntOf<T> integers[kTileRows];
};
// Of no bits, of as many as floats hold, and of all there are, each around zero, around the powers of two where
// conversions change (2^51, 2^52 and 2^53 of a double), and at the ends of the type.
template <typename T>
std::vector<WideTile<T>> wide_tiles() {
  using Int = galp::IntOf<T>;
  constexpr int kDigits = std::numeric_limits<T>::digits;  // 53 or 24
  constexpr uint32_t kBits = galp::Arithmetic<T>::kBits;
  constexpr int128_t kLeast = std::numeric_limits<Int>::min();
  constexpr int128_t kLargest = std::numeric_limits<Int>::max();
  std::vector<int128_t> middles = {0, kLeast, kLargest};
  for (const int bits : {kDigits - 2, kDigits - 1, kDigits}) {
    for (const int sign : {1, -1}) middles.push_back((int128_t{1} << bits) * sign);
  }
  std::mt19937_64 random(19);
  std::vector<WideTile<T>> tiles;
  for (const uint32_t width : {0u, 1u, 3u, kDigits - 2u, kDigits - 1u, kDigits + 0u, kDigits + 1u, kBits - 1, kBits}) {
    const auto span = static_cast<int128_t>(low_bits(width));
    for (const int128_t middle : middles) {
      const int128_t low = std::clamp(middle - (span + 1) / 2, kLeast, kLargest - span);
      WideTile<T> tile{width, {}};
      for (Int& integer : tile.integers) {
        // Half of them next to the middle, on both sides.
        const int128_t near = middle + static_cast<int128_t>(random() % 7) - 3;
        const bool fits = random() % 2 == 0 && near >= low && near <= low + span;
        integer = static_cast<Int>(fits ? near : low + static_cast<int128_t>(random() & low_bits(width)));
      }
      tile.integers[7] = static_cast<Int>(low);
      tile.integers[1000] = static_cast<Int>(low + span);
      tiles.push_back(tile);
    }
  }
  return tiles;
}
template <typename T>
std::vector<galp::IntOf<T>> integers_of(const std::vector<WideTile<T>>& tiles) {
  std::vector<galp::IntOf<T>> integers;
  for (const WideTile<T>& tile : tiles) {
    integers.insert(integers.end(), std::begin(tile.integers), std::end(tile.integers));
  }
  return integers;
}
// From one under which every integer is its own value to one under which those above 9 wrap.
template <typename T>
std::vector<uint32_t> pairs_of_wide_tiles() {
  const galp::Pair most = galp::first_pair(galp::Arithmetic<T>::kBits);
  return {galp::pair_number({0, 0}), galp::pair_number({1, 1}), galp::pair_number({2, 0}),
          galp::pair_number({most.e, 0}), galp::pair_number(most)};
}

// galp(packed) built by hand, with as many exceptions as no encoder would make: tiles of one pair, those of their rows
// that are exceptions, and all rows' bits, of which only the exceptions' are looked at.
template <typename T>
Node patched(galp::Pair pair, const std::vector<galp::IntOf<T>>& integers, const std::vector<galp::LaneRows>& tiles,
             const std::vector<galp::BitsOf<T>>& values) {
  Node node{&get_codec("galp"), sizeof(T) == 8 ? Physical::kF64 : Physical::kF32, integers.size(), {}, {}, {}};
  node.streams.resize(galp::kStreams);
  Buffer& blocks = node.streams[galp::kExceptions];
  Buffer& starts = node.streams[galp::kExceptionStarts];
  starts.push(uint16_t{0});
  for (size_t tile = 0; tile < tiles.size(); ++tile) {
    node.streams[galp::kSchemes].push(static_cast<uint8_t>(galp::pair_number(pair)));
    galp::append_block(tiles[tile], values.data() + tile * kTileRows, sizeof(T) * 8, blocks);
    starts.push(static_cast<uint16_t>(blocks.size() / sizeof(uint32_t)));
  }
  Values child;
  child.type = sizeof(T) == 8 ? Physical::kI64 : Physical::kI32;
  child.count = integers.size();
  child.data = integers.data();
  node.children.push_back(encode_tree(child, bind_tree(parse_tree("packed"), child.type)));
  return node;
}

// Two tiles of decimals with values among them that are none, few and many in turn: what tests damage.
inline std::vector<double> decimals_with_exceptions(int round, std::mt19937_64& random) {
  std::vector<double> values = decimals<double>(2 * kTileRows, 4000, 100, static_cast<uint64_t>(round));
  const uint64_t share = round % 2 == 0 ? 100 : 8;
  for (double& value : values) {
    if (random() % share == 0) value = std::bit_cast<double>(random() | galp::Arithmetic<double>::kInfinity);
  }
  return values;
}

}  // namespace basalt::testing
