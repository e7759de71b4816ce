// The device trainer of compressed strings, run on the CPU: it finds the tables of the CPU's trainer, and makes the
// same choice of how many rows share one.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "codec/fsst/gpu/encode_table.h"
#include "codec/fsst/tables.h"
#include "codec/fsst_texts.h"
//
#include "cuda/emulated_warp.h"
//
#include "codec/fsst/gpu/train_ranges.cuh"

namespace basalt::test {
namespace {

using testing::make_texts;
using testing::sentences;
using testing::text_cases;
using testing::TextCase;

constexpr uint32_t kThreads = 64;

std::string printed(const fsst::SymbolTable& table) {
  std::string out;
  for (const fsst::Symbol& symbol : table.symbols) {
    out += std::to_string(symbol.length) + ":" + std::to_string(symbol.value) + " ";
  }
  return out;
}

struct DeviceTables {
  uint32_t shift;
  std::vector<std::string> tables;
};

DeviceTables train_as_device(const Values& values, const fsst::Plan& plan, bool narrow_pairs) {
  const int64_t first_byte = values.offsets[0];
  const auto bytes = static_cast<size_t>(values.offsets[values.count] - first_byte);
  std::vector<uint64_t> text(bytes / 8 + 2, 0xA5A5A5A5A5A5A5A5ull);
  std::memcpy(text.data(), values.bytes + first_byte, bytes);
  uint32_t shift = 77;
  std::vector<fsst::EncodeTable> tried(fsst::kMostTried);
  fsst::TrainArray array{};
  array.text = text.data();
  array.offsets = values.offsets;
  array.first_byte = first_byte;
  array.rows = values.count;
  array.shifts = fsst::table_shifts(values.count, bytes, plan);
  array.tried = tried.data();
  array.shift = &shift;
  std::vector<fsst::EncodeTable> tables(array.most_tables());
  array.tables = tables.data();

  const fsst::ScratchSizes sizes(plan);
  std::vector<uint64_t> memory(sizes.bytes() / 8 + 2, 0x5A5A5A5A5A5A5A5Aull);
  fsst::TrainScratch scratch = sizes.of_block(reinterpret_cast<unsigned char*>(memory.data()), 0);
  scratch.narrow_pairs = narrow_pairs;
  const auto shared = std::make_unique<fsst::TrainShared>();
  std::memset(static_cast<void*>(shared.get()), 0x5A, sizeof(*shared));
  EmulatedBlock::run(kThreads, [&] {
    for (uint32_t i = 0; i < fsst::kMostTried; ++i) fsst::train_tried(array, plan, i, scratch, *shared);
  });
  EmulatedBlock::run(kThreads, [&] { fsst::choose_shift(array, plan, scratch, *shared); });
  EmulatedBlock::run(kThreads, [&] {
    for (uint32_t i = 0; i < array.most_tables(); ++i) fsst::train_range(array, plan, i, scratch, *shared);
  });
  DeviceTables out{shift, {}};
  for (uint32_t i = 0; i < array.tables_of(shift); ++i) out.tables.push_back(printed(fsst::symbols_of(tables[i])));
  return out;
}

void expect_same(const Values& values, const fsst::Plan& plan) {
  const fsst::Tables expected = fsst::train_tables(values, plan);
  for (const bool narrow_pairs : {false, true}) {
    if (narrow_pairs && plan.sample_bytes > fsst::kNarrowSampleBytes) continue;
    const DeviceTables got = train_as_device(values, plan, narrow_pairs);
    ASSERT_EQ(got.shift, expected.shift);
    ASSERT_EQ(got.tables.size(), expected.tables.size());
    for (size_t i = 0; i < got.tables.size(); ++i) {
      EXPECT_EQ(got.tables[i], printed(expected.tables[i])) << "table " << i;
    }
  }
}

TEST(EmulatedFsstTrainer, FindsTheTablesOfTheCpu) {
  for (const TextCase& one : text_cases()) {
    if (one.texts.empty()) continue;
    const testing::Array array = make_texts(one.texts);
    for (const Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kBest}) {
      SCOPED_TRACE(std::string(one.name) + ", effort " + std::to_string(static_cast<int>(effort)));
      expect_same(array.values, fsst::plan_of(effort));
    }
  }
}

TEST(EmulatedFsstTrainer, OneStringAndFewBytesAmongManyEmptyOnes) {
  expect_same(make_texts({"a"}).values, fsst::plan_of(Effort::kBalanced));
  expect_same(make_texts({""}).values, fsst::plan_of(Effort::kBalanced));
  std::vector<std::string> texts(9000);
  const std::vector<std::string> some = sentences(400, 11);
  for (size_t i = 0; i < some.size(); ++i) texts[i * 22 + i % 7] = some[i] + some[(i * 7 + 1) % some.size()];
  fsst::Plan plan = fsst::plan_of(Effort::kFast);
  plan.sample_bytes = 4096;
  expect_same(make_texts(texts).values, plan);
}

// Many strings with nearly the same gain, and many that want the same slot of a table: the first bound is too high.
TEST(EmulatedFsstTrainer, DigitsWithoutFrequentPieces) {
  std::mt19937_64 random(8);
  std::vector<std::string> texts(3000);
  for (std::string& text : texts) {
    for (int i = 0; i < 36; ++i) text += i % 9 == 8 ? '-' : "0123456789abcdef"[random() % 16];
  }
  expect_same(make_texts(texts).values, fsst::plan_of(Effort::kBalanced));
  for (std::string& text : texts) {
    text.clear();
    for (int i = 0; i < 12; ++i) text += "prefix" + std::to_string(random() % 1000);
  }
  expect_same(make_texts(texts).values, fsst::plan_of(Effort::kBalanced));
}

TEST(EmulatedFsstTrainer, RangesWithTablesOfTheirOwn) {
  const testing::Array array = make_texts(testing::changing_texts(9 * kTileRows + 5, 2 * kTileRows, 3));
  fsst::Plan plan = fsst::plan_of(Effort::kBalanced);
  plan.sample_bytes = 8192;
  plan.range_bytes[0] = 30 << 10;
  ASSERT_GT(fsst::train_tables(array.values, plan).tables.size(), 1u);
  expect_same(array.values, plan);
  plan.ranges = 2;
  plan.range_bytes[1] = 15 << 10;
  plan.training.parse = fsst::Parse::kOptimal;
  plan.train_greedily_too = true;
  plan.training.rounds = 7;
  expect_same(array.values, plan);
}

TEST(EmulatedFsstTrainer, LimitsOfTheLastTable) {
  const testing::Array array = make_texts(sentences(3000, 21));
  fsst::Plan plan = fsst::plan_of(Effort::kFast);
  plan.training.most_long = 40;
  plan.training.most_rows = 9;
  plan.training.most_per_row = 2;
  expect_same(array.values, plan);
}

TEST(EmulatedFsstTrainer, ValuesThatDoNotStartAtTheirBuffersBegin) {
  const testing::Array array = make_texts(sentences(1500, 5));
  expect_same(testing::without_first(array.values, 300), fsst::plan_of(Effort::kFast));
}

}  // namespace
}  // namespace basalt::test
