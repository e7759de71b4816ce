// Arrays of l3 that no encoder makes but any writer may: models with coefficients of every size and sign.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
#include "codec/l3/layout.h"

namespace basalt::testing {

// A polynomial over the rows with noise of `width` bits.
inline std::vector<uint64_t> noisy_curve(size_t rows, uint32_t degree, uint32_t width, std::mt19937_64& random) {
  std::vector<uint64_t> values(rows);
  const double scale = std::ldexp(1.0, static_cast<int>(std::min(width + 8, 61u)));
  for (size_t i = 0; i < rows; ++i) {
    const auto x = static_cast<double>(i) / static_cast<double>(rows);
    const double curve = degree == 0 ? 0 : degree == 1 ? x : degree == 2 ? x * x : x * (x - 0.49) * (x - 1);
    values[i] = static_cast<uint64_t>(static_cast<int64_t>(curve * scale)) + (random() & low_bits(width));
  }
  return values;
}

// Two partitions of one model: 9 units, so that the third tile is shared, and 9 more, the last of them not full.
template <typename T>
Node two_partitions(Physical type, l3::Model model, uint32_t width, bool phased, std::mt19937_64& random) {
  constexpr uint32_t kUnits = 9;
  const uint32_t words = l3::param_words(model, phased, sizeof(T));
  const uint32_t degree = l3::degree_of(model);
  Node node{&get_codec("l3"), type, 2 * kUnits * kUnitRows - 100, {}, {}, {}};
  node.streams.resize(l3::kStreams);
  const auto stream = [&](uint32_t which, const auto& values) {
    node.streams[which] = Buffer(values.size() * sizeof(values[0]));
    if (!values.empty()) std::memcpy(node.streams[which].data(), values.data(), node.streams[which].size());
  };
  stream(l3::kStarts, std::vector<uint32_t>{1u | 1u << kUnits, 2u << 16});
  std::vector<uint64_t> records;
  std::vector<uint32_t> params;
  for (uint32_t i = 0; i < 2; ++i) {
    const auto shift = static_cast<uint32_t>(degree == 0 ? 0 : random() % (l3::is_wide(model) ? 64 : 33));
    records.push_back(l3::pack_record({i * kUnits, model, width, shift, phased, i * words, i * kUnits * width}));
    const size_t end = params.size() + words;
    for (uint32_t word = 0; word < sizeof(T) / 4 || word == 0; ++word)
      params.push_back(static_cast<uint32_t>(random()));
    while (params.size() < end) {
      // Coefficients of every size and sign: lines that are flat, gentle, steep, or wrap.
      const auto coefficient = static_cast<uint64_t>(static_cast<int64_t>(random()) >> (random() % 64));
      params.push_back(static_cast<uint32_t>(coefficient));
      if (l3::is_wide(model)) params.push_back(static_cast<uint32_t>(coefficient >> 32));
    }
  }
  stream(l3::kRecords, records);
  stream(l3::kParams, params);
  std::vector<uint32_t> residuals(2 * kUnits * unit_words(width));
  for (uint32_t& word : residuals) word = static_cast<uint32_t>(random());
  stream(l3::kResiduals, residuals);
  return node;
}

// body(node, chunk, place) for models, widths (every `step`th) and phases; the chunk reads the node's single rows.
template <typename T, typename Body>
void for_each_learned_node(Physical type, uint32_t step, int rounds, Body body) {
  std::mt19937_64 random(sizeof(T));
  for (const auto model : {l3::Model::kFor, l3::Model::kLinear, l3::Model::kPoly2, l3::Model::kPoly3,
                           l3::Model::kWideLinear, l3::Model::kWidePoly2, l3::Model::kWidePoly3}) {
    const bool line = model == l3::Model::kLinear || model == l3::Model::kWideLinear;
    const bool narrow = l3::degree_of(model) > 0 && !l3::is_wide(model);
    const uint32_t widest = std::min<uint32_t>(8 * sizeof(T), narrow ? l3::kMaxNarrowWidth : 64);
    for (uint32_t width = 0; width <= widest; width += step) {
      for (int round = 0; round < (line ? 8 * rounds : rounds); ++round) {
        const bool phased = l3::degree_of(model) > 0 && round % 2 == 1;
        const Node node = two_partitions<T>(type, model, width, phased, random);
        ASSERT_NO_THROW(validate_tree(view_of(node)));
        const auto chunk = l3::Chunk::of(
            node.streams[l3::kStarts].as<uint32_t>(), node.streams[l3::kRecords].as<uint64_t>(),
            node.streams[l3::kParams].as<uint32_t>(), node.streams[l3::kResiduals].as<uint32_t>(), node.count);
        body(node, chunk, "model " + std::to_string(static_cast<uint32_t>(model)) + " width " + std::to_string(width));
      }
    }
  }
}

// Values as encoders meet them: constant, lines, curves, jumps inside of tiles, with noise of `width` bits; runs
// without.
constexpr int kValueShapes = 6;
template <typename T>
std::vector<T> shaped_values(int shape, uint32_t width, size_t rows, std::mt19937_64& random) {
  std::vector<T> values;
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t curve = shape == 0   ? 7
                           : shape == 1 ? i * 50
                           : shape == 2 ? 5'000'000 - i * 200  // falls
                           : shape == 3 ? (i % 8192) * (i % 8192) / 4
                           : shape == 4 ? (i / 1280 * 7919 % 100) << width  // jumps
                                        : i / 300 * 999;                    // runs
    values.push_back(static_cast<T>(curve + (shape == 5 ? 0 : random() & low_bits(width))));
  }
  return values;
}

}  // namespace basalt::testing
