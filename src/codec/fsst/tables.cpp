// Sampling, and the choice of ranges.
#include "codec/fsst/tables.h"

#include <algorithm>

namespace basalt::fsst {

namespace {

constexpr uint32_t kSamplePiece = 512;
constexpr uint32_t kTestBytes = 16 << 10;
constexpr uint64_t kTestSalt = 1;
constexpr uint32_t kTestRanges = 2;
constexpr uint32_t kTestRounds = 6;    // tables for the test: nearly as good, in half the time
constexpr uint32_t kFewestRanges = 4;  // fewer are not worth the test
// Tables of their own must save this share of the codes: each takes time to train, and to load.
constexpr double kRangeHasToSave = 0.98;

uint64_t code_bytes(const SymbolTable& table, std::span<const std::string_view> texts, Parse parse) {
  const auto matcher = std::make_unique<Matcher>(table);
  std::vector<uint8_t> codes(2 * kSamplePiece + 8);
  uint64_t bytes = 0;
  for (const std::string_view text : texts) {
    bytes += static_cast<uint64_t>(matcher->encode(parse, text.data(), text.size(), codes.data()) - codes.data());
  }
  return bytes;
}

uint64_t plain_bytes(const Values& values, uint64_t first, uint64_t end) {
  return static_cast<uint64_t>(values.offsets[end] - values.offsets[first]);
}

struct Sizes {
  double whole = 0;
  double ranges = 0;
};

// What a few ranges of 2^shift tiles take under `whole`, and under tables of their own.
Sizes try_ranges(const Values& values, uint32_t shift, const SymbolTable& whole, const Plan& plan) {
  const uint64_t range_rows = uint64_t{kTileRows} << shift;
  const uint64_t ranges = (values.count + range_rows - 1) / range_rows;
  const uint64_t taken = std::min<uint64_t>(ranges, kTestRanges);
  Plan quick = plan;
  quick.training.rounds = std::min(plan.training.rounds, kTestRounds);
  quick.train_greedily_too = false;
  Sizes sizes;
  for (uint64_t i = 0; i < taken; ++i) {
    const uint64_t first = (2 * i + 1) * ranges / (2 * taken) * range_rows;
    const uint64_t end = std::min(first + range_rows, values.count);
    const auto test = sample_texts(values, first, end, kTestBytes, kTestSalt);
    uint64_t tested = 0;
    for (const std::string_view text : test) tested += text.size();
    if (tested == 0) continue;
    const double scale = static_cast<double>(plain_bytes(values, first, end)) / static_cast<double>(tested);
    const SymbolTable own = train_rows(values, first, end, quick);
    Buffer bytes;
    own.append_to(bytes);
    sizes.whole += scale * static_cast<double>(code_bytes(whole, test, plan.training.parse));
    sizes.ranges += scale * static_cast<double>(code_bytes(own, test, plan.training.parse)) +
                    static_cast<double>(bytes.size() + kTableAlignment);
  }
  return sizes;
}

}  // namespace

Plan plan_of(Effort effort) {
  Plan plan{};
  plan.training.single_boost = 2;
  if (effort == Effort::kFast) {
    plan.training.rounds = 6;
    plan.sample_bytes = 16 << 10;
  } else if (effort == Effort::kBalanced) {
    plan.training.rounds = 10;
    plan.sample_bytes = 64 << 10;
    plan.range_bytes = {4 << 20};
  } else {
    plan.training.rounds = 16;
    plan.training.parse = Parse::kOptimal;
    plan.train_greedily_too = true;
    plan.sample_bytes = 128 << 10;
    plan.range_bytes = {4 << 20, 1 << 20};
  }
  return plan;
}

std::vector<std::string_view> sample_texts(const Values& values, uint64_t first, uint64_t end, uint32_t bytes,
                                           uint64_t salt) {
  std::vector<std::string_view> sample;
  const uint64_t total = first == end ? 0 : plain_bytes(values, first, end);
  const auto take = [&](std::string_view text) {
    for (; !text.empty(); text.remove_prefix(std::min<size_t>(text.size(), kSamplePiece))) {
      sample.push_back(text.substr(0, kSamplePiece));
    }
  };
  if (total <= bytes) {
    for (uint64_t row = first; row < end; ++row) take(values.string(row));
    return sample;
  }
  const uint64_t pieces = bytes / kSamplePiece;
  const int64_t* offsets = values.offsets;
  for (uint64_t piece = 0; piece < pieces; ++piece) {
    const uint64_t begin = static_cast<uint64_t>(static_cast<uint128_t>(total) * piece / pieces);
    const uint64_t room = total / pieces - kSamplePiece + 1;
    const uint64_t place = begin + ((piece + 1 + salt * pieces) * 0x9E3779B97F4A7C15ull >> 20) % room;
    const int64_t at = offsets[first] + static_cast<int64_t>(place);
    auto row = static_cast<uint64_t>(std::upper_bound(offsets + first, offsets + end, at) - offsets) - 1;
    // Short rows are taken from their beginning, of a long one what lies at the place.
    std::string_view text = values.string(row);
    if (text.size() > kSamplePiece) text.remove_prefix(static_cast<size_t>(at - offsets[row]));
    for (uint32_t left = kSamplePiece; left > 0;) {
      text = text.substr(0, left);
      take(text);
      left -= static_cast<uint32_t>(text.size());
      if (++row == end) break;
      text = values.string(row);
    }
  }
  return sample;
}

SymbolTable train_rows(const Values& values, uint64_t first, uint64_t end, const Plan& plan) {
  const std::vector<std::string_view> sample = sample_texts(values, first, end, plan.sample_bytes);
  SymbolTable table = train(sample, plan.training);
  if (!plan.train_greedily_too) return table;
  TrainOptions greedy = plan.training;
  greedy.parse = Parse::kGreedy;
  SymbolTable other = train(sample, greedy);
  const Parse parse = plan.training.parse;
  return code_bytes(other, sample, parse) < code_bytes(table, sample, parse) ? other : table;
}

Tables train_tables(const Values& values, const Plan& plan) {
  Tables out;
  const uint32_t tiles = tile_count(values.count);
  if (tiles == 0) return out;
  const auto one_table = static_cast<uint32_t>(std::bit_width(tiles - 1));
  const uint64_t tile_bytes = plain_bytes(values, 0, values.count) / tiles + 1;
  out.shift = one_table;
  out.tables.push_back(train_rows(values, 0, values.count, plan));
  double best_share = kRangeHasToSave;
  for (const uint64_t bytes : plan.range_bytes) {
    const auto shift = static_cast<uint32_t>(std::bit_width(bytes / tile_bytes));
    if (table_count(tiles, shift) < kFewestRanges) continue;
    const Sizes sizes = try_ranges(values, shift, out.tables[0], plan);
    if (sizes.ranges < sizes.whole * best_share) {
      out.shift = shift;
      best_share = sizes.ranges / sizes.whole * kRangeHasToSave;
    }
  }
  if (out.shift == one_table) return out;
  out.tables.clear();
  const uint64_t table_rows = uint64_t{kTileRows} << out.shift;
  for (uint64_t first = 0; first < values.count; first += table_rows) {
    out.tables.push_back(train_rows(values, first, std::min(first + table_rows, values.count), plan));
  }
  return out;
}

}  // namespace basalt::fsst
